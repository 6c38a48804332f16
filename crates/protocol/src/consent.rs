//! Consent: the scopes that a user has allowed a client (OpenID Connect Core 3.1.2.4).

use serde::{Deserialize, Serialize};

use crate::scope::{InvalidScope, Scope};
use crate::time::Timestamp;

/// A stored consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// All scopes that were allowed and not withdrawn.
    pub scope: Scope,
    /// When it was last given.
    pub granted_at: Timestamp,
}

impl Consent {
    /// The consent after the user has allowed more: the union of both scopes, with the time of the later consent.
    ///
    /// # Errors
    /// [`InvalidScope`] if the union is longer than a scope may be.
    pub fn joined(&self, now: &Self) -> Result<Self, InvalidScope> {
        let scope = self.scope.union(&now.scope)?;
        Ok(Self { scope, granted_at: self.granted_at.max(now.granted_at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consent(scope: &str, at: u64) -> Consent {
        Consent { scope: Scope::parse(scope).unwrap(), granted_at: Timestamp::from_seconds(at) }
    }

    #[test]
    fn what_was_allowed_before_stays_allowed() {
        let before = consent("openid email", 7);
        assert_eq!(before.joined(&consent("email api", 9)), Ok(consent("openid email api", 9)));
        assert_eq!(before.joined(&consent("openid", 5)), Ok(consent("openid email", 7)));
        assert_eq!(before.joined(&consent(&"x".repeat(2_040), 9)), Err(InvalidScope));
    }
}
