//! The account of somebody who has proven the address, and the way on from there.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use symbolon_crypto::random;
use symbolon_crypto::secret::SecretString;
use symbolon_pages::{Language, Notice};
use symbolon_protocol::event::Event;
use symbolon_protocol::group::Membership;
use symbolon_protocol::id::UserId;
use symbolon_protocol::role::{GivenRole, RoleHolder};
use symbolon_protocol::sign_in::invitation::Invitation;
use symbolon_protocol::sign_in::registration::Standing;
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::port::{Created, MemberAddition, RoleGrant};

use super::PendingRegistration;
use super::applicant::Applicant;
use crate::interaction::{Interaction, PendingAuthorization, root};
use crate::login_page::append;
use crate::notice_page::notice;
use crate::requesting_client::Asking;
use crate::sent_twice::{self, Looks};
use crate::session_begin::{self, Begun, SignIn, may_sign_in};
use crate::signed_in::signed_in;
use crate::user_change::give_up_claim;
use crate::{code_attempt, login_page, onward, second_factor_policy};
use symbolon_app::http::{Call, Context, Failure, redirect};
use symbolon_app::registration::use_invitation;

/// Why no account was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// Too many passwords wait to be hashed. Nothing was used up.
    Busy,
    /// The code or the invitation was used before.
    UsedUp,
    /// The address has an account by now.
    Exists,
    /// A value that must be unique is another user's.
    Taken,
}

/// Opens the account of somebody who has proven the address. The language of the pages stays with it, as the `locale` in which mail is
/// written. On return it is durable.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn open(
    call: &mut Call,
    pending: &PendingRegistration,
    (applicant, language): (&Applicant, Language),
    password: Option<SecretString>,
) -> Result<Result<Arc<User>, NotOpened>, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, remote, .. } = &context;
    let hash = match password {
        Some(password) => {
            let fairness = app.passwords.fairness_key(&issuer.id, &applicant.email, *remote);
            let Ok(hash) = app.passwords.hash_anew(fairness, password).await else {
                return Ok(Err(NotOpened::Busy));
            };
            Some(hash)
        }
        None => None,
    };
    call.must_complete();
    let opened = create(&context, pending, (applicant, language), hash).await?;
    if opened.is_err() {
        call.may_be_given_up();
    }
    Ok(opened)
}

/// Uses code and invitation up, and creates the user. The marks come first: a crash between the two fails closed.
async fn create(
    context: &Context,
    pending: &PendingRegistration,
    (applicant, language): (&Applicant, Language),
    hash: Option<PasswordHash>,
) -> Result<Result<Arc<User>, NotOpened>, Failure> {
    let Context { app, issuer, .. } = context;
    if let Some(code) = &pending.code
        && !code_attempt::use_up(context, code).await?.told().await?
    {
        return Ok(Err(NotOpened::UsedUp));
    }
    if let Some(invitation) = &pending.invitation {
        let (at, own) = ((&**app, &**issuer), (invitation.id.as_str(), invitation.expires_at));
        let is_live = invitation.is_live(app.now());
        if !is_live || !use_invitation(at, own).await?.told().await? {
            return Ok(Err(NotOpened::UsedUp));
        }
    }
    let found = app.store.user_by_login(&issuer.id, &applicant.email).await?.map(|(user, _)| user);
    match (Standing::of(&applicant.email, found.as_deref()), found) {
        (Standing::Proven, _) => return Ok(Err(NotOpened::Exists)),
        (Standing::Claimed, Some(claimant)) => give_up_claim(context, &claimant).await?,
        (Standing::Claimed | Standing::Free, _) => {}
    }
    let id = UserId::trusted(format!("u{}", random::token_128(&*app.random)));
    let mut user = applicant.user(id, app.now());
    user.profile.locale = Some(language.tag().to_owned());
    if app.store.create_user(&issuer.id, user.clone(), hash).await? == Created::Exists {
        let is_there = app.store.user_by_login(&issuer.id, &applicant.email).await?.is_some();
        return Ok(Err(if is_there { NotOpened::Exists } else { NotOpened::Taken }));
    }
    let invitation = pending.invitation.as_ref().map(|invitation| invitation.id.clone());
    let detail = serde_json::json!({ "registered": true, "invitation": invitation });
    context.audit_change(Event::UserCreated, &user.id, None, detail);
    if let Some(invitation) = &pending.invitation {
        give(context, invitation, &user.id).await?;
    }
    Ok(Ok(Arc::new(user)))
}

