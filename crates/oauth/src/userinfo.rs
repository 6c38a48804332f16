//! UserInfo (OpenID Connect Core 5.3), a protected resource by RFC 6750.

use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use symbolon_protocol::claim_definition::{ClaimSet, NO_CLAIMS};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::user_claims::UserRecords;
use symbolon_protocol::userinfo;

use crate::claim_definition::definitions_for;
use symbolon_app::http::{Call, Context, Failure, json, no_store};
use symbolon_app::rate_limit::{EndpointClass, Limited};
use symbolon_telemetry::RequestFacts;

/// `GET` and `POST /userinfo`. A POST may carry the token in a form (RFC 6750 2.2). A body of another type is ignored
/// rather than refused: a request without a token elsewhere gets a challenge (RFC 6750 3).
///
/// # Errors
/// [`Failure`]: the challenges of RFC 6750 3.1, 429.
pub(super) async fn userinfo(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let Context { app, issuer, .. } = &*context;
    let now = app.now();
    let verified = {
        let token = bearer(&received.headers, &received.form)?;
        app.access_tokens.verify(issuer, &token).map_err(|refusal| refused(context, refusal))?
    };
    let claims = &verified.claims;
    userinfo::check(claims, &issuer.url, now).map_err(Failure::Bearer)?;
    if app.revoked(issuer, &verified, durable).await? {
        let refusal = claims.refused(Reason::TokenRevoked);
        return Err(refused(context, refusal.naming(&claims.client_id)));
    }
    check_limits(context, claims, now)?;
    if received.headers.contains_key(header::ORIGIN) {
        *client = app.store.client(&issuer.id, &claims.client_id).await?;
    }
    let defined = definitions_for(context, &claims.client_id).await?;
    let defined = defined.as_deref().unwrap_or(&NO_CLAIMS);
    let records = records(context, claims, defined).await?;
    let mut failures = Vec::new();
    let info = userinfo::claims(claims, records, &issuer.settings.load().attributes)
        .map_err(Failure::Bearer)?
        .define(defined, &mut failures);
    app.note_failed_claims(issuer, &claims.client_id, &failures);
    RequestFacts::new().client_id(claims.client_id.as_str()).note();
    Ok(no_store(json(StatusCode::OK, info.to_json())))
}

/// The records of the token's user.
async fn records(context: &Context, token: &AccessToken, claims: &ClaimSet) -> Result<UserRecords, Failure> {
    let Context { app, issuer, .. } = context;
    let Some(user) = token.user() else { return Ok(UserRecords::default()) };
    let record = app.store.user(&issuer.id, &user).await?;
    let entitlements = match userinfo::needs_entitlements(token, claims) {
        true => Some(app.entitlements_to_tell(&issuer.id, &user).await?),
        false => None,
    };
    Ok(UserRecords { user: record, entitlements })
}

/// Counts the request for the token's user and client. A separate function, because within the handler's future the
/// user's id would take up space while the future waits for the store.
fn check_limits(context: &Context, claims: &AccessToken, now: Timestamp) -> Result<(), Failure> {
    let (limits, issuer, client) = (&context.app.rate_limits, &context.issuer.id, &claims.client_id);
    let limited = |limited: Limited, reason: Reason, user: Option<&UserId>| {
        let mut details = Details::of_client(client);
        if let Some(user) = user {
            details = details.user(user);
        }
        Failure::limited(limited, Refusal::about(reason, details))
    };
    if let Some(user) = claims.user() {
        limits
            .check_userinfo_user(issuer, client, &user, now)
            .map_err(|by_user| limited(by_user, Reason::UserRateLimited, Some(&user)))?;
    }
    limits
        .check_client(EndpointClass::Userinfo, issuer, client, now)
        .map_err(|by_client| limited(by_client, Reason::ClientRateLimited, None))
}

/// The access token of a request: from the header or the form, never from the query (RFC 9700 4.3.2).
fn bearer(headers: &HeaderMap, form: &[u8]) -> Result<String, Failure> {
    let params = Params::parse(form).map_err(Failure::Bearer)?;
    let in_form = params.get("access_token").map_err(Failure::Bearer)?;
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(value) = lines.next() {
        // RFC 6750 2: clients MUST NOT use more than one method in each request.
        if in_form.is_some() || lines.next().is_some() {
            let (reason, description) = (Reason::TokenSentTwice, "the access token came more than once");
            return Err(Failure::Bearer(OAuthError::invalid_request(reason, description)));
        }
        let text = value.to_str().map_err(|_| Failure::Bearer(malformed()))?;
        let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
        // RFC 9110 11.1: the scheme is case-insensitive.
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Failure::NoToken);
        }
        return Ok(token.trim().to_owned());
    }
    in_form.map(str::to_owned).ok_or(Failure::NoToken)
}

fn malformed() -> OAuthError {
    OAuthError::invalid_request(Reason::AuthorizationHeaderMalformed, "the Authorization header is not valid")
}

/// The challenge for an invalid token. The client is told the same whatever the reason.
fn invalid_token(refusal: Refusal) -> Failure {
    let description = "the access token is expired, revoked or not one of ours";
    let error = OAuthError::new(ErrorCode::InvalidToken, refusal.reason, description);
    Failure::Bearer(error.because(refusal))
}

/// Counts an invalid token against the address that sent it.
fn refused(context: &Context, refusal: Refusal) -> Failure {
    match context.app.rate_limits.check_address(EndpointClass::Userinfo, context.remote, context.app.now()) {
        Err(limited) => limited.into(),
        Ok(()) => invalid_token(refusal),
    }
}
