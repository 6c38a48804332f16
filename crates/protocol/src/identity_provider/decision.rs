//! What the answer of another provider means for the accounts here.
//!
//! An identity that is connected signs in. Otherwise an account is connected by its address only if both sides have verified
//! it and the provider is set so: an address that one side did not verify is anybody's. An account that has another identity
//! of the provider already is not connected by address: the address was given to somebody else there.

use super::IdentityProvider;
use super::upstream_user::UpstreamUser;
use crate::id::UserId;
use crate::precis::login_key;
use crate::user::User;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This user is signed in.
    SignIn(UserId),
    /// This user is connected with the identity, told so by mail, and signed in.
    Connect(UserId),
    /// A user is made, connected, and signed in.
    SignUp,
    /// Nobody is signed in: the person signs in another way and connects the identity on the account page.
    Unknown(Unknown),
}

/// Why nobody is signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No account is connected with the identity, and none is made.
    NotConnected,
    /// An account has the address, and may not be connected by it.
    AddressTaken,
}

/// What is known of the accounts here.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// Whose identity it is.
    pub connected: Option<&'a UserId>,
    /// Who was found by the verified address as a login name.
    pub by_address: Option<&'a User>,
    /// Whether that user has an identity of this provider.
    pub has_identity: bool,
}

/// The rule.
pub fn decide(provider: &IdentityProvider, upstream: &UpstreamUser, known: Known<'_>) -> Decision {
    if let Some(user) = known.connected {
        return Decision::SignIn(user.clone());
    }
    let Some((user, address)) = known.by_address.zip(upstream.verified_email.as_deref()) else {
        return match provider.sign_up {
            true => Decision::SignUp,
            false => Decision::Unknown(Unknown::NotConnected),
        };
    };
    let has_address = user.email.as_deref().is_some_and(|own| login_key(own) == login_key(address));
    let is_theirs = has_address && user.email_verified && user.may_sign_in() && !known.has_identity;
    match is_theirs && provider.link_by_verified_email {
        true => Decision::Connect(user.id.clone()),
        false => Decision::Unknown(Unknown::AddressTaken),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::provider;
    use super::*;

    fn upstream(verified: bool) -> UpstreamUser {
        let claims = json!({ "sub": "s", "email": "Ann@Acme.example", "email_verified": verified });
        let Value::Object(claims) = claims else { panic!("an object") };
        UpstreamUser::of_claims(&provider(), claims).unwrap()
    }

    fn user(more: Value) -> User {
        let mut user = json!({
            "id": "u1", "email": "ann@acme.example", "email_verified": true, "created_at": 1, "updated_at": 1,
        });
        user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(user).unwrap()
    }

    #[test]
    fn an_account_is_connected_by_an_address_that_both_sides_verified_and_by_no_other() {
        let ann = user(json!({}));
        let open = IdentityProvider { link_by_verified_email: true, sign_up: true, ..provider() };
        let shut = provider();
        let taken = Decision::Unknown(Unknown::AddressTaken);
        fn by(user: &User) -> Known<'_> {
            Known { by_address: Some(user), ..Known::default() }
        }
        assert_eq!(decide(&open, &upstream(true), by(&ann)), Decision::Connect(ann.id.clone()));
        assert_eq!(decide(&shut, &upstream(true), by(&ann)), taken);
        // Whom the provider says nothing certain about is a stranger, whoever has the address.
        assert_eq!(decide(&open, &upstream(false), by(&ann)), Decision::SignUp);
        for other in [
            user(json!({ "email_verified": false })),
            user(json!({ "active": false })),
            // Found by a user name that looks like the address.
            user(json!({ "email": null, "preferred_username": "ann@acme.example" })),
            user(json!({ "email": "other@acme.example", "preferred_username": "ann@acme.example" })),
        ] {
            assert_eq!(decide(&open, &upstream(true), by(&other)), taken, "{other:?}");
        }
    }

    /// Accounts are found by the key of a name, which a spelling does not change. Should one be found otherwise, the addresses are
    /// compared once more.
    #[test]
    fn every_spelling_of_an_address_is_one_and_what_only_looks_the_same_is_another() {
        let open = IdentityProvider { link_by_verified_email: true, ..provider() };
        let account = user(json!({ "email": "ann@m\u{fc}ller.example" }));
        let says = |email: &str| {
            let claims = json!({ "sub": "s", "email": email, "email_verified": true });
            let Value::Object(claims) = claims else { panic!("an object") };
            let upstream = UpstreamUser::of_claims(&provider(), claims).unwrap();
            decide(&open, &upstream, Known { by_address: Some(&account), ..Known::default() })
        };
        for spelling in ["ann@m\u{fc}ller.example", "ann@mu\u{308}ller.example", "ANN@M\u{dc}LLER.EXAMPLE"] {
            assert_eq!(says(spelling), Decision::Connect(account.id.clone()), "{spelling}");
        }
        // A Cyrillic letter before and behind the @, a mark less, another letter.
        for look_alike in [
            "\u{430}nn@m\u{fc}ller.example",
            "ann@m\u{fc}ll\u{435}r.example",
            "ann@muller.example",
            "ann@m\u{171}ller.example",
        ] {
            assert_eq!(says(look_alike), Decision::Unknown(Unknown::AddressTaken), "{look_alike}");
        }
    }

    #[test]
    fn an_address_that_was_registered_again_leads_to_nobody() {
        let ann = user(json!({}));
        let open = IdentityProvider { link_by_verified_email: true, sign_up: true, ..provider() };
        let known = Known { by_address: Some(&ann), has_identity: true, connected: None };
        assert_eq!(decide(&open, &upstream(true), known), Decision::Unknown(Unknown::AddressTaken));
    }

    #[test]
    fn who_is_connected_signs_in_whatever_the_address_and_strangers_sign_up_by_setting() {
        let (ann, other) = (UserId::trusted("u2"), user(json!({})));
        let known = Known { connected: Some(&ann), by_address: Some(&other), has_identity: false };
        for verified in [true, false] {
            assert_eq!(decide(&provider(), &upstream(verified), known), Decision::SignIn(ann.clone()));
        }
        let open = IdentityProvider { sign_up: true, ..provider() };
        assert_eq!(decide(&open, &upstream(true), Known::default()), Decision::SignUp);
        let none = Decision::Unknown(Unknown::NotConnected);
        assert_eq!(decide(&provider(), &upstream(true), Known::default()), none);
    }
}
