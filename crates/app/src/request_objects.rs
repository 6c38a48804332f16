//! Request objects that clients publish at their registered `request_uris` (RFC 9101 5.2, OpenID Connect Core 6.2), fetched when a request
//! names one.
//!
//! Requests are those of [`App::call_out`]: to public addresses unless the configuration allows others, and bounded in time and size. A
//! redirect is not followed. Anybody can send a browser here with such a request, so an address is asked by one of them at a time, and
//! not again in the next seconds.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::params::Params;
use symbolon_protocol::request_object::reference::{self, unreachable};
use url::Url;

use crate::app::App;
use crate::http::Context;
use crate::published::{NotObtained, believed, obtain};

/// The most bytes of a request object: what a request may have that waits for a person, in base64url, with header and signature.
const LONGEST: usize = 16 << 10;
/// For how long an object is used again whose address says nothing of its version: for as long as somebody presses twice.
const BRIEFLY: Duration = Duration::from_secs(5);

/// The request object behind the `request_uri` of a request.
///
/// # Errors
/// `invalid_request_uri`: the client has not registered this address, or there is no object; `invalid_request` beside `request`.
pub async fn fetched(
    context: &Context,
    client: &Client,
    params: &Params<'_>,
) -> Result<Arc<String>, OAuthError> {
    let uri = reference::registered(params, client)?;
    let (app, issuer) = (context.app.shared(), &context.issuer.id);
    let of_stranger = client.is_of_stranger();
    let read = || {
        let (reader, by, uri) = (Arc::clone(app), issuer.clone(), uri.to_owned());
        async move { reader.read_request_object(&by, &uri, of_stranger).await }
    };
    match obtain(app, &app.request_objects, (uri, of_stranger), |_| true, read).await {
        Ok(object) => Ok(object),
        Err(NotObtained::Unusable(why) | NotObtained::NotAsked(why)) => Err(unreachable(client, uri, &why)),
    }
}

impl App {
    /// Asks an address for its object, and keeps what it answered, or why it did not.
    ///
    /// # Errors
    /// It was not asked, because too many calls are under way.
    async fn read_request_object(
        &self,
        issuer: &IssuerId,
        uri: &str,
        of_stranger: bool,
    ) -> Result<(), String> {
        let calls = match of_stranger {
            true => &self.request_objects.calls_of_strangers,
            false => &self.request_objects.calls,
        };
        let Some(_one_of_many) = calls.begin(issuer, uri) else {
            return Err("too many calls to clients are under way".to_owned());
        };
        let read = self.get_request_object(uri).await;
        if let Err(why) = &read {
            tracing::info!(%issuer, request_uri = uri, %why, "the request object of a client could not be read");
        }
        self.request_objects.note_read(uri, read, self.now());
        Ok(())
    }

    /// The object at an address, and for how long it is believed. The fragment is the object's version (OpenID Connect Core 6.2: its hash), so
    /// with one the object does not change.
    async fn get_request_object(&self, uri: &str) -> Result<(String, Duration), String> {
        let url = Url::parse(uri).map_err(|error| error.to_string())?;
        let is_of_version = url.fragment().is_some();
        // RFC 9101 5.2.3: the Content-Type is application/oauth-authz-req+jwt; OpenID Connect names none.
        let kinds = HeaderValue::from_static("application/oauth-authz-req+jwt, application/jwt, */*;q=0.1");
        let answer = self.get_published(url, kinds, LONGEST).await?;
        let believed = if is_of_version { believed(&answer) } else { BRIEFLY };
        let object = String::from_utf8(answer.body.to_vec()).map_err(|_| "it is no text".to_owned())?;
        match object.trim() {
            "" => Err("it is empty".to_owned()),
            object => Ok((object.to_owned(), believed)),
        }
    }
}
