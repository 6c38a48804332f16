//! The second factor of a sign-in by the login API: a code of the person's generator, a recovery code, or a passkey. A session
//! steps up by the same call.
//!
//! Between the two calls nothing is stored, as between two pages: what was proven is sealed into the challenge, for ten minutes,
//! for the browser and the page that got it. It is used up by the factor that completes it. A passkey answers the same challenge.

use std::time::Duration;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use symbolon_pages::{AccountPlace, SecondFactorError};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::id::ClientId;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::SessionId;
use symbolon_protocol::sign_in::passkey::Assertion;
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::User;

use super::answer::with_session;
use super::{allowed_origin, body};
use crate::first_factor::FirstFactor;
use crate::interaction::session_of;
use crate::passkey_attempt::{ProvenPasskey, RefusedOnPage, prove_by, unknown};
use crate::passkey_challenge::{Ceremony, Challenge, refused, relying_party, unproven};
use crate::remembered_device;
use crate::second_factor_attempt::{Attempt, Refused};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::client_documents;
use symbolon_app::http::csrf::{Browser, INTERACTION_LIVES};
use symbolon_app::http::{Call, Failure, json as json_response, no_store};
use symbolon_app::rate_limit::Limited;
use symbolon_telemetry::RequestFacts;

/// The member that says what is asked for.
pub(super) const MEMBER: &str = "secondFactor";

/// What is told of a first factor that needs a second one.
const NEEDED: &str =
    "this account needs a second factor: prove one of those that are named, or sign in at the login page";
/// What is told where one is needed and the person has none.
const NOT_SET_UP: &str =
    "this account needs a second factor and has none: set one up at the page that is named";

/// What was proven, in the browser that waits for one factor more.
#[derive(Serialize, Deserialize)]
pub(super) struct SecondStep {
    /// The digest of its cookie.
    browser: String,
    /// The client that the application named.
    client: Option<ClientId>,
    first: FirstFactor,
}

impl Ceremony for SecondStep {
    const PURPOSE: &'static str = "second factor by the login API";
    // As long as on the pages.
    const LIVES: Duration = INTERACTION_LIVES;

    fn unknown() -> Failure {
        let told = "the challenge is too old, was answered already, or is of another browser: sign in again";
        unproven(Reason::SignInFormExpired, told, Details::default())
    }
}

/// A second factor that is asked for.
pub(super) struct Asked {
    /// What the application is told.
    pub(super) told: Value,
    /// The cookie of the browser that may answer.
    pub(super) cookie: Option<HeaderValue>,
}

/// Asks the page at `origin`, in the browser of a call, for one of the factors `ways` beside a first one.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn ask(
    call: &Call,
    origin: &str,
    (client, first): (Option<&ClientId>, FirstFactor),
    (ways, enrolled): (&[Factor], &AuthenticatorSet),
) -> Result<Asked, Failure> {
    let context = &call.context;
    let browser = Browser::of_or_new(&call.received.headers, &context.issuer, &*context.app.random);
    let (takes, is_voluntary) = (first.takes, first.is_voluntary());
    let step = SecondStep { browser: browser.digest(), client: client.cloned(), first };
    let challenge = Challenge::make(context, origin, step)?;
    let mut methods: Vec<&str> = ways.iter().filter_map(|way| name_of(*way)).collect();
    methods.dedup();
    let mut told = json!({
        "required": !is_voluntary,
        "methods": methods,
        "challengeId": challenge,
        "expiresIn": INTERACTION_LIVES.as_secs(),
        "rememberDays": remembered_device::days(&context.issuer),
    });
    if takes.passkey {
        let own = enrolled.passkeys.iter();
        let own = own.filter(|own| ways.contains(&Factor::Passkey { is_synced: own.is_synced }));
        let allowed: Vec<String> = own.map(|own| own.id.clone()).collect();
        let options = relying_party(context, origin)?.request_options(&allowed, &challenge);
        if let Value::Object(told) = &mut told {
            told.insert("options".to_owned(), options);
        }
    }
    Ok(Asked { told, cookie: browser.cookie(&context.issuer) })
}

