//! Creating a passkey right after a sign-in by password, or not now.
//!
//! It needs the session of that sign-in, in the browser of the interaction, and young (WebAuthn 13.4.1): whoever may add a
//! passkey owns the account from then on.

use std::sync::Arc;

use axum::response::Response;
use symbolon_mail::Message;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::sign_in::passkey::NewCredential;
use symbolon_protocol::user::User;

use crate::authorize::resume;
use crate::credential_news;
use crate::interaction::{Interaction, Page, PendingAuthorization, session_of};
use crate::login_page::append;
use crate::passkey_addition::add;
use crate::passkey_challenge::{Challenge, refused, relying_party, unknown};
use crate::passkey_offer_page::{self, Creating, not_now};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::{INTERACTION_LIVES, Purpose};
use symbolon_app::http::{Call, Context, Failure};

/// Somebody who may create a passkey: the session of the sign-in, and its user.
struct Holder {
    id: SessionId,
    session: Arc<Session>,
    user: Arc<User>,
}

impl Holder {
    async fn of(
        call: &mut Call,
        interaction: &Interaction<PendingAuthorization>,
    ) -> Result<Option<Self>, Failure> {
        let Call { context, received, durable, .. } = call;
        let Context { app, issuer, .. } = &*context;
        if !interaction.pending.offer_passkey {
            return Ok(None);
        }
        let Some((id, session)) = session_of(context, received, durable).await? else { return Ok(None) };
        let is_fresh = session.is_sign_in() && app.now().since(session.auth_time) <= INTERACTION_LIVES;
        let user = app.store.user(&issuer.id, &session.user).await?.filter(|user| user.may_sign_in());
        Ok(user.filter(|_| is_fresh).map(|user| Self { id, session, user }))
    }
}

/// `GET /login/passkey-offer`: the page, or on to the application.
///
/// # Errors
/// [`Failure`]
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let params = Params::parse(call.received.encoded())?;
    if params.get("transaction")?.is_none() {
        return Ok(crate::interaction::to_root(&call.context));
    }
    let interaction = Interaction::<PendingAuthorization>::open(&call.context, &call.received, &params)?;
    match Holder::of(call, &interaction).await? {
        Some(Holder { session, user, .. }) => {
            passkey_offer_page::page(&call.context, &interaction, (&session, &user), false).await
        }
        None => go_on(call, interaction).await,
    }
}

/// `POST /login/passkey-offer`.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let interaction = Interaction::<PendingAuthorization>::open(&call.context, &call.received, &params)?;
    let Some(holder) = Holder::of(call, &interaction).await? else { return go_on(call, interaction).await };
    let sid = holder.session.sid.as_str();
    if !interaction.accepts((&call.context, &call.received), &params, Purpose::PasskeyOffer, sid)? {
        note(
            &call.context,
            &interaction,
            Refusal::about(Reason::PageFormExpired, Details::of_user(&holder.user.id)),
        );
        return go_on(call, interaction).await;
    }
    if params.get("later")?.is_some() {
        let cookie = not_now(&call.context.issuer);
        let mut response = go_on(call, interaction).await?;
        append(response.headers_mut(), cookie);
        return Ok(response);
    }
    let credential = params.get("credential")?.unwrap_or_default();
    match create(call, &interaction, &holder, credential).await {
        Ok(()) => go_on(call, interaction).await,
        Err(Failure::OAuth(mut error) | Failure::Forbidden(mut error)) => {
            note(&call.context, &interaction, error.take_refusal());
            passkey_offer_page::page(&call.context, &interaction, (&holder.session, &holder.user), true).await
        }
        Err(failure) => Err(failure),
    }
}

/// Verifies the new credential (WebAuthn 7.1) and keeps it. One that the account has already was sent twice.
async fn create(
    call: &mut Call,
    interaction: &Interaction<PendingAuthorization>,
    holder: &Holder,
    credential: &str,
) -> Result<(), Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let user = &holder.user;
    let no = |why| refused(why, Details::of_user(&user.id));
    let credential = serde_json::from_str(credential).unwrap_or_default();
    let answer = NewCredential::parse(credential).map_err(no)?;
    let text = answer.challenge().map_err(no)?;
    let challenge = Challenge::<Creating>::open(&context, issuer.origin(), &text)?;
    let Creating { interaction: made_for, user: made_of } = &challenge.ceremony;
    if *made_for != interaction.form_id() || *made_of != user.id {
        return Err(unknown());
    }
    let enrolled = app.store.authenticators(&issuer.id, &user.id).await?;
    let party = relying_party(&context, issuer.origin())?;
    let added = party.register(&answer, &text, &enrolled.set.passkeys, None, app.now()).map_err(no)?;
    call.must_complete();
    challenge.use_up(call, &text).await?;
    // The session may have been ended elsewhere meanwhile.
    let session = app.store.session(&issuer.id, &holder.id, app.now()).await?.take(&mut call.durable);
    if session.is_none() {
        return Err(unknown());
    }
    let news = Message::NewPasskey { name: added.name.clone(), at: added.created_at };
    add(&context, user, &added, enrolled, true).await?;
    context.audit(Event::PasskeyAdded, Some(&user.id), None);
    credential_news::tell(&context, &call.received, user, news).await;
    Ok(())
}

fn note(context: &Context, interaction: &Interaction<PendingAuthorization>, refusal: Refusal) {
    context.refused(RefusedRequest::anonymous(refusal, interaction.pending.client_id().as_ref()));
}

/// On to the application, or to what it needs next.
async fn go_on(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
) -> Result<Response, Failure> {
    interaction.pending.offer_passkey = false;
    let session = session_of(&call.context, &call.received, &mut call.durable).await?;
    resume(call, interaction, session.map(|(id, _)| id), Page::Other).await
}
