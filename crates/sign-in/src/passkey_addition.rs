//! Adding a passkey to what a user has enrolled.

use symbolon_protocol::authenticator::{AuthenticatorSet, MOST_PASSKEYS, Passkey};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::sign_in::passkey::LONGEST_HANDLE;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::{AuthenticatorUpdate, Enrolled};

use symbolon_app::http::{Context, Failure};

/// The error for somebody who may not add a passkey.
pub(super) fn not_allowed() -> Failure {
    let told = "sign in at this account first, and add the passkey soon after";
    forbidden(Reason::PasskeyNotAllowed, told, Details::default())
}

/// Whether the account may have one more passkey.
pub(super) fn has_room(user: &User, set: &AuthenticatorSet) -> bool {
    set.passkeys.len() < MOST_PASSKEYS && user.id.as_str().len() <= LONGEST_HANDLE
}

/// Refuses an account that may have no more passkeys.
///
/// # Errors
/// 403
pub(super) fn check_room(user: &User, set: &AuthenticatorSet) -> Result<(), Failure> {
    if has_room(user, set) {
        return Ok(());
    }
    let told = "the account can have no more passkeys";
    Err(forbidden(Reason::PasskeyNoRoom, told, Details::of_user(&user.id)))
}

fn forbidden(reason: Reason, told: &'static str, details: Details) -> Failure {
    Failure::Forbidden(OAuthError::new(ErrorCode::AccessDenied, reason, told).about(details))
}

/// Adds a passkey to what is enrolled, unless somebody else has changed that twice in the meantime. Of many who add the
/// first one without a session, one wins.
///
/// # Errors
/// 403 if there is no room, or another one was added meanwhile and there is no session.
pub(super) async fn add(
    context: &Context,
    user: &User,
    added: &Passkey,
    enrolled: Enrolled,
    has_session: bool,
) -> Result<AuthenticatorSet, Failure> {
    let Context { app, issuer, .. } = context;
    let Enrolled { mut revision, mut set } = enrolled;
    for _ in 0..2 {
        if set.passkeys.iter().any(|own| own.id == added.id) {
            return Err(not_allowed());
        }
        check_room(user, &set)?;
        set.passkeys.push(added.clone());
        match app.store.put_authenticators(&issuer.id, &user.id, revision, &set).await? {
            AuthenticatorUpdate::Written => return Ok(set),
            AuthenticatorUpdate::UserUnknown => return Err(not_allowed()),
            AuthenticatorUpdate::Overtaken if !has_session => return Err(not_allowed()),
            AuthenticatorUpdate::Overtaken => {
                Enrolled { revision, set } = app.store.authenticators(&issuer.id, &user.id).await?;
            }
        }
    }
    Err(StoreError::Conflict.into())
}
