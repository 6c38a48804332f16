//! Changing what a person has enrolled to prove who they are.

use symbolon_pages::AccountNotice;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::UserId;
use symbolon_protocol::identity_provider::Identity;
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
        let enrolled = store.authenticators(issuer, user).await?;
        if let Some(done) = attempt(context, user, enrolled, &edit).await? {
            return Ok(done);
        }
    }
    Err(StoreError::Conflict.into())
}

/// The same for a change that depends on the identities that the person has. They are read after the authenticators, whose
/// revision grows when an identity goes: so what they allow still holds when the change is written.
///
/// # Errors
/// [`Failure`]: the store is out of reach, or others changed it each time.
pub(super) async fn change_beside_identities<T>(
    context: &Context,
    user: &UserId,
    edit: impl Fn(&mut AuthenticatorSet, &[Identity]) -> Change<T>,
) -> Result<Change<T>, Failure> {
    let (store, issuer) = (&context.app.store, &context.issuer.id);
    for _ in 0..TRIES {
        let enrolled = store.authenticators(issuer, user).await?;
        let identities = store.identities_of(issuer, user).await?;
        if let Some(done) = attempt(context, user, enrolled, |set| edit(set, &identities)).await? {
            return Ok(done);
        }
    }
    Err(StoreError::Conflict.into())
}

/// Changes what was read; `None` if another request was faster.
async fn attempt<T>(
    context: &Context,
    user: &UserId,
    Enrolled { revision, mut set }: Enrolled,
    edit: impl Fn(&mut AuthenticatorSet) -> Change<T>,
) -> Result<Option<Change<T>>, Failure> {
    let done = match edit(&mut set) {
        Ok(Some(done)) => done,
        nothing => return Ok(Some(nothing)),
    };
    let (store, issuer) = (&context.app.store, &context.issuer.id);
    Ok(match store.put_authenticators(issuer, user, revision, &set).await? {
        AuthenticatorUpdate::Written => Some(Ok(Some(done))),
        AuthenticatorUpdate::UserUnknown => Some(Err(AccountNotice::Expired)),
        AuthenticatorUpdate::Overtaken => None,
    })
}
