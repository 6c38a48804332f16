//! Pushed authorization requests (RFC 9126 2).

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use symbolon_protocol::authorize::pushed_request::{self, LIFETIME};
use symbolon_protocol::discovery::{self, path};
use symbolon_protocol::params::Params;
use symbolon_protocol::request_object;

use crate::client::authenticate;
use crate::dpop;
use symbolon_app::client_keys;
use symbolon_app::http::{Call, Failure, json, no_store};
use symbolon_app::rate_limit::EndpointClass;
use symbolon_store::port::PushedBy;

/// `POST /par`: checks a request as the authorization endpoint would, and keeps it for its client to send the person with.
///
/// # Errors
/// [`Failure`]: `invalid_client`, the errors of authorization requests, 429; 503 if the store has no room for one more.
pub(super) async fn push(call: &mut Call) -> Result<Response, Failure> {
    let Call { endpoint, context, received, durable, client: asking, .. } = call;
    let form = endpoint.params(received)?;
    let now = context.app.now();
    // RFC 9126 2: clients authenticate as at the token endpoint.
    let client = authenticate(endpoint, context, &received.headers, &form, now, durable).await?;
    *asking = Some(Arc::clone(&client));
    // Anybody can be such a client, so what is pushed counts for the address, and for all of them together.
    let is_stranger = client.is_public() || client.is_of_stranger();
    if client.is_of_stranger() && !client.is_public() {
        context.app.rate_limits.check_address(EndpointClass::Par, context.remote, now)?;
    }
    let (app, issuer) = (&context.app, &context.issuer);
    // RFC 9126 2.3: every error is answered as JSON, also one that would go to the redirect URI.
    let settings = issuer.settings.load_full();
    pushed_request::refuse_reference(&form, &client)?;
    // RFC 9126 3: what a request object has is the request, and of the form only what authenticates the client counts.
    let published = client_keys::of_request(context, &client, &form).await?;
    let keys = client.verifying_keys(published.as_deref());
    let object = request_object::parameters(&form, &client, keys, &issuer.url, now)?;
    let signed = object.as_deref().map(|object| Params::parse(object.as_bytes())).transpose()?;
    let encoded = object.as_deref().map_or(received.encoded(), str::as_bytes);
    let asked = (signed.as_ref().unwrap_or(&form), encoded);
    let request = pushed_request::accepted(asked, &client, (&issuer.url, &settings))?;
    let request = match dpop::is_sent(&received.headers) {
        false => request,
        true => {
            let uri = discovery::endpoint(&issuer.url, path::PUSHED_AUTHORIZATION_REQUEST);
            let nonce = settings.dpop_nonce_for(&client.settings);
            let profile = client.settings.profile;
            let asked = dpop::Asked { uri: &uri, access_token: None, nonce, profile, now };
            let proof = dpop::check(context, received, &asked)?;
            // The proof leaves no mark: sent again, it makes another request for the same key and nothing else.
            pushed_request::bind(request, &proof.thumbprint)?
        }
    };
    let request = request.into_boxed_slice();
    let end = now + LIFETIME;
    let by = PushedBy { client: &client.client_id, is_stranger };
    let id = app.store.keep_pushed_request(&issuer.id, by, request, end, &*app.random).await?;
    // RFC 9126 2.2: 201, and not to be cached.
    Ok(no_store(json(StatusCode::CREATED, pushed_request::answer(&id))))
}
