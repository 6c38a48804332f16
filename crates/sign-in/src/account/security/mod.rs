//! What a person signs in with besides the password: passkeys, a generator of one-time passwords, recovery codes.
//!
//! Whoever changes it owns the account from then on (WebAuthn 13.4.1). So even looking wants a fresh sign-in, with both
//! factors where a second one is enrolled, and the person is told by mail.

mod change;
pub(in super::super) mod generator;
pub(in super::super) mod passkey;

use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use symbolon_crypto::encoding;
use symbolon_mail::Message;
use symbolon_pages::{AccountNotice, AccountPlace, PasskeyView, RecoveryCodesPage, SecurityPage};
use symbolon_protocol::authenticator::Passkey;
use symbolon_protocol::event::Event;
use symbolon_protocol::identity_provider::way_left::HeldWays;
use symbolon_protocol::params::Params;
use symbolon_protocol::sign_in::passkey::shown_name;
use symbolon_protocol::sign_in::recovery_code;
use symbolon_protocol::time::Timestamp;

use self::change::{change, change_beside_identities};
use super::{Person, Visitor, by_themselves, done, form, status, told, visitor};
use crate::login_page::{is_let_in_by_mail, offered_ways};
use crate::passkey_addition::has_room;
use crate::passkey_challenge::relying_party;
use crate::sign_in_goal::Freshness;
use crate::{credential_news, identity_provider, second_factor_policy};
use symbolon_app::http::{Call, Context, Failure, Policy};
use symbolon_crypto::secret::SecretString;

const PLACE: AccountPlace = AccountPlace::Security;

