//! Plants users who sign in with a passkey: made without a password, and with a passkey that is registered through the login
//! API, which lets load scripts do so where the test endpoints are on.

use std::sync::{Arc, Mutex, PoisonError};

use super::plant::{CONNECTIONS, create_people, run_flow};
use super::{Seed, Steps};
use crate::LoadtestError;
use crate::admin::Admin;
use crate::scenario::{RegistrationVisitor, Visitor};

/// Adds so many of them to the seed.
pub(super) async fn plant(seed: Seed, count: usize, steps: &mut Steps<'_>) -> Result<Seed, LoadtestError> {
    let mut admin = Admin::connect(&seed.target).await?;
    let users = create_people((&mut admin, &mut *steps), "users without a password", count, None).await?;
    drop(admin);
    let (registered, shared) = (Arc::new(Mutex::new(Vec::new())), Arc::new(seed));
    let parts = users.chunks(users.len().div_ceil(CONNECTIONS).max(1));
    let visitors: Vec<_> = parts
        .map(|part| {
            let visitor = RegistrationVisitor::new(&shared, part.to_vec(), &registered);
            visitor.map(|visitor| Box::new(visitor) as Box<dyn Visitor>)
        })
        .collect::<Result<_, _>>()
        .map_err(|what| LoadtestError::Unseeded { scenario: "login-passkey", what })?;
    // One more per connection, for the turn that finds its part done.
    run_flow(&shared, "register passkeys", users.len() + visitors.len(), visitors).await?;
    let seed = Arc::into_inner(shared);
    let mut seed = seed.ok_or_else(|| LoadtestError::Options("the seed is still in use".into()))?;
    seed.passkeys = std::mem::take(&mut *registered.lock().unwrap_or_else(PoisonError::into_inner));
    steps.done("passkeys", seed.passkeys.len());
    Ok(seed)
}
