//! The password of a new account, and whether it needs one.

use symbolon_crypto::secret::SecretString;
use symbolon_pages::{MailedCodeError, NewPassword, PasswordFault, RegisterError};
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::sign_in::method::SignInMethod;

use super::applicant::Applicant;
use crate::chosen_password;
use crate::login_page::{offers, offers_mail};
use symbolon_app::http::{Context, Failure};
use symbolon_app::passwords::Busy;

/// Whether a new account gets a password. It needs none where its proven address is a way to sign in; where passkeys are the
/// only other way, it does, because it has no passkey yet.
pub(super) fn new_password(context: &Context) -> NewPassword {
    match (offers_mail(context), offers(context, SignInMethod::Password)) {
        (true, false) => NewPassword::NotAsked,
        (true, true) => NewPassword::Optional,
        (false, _) => NewPassword::Required,
    }
}

/// Why a password is not taken.
pub(super) enum NotTaken {
    /// What is wrong with it.
    Fault(PasswordFault),
    /// It cannot be judged now.
    Busy,
}

impl From<NotTaken> for MailedCodeError {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::Fault(fault) => Self::Password(fault),
            NotTaken::Busy => Self::Busy,
        }
    }
}

impl From<NotTaken> for RegisterError {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::Fault(fault) => Self::Password(fault),
            NotTaken::Busy => Self::Busy,
        }
    }
}

/// The password that was typed, or none where the account needs none; or why it is not taken.
///
/// # Errors
/// [`Failure`]: the parameter is repeated.
pub(super) async fn typed(
    context: &Context,
    params: &Params<'_>,
    applicant: &Applicant,
) -> Result<Result<Option<SecretString>, NotTaken>, Failure> {
    let typed = params.get("password")?.unwrap_or_default();
    let is_left_out = match new_password(context) {
        NewPassword::NotAsked => true,
        NewPassword::Optional => typed.is_empty(),
        NewPassword::Required => false,
    };
    if is_left_out {
        return Ok(Ok(None));
    }
    let draft = applicant.user(UserId::trusted("new"), context.app.now());
    let typed = SecretString::new(typed.to_owned());
    Ok(match chosen_password::fault(context, &typed, &draft).await {
        Ok(None) => Ok(Some(typed)),
        Ok(Some(fault)) => Err(NotTaken::Fault(fault)),
        Err(Busy { .. }) => Err(NotTaken::Busy),
    })
}
