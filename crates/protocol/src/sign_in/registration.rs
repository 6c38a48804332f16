//! Registration: who may open an account, and what becomes of an address that somebody else's account names.

use serde::{Deserialize, Serialize};

use crate::attribute::{AttributeDefinition, AttributeSchema, Party};
use crate::id::UserId;
use crate::precis::login_key;
use crate::user::User;

/// Who may open an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// Nobody: administrators make the accounts.
    Closed,
    /// Everybody who reads the mail of the address that they give.
    Open,
    /// Who was invited.
    Invited,
}

/// What an address is to the accounts that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No account has it.
    Free,
    /// An account has it, and its owner has proven it.
    Proven,
    /// An account names it, and nobody has proven it: whoever proves it now is its owner.
    Claimed,
}

impl Standing {
    /// What an address is, by the user that a look-up by login name found. A user's name may look like an address of somebody
    /// else: then the name stays, and the address is another's only if it is one.
    pub fn of(email: &str, found: Option<&User>) -> Self {
        match found {
            None => Self::Free,
            Some(user) if !has(user, email) => Self::Proven,
            Some(user) if user.email_verified => Self::Proven,
            Some(_) => Self::Claimed,
        }
    }
}

fn has(user: &User, email: &str) -> bool {
    user.email.as_deref().is_some_and(|own| login_key(own) == login_key(email))
}

/// An account without an address that it never proved and whose owner was found. It keeps something to sign in with: its
/// user name, or its id in place of one.
#[must_use]
pub fn without_claim(user: &User) -> User {
    let mut left = User { email: None, email_verified: false, ..user.clone() };
    if left.profile.preferred_username.is_none() {
        left.profile.preferred_username = Some(left.id.to_string());
    }
    left
}

/// The attributes that people write themselves. Only they are checked when somebody registers: those that administrators
/// alone write come later.
pub fn own_attributes(schema: &AttributeSchema) -> AttributeSchema {
    let own = |definition: &&AttributeDefinition| definition.writable_by.contains(&Party::Person);
    AttributeSchema::new(schema.definitions().iter().filter(own).cloned().collect())
}

/// Whether a user is the one that has proven an address.
pub fn is_owner(user: &User, id: &UserId, email: &str) -> bool {
    user.id == *id && user.may_sign_in() && has(user, email)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> User {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_address_that_nobody_proved_is_whose_owner_comes() {
        let proven =
            user(r#"{"id":"u1","email":"a@b.c","email_verified":true,"created_at":1,"updated_at":1}"#);
        let claimed = User { email_verified: false, ..proven.clone() };
        let named =
            user(r#"{"id":"u2","email":null,"preferred_username":"a@b.c","created_at":1,"updated_at":1}"#);
        assert_eq!(Standing::of("a@b.c", None), Standing::Free);
        assert_eq!(Standing::of("A@B.C", Some(&proven)), Standing::Proven);
        assert_eq!(Standing::of("A@B.C", Some(&claimed)), Standing::Claimed);
        assert_eq!(Standing::of("a@b.c", Some(&named)), Standing::Proven, "its name is taken");
    }

    #[test]
    fn who_loses_a_claim_keeps_something_to_sign_in_with() {
        let claimed = user(r#"{"id":"u1","email":"a@b.c","created_at":1,"updated_at":1}"#);
        let left = without_claim(&claimed);
        assert_eq!((left.email, left.profile.preferred_username.as_deref()), (None, Some("u1")));
        let mut named = claimed;
        named.profile.preferred_username = Some("ann".into());
        assert_eq!(without_claim(&named).profile.preferred_username.as_deref(), Some("ann"));
    }
}