/// Gives what an invitation gives. A group or role that was deleted since is left out.
async fn give(context: &Context, invitation: &Invitation, user: &UserId) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    for group in &invitation.groups {
        let membership = Membership { group: group.clone(), user: user.clone() };
        let outcome = app.store.add_member(&issuer.id, membership).await?;
        if outcome == MemberAddition::Added {
            let detail = serde_json::json!({ "group_id": group, "invitation": invitation.id });
            context.audit_change(Event::MemberAdded, user, None, detail);
        } else {
            tracing::info!(?outcome, group_id = %group, "a group of an invitation was not given");
        }
    }
    for role in &invitation.roles {
        let given = GivenRole { role: role.clone(), holder: RoleHolder::User(user.clone()) };
        let outcome = app.store.give_role(&issuer.id, given).await?;
        if outcome == RoleGrant::Given {
            let detail = serde_json::json!({ "role_id": role, "invitation": invitation.id });
            context.audit_change(Event::RoleGiven, user, None, detail);
        } else {
            tracing::info!(?outcome, role_id = %role, "a role of an invitation was not given");
        }
    }
    Ok(())
}

/// Signs somebody in who has just registered, and leads on. Where a second factor is required, the sign-in page sets one up.
///
/// # Errors
/// [`Failure`]
pub(super) async fn sign_in(
    call: &mut Call,
    interaction: Interaction<PendingRegistration>,
    user: &User,
) -> Result<Response, Failure> {
    let context = call.context.clone();
    if let Some(answer) = to_second_factor(call, &interaction, user).await? {
        return Ok(answer);
    }
    let wanted = interaction.pending.authorization.clone();
    let amr = Proven::by(Factor::EmailCode, context.app.now()).amr();
    let sign_in = SignIn { user, amr, client: None };
    let is_still = async || may_sign_in(&context, user).await;
    match session_begin::begin_for(call, &interaction, sign_in, is_still).await? {
        Some(begun) => lead_on(call, wanted, begun).await,
        // Deactivated in the meantime.
        None => Ok(redirect(true, &root(&context))),
    }
}

/// Leads on to the sign-in page, where a second factor is required. `None`: it is not.
async fn to_second_factor(
    call: &mut Call,
    interaction: &Interaction<PendingRegistration>,
    user: &User,
) -> Result<Option<Response>, Failure> {
    let context = call.context.clone();
    let wanted = interaction.pending.authorization.as_ref();
    let asking = match wanted {
        Some(wanted) => Some(Asking::of(&context, wanted).await?),
        None => None,
    };
    // Also by a role that an invitation brought.
    let asked = asking.as_ref().and_then(Asking::wanted);
    let policy = second_factor_policy::policy(&context, asked, &user.id).await?;
    call.client = asking.as_ref().and_then(Asking::client).cloned();
    if !policy.needs_second_factor {
        return Ok(None);
    }
    let to = onward::sign_in_page(&context, &call.received, wanted)?;
    Ok(Some(onward::lead(&call.received, &to, interaction.browser.cookie(&context.issuer))))
}

/// Leads somebody on who is signed in now.
async fn lead_on(
    call: &mut Call,
    wanted: Option<PendingAuthorization>,
    begun: Begun,
) -> Result<Response, Failure> {
    if let Some(wanted) = wanted {
        let onward = Interaction::begin(&call.context, &call.received, wanted);
        return signed_in(call, onward, begun).await;
    }
    let mut response = redirect(true, &onward::account(&call.context));
    for cookie in begun.cookies(&call.context, &call.received) {
        append(response.headers_mut(), cookie);
    }
    Ok(response)
}

/// The answer to who has proven the address with a code or an invitation that was used before, perhaps by this form: into the
/// session that it began, or to the sign-in page; `None` if nobody has the address.
///
/// # Errors
/// [`Failure`]
pub(super) async fn opened_before(
    call: &mut Call,
    interaction: &Interaction<PendingRegistration>,
    email: &str,
) -> Result<Option<Response>, Failure> {
    let Context { app, issuer, .. } = &call.context;
    if interaction.pending.invitation.as_ref().is_some_and(|invitation| !invitation.is_live(app.now())) {
        return Ok(None);
    }
    let mut looks = Looks::begin();
    let user = loop {
        let found = app.store.user_by_login(&issuer.id, email).await?.map(|(user, _)| user);
        let proven = found.filter(|user| Standing::of(email, Some(user)) == Standing::Proven);
        if let Some(user) = proven {
            break user;
        }
        if !looks.again().await {
            return Ok(None);
        }
    };
    if !user.may_sign_in() {
        return Ok(None);
    }
    if let Some(answer) = to_second_factor(call, interaction, &user).await? {
        return Ok(Some(answer));
    }
    match sent_twice::begun((&call.context, &call.received), interaction, &user).await? {
        Some(begun) => lead_on(call, interaction.pending.authorization.clone(), begun).await.map(Some),
        None => exists(call, &interaction.pending).map(Some),
    }
}

/// The page for who has proven an address that has an account by now. Only its owner sees it.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn exists(call: &Call, pending: &PendingRegistration) -> Result<Response, Failure> {
    let wanted = pending.authorization.as_ref();
    let to = onward::page_with(&call.context, &call.received, wanted, login_page::PATH)?;
    notice((&call.context, call.language()), StatusCode::CONFLICT, Notice::AccountExists, to)
}
