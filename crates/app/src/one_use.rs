//! Marks of what may happen once in a sign-in: a try of a code, the use of a code or of a challenge.
//!
//! They are durable, and every node sees them at once. A mark is kept like the mark of a used client assertion, under a
//! name that no client can have. What sets marks must bound how many it sets: each needs room until 15 minutes after its
//! end, beside those of assertions.

use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::id::{ClientId, Jti};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::Use;
use symbolon_store::{Outcome, StoreError};

use crate::app::App;
use crate::issuer::IssuerState;

/// Sets the mark `name` of a kind at an issuer, until `expires_at`; returns whether this caller alone has set it.
/// `kind` and `name` have no space.
///
/// # Errors
/// [`StoreError`]: the store is out of reach, or has no room for marks.
pub async fn use_once(
    (app, issuer): (&App, &IssuerState),
    kind: &'static str,
    name: &str,
    expires_at: Timestamp,
) -> Result<Outcome<bool>, StoreError> {
    let mark = AssertionUse {
        client_id: ClientId::trusted("sign-in"),
        // A client's key has a thumbprint of base64url, in which there is no colon.
        key_thumbprint: format!("{}:{kind}", issuer.id).into(),
        jti: Jti::trusted(name),
        expires_at,
    };
    Ok(app.store.use_assertion(&issuer.id, &mark).await?.map(|used| used == Use::First))
}