/// The name of a second factor.
const fn name_of(way: Factor) -> Option<&'static str> {
    match way {
        Factor::Totp => Some("totp"),
        Factor::RecoveryCode => Some("recovery_code"),
        Factor::Passkey { .. } => Some("passkey"),
        Factor::Password | Factor::EmailCode | Factor::IdentityProvider | Factor::RememberedDevice => None,
    }
}

/// The answer to a first factor that needs a second one. It is no success, so that an application that does not know of second
/// factors signs nobody in; and no refusal of which administrators are told.
pub(super) fn needed(asked: Asked) -> Response {
    let mut response = not_yet(NEEDED, &asked.told);
    response.headers_mut().extend(asked.cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// The answer to who must bring a second factor and has none: where to set one up.
pub(super) fn not_set_up(call: &Call, user: &User, client: Option<&ClientId>) -> Response {
    let context = &call.context;
    let refusal = Refusal::about(Reason::SecondFactorNeeded, Details::of_user(&user.id));
    let told = Some((ErrorCode::AccessDenied.as_str(), NOT_SET_UP));
    context.refused(RefusedRequest { told, ..RefusedRequest::anonymous(refusal, client) });
    let page = format!("{}{}", context.issuer.url, AccountPlace::Security.path());
    not_yet(NOT_SET_UP, &json!({ "required": true, "methods": [], "setupUri": page }))
}

/// 403 `access_denied` (RFC 9110 15.5.4), with what is missing.
fn not_yet(description: &str, second_factor: &Value) -> Response {
    let error = ErrorCode::AccessDenied.as_str();
    RequestFacts::new().oauth_error(error).note();
    let body = json!({ "error": error, "error_description": description, MEMBER: second_factor });
    no_store(json_response(StatusCode::FORBIDDEN, body.to_string()))
}

#[derive(Deserialize)]
struct Answered {
    #[serde(rename = "challengeId")]
    challenge_id: String,
    code: Option<String>,
    credential: Option<Value>,
    #[serde(rename = "rememberDevice", default)]
    remember_device: bool,
}

/// What an application answers with.
enum Answer<'a> {
    /// A code of a generator, or a recovery code.
    Code(&'a str),
    /// What an authenticator made of the challenge.
    Credential(&'a Value),
}

impl Answered {
    /// The one factor that it has.
    ///
    /// # Errors
    /// 400
    fn factor(&self) -> Result<Answer<'_>, Failure> {
        match (&self.code, &self.credential) {
            (Some(code), None) => Ok(Answer::Code(code)),
            (None, Some(credential)) => Ok(Answer::Credential(credential)),
            _ => {
                let told = "the body has either code or credential";
                Err(OAuthError::invalid_request(Reason::MemberInvalid, told).into())
            }
        }
    }
}

/// `POST /api/auth/second-factor/verify`
///
/// # Errors
/// [`Failure`]
pub(super) async fn verify(call: &mut Call) -> Result<Response, Failure> {
    let origin = allowed_origin(call)?;
    let answered: Answered = body(call)?;
    let factor = answered.factor()?;
    let context = call.context.clone();
    let text = answered.challenge_id.as_str();
    let challenge = Challenge::<SecondStep>::open(&context, &origin, text)?;
    let SecondStep { client, first, .. } = &challenge.ceremony;
    let session = own_session(call, &challenge.ceremony).await?;
    if let Some(id) = client {
        call.client = client_documents::client(&context, id).await?.client();
    }
    let attempt = Attempt { context: &context, client: client.as_ref(), first, session };
    let proven = match factor {
        Answer::Code(code) => by_code(call, &attempt, (&challenge, text), code).await?,
        Answer::Credential(answer) => by_passkey(call, &attempt, (&challenge, text), answer).await?,
    };
    let proven = match proven {
        Ok(proven) => proven,
        Err(Refused { error, .. }) => return Ok(told(error)),
    };
    let user = context.app.store.user(&context.issuer.id, &first.user).await?;
    let (Some(user), Some(begun)) = (user, attempt.sign_in(call, None, &proven).await?) else {
        return Ok(unproven(Reason::SignInOvertaken, "sign in again", Details::default()).into_json());
    };
    let cookie = match answered.remember_device {
        true => remembered_device::cookie(&context, &user.id).await?,
        false => None,
    };
    let mut response = with_session(call, &user, &begun, json!({ "success": true }));
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// The browser's session, if that is the first factor, in the browser where the first factor was proven.
///
/// # Errors
/// 400 in any other browser.
async fn own_session(call: &mut Call, step: &SecondStep) -> Result<Option<SessionId>, Failure> {
    let Call { context, received, durable, .. } = call;
    let browser = Browser::of(&received.headers, &context.issuer);
    if !browser.is_some_and(|browser| browser.is(&step.browser)) {
        return Err(SecondStep::unknown());
    }
    if !step.first.is_voluntary() {
        return Ok(None);
    }
    let present = session_of(context, received, durable).await?;
    let own = present.filter(|(_, session)| step.first.is_session(session));
    own.map(|(id, _)| Some(id)).ok_or_else(SecondStep::unknown)
}

/// What is proven with a code. The challenge is used up with it: of many codes that complete it, one signs in.
async fn by_code(
    call: &mut Call,
    attempt: &Attempt<'_>,
    (challenge, text): (&Challenge<SecondStep>, &str),
    code: &str,
) -> Result<Result<Proven, Refused>, Failure> {
    let proven = attempt.check(code).await?;
    if proven.is_ok() {
        challenge.use_up(call, text).await?;
    }
    Ok(proven.map_err(Refused::from))
}

/// What is proven with a passkey of the person (WebAuthn 7.2, step 6: the user was identified before).
async fn by_passkey(
    call: &mut Call,
    attempt: &Attempt<'_>,
    challenge: (&Challenge<SecondStep>, &str),
    credential: &Value,
) -> Result<Result<Proven, Refused>, Failure> {
    let refused_here = |failure| RefusedOnPage { failure, unknown: None };
    let proving = async { prove(call, attempt, challenge, credential).await.map_err(refused_here) };
    attempt.check_passkey(proving).await
}

async fn prove(
    call: &mut Call,
    attempt: &Attempt<'_>,
    challenge: (&Challenge<SecondStep>, &str),
    credential: &Value,
) -> Result<ProvenPasskey, Failure> {
    let (context, wanted) = (attempt.context, &attempt.first.user);
    let details = || Details::of_user(wanted);
    let answer = Assertion::parse(credential.clone()).map_err(|why| refused(why, details()))?;
    let user = context.app.store.user(&context.issuer.id, wanted).await?;
    let user = user.filter(|user| user.may_sign_in()).ok_or_else(|| unknown(details()))?;
    if answer.user().is_some_and(|named| named != *wanted) {
        return Err(unknown(details()));
    }
    prove_by(call, challenge, &answer, user).await
}

/// The answer to an attempt that proved nothing, which is noted already.
fn told(error: SecondFactorError) -> Response {
    let (reason, told) = match error {
        SecondFactorError::Wrong => (Reason::SecondFactorWrong, "the code is wrong, or was used before"),
        SecondFactorError::PasskeyRefused => (Reason::PasskeyWrong, "the passkey was not accepted"),
        SecondFactorError::TooManyAttempts { retry_after_seconds } => {
            let limited = Limited { retry_after_seconds };
            return Failure::limited(limited, Reason::SignInRateLimited.into()).into_json();
        }
    };
    unproven(reason, told, Details::default()).into_json()
}
