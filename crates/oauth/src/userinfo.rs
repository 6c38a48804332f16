//! UserInfo (OpenID Connect Core 5.3), a protected resource by RFC 6750, RFC 8705 3 and RFC 9449 7.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use symbolon_protocol::claim_definition::{ClaimSet, NO_CLAIMS};
use symbolon_protocol::discovery::{endpoint, path};
use symbolon_protocol::dpop::{DpopNonce, Proof, check_binding, replayed};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::id::UserId;
use symbolon_protocol::mutual_tls;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::user_claims::UserRecords;
use symbolon_protocol::userinfo;

use crate::claim_definition::definitions_for;
use crate::{dpop, signed_answer};
use symbolon_app::client_documents;
use symbolon_app::http::{Call, Context, Failure, Received, json, no_store};
use symbolon_app::rate_limit::{EndpointClass, Limited};
use symbolon_telemetry::RequestFacts;

/// `GET` and `POST /userinfo`. A POST may carry the token in a form (RFC 6750 2.2). A body of another type is ignored
/// rather than refused: a request without a token elsewhere gets a challenge (RFC 6750 3).
///
/// # Errors
/// [`Failure`]: the challenges of RFC 6750 3.1 and RFC 9449 7.1, 429.
pub(super) async fn userinfo(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, client, .. } = call;
    let Context { app, issuer, .. } = &*context;
    let now = app.now();
    let (scheme, token) = presented(&received.headers, &received.form)?;
    let verified =
        app.access_tokens.verify(issuer, &token).map_err(|refusal| refused(context, scheme, refusal))?;
    // Kept only if a proof must name it.
    let token = Some(token).filter(|_| scheme == Scheme::Dpop);
    let claims = &verified.claims;
    userinfo::check(claims, &issuer.url, now).map_err(|error| scheme.failure(error))?;
    if app.revoked(issuer, &verified, durable).await? {
        let refusal = claims.refused(Reason::TokenRevoked);
        return Err(refused(context, scheme, refusal.naming(&claims.client_id)));
    }
    let proven = match token {
        // Boxed, like the use of the proof: most requests have none.
        Some(token) => Some(Box::pin(proof(context, received, &token, claims, now)).await?),
        None => {
            check_binding(claims.cnf.jkt.as_deref(), None)
                .map_err(|error| counted(context, Failure::Dpop(named(error, claims))))?;
            None
        }
    };
    if claims.cnf.x5t_s256.is_some() {
        check_certificate(context, scheme, claims)?;
    }
    check_limits(context, claims, now)?;
    if let Some(proven) = &proven
        && !Box::pin(dpop::use_once(context, (&proven.proof, &claims.client_id), now, durable)).await?
    {
        return Err(Failure::Dpop(named(replayed(), claims)));
    }
    if received.headers.contains_key(header::ORIGIN) {
        *client = Box::pin(client_documents::client(context, &claims.client_id)).await?.client();
    }
    let defined = definitions_for(context, &claims.client_id).await?;
    let defined = defined.as_deref().unwrap_or(&NO_CLAIMS);
    // Only where some client of the issuer gets JWTs is the client read for that.
    let may_be_signed = issuer.settings.load().clients_sign_userinfo;
    let recipient = match may_be_signed {
        true => Box::pin(signed_answer::userinfo_recipient(context, &claims.client_id)).await?,
        false => None,
    };
    let is_signed = recipient.as_ref().is_some_and(|client| client.userinfo_signed_response_alg.is_some());
    let records = records(context, claims, defined).await?;
    let mut failures = Vec::new();
    let body = {
        let info = userinfo::claims(claims, records, (&issuer.settings.load().attributes, now))
            .map_err(|error| scheme.failure(error))?
            .define(defined, &mut failures);
        if is_signed { info.to_signed_claims() } else { info.to_json() }
    };
    app.note_failed_claims(issuer, &claims.client_id, &failures);
    RequestFacts::new().client_id(claims.client_id.as_str()).note();
    let mut response = match recipient {
        None => no_store(json(StatusCode::OK, body)),
        Some(client) => Box::pin(signed_answer::of_userinfo(context, &client, &body, now)).await?,
    };
    if let Some(name) = interaction_id(context, received, claims) {
        response.headers_mut().insert(userinfo::INTERACTION_ID, name);
    }
    Ok(match proven {
        Some(Proven { nonce: DpopNonce::Required, .. }) => dpop::with_next_nonce(context, response, now),
        _ => response,
    })
}

