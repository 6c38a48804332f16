//! UserInfo (OpenID Connect Core 5.3), a protected resource by RFC 6750.

use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use symbolon_protocol::claim_definition::{ClaimSet, NO_CLAIMS};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::params::Params;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::user_claims::UserRecords;
use symbolon_protocol::userinfo;

use crate::client::definitions_for;
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
        app.access_tokens.verify(issuer, &token).ok_or_else(|| refused(context))?
    };
    let claims = &verified.claims;
    userinfo::check(claims, &issuer.url, now).map_err(Failure::Bearer)?;
    if app.revoked(issuer, &verified, durable).await? {
        return Err(refused(context));
    }
    check_limits(context, claims, now)?;
    if received.headers.contains_key(header::ORIGIN) {
        *client = app.store.client(&issuer.id, &claims.client_id).await?;
    }
    let defined = definitions_for(context, &claims.client_id).await?;
    let defined = defined.as_deref().unwrap_or(&NO_CLAIMS);
    let mut failures = Vec::new();
    let info = userinfo::claims(claims, records(context, claims, defined).await?)
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
        true => Some(app.store.entitlements(&issuer.id, &user).await?),
        false => None,
    };
    Ok(UserRecords { user: record, entitlements })
}

/// Counts the request for the token's user and client. A separate function, because within the handler's future the
/// user's id would take up space while the future waits for the store.
fn check_limits(context: &Context, claims: &AccessToken, now: Timestamp) -> Result<(), Limited> {
    let (limits, issuer, client) = (&context.app.rate_limits, &context.issuer.id, &claims.client_id);
    if let Some(user) = claims.user() {
        limits.check_userinfo_user(issuer, client, &user, now)?;
    }
    limits.check_client(EndpointClass::Userinfo, issuer, client, now)
}

/// The access token of a request: from the header or the form, never from the query (RFC 9700 4.3.2).
fn bearer(headers: &HeaderMap, form: &[u8]) -> Result<String, Failure> {
    let params = Params::parse(form).map_err(Failure::Bearer)?;
    let in_form = params.get("access_token").map_err(Failure::Bearer)?;
    let mut lines = headers.get_all(header::AUTHORIZATION).iter();
    if let Some(value) = lines.next() {
        // RFC 6750 2: clients MUST NOT use more than one method in each request.
        if in_form.is_some() || lines.next().is_some() {
            return Err(Failure::Bearer(OAuthError::invalid_request("the access token came more than once")));
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
    OAuthError::invalid_request("the Authorization header is not valid")
}

fn invalid_token() -> Failure {
    Failure::Bearer(OAuthError::new(
        ErrorCode::InvalidToken,
        "the access token is expired, revoked or not one of ours",
    ))
}

/// Counts an invalid token against the address that sent it.
fn refused(context: &Context) -> Failure {
    match context.app.rate_limits.check_address(EndpointClass::Userinfo, context.remote, context.app.now()) {
        Err(limited) => limited.into(),
        Ok(()) => invalid_token(),
    }
}
