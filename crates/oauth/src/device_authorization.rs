//! Device authorization requests (RFC 8628 3.1).

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use symbolon_protocol::device_authorization as rule;

use crate::client::authenticate;
use symbolon_app::http::{Call, Failure, json, no_store};

/// `POST /device_authorization`: gives a device its two codes, and keeps what it asks for until a person decides.
///
/// # Errors
/// [`Failure`]: `invalid_client`, `unauthorized_client`, `invalid_scope`, `invalid_authorization_details`, 429; 503 if the store has no room for one more.
pub(super) async fn ask(call: &mut Call) -> Result<Response, Failure> {
    let Call { endpoint, context, received, durable, client: asking, .. } = call;
    let form = endpoint.params(received)?;
    let now = context.app.now();
    // RFC 8628 3.1: clients authenticate as at the token endpoint, public ones by `client_id`.
    let client = authenticate(endpoint, context, &received.headers, &form, now, durable).await?;
    *asking = Some(Arc::clone(&client));
    let (app, issuer) = (&context.app, &context.issuer);
    let asked = rule::check(&form, &client, &issuer.settings.load(), now)?;
    let codes = app.store.keep_device_authorization(&issuer.id, asked, now, &*app.random).await?;
    // RFC 8628 3.2: 200, and not to be cached.
    Ok(no_store(json(StatusCode::OK, rule::answer(&codes.device, &codes.user, &issuer.url))))
}