/// FAPI 1.0 Baseline 6.2.1-11: the name that the client gave the request, or else a new one. Tokens of FAPI 1.0 are bound to a
/// certificate (FAPI 1.0 Advanced 6.2.1-1); where the token is not, nobody waits for a name.
fn interaction_id(context: &Context, received: &Received, claims: &AccessToken) -> Option<HeaderValue> {
    let sent = received.headers.get(userinfo::INTERACTION_ID);
    let sent = sent.filter(|name| userinfo::is_interaction_id(name.as_bytes()));
    if sent.is_some() || claims.cnf.x5t_s256.is_none() {
        return sent.cloned();
    }
    let mut random = [0; 16];
    context.app.random.fill(&mut random);
    HeaderValue::from_str(&userinfo::new_interaction_id(random)).ok()
}

/// A proof that came with a token.
struct Proven {
    proof: Box<Proof>,
    /// Whether the token's client needs nonces.
    nonce: DpopNonce,
}

/// The proof that came with a token by the scheme DPoP (RFC 9449 7.1).
async fn proof(
    context: &Context,
    received: &Received,
    token: &str,
    claims: &AccessToken,
    now: Timestamp,
) -> Result<Proven, Failure> {
    let Context { app, issuer, .. } = context;
    let client = app.store.client(&issuer.id, &claims.client_id).await?;
    let profile = client.as_ref().and_then(|client| client.settings.profile);
    let nonce = {
        let settings = issuer.settings.load();
        client.map_or(settings.dpop_nonce, |client| settings.dpop_nonce_for(&client.settings))
    };
    let uri = endpoint(&issuer.url, path::USERINFO);
    let asked = dpop::Asked { uri: &uri, access_token: Some(token), nonce, profile, now };
    let proof = dpop::check(context, received, &asked).map_err(|failure| match failure {
        // A client that is told its first nonce has done nothing wrong.
        Failure::Dpop(error) => counted(context, Failure::Dpop(named(error, claims))),
        failure => failure,
    })?;
    check_binding(claims.cnf.jkt.as_deref(), Some(&proof.thumbprint))
        .map_err(|error| counted(context, Failure::Dpop(named(error, claims))))?;
    Ok(Proven { proof, nonce })
}

/// Whether a bound token came with its certificate (RFC 8705 3: 401 and `invalid_token` if not).
#[cold]
fn check_certificate(context: &Context, scheme: Scheme, claims: &AccessToken) -> Result<(), Failure> {
    let presented = context.certificate_thumbprint().map_err(|error| scheme.failure(error))?;
    mutual_tls::check_binding(claims.cnf.x5t_s256.as_deref(), presented.as_deref())
        .map_err(|error| counted(context, scheme.failure(named(error, claims))))
}

/// Names the token's client, for the operator.
fn named(mut error: OAuthError, claims: &AccessToken) -> OAuthError {
    let refusal = error.take_refusal().naming(&claims.client_id);
    error.because(refusal)
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

/// How an access token was presented.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    /// RFC 6750.
    Bearer,
    /// RFC 9449 7.1.
    Dpop,
}

impl Scheme {
    /// The challenge for an error.
    fn failure(self, error: OAuthError) -> Failure {
        match self {
            Self::Bearer => Failure::Bearer(error),
            Self::Dpop => Failure::Dpop(error),
        }
    }
}

/// The access token of a request: from the header or the form, never from the query (RFC 9700 4.3.2).
fn presented(headers: &HeaderMap, form: &[u8]) -> Result<(Scheme, String), Failure> {
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
        let scheme = if scheme.eq_ignore_ascii_case("bearer") {
            Scheme::Bearer
        } else if scheme.eq_ignore_ascii_case("dpop") {
            Scheme::Dpop
        } else {
            return Err(Failure::NoToken { takes_dpop: true });
        };
        return Ok((scheme, token.trim().to_owned()));
    }
    in_form.map(|token| (Scheme::Bearer, token.to_owned())).ok_or(Failure::NoToken { takes_dpop: true })
}

fn malformed() -> OAuthError {
    OAuthError::invalid_request(Reason::AuthorizationHeaderMalformed, "the Authorization header is not valid")
}

/// The challenge for an invalid token. The client is told the same whatever the reason.
fn invalid_token(scheme: Scheme, refusal: Refusal) -> Failure {
    let description = "the access token is expired, revoked or not one of ours";
    let error = OAuthError::new(ErrorCode::InvalidToken, refusal.reason, description);
    scheme.failure(error.because(refusal))
}

/// Counts an invalid token against the address that sent it.
fn refused(context: &Context, scheme: Scheme, refusal: Refusal) -> Failure {
    counted(context, invalid_token(scheme, refusal))
}

fn counted(context: &Context, failure: Failure) -> Failure {
    match context.app.rate_limits.check_address(EndpointClass::Userinfo, context.remote, context.app.now()) {
        Err(limited) => limited.into(),
        Ok(()) => failure,
    }
}
