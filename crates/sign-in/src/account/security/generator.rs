//! Setting a generator of one-time passwords up, or another one in its place.
//!
//! Its secret is sealed into the page's form until the first code proves that the person has it.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use symbolon_crypto::encoding;
use symbolon_crypto::secret::SecretBytes;
use symbolon_mail::Message;
use symbolon_pages::{AccountNotice, GeneratorPage, SecondFactorSetup};
use symbolon_protocol::authenticator::Totp;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{Sid, UserId};
use symbolon_protocol::params::Params;
use symbolon_protocol::session::AuthenticationMethod;
use symbolon_protocol::sign_in::recovery_code;
use symbolon_protocol::sign_in::totp::TotpSecret;
use symbolon_protocol::time::Timestamp;

use super::change::change;
use super::{PLACE, audit, recovery_codes_page, tell};
use crate::account::{Person, Visitor, done, form, status, visitor};
use crate::login_page::append;
use crate::second_factor_attempt::{is_of_generator, seal_secret};
use crate::session_begin;
use crate::sign_in_goal::Freshness;
use symbolon_app::http::csrf::INTERACTION_LIVES;
use symbolon_app::http::{Call, Context, Failure};

/// The path of the page and its form.
pub(in super::super::super) const PATH: &str = "/account/security/generator";

/// The purpose of the seal.
const PURPOSE: &str = "account generator";

/// A generator that is being set up.
#[derive(Serialize, Deserialize)]
struct Setup {
    user: UserId,
    /// The session that the page was shown to.
    sid: Sid,
    begun_at: Timestamp,
    /// The secret, base64url.
    secret: String,
}

impl Setup {
    fn seal(context: &Context, person: &Person, secret: &TotpSecret) -> Result<String, Failure> {
        let setup = Self {
            user: person.user.id.clone(),
            sid: person.session.sid.clone(),
            begun_at: context.app.now(),
            secret: encoding::encode(secret.expose()),
        };
        let plain = serde_json::to_vec(&setup).map(SecretBytes::new);
        let plain = plain.map_err(|error| Failure::Internal(error.to_string()))?;
        let sealed = context.issuer.interactions.seal(PURPOSE, plain.expose());
        sealed.map_err(|error| Failure::Internal(error.to_string()))
    }

    /// The secret of a form that this person was shown lately.
    fn open(context: &Context, person: &Person, sealed: &str) -> Option<TotpSecret> {
        let opened = context.issuer.interactions.open(PURPOSE, sealed).ok()?;
        let setup: Self = serde_json::from_slice(opened.expose()).ok()?;
        let is_own = setup.user == person.user.id && setup.sid == person.session.sid;
        let is_recent = context.app.now().since(setup.begun_at) <= INTERACTION_LIVES;
        let secret = encoding::decode(&setup.secret).ok().filter(|_| is_own && is_recent)?;
        Some(TotpSecret::from_bytes(SecretBytes::new(secret)))
    }
}

/// `GET /account/security/generator`.
///
/// # Errors
/// [`Failure`]
pub(in super::super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => page(&call.context, &person, None, None),
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/security/generator`: the first code.
///
/// # Errors
/// [`Failure`]
pub(in super::super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::parse(&form)?;
    let accepted = person.accepts(call, &params, PLACE)?;
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let enrolled = app.store.authenticators(&issuer.id, &person.user.id).await?.set;
    let sealed = params.get("setup")?.filter(|_| accepted).unwrap_or_default();
    let Some(secret) = Setup::open(&context, &person, sealed) else {
        return page(&context, &person, None, Some(AccountNotice::Expired));
    };
    if is_of_generator(issuer, &person.user.id, (&enrolled, &secret)) {
        // The form was sent twice.
        return Ok(done(call, PLACE, &AccountNotice::GeneratorSet));
    }
    // Nothing can be guessed here: whoever sees the page has the secret.
    let Some(last_step) = secret.accepted_step(params.get("code")?.unwrap_or_default(), 0, app.now()) else {
        return page(&context, &person, Some(secret), Some(AccountNotice::WrongCode));
    };
    keep(call, &person, &secret, last_step).await
}

/// Keeps a generator whose owner has proven to have it, and shows the recovery codes, once.
async fn keep(
    call: &mut Call,
    person: &Person,
    secret: &TotpSecret,
    last_step: u64,
) -> Result<Response, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let (user, now) = (&person.user.id, app.now());
    let (codes, shown) = recovery_code::draw(user, &issuer.sign_in_key, &*app.random);
    let totp = Totp { secret: seal_secret(issuer, user, secret)?, added_at: now, last_step };
    let has_both = person.session.amr.contains(AuthenticationMethod::Mfa);
    let kept = change(&context, user, |set| {
        // One was set up elsewhere meanwhile: to replace it, it must have been proven.
        if set.totp.is_some() && !has_both {
            return Err(AccountNotice::ChangedMeanwhile);
        }
        set.totp = Some(totp.clone());
        set.recovery_codes.clone_from(&codes);
        Ok(Some(()))
    });
    if let Err(notice) = kept.await? {
        return page(&context, person, None, Some(notice));
    }
    audit(&context, person, Event::TotpAdded, json!({}));
    tell(call, person, Message::NewGenerator { at: now }).await;
    let mut response = recovery_codes_page(&context, person, &shown, &AccountNotice::GeneratorSet)?;
    if !has_both {
        // The code was a second factor, too: with it the session goes on, under a new id.
        let amr = person.session.amr.with(AuthenticationMethod::Otp).with(AuthenticationMethod::Mfa);
        if let Some(begun) = session_begin::step_up(call, &person.user, amr).await? {
            for cookie in begun.cookies(&context, &call.received) {
                append(response.headers_mut(), cookie);
            }
        }
    }
    Ok(response)
}

/// The page, with a new secret or with the one that it showed before.
fn page(
    context: &Context,
    person: &Person,
    secret: Option<TotpSecret>,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let issuer = &context.issuer;
    let secret = secret.unwrap_or_else(|| TotpSecret::draw(&*context.app.random));
    let key_uri = secret.key_uri(&issuer.display_name(), person.login_name());
    let setup = SecondFactorSetup::new(key_uri.expose(), secret.typed_form().expose());
    let status = status(notice.as_ref());
    let page = GeneratorPage {
        language: person.language,
        issuer_name: issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        setup: setup.map_err(|error| Failure::Internal(error.to_string()))?,
        sealed: Setup::seal(context, person, &secret)?,
    };
    person.page(context, status, page.render_for(&issuer.prefix, &issuer.brand()))
}
