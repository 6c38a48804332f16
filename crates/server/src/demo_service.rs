//! The walk-through's back end, which is an OAuth client itself.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, Method, Request, Uri, header};
use symbolon_app::http::{Call, Failure};
use symbolon_protocol::client::GrantType;
use symbolon_protocol::discovery;
use symbolon_protocol::params::Params;
use symbolon_sign_in::demo::{self, Demo};
use url::form_urlencoded;

/// `POST /demo/token-exchange`: the walk-through's back end exchanges the token that it was called with.
///
/// # Errors
/// [`Failure::NotFound`] outside development mode, `invalid_request` without a `subject_token`.
pub(crate) async fn exchange(call: &mut Call) -> Result<Response, Failure> {
    let demo = demo::of(&call.context).await?.ok_or(Failure::NotFound)?;
    let params = Params::parse(&call.received.form)?;
    let request = exchange_request(params.require("subject_token")?, &demo);
    let token = symbolon_oauth::ENDPOINTS.iter().find(|endpoint| endpoint.path == discovery::path::TOKEN);
    let token = token.ok_or(Failure::NotFound)?;
    let Ok(response) = token.answer(call.context.clone(), request).await;
    Ok(response)
}

/// The token exchange request that any service would send for the token that it was called with (RFC 8693 2.1).
fn exchange_request(subject_token: &str, demo: &Demo) -> Request<Body> {
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", GrantType::TokenExchange.as_str())
        .append_pair("subject_token", subject_token)
        .append_pair("subject_token_type", "urn:ietf:params:oauth:token-type:access_token")
        .append_pair("audience", demo::NEXT_SERVICE)
        .append_pair("client_id", demo::SERVICE)
        .append_pair("client_secret", &demo.service_secret)
        .finish();
    let mut request = Request::new(Body::from(form));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(discovery::path::TOKEN);
    let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    request.headers_mut().insert(header::CONTENT_TYPE, content_type);
    request
}
