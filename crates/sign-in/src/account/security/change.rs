//! Changing what a person has enrolled to prove who they are.

use symbolon_pages::AccountNotice;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::UserId;
use symbolon_store::StoreError;
use symbolon_store::port::{AuthenticatorUpdate, Enrolled};

use symbolon_app::http::{Context, Failure};

/// How often a change is made again because another request changed the user's authenticators meanwhile.
const TRIES: usize = 3;

/// What became of a change: what it did, or `None` where nothing was left to do; or why it was refused.
pub(super) type Change<T> = Result<Option<T>, AccountNotice>;

/// Changes what is stored now.
///
/// # Errors
/// [`Failure`]: the store is out of reach, or others changed it each time.
pub(super) async fn change<T>(
    context: &Context,
    user: &UserId,
    edit: impl Fn(&mut AuthenticatorSet) -> Change<T>,
) -> Result<Change<T>, Failure> {
    let (store, issuer) = (&context.app.store, &context.issuer.id);
    for _ in 0..TRIES {
        let Enrolled { revision, mut set } = store.authenticators(issuer, user).await?;
        let done = match edit(&mut set) {
            Ok(Some(done)) => done,
            nothing => return Ok(nothing),
        };
        match store.put_authenticators(issuer, user, revision, &set).await? {
            AuthenticatorUpdate::Written => return Ok(Ok(Some(done))),
            AuthenticatorUpdate::UserUnknown => return Ok(Err(AccountNotice::Expired)),
            AuthenticatorUpdate::Overtaken => {}
        }
    }
    Err(StoreError::Conflict.into())
}
