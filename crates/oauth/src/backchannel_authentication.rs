//! Backchannel authentication requests (CIBA Core 7).

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use symbolon_protocol::backchannel_authentication::request::{
    BackchannelRequest, Hint, check_client, unknown_user,
};
use symbolon_protocol::backchannel_authentication::signed_request::{self, SignedRequest};
use symbolon_protocol::backchannel_authentication::{self as rule, AuthReqId, Notification};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_store::{Durable, StoreError};

use crate::client::{authenticate, client_limited};
use symbolon_app::backchannel_authentication::seal;
use symbolon_app::client_keys;
use symbolon_app::http::{Call, Context, Failure, json, no_store};
use symbolon_app::one_use;
use symbolon_app::rate_limit::Limited;

/// The longest `login_hint` that is looked up, in bytes.
const LONGEST_HINT: usize = 512;

/// When a client may come back that has as many requests waiting for a person as it may, in seconds.
const COME_BACK: u64 = 30;

/// The part of the room of marks that may be taken while signed requests still get one, in percent: the rest is for assertions and for
/// people who sign in.
const FOR_SIGNED_REQUESTS: u64 = 50;

/// `POST /bc-authorize`: keeps what a client asks a person for until somebody decides, and answers what the client polls by.
///
/// # Errors
/// [`Failure`]: `invalid_client`, `unauthorized_client`, `invalid_request`, `unknown_user_id`, `invalid_binding_message`,
/// `invalid_scope`, `invalid_target`, `invalid_authorization_details`, 429; 503 if the store has no room for one more.
pub(super) async fn ask(call: &mut Call) -> Result<Response, Failure> {
    let Call { endpoint, context, received, durable, client: asking, .. } = call;
    let form = endpoint.params(received)?;
    let now = context.app.now();
    // CIBA Core 7.1: clients authenticate as at the token endpoint.
    let client = authenticate(endpoint, context, &received.headers, &form, now, durable).await?;
    *asking = Some(Arc::clone(&client));
    check_client(&client)?;
    let (app, issuer) = (&context.app, &context.issuer);
    let settings = issuer.settings.load_full();
    let published = client_keys::of_request(context, &client, &form).await.map_err(of_ciba)?;
    let keys = client.verifying_keys(published.as_deref());
    let signed = signed_request::parameters(&form, &client, keys, &issuer.url, now)?;
    let inside = signed.as_ref().map(|signed| Params::parse(signed.form.as_bytes())).transpose()?;
    let params = inside.as_ref().unwrap_or(&form);
    let request = BackchannelRequest::check(params, &client, (&issuer.url, &settings), now)?;
    if let Some(signed) = &signed {
        use_once(context, &client, signed, durable).await?;
    }
    let hint = request.hint;
    let user = user(context, &client, hint).await?.ok_or_else(|| unknown_user(hint))?;
    let id = AuthReqId::draw(&issuer.id, &user, &*app.random);
    let told = request.notification_token.map(|token| Notification::new(&client.client_id, &id, token));
    let named = || StoreError::Failed("an auth_req_id has no name".to_owned());
    let name = id.parts(&issuer.id).ok_or_else(named)?.request;
    let told = told.map(|told| seal(issuer, &name, &told)).transpose()?;
    let asked = request.for_user(user, told);
    let answer = rule::answer(&id, &asked);
    let user = asked.user.clone();
    if !app.store.keep_backchannel_authentication(&issuer.id, &id, asked).await? {
        let details = Details::of_client(&client.client_id).user(&user);
        let refusal = Refusal::about(Reason::BackchannelRequestsTooMany, details);
        return Err(Failure::limited(Limited { retry_after_seconds: COME_BACK }, refusal));
    }
    // CIBA Core 7.3: 200, and not to be cached.
    Ok(no_store(json(StatusCode::OK, answer)))
}

/// CIBA Core 13 does not know `invalid_request_object`.
fn of_ciba(error: OAuthError) -> OAuthError {
    match error.code {
        ErrorCode::InvalidRequestObject => OAuthError { code: ErrorCode::InvalidRequest, ..error },
        _ => error,
    }
}

/// Who is meant; `None` if the hint names nobody who may sign in.
async fn user(context: &Context, client: &Client, hint: Hint<'_>) -> Result<Option<UserId>, Failure> {
    let (app, issuer) = (&context.app, &context.issuer);
    let found = match hint {
        Hint::Login(name) if name.len() > LONGEST_HINT => None,
        Hint::Login(name) => app.store.user_by_login(&issuer.id, name).await?.map(|(user, _)| user),
        Hint::IdToken(token) => {
            // CIBA Core 7.1: an ID token that was issued to this client; it may have expired.
            let hint = issuer.id_token_hint(Some(token));
            match hint.claims().filter(|claims| claims.aud == client.client_id) {
                Some(claims) => app.store.user(&issuer.id, &claims.sub).await?,
                None => None,
            }
        }
    };
    Ok(found.filter(|user| user.may_sign_in()).map(|user| user.id.clone()))
}

/// Marks a signed request as used: CIBA Core 7.1.1 has a `jti` in each, so that none is sent again. Marks count for the client like those
/// of its assertions.
async fn use_once(
    context: &Context,
    client: &Client,
    signed: &SignedRequest,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let (app, issuer) = (&*context.app, &*context.issuer);
    let now = app.now();
    let may_use = app.rate_limits.may_use_assertion(&issuer.id, &client.client_id, now);
    may_use.map_err(|limited| client_limited(limited, client))?;
    let room = app.store.figures().assertion_room();
    if room.is_taken_to(FOR_SIGNED_REQUESTS) {
        room.refuse();
        return Err(Failure::Unavailable { retry_after: 1 });
    }
    let used = one_use::use_once((app, issuer), "ciba", &signed.mark, signed.expires_at).await?;
    if !used.take(durable) {
        return Err(signed_request::replayed().into());
    }
    app.rate_limits.used_assertion(&issuer.id, &client.client_id, now);
    Ok(())
}
