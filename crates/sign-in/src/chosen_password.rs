//! Whether a password that somebody chooses is taken (NIST SP 800-63B 5.1.1.2).

use symbolon_crypto::secret::SecretString;
use symbolon_pages::PasswordFault;
use symbolon_protocol::password_policy::{self, PasswordFault as Fault};
use symbolon_protocol::user::User;

use symbolon_app::http::Context;
use symbolon_app::passwords::Busy;

/// What is wrong with it, as pages say it: by the rule, and by the list of breached passwords that the server may have.
///
/// # Errors
/// [`Busy`]: that list cannot be read now. The page keeps its form and says so.
pub(super) async fn fault(
    context: &Context,
    password: &SecretString,
    user: &User,
) -> Result<Option<PasswordFault>, Busy> {
    match password_policy::check(password.expose(), user) {
        Err(Fault::TooShort) => Ok(Some(PasswordFault::TooShort)),
        Err(Fault::TooLong) => Ok(Some(PasswordFault::TooLong)),
        Err(Fault::Common) => Ok(Some(PasswordFault::Common)),
        Err(Fault::OwnName) => Ok(Some(PasswordFault::OwnName)),
        Ok(()) => {
            let is_breached = context.app.passwords.is_breached(password).await?;
            Ok(is_breached.then_some(PasswordFault::Breached))
        }
    }
}
