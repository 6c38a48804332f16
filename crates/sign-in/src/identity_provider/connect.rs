//! Connecting an account with other providers on the account page, and disconnecting it. Both want a fresh sign-in.

use axum::response::Response;
use serde_json::json;
use symbolon_mail::Message;
use symbolon_pages::{AccountNotice, AccountPlace, ProviderView};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{Sid, UserId};
use symbolon_protocol::identity_provider::IdentityProvider;
use symbolon_protocol::identity_provider::upstream_user::UpstreamUser;
use symbolon_protocol::session::Session;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::port::{IdentityLink, IdentityUnlink};

use super::state::Purpose;
use super::{answer, enabled, start};
use crate::credential_news;
use crate::interaction::session_of;
use crate::login_page::{is_let_in_by_mail, offered_ways};
use crate::sign_in_goal::Freshness;
use symbolon_app::http::csrf::Browser;
use symbolon_app::http::{Call, Context, Failure, redirect};

/// Back to the account page, with what was done, or why not.
pub(super) fn back(context: &Context, notice: &AccountNotice) -> Response {
    let word = notice.word().unwrap_or_default();
    redirect(true, &format!("{}{}?done={word}", context.issuer.prefix, AccountPlace::Security.path()))
}

/// The providers of the issuer, and which the account is connected with.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(in super::super) async fn views(context: &Context, user: &UserId) -> Result<Vec<ProviderView>, Failure> {
    let settings = context.issuer.settings.load_full();
    if settings.identity_providers.is_empty() {
        return Ok(Vec::new());
    }
    let own = context.app.store.identities_of(&context.issuer.id, user).await?;
    let view = |provider: &IdentityProvider| {
        let identity = own.iter().find(|identity| identity.provider == provider.key);
        (provider.enabled || identity.is_some()).then(|| ProviderView {
            id: provider.id.to_string(),
            name: provider.name.clone(),
            label: identity.and_then(|identity| identity.label.clone()),
            connected: identity.map(|identity| identity.linked_at.millis()),
        })
    };
    Ok(settings.identity_providers.iter().filter_map(view).collect())
}

/// Leads to a provider, to be connected with it. `Err`: why not.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn connect(
    context: &Context,
    (browser, session): (&Browser, &Session),
    id: &str,
) -> Result<Result<Response, AccountNotice>, Failure> {
    let Some(provider) = enabled(&context.issuer, id) else { return Ok(Err(AccountNotice::ConnectFailed)) };
    let purpose = Purpose::Connect { user: session.user.clone(), sid: session.sid.clone() };
    let to = start::address(context, &provider, (browser, purpose), (None, false)).await?;
    Ok(to.map(|to| redirect(true, &to)).ok_or(AccountNotice::ConnectFailed))
}

/// Connects the account of the session in which the person asked for it.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn finish(
    call: &mut Call,
    (provider, upstream): (&IdentityProvider, &UpstreamUser),
    (user, sid): (&UserId, &Sid),
) -> Result<Response, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let session = session_of(&context, &call.received, &mut call.durable).await?.map(|(_, session)| session);
    let session = session.filter(|session| session.user == *user && session.sid == *sid);
    let found = app.store.user(&issuer.id, user).await?.filter(|user| user.may_sign_in());
    let (Some(session), Some(found)) = (session, found) else {
        return Ok(back(&context, &AccountNotice::ConnectFailed));
    };
    if !Freshness::Fresh.is_met(&context, &session).await? {
        return Ok(back(&context, &AccountNotice::ConnectFailed));
    }
    let identity = answer::identity(&context, provider, upstream, user.clone());
    call.must_complete();
    Ok(match app.store.link_identity(&issuer.id, identity).await? {
        IdentityLink::Linked => {
            answer::connected(call, provider, (&found, "session")).await;
            back(&context, &AccountNotice::Connected)
        }
        IdentityLink::AlreadyLinked => back(&context, &AccountNotice::Connected),
        IdentityLink::OfAnother | IdentityLink::HasOther | IdentityLink::UserUnknown => {
            back(&context, &AccountNotice::ConnectFailed)
        }
    })
}

/// Disconnects an account from a provider, unless nothing would be left to sign in with.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(in super::super) async fn disconnect(
    call: &mut Call,
    user: &User,
    id: &str,
) -> Result<Result<AccountNotice, AccountNotice>, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let settings = issuer.settings.load_full();
    let provider = settings.identity_providers.iter().find(|own| own.id.as_str() == id);
    let Some(provider) = provider else { return Ok(Ok(AccountNotice::Disconnected)) };
    let offered = (!is_let_in_by_mail(&context, user)).then(|| offered_ways(&context));
    match app.store.unlink_identity(&issuer.id, &user.id, &provider.key, offered.as_ref()).await? {
        IdentityUnlink::LastWay => return Ok(Err(AccountNotice::LastWay)),
        IdentityUnlink::NotLinked => {}
        IdentityUnlink::Unlinked => {
            let detail = json!({ "identity_provider": provider.id });
            context.audit_change(Event::IdentityUnlinked, &user.id, None, detail);
            let at: Timestamp = app.now();
            let message = Message::ProviderDisconnected { name: provider.name.clone(), at };
            credential_news::tell(&context, &call.received, user, message).await;
        }
    }
    Ok(Ok(AccountNotice::Disconnected))
}