/// `GET /account/security`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    // After a change too: whoever writes `?done=` into an address has not changed anything.
    match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => {
            let notice = told(call);
            page(&call.context, &person, notice).await
        }
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/security`.
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
    if !person.accepts(call, &params, PLACE)? {
        return page(&call.context, &person, Some(AccountNotice::Expired)).await;
    }
    let changed = if let Some(id) = params.get("remove")? {
        remove_passkey(call, &person, id).await?
    } else if let Some(id) = params.get("connect")? {
        let at = (&person.browser, &*person.session);
        call.may_be_given_up();
        match identity_provider::connect(&call.context, at, id).await? {
            Ok(answer) => return Ok(answer),
            Err(notice) => Err(notice),
        }
    } else if let Some(id) = params.get("disconnect")? {
        identity_provider::disconnect(call, &person.user, id).await?
    } else if let Some(id) = params.get("rename")? {
        rename_passkey(call, &person, (id, params.get("name")?)).await?
    } else if params.get("generator")? == Some("remove") {
        remove_generator(call, &person).await?
    } else if params.get("recovery_codes")? == Some("new") {
        return new_recovery_codes(call, &person).await;
    } else {
        Err(AccountNotice::Expired)
    };
    match changed {
        Ok(notice) => Ok(done(call, PLACE, &notice)),
        Err(notice) => page(&call.context, &person, Some(notice)).await,
    }
}

/// What was done, or why not.
type Changed = Result<AccountNotice, AccountNotice>;

/// Removes a passkey. One that is gone already changes nothing.
async fn remove_passkey(call: &mut Call, person: &Person, id: &str) -> Result<Changed, Failure> {
    let context = &call.context;
    let (offered, by_mail) = (offered_ways(context), is_let_in_by_mail(context, &person.user));
    let password = person.hash(context).await?.is_some();
    let removed = change_beside_identities(context, &person.user.id, |set, identities| {
        let Some(place) = set.passkeys.iter().position(|own| own.id == id) else { return Ok(None) };
        let removed = set.passkeys.remove(place);
        let held = HeldWays { password, passkey: false, identities };
        if set.passkeys.is_empty() && !by_mail && !offered.let_in(held) {
            return Err(AccountNotice::LastWay);
        }
        Ok(Some(removed))
    });
    let removed = match removed.await? {
        Ok(removed) => removed,
        Err(notice) => return Ok(Err(notice)),
    };
    if let Some(Passkey { name, .. }) = removed {
        audit(context, person, Event::PasskeyRemoved, json!({ "passkey": name }));
        let at = context.app.now();
        tell(call, person, Message::PasskeyRemoved { name, at }).await;
    }
    Ok(Ok(AccountNotice::PasskeyRemoved))
}

async fn rename_passkey(
    call: &mut Call,
    person: &Person,
    (id, name): (&str, Option<&str>),
) -> Result<Changed, Failure> {
    let name = shown_name(name);
    let renamed = change(&call.context, &person.user.id, |set| {
        let own = set.passkeys.iter_mut().find(|own| own.id == id && own.name != name);
        Ok(own.map(|own| std::mem::replace(&mut own.name, name.clone())))
    });
    let renamed = match renamed.await? {
        Ok(renamed) => renamed,
        Err(notice) => return Ok(Err(notice)),
    };
    if let Some(before) = renamed {
        let changes = json!({ "changes": { "name": { "from": before, "to": name } } });
        audit(&call.context, person, Event::PasskeyRenamed, changes);
    }
    Ok(Ok(AccountNotice::Saved))
}

/// Removes the generator with the recovery codes, which stand in for it, unless everybody must have a second factor.
async fn remove_generator(call: &mut Call, person: &Person) -> Result<Changed, Failure> {
    let context = &call.context;
    if is_required(context, person).await? {
        return Ok(Err(AccountNotice::SecondFactorRequired));
    }
    let removed = change(context, &person.user.id, |set| {
        set.recovery_codes.clear();
        Ok(set.totp.take())
    });
    let removed = match removed.await? {
        Ok(removed) => removed,
        Err(notice) => return Ok(Err(notice)),
    };
    if removed.is_some() {
        audit(context, person, Event::TotpRemoved, json!({}));
        let at = context.app.now();
        tell(call, person, Message::GeneratorRemoved { at }).await;
    }
    Ok(Ok(AccountNotice::GeneratorRemoved))
}

/// Draws new recovery codes in place of the others, and shows them, once.
async fn new_recovery_codes(call: &mut Call, person: &Person) -> Result<Response, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let (stored, shown) = recovery_code::draw(&person.user.id, &issuer.sign_in_key, &*app.random);
    let drawn = change(&context, &person.user.id, |set| {
        if set.totp.is_none() {
            return Err(AccountNotice::ChangedMeanwhile);
        }
        set.recovery_codes.clone_from(&stored);
        Ok(Some(()))
    });
    if let Err(notice) = drawn.await? {
        return page(&context, person, Some(notice)).await;
    }
    audit(&context, person, Event::RecoveryCodesDrawn, json!({}));
    tell(call, person, Message::NewRecoveryCodes { at: app.now() }).await;
    recovery_codes_page(&context, person, &shown, &AccountNotice::Saved)
}

/// The page with new recovery codes, which leads on to the list.
fn recovery_codes_page(
    context: &Context,
    person: &Person,
    codes: &[SecretString],
    then: &AccountNotice,
) -> Result<Response, Failure> {
    let issuer = &context.issuer;
    let (prefix, word) = (&issuer.prefix, then.word().unwrap_or_default());
    let page = RecoveryCodesPage {
        language: person.language,
        issuer_name: issuer.display_name(),
        codes: codes.iter().map(|code| code.expose().to_owned()).collect(),
        continue_uri: format!("{prefix}{}?done={word}", PLACE.path()),
    };
    person.page(context, StatusCode::OK, page.render_for(prefix, &issuer.brand()))
}

/// Whether the person must have a second factor here.
async fn is_required(context: &Context, person: &Person) -> Result<bool, Failure> {
    let policy = second_factor_policy::policy(context, None, &person.user.id).await?;
    Ok(policy.needs_second_factor)
}

fn audit(context: &Context, person: &Person, event: Event, detail: serde_json::Value) {
    context.audit_change(event, &person.user.id, None, by_themselves(detail));
}

async fn tell(call: &mut Call, person: &Person, message: Message) {
    credential_news::tell(&call.context, &call.received, &person.user, message).await;
}

async fn page(
    context: &Context,
    person: &Person,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = context;
    let set = app.store.authenticators(&issuer.id, &person.user.id).await?.set;
    let providers = identity_provider::views(context, &person.user.id).await?;
    let policy = Policy { leads_to_client: !providers.is_empty(), ..Policy::default() };
    let status = status(notice.as_ref());
    let page = SecurityPage {
        providers,
        language: person.language,
        issuer_name: issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        may_add_passkey: has_room(&person.user, &set),
        rp_id: relying_party(context, issuer.origin())?.id().to_owned(),
        user_handle: encoding::encode(person.user.id.as_str().as_bytes()),
        generator: set.totp.as_ref().map(|totp| totp.added_at.millis()),
        is_required: is_required(context, person).await?,
        recovery_codes: set.recovery_codes.len(),
        passkeys: set.passkeys.into_iter().map(view).collect(),
    };
    person.page_with(context, (status, policy), page.render_for(&issuer.prefix, &issuer.brand()))
}

fn view(passkey: Passkey) -> PasskeyView {
    let Passkey { id, name, is_synced, created_at, last_used_at, .. } = passkey;
    let used = last_used_at.map(Timestamp::millis);
    PasskeyView { id, name, is_synced, added: created_at.millis(), used }
}
