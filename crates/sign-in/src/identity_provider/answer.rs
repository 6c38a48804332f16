//! What the answer of another provider does: signs in, connects, or opens an account.

use std::sync::Arc;

use axum::response::Response;
use serde_json::json;
use symbolon_crypto::random;
use symbolon_mail::Message;
use symbolon_pages::LoginError;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::identity_provider::decision::{Decision, Known, decide};
use symbolon_protocol::identity_provider::upstream_user::UpstreamUser;
use symbolon_protocol::identity_provider::{Identity, IdentityProvider};
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::User;
use symbolon_store::port::{IdentityCreation, IdentityLink};

use super::groups;
use crate::first_factor::Proof;
use crate::interaction::{Interaction, PendingAuthorization};
use crate::requesting_client::Asking;
use crate::session_begin::{SignIn, begin_for};
use crate::signed_in::signed_in;
use crate::{credential_news, login_page, second_factor, upstream_logout};
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::{Call, Context, Failure};

/// How often the accounts are looked at again because another request changed them meanwhile.
const TRIES: usize = 3;

/// Signs in whom the provider names, if the rule says so, and leads on.
///
/// # Errors
/// [`Failure`]
pub(super) async fn sign_in(
    call: &mut Call,
    (provider, upstream): (&IdentityProvider, &UpstreamUser),
    pending: PendingAuthorization,
) -> Result<Response, Failure> {
    let context = call.context.clone();
    let interaction = Interaction::begin(&context, &call.received, pending);
    let asking = Asking::of(&context, &interaction.pending).await?;
    call.client = asking.client().cloned();
    let user = user_of(call, provider, upstream).await?;
    let Some(user) = user.filter(|user| user.may_sign_in()) else {
        let refusal = Refusal::about(Reason::IdentityNotConnected, Details::default());
        let request = RefusedRequest::anonymous(refusal, asking.client_id());
        context.sign_in_failed(RefusedRequest { actor: Actor::User, ..request });
        let error = Some(LoginError::ProviderUnknown);
        return login_page::page(&context, &interaction, &asking, None, error);
    };
    groups::follow(&context, &user.id, &upstream.groups(provider)).await?;
    let proven = Proven::by(Factor::IdentityProvider, context.app.now());
    let assessed = second_factor::assess(call, &asking, &user, proven).await?;
    let (key, subject) = (provider.key.to_string(), upstream.subject.clone());
    if second_factor::is_needed(&assessed.step) {
        let proof = Proof::Identity { provider: key, subject };
        return second_factor::begin(call, interaction, (&user, proof), &assessed.step).await;
    }
    let by = SignIn { user: &user, amr: assessed.proven.amr(), client: asking.client_id() };
    let is_still = || is_still(&context, &user.id, (&key, &subject));
    match begin_for(call, &interaction, by, is_still).await? {
        Some(begun) => {
            let cookie = upstream_logout::cookie((&context, &call.received), &key, &begun.session)?;
            let mut response = signed_in(call, interaction, begun).await?;
            login_page::append(response.headers_mut(), cookie);
            Ok(response)
        }
        None => {
            let refusal = Refusal::about(Reason::SignInOvertaken, Details::of_user(&user.id));
            context.refused(RefusedRequest::anonymous(refusal, asking.client_id()));
            login_page::page(&context, &interaction, &asking, None, Some(LoginError::ProviderFailed))
        }
    }
}

/// Whether an identity is still a user's, and the user may sign in.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
async fn is_still(
    context: &Context,
    user: &UserId,
    (provider, subject): (&str, &str),
) -> Result<bool, Failure> {
    let Context { app, issuer, .. } = context;
    let identity = app.store.identity(&issuer.id, provider, subject).await?;
    let is_theirs = identity.is_some_and(|identity| identity.user == *user);
    Ok(is_theirs && app.store.user(&issuer.id, user).await?.is_some_and(|user| user.may_sign_in()))
}

/// The user whom the rule names; connected or made, if it says so. Begins anew if another request was faster.
async fn user_of(
    call: &mut Call,
    provider: &IdentityProvider,
    upstream: &UpstreamUser,
) -> Result<Option<Arc<User>>, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    call.must_complete();
    for _ in 0..TRIES {
        match decision(&context, provider, upstream).await? {
            Decision::SignIn(user) => return Ok(app.store.user(&issuer.id, &user).await?),
            Decision::Unknown(_) => return Ok(None),
            Decision::Connect(user) => {
                let identity = identity(&context, provider, upstream, user.clone());
                if app.store.link_identity(&issuer.id, identity).await? == IdentityLink::Linked {
                    let user = app.store.user(&issuer.id, &user).await?;
                    if let Some(user) = &user {
                        connected(call, provider, (user, "email")).await;
                    }
                    return Ok(user);
                }
            }
            Decision::SignUp => {
                let id = UserId::trusted(format!("u{}", random::token_128(&*app.random)));
                let mut user = upstream.new_user(provider, id.clone(), app.now());
                // Where the provider says nothing of it: the language in which the person came here.
                user.profile.locale.get_or_insert_with(|| call.language().tag().to_owned());
                let identity = identity(&context, provider, upstream, id);
                match app.store.create_user_with_identity(&issuer.id, user.clone(), identity).await? {
                    IdentityCreation::Created => {
                        let detail = json!({ "registered": true, "identity_provider": provider.id });
                        context.audit_change(Event::UserCreated, &user.id, None, detail);
                        return Ok(Some(Arc::new(user)));
                    }
                    IdentityCreation::OfAnother | IdentityCreation::UserExists => {}
                }
            }
        }
    }
    Ok(None)
}

async fn decision(
    context: &Context,
    provider: &IdentityProvider,
    upstream: &UpstreamUser,
) -> Result<Decision, Failure> {
    let Context { app, issuer, .. } = context;
    let identity = app.store.identity(&issuer.id, &provider.key, &upstream.subject).await?;
    let by_address = match (&identity, &upstream.verified_email) {
        (None, Some(address)) => app.store.user_by_login(&issuer.id, address).await?.map(|(user, _)| user),
        _ => None,
    };
    let has_identity = match &by_address {
        Some(user) => {
            let own = app.store.identities_of(&issuer.id, &user.id).await?;
            own.iter().any(|identity| identity.provider == provider.key)
        }
        None => false,
    };
    let known = Known {
        connected: identity.as_ref().map(|identity| &identity.user),
        by_address: by_address.as_deref(),
        has_identity,
    };
    Ok(decide(provider, upstream, known))
}

/// The identity of a user.
pub(super) fn identity(
    context: &Context,
    provider: &IdentityProvider,
    upstream: &UpstreamUser,
    user: UserId,
) -> Identity {
    Identity {
        provider: provider.key.clone(),
        subject: upstream.subject.clone(),
        user,
        label: upstream.label.clone(),
        linked_at: context.app.now(),
    }
}

/// Tells of a new connection: in the audit log, and the user by mail.
pub(super) async fn connected(call: &mut Call, provider: &IdentityProvider, (user, by): (&User, &str)) {
    let detail = json!({ "identity_provider": provider.id, "by": by });
    call.context.audit_change(Event::IdentityLinked, &user.id, None, detail);
    let message = Message::ProviderConnected { name: provider.name.clone(), at: call.context.app.now() };
    credential_news::tell(&call.context, &call.received, user, message).await;
}
