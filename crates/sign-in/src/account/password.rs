//! The person changes their password.

use axum::response::Response;
use serde_json::json;
use symbolon_crypto::encoding;
use symbolon_crypto::secret::SecretString;
use symbolon_mail::Message;
use symbolon_pages::{AccountNotice, AccountPlace, PasswordFault, PasswordPage};
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::user::PasswordHash;

use super::sessions::end_others;
use super::{Person, Visitor, by_themselves, done, form, status, told, visitor};
use crate::sign_in_goal::Freshness;
use crate::{chosen_password, credential_news};
use symbolon_app::http::{Call, Context, Failure, Received};
use symbolon_app::passwords::Busy;

const PLACE: AccountPlace = AccountPlace::Password;

/// `GET /account/password`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    // After a change too: whoever writes `?done=` into an address has not changed anything.
    match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => {
            let hash = person.hash(&call.context).await?;
            page(call, &person, hash.as_ref(), told(call))
        }
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/password`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::parse(&form)?;
    let hash = person.hash(&call.context).await?;
    if !person.accepts(call, &params, PLACE)? {
        return page(call, &person, hash.as_ref(), Some(AccountNotice::Expired));
    }
    match change(call, &person, hash.as_ref(), &params).await? {
        Ok(()) => Ok(done(call, PLACE, &AccountNotice::PasswordChanged)),
        Err(notice) => page(call, &person, hash.as_ref(), Some(notice)),
    }
}

/// Carries the form out.
async fn change(
    call: &mut Call,
    person: &Person,
    hash: Option<&PasswordHash>,
    params: &Params<'_>,
) -> Result<Result<(), AccountNotice>, Failure> {
    let typed = |name| params.get(name).map(|text| SecretString::new(text.unwrap_or_default().to_owned()));
    let (present, new, again) = (typed("present")?, typed("new")?, typed("again")?);
    let context = call.context.clone();
    // Nobody needs the hashes of who has gone.
    call.may_be_given_up();
    if params.get("state")? != Some(&*state(&context, hash)) {
        return Ok(sent_again((&context, &call.received), person, hash, new).await);
    }
    if let Some(notice) = fault(&context, person, &new, &again).await {
        return Ok(Err(notice));
    }
    if let Some(hash) = hash
        && let Err(notice) = person.verify((&context, &call.received), present, hash.clone()).await
    {
        return Ok(Err(notice));
    }
    let (app, issuer) = (&context.app, &context.issuer);
    let fairness = app.passwords.fairness_key(&issuer.id, person.login_name(), context.remote);
    let typed_again = SecretString::new(new.expose().to_owned());
    let Ok(made) = app.passwords.hash_anew(fairness, new).await else { return Ok(Err(AccountNotice::Busy)) };
    call.must_complete();
    // Only if it still is the password that was typed: an administrator may have set another one meanwhile, against
    // somebody who has this session.
    let is_set = match hash {
        Some(seen) => app.store.rehash_password(&issuer.id, &person.user.id, seen, made).await?,
        None => app.store.set_password(&issuer.id, &person.user.id, Some(made)).await?,
    };
    if !is_set {
        call.may_be_given_up();
        let now = person.hash(&context).await?;
        return Ok(sent_again((&context, &call.received), person, now.as_ref(), typed_again).await);
    }
    let detail = by_themselves(json!({ "password": "set", "changes": { "password": "changed" } }));
    context.audit_change(Event::UserUpdated, &person.user.id, None, detail);
    let message = Message::PasswordChanged { at: app.now() };
    credential_news::tell(&context, &call.received, &person.user, message).await;
    if params.get("end_others")?.is_some() {
        end_others(call, person).await?;
    }
    Ok(Ok(()))
}

/// The answer to a form that was shown for another password than the present one: it was sent twice, if the present
/// password is the one that it asks for. This is an attempt like any other, so it tells nobody more than the login page.
async fn sent_again(
    here: (&Context, &Received),
    person: &Person,
    hash: Option<&PasswordHash>,
    new: SecretString,
) -> Result<(), AccountNotice> {
    let hash = hash.ok_or(AccountNotice::ChangedMeanwhile)?;
    match person.verify(here, new, hash.clone()).await {
        Err(AccountNotice::WrongPassword) => Err(AccountNotice::ChangedMeanwhile),
        other => other,
    }
}

/// What is wrong with a new password, or that this cannot be said now.
async fn fault(
    context: &Context,
    person: &Person,
    new: &SecretString,
    again: &SecretString,
) -> Option<AccountNotice> {
    match chosen_password::fault(context, new, &person.user).await {
        Err(Busy { .. }) => Some(AccountNotice::Busy),
        Ok(Some(PasswordFault::TooShort)) => Some(AccountNotice::TooShort),
        Ok(Some(PasswordFault::TooLong)) => Some(AccountNotice::TooLong),
        Ok(Some(PasswordFault::Common)) => Some(AccountNotice::Common),
        Ok(Some(PasswordFault::Breached)) => Some(AccountNotice::Breached),
        Ok(Some(PasswordFault::OwnName)) => Some(AccountNotice::OwnName),
        Ok(None) if new.expose() != again.expose() => Some(AccountNotice::Differ),
        Ok(None) => None,
    }
}

/// Which password a page was shown for, without a word about it: a keyed digest of its salted hash.
fn state(context: &Context, hash: Option<&PasswordHash>) -> String {
    let hash = hash.map(PasswordHash::expose).unwrap_or_default();
    encoding::encode(&context.issuer.form_key.sign(&[b"password-state\0", hash.as_bytes()]))
}

fn page(
    call: &Call,
    person: &Person,
    hash: Option<&PasswordHash>,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let context = &call.context;
    let status = status(notice.as_ref());
    let page = PasswordPage {
        language: person.language,
        issuer_name: context.issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        login_name: person.login_name().to_owned(),
        has_password: hash.is_some(),
        state: state(context, hash),
    };
    person.page(context, status, page.render_for(&context.issuer.prefix, &context.issuer.brand()))
}
