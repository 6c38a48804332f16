//! Request objects by reference: `request_uri` (RFC 9101 5.2, OpenID Connect Core 6.2).
//!
//! Only addresses are asked that the client has registered (RFC 9101 10.4.1: otherwise anybody could have this server call any address).
//! They are compared as texts, the fragment included. The fragment may be a hash of the object; it is not compared with what comes, because
//! the object is signed, and a hash that anybody can write into the address of a request makes it no safer.

use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::params::Params;
use crate::refusal::{Details, Reason};

/// The most addresses of a client.
pub const MOST: usize = 16;
/// The longest address in bytes (OpenID Connect Core 6.2).
pub const LONGEST: usize = 512;

/// The registered address that a request names by `request_uri`.
///
/// # Errors
/// `invalid_request_uri` if the client has not registered it; `invalid_request` if it is repeated, or stands beside `request`.
pub fn registered<'c>(params: &Params<'_>, client: &'c Client) -> Result<&'c str, OAuthError> {
    refuse_both(params, client)?;
    let sent = params.get("request_uri")?.unwrap_or_default();
    client.request_uris.iter().find(|own| *own == sent).map(String::as_str).ok_or_else(|| {
        let description = "the client has not registered this request_uri";
        let own = client.request_uris.iter().map(String::as_str);
        OAuthError::new(ErrorCode::InvalidRequestUri, Reason::RequestUriUnregistered, description)
            .about(Details::of("request_uri").sent_uri(sent).registered(own).client(&client.client_id))
    })
}

/// RFC 9101 5: `request` and `request_uri` MUST NOT be used in one request.
pub(super) fn refuse_both(params: &Params<'_>, client: &Client) -> Result<(), OAuthError> {
    if params.get_all("request").next().is_none() || params.get_all("request_uri").next().is_none() {
        return Ok(());
    }
    let description = "request and request_uri must not be sent together";
    let error = OAuthError::invalid_request(Reason::RequestParameterUnsupported, description);
    Err(error.about(Details::of("request_uri").client(&client.client_id)))
}

/// The refusal of a request whose object cannot be had (RFC 9101 7). `why`: as the end of a sentence.
pub fn unreachable(client: &Client, uri: &str, why: &str) -> OAuthError {
    let description = "the request object at request_uri cannot be read";
    OAuthError::new(ErrorCode::InvalidRequestUri, Reason::RequestUriUnreachable, description)
        .about(Details::of("request_uri").sent_uri(uri).differing(Some(why)).client(&client.client_id))
}

/// The request with the object that was fetched in place of its address, as a form.
pub fn replaced(params: &Params<'_>, object: &str) -> String {
    let mut form = form_urlencoded::Serializer::new(String::with_capacity(object.len() + 256));
    form.extend_pairs(params.iter().filter(|(name, _)| *name != "request_uri"));
    form.append_pair("request", object);
    form.finish()
}
