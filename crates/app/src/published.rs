//! Reads what others publish.
//!
//! Requests are those of [`App::call_out`]: to public addresses unless the configuration allows others, and bounded in time and size.
//! A redirect is not followed.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use symbolon_outbound::{OutboundAnswer, OutboundRequest};
use symbolon_protocol::client_key::believed_for;
use url::Url;

use crate::app::App;
use crate::published_cache::{Known, PublishedCache};

/// How often a request looks whether something is there by now: once before it asks or waits, and once after; and once more where
/// it was pushed out in between.
const MOST_LOOKS: usize = 3;

/// Why what an address publishes is not here.
pub(crate) enum NotObtained {
    /// It was asked, now or a moment ago, and did not answer so that it could be used.
    Unusable(String),
    /// It was not asked, because too much is asked for at the moment.
    NotAsked(String),
}

/// What an address publishes: what is known of it, or what it answers now. One caller at a time asks it, by `read`, which notes in the cache
/// what came; the others wait. `fits`: whether this has what is needed; if not, the address may have more by now.
///
/// # Errors
/// [`NotObtained`].
pub(crate) async fn obtain<T, F>(
    app: &Arc<App>,
    cache: &PublishedCache<T>,
    (address, of_stranger): (&str, bool),
    fits: impl Fn(&T) -> bool,
    read: impl Fn() -> F,
) -> Result<Arc<T>, NotObtained>
where
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    for _ in 0..MOST_LOOKS {
        match cache.look_up(address, &fits, of_stranger, app.now()) {
            Known::Kept(what) => return Ok(what),
            Known::Failed(why) => return Err(NotObtained::Unusable(why)),
            // It ends when whoever asks has an answer, or is gone.
            Known::Asked(mut asked) => asked.changed().await.unwrap_or_default(),
            Known::Ask(asking) => {
                let reading = read();
                // A caller that goes away must not make the next one ask again.
                let read = app.detached.finish_even_if_dropped(async move {
                    let read = reading.await;
                    drop(asking);
                    read
                });
                read.await.map_err(NotObtained::NotAsked)?;
            }
        }
    }
    Err(NotObtained::NotAsked("too many addresses are asked for what they publish at the moment".to_owned()))
}

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
