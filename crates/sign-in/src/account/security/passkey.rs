//! Adding a passkey, by the rules of the login API: a discoverable credential with user verification, after a fresh sign-in
//! (WebAuthn 13.4.1). The page's script asks the browser for it; the form brings it.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use symbolon_mail::Message;
use symbolon_pages::{AccountNotice, NewPasskeyPage};
use symbolon_protocol::authenticator::Passkey;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{Sid, UserId};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::passkey::{Account, NewCredential};

use super::change::change;
use super::{PLACE, audit, tell};
use crate::account::{Person, Visitor, done, form, status, visitor};
use crate::passkey_addition::has_room;
use crate::passkey_challenge::{Ceremony, Challenge, reason_of, relying_party};
use crate::sign_in_goal::Freshness;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::{Call, Context, Failure};

/// The path of the page and its form.
pub(in super::super::super) const PATH: &str = "/account/security/passkey";

/// Adding a passkey on the account page.
#[derive(Serialize, Deserialize)]
struct Adding {
    user: UserId,
    /// The session that the page was shown to.
    sid: Sid,
}

impl Ceremony for Adding {
    const PURPOSE: &'static str = "account passkey";
}

/// `GET /account/security/passkey`.
///
/// # Errors
/// [`Failure`]
pub(in super::super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => page(&call.context, &person, None).await,
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/security/passkey`: the passkey that the browser has made.
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
    if !person.accepts(call, &params, PLACE)? {
        return page(&call.context, &person, Some(AccountNotice::Expired)).await;
    }
    let credential = params.get("credential")?.and_then(|text| serde_json::from_str(text).ok());
    let added = match credential {
        Some(credential) => add(call, &person, (credential, params.get("name")?)).await?,
        None => Err(AccountNotice::PasskeyFailed),
    };
    match added {
        Ok(()) => Ok(done(call, PLACE, &AccountNotice::PasskeyAdded)),
        Err(notice) => page(&call.context, &person, Some(notice)).await,
    }
}

/// Verifies the answer to this page's challenge, and keeps the passkey.
async fn add(
    call: &mut Call,
    person: &Person,
    (credential, name): (Value, Option<&str>),
) -> Result<Result<(), AccountNotice>, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let user = &person.user.id;
    let no = |reason| Ok(Err(refused(&context, user, reason)));
    let answer = match NewCredential::parse(credential) {
        Ok(answer) => answer,
        Err(why) => return no(reason_of(why)),
    };
    let known = app.store.authenticators(&issuer.id, user).await?.set.passkeys;
    if known.iter().any(|own| own.id == answer.credential_id()) {
        // The form was sent twice.
        return Ok(Ok(()));
    }
    let challenge = answer.challenge().ok().and_then(|text| {
        let open = Challenge::<Adding>::open(&context, issuer.origin(), &text).ok()?;
        let is_own = open.ceremony.user == *user && open.ceremony.sid == person.session.sid;
        is_own.then_some((open, text))
    });
    let Some((challenge, text)) = challenge else { return no(Reason::PasskeyChallengeUnknown) };
    let registered =
        relying_party(&context, issuer.origin())?.register(&answer, &text, &known, name, app.now());
    let added: Passkey = match registered {
        Ok(added) => added,
        Err(why) => return no(reason_of(why)),
    };
    challenge.use_up(call, &text).await?;
    let kept = change(&context, user, |set| {
        if set.passkeys.iter().any(|own| own.id == added.id) {
            return Ok(None);
        }
        if !has_room(&person.user, set) {
            return Err(AccountNotice::NoRoom);
        }
        set.passkeys.push(added.clone());
        Ok(Some(()))
    });
    match kept.await? {
        Ok(Some(())) => {}
        Ok(None) => return Ok(Ok(())),
        Err(notice) => return Ok(Err(notice)),
    }
    audit(&context, person, Event::PasskeyAdded, json!({ "passkey": added.name }));
    tell(call, person, Message::NewPasskey { name: added.name, at: app.now() }).await;
    Ok(Ok(()))
}

/// Notes why an answer is refused, and returns what the person is told.
fn refused(context: &Context, user: &UserId, reason: Reason) -> AccountNotice {
    let refusal = Refusal::about(reason, Details::of_user(user));
    context.refused(RefusedRequest::anonymous(refusal, None));
    AccountNotice::PasskeyFailed
}

async fn page(
    context: &Context,
    person: &Person,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = context;
    let (user, origin) = (&person.user, issuer.origin());
    let set = app.store.authenticators(&issuer.id, &user.id).await?.set;
    if !has_room(user, &set) {
        return super::page(context, person, Some(AccountNotice::NoRoom)).await;
    }
    let adding = Adding { user: user.id.clone(), sid: person.session.sid.clone() };
    let challenge = Challenge::make(context, origin, adding)?;
    let account = Account { user: &user.id, name: person.login_name(), display_name: person.name() };
    let options = relying_party(context, origin)?.creation_options(account, &set.passkeys, &challenge);
    let status = status(notice.as_ref());
    let page = NewPasskeyPage {
        language: person.language,
        issuer_name: issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        options: options.to_string(),
    };
    person.page(context, status, page.render_for(&issuer.prefix, &issuer.brand()))
}
