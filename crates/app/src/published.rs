//! Reads what others publish.
//!
//! Requests are those of [`App::call_out`]: to public addresses unless the configuration allows others, and bounded in time and size.
//! A redirect is not followed.

use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use symbolon_outbound::{OutboundAnswer, OutboundRequest};
use symbolon_protocol::client_key::believed_for;
use url::Url;

use crate::app::App;

/// How often a request looks whether something is there by now: once before it asks or waits, and once after; and once more where
/// it was pushed out in between.
pub(crate) const MOST_LOOKS: usize = 3;

impl App {
    /// Reads a document of these kinds and of so many bytes at most.
    ///
    /// # Errors
    /// Why there is none, as the end of a sentence.
    pub(crate) async fn get_published(
        &self,
        url: Url,
        kinds: HeaderValue,
        longest: usize,
    ) -> Result<OutboundAnswer, String> {
        let request = OutboundRequest::get(url).with_header(header::ACCEPT, kinds).at_most(longest);
        let answer = self.call_out(request).await.map_err(|error| error.to_string())?;
        match answer.status {
            StatusCode::OK => Ok(answer),
            status => Err(format!("it answered {status}")),
        }
    }
}

/// For how long an answer is believed, by its `Cache-Control`.
pub(crate) fn believed(answer: &OutboundAnswer) -> Duration {
    let lines = answer.headers.get_all(header::CACHE_CONTROL).iter();
    let lines: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
    let cache_control = (!lines.is_empty()).then(|| lines.join(","));
    believed_for(cache_control.as_deref())
}
