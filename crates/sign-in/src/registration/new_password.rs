//! The password of a new account, and whether it needs one.

use symbolon_crypto::secret::SecretString;
use symbolon_pages::{NewPassword, PasswordFault};
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::sign_in::method::SignInMethod;

use super::applicant::Applicant;
use crate::chosen_password;
use crate::login_page::{offers, offers_mail};
use symbolon_app::http::{Context, Failure};

/// Whether a new account gets a password. It needs none where its proven address is a way to sign in; where passkeys are the
/// only other way, it does, because it has no passkey yet.
pub(super) fn new_password(context: &Context) -> NewPassword {
    match (offers_mail(context), offers(context, SignInMethod::Password)) {
        (true, false) => NewPassword::NotAsked,
        (true, true) => NewPassword::Optional,
        (false, _) => NewPassword::Required,
    }
}

/// The password that was typed, or none where the account needs none; or what is wrong with it.
///
/// # Errors
/// [`Failure`]: the parameter is repeated, or the password cannot be judged now.
pub(super) async fn typed(
    context: &Context,
    params: &Params<'_>,
    applicant: &Applicant,
) -> Result<Result<Option<SecretString>, PasswordFault>, Failure> {
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
    Ok(match chosen_password::fault(context, &typed, &draft).await? {
        Some(fault) => Err(fault),
        None => Ok(Some(typed)),
    })
}
