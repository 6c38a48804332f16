//! Identifiers: a type for each kind, so that a client can never be looked up by a user's id.
//!
//! Identifiers that the server generates use `[A-Za-z0-9_-]` and at least 128 bits of randomness.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};

pub use crate::sid::Sid;

/// An identifier that violates the grammar of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} must be {grammar}")]
pub struct InvalidId {
    pub(crate) kind: &'static str,
    pub(crate) grammar: &'static str,
}

/// Printable ASCII without space: characters that headers, URLs and JSON carry unchanged.
pub(crate) fn visible_ascii(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Why a record of the admin API may not have this id, if it may not: no path would lead to the record.
pub fn refused_in_paths(id: &str) -> Option<&'static str> {
    match id {
        // RFC 3986 5.2.4: removed from a URL path as dot segments.
        "." | ".." => Some("must not be . or .."),
        // `/users/export` stands beside `/users/{user_id}`, and is not the user `export`.
        "bulk" | "export" => Some("must not be bulk or export, which are paths of their own"),
        _ => None,
    }
}

fn slug(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The alphabet of generated ids, which a URL path carries unchanged.
fn base64url(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Splits an id at its first `_`: a leading number, and the rest. The number must be in normal form, without sign and
/// leading zeros. Otherwise two texts could mean one id, and a revocation under one text would not apply to the
/// other.
pub fn leading_number<T: TryFrom<u64>>(text: &str) -> Option<(T, &str)> {
    let mut number = 0_u64;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' if at == 0 || number > 0 => {
                number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
            }
            b'_' if at > 0 => return Some((T::try_from(number).ok()?, text.get(at + 1..)?)),
            _ => return None,
        }
    }
    None
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $max:literal, $check:path, $grammar:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(SmolStr);

        impl $name {
            /// Parses the text by the grammar.
            ///
            /// # Errors
            /// [`InvalidId`] when the text is empty, too long, or has a character outside its alphabet.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                Self::check(text).map(|()| Self(SmolStr::new(text)))
            }

            fn check(text: &str) -> Result<(), InvalidId> {
                if text.is_empty() || text.len() > $max || !$check(text) {
                    return Err(InvalidId { kind: $kind, grammar: $grammar });
                }
                Ok(())
            }

            /// Takes a text that this process generated, or that was checked before it was stored.
            pub fn trusted(text: impl Into<SmolStr>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.0.as_str(), f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = SmolStr::deserialize(deserializer)?;
                Self::check(&text).map_err(serde::de::Error::custom)?;
                Ok(Self(text))
            }
        }
    };
}

pub(crate) use identifier;

identifier!(
    /// The id of an issuer within this installation (`default`, `acme`), unrelated to its URL.
    IssuerId, "an issuer id", 32, slug, "1 to 32 characters of a-z, 0-9 and -"
);
identifier!(
    /// The id of another provider by which people sign in, as in the paths of callbacks and of the admin API.
    IdentityProviderId, "an identity provider's id", 32, slug, "1 to 32 characters of a-z, 0-9 and -"
);
identifier!(
    /// A `client_id` (RFC 6749 appendix A.1, without space).
    ClientId, "a client_id", 255, visible_ascii, "1 to 255 visible ASCII characters"
);
identifier!(
    /// A user's id: the `sub` of their tokens (OpenID Connect Core 2: at most 255 ASCII).
    UserId, "a user id", 255, visible_ascii, "1 to 255 visible ASCII characters"
);
identifier!(
    /// A group's id, as in paths of the admin API.
    GroupId, "a group id", 128, base64url, "1 to 128 characters of A-Z, a-z, 0-9, - and _"
);
identifier!(
    /// A role's id, as in paths of the admin API.
    RoleId, "a role id", 128, base64url, "1 to 128 characters of A-Z, a-z, 0-9, - and _"
);
identifier!(
    /// A token's own identifier, `jti` (RFC 7519 4.1.7).
    Jti, "a jti", 512, visible_ascii, "1 to 512 visible ASCII characters"
);
identifier!(
    /// A key's identifier, `kid` (RFC 7517 4.5).
    Kid, "a kid", 255, visible_ascii, "1 to 255 visible ASCII characters"
);
identifier!(
    /// The id of something that has to reach somebody else, such as a mail: drawn at random, or made of digests.
    DeliveryId, "a delivery id", 64, base64url, "1 to 64 characters of A-Z, a-z, 0-9, - and _"
);

impl DeliveryId {
    /// Draws an id: 22 characters.
    pub fn draw(random: &dyn Random) -> Self {
        Self::trusted(encoding::encode(&random::bytes::<16>(random)))
    }

    /// The id of something of which much may wait for one recipient: 22 characters of the recipient, and 22 of its own.
    pub fn for_recipient(recipient: &[u8; 16], own: &[u8; 16]) -> Self {
        Self::trusted(format!("{}{}", encoding::encode(recipient), encoding::encode(own)))
    }

    /// What all ids for one recipient begin with; `None` for an id that names none.
    pub fn recipient(&self) -> Option<&str> {
        self.as_str().get(..RECIPIENT).filter(|_| self.as_str().len() == 2 * RECIPIENT)
    }
}

/// The characters of a recipient in a delivery's id.
const RECIPIENT: usize = 22;

impl IssuerId {
    /// The issuer that exists from the first start.
    pub fn default_issuer() -> Self {
        Self(SmolStr::new_static("default"))
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    #[test]
    fn an_id_that_no_path_leads_to_is_refused() {
        for bad in [".", "..", "bulk", "export"] {
            assert!(refused_in_paths(bad).is_some_and(|why| why.contains(bad)), "{bad}");
        }
        for good in ["...", "Export", "bulk2", "a.b"] {
            assert_eq!(refused_in_paths(good), None, "{good}");
        }
    }

    #[test]
    fn grammar_is_checked_where_text_comes_in() {
        assert!(IssuerId::parse("acme-2").is_ok());
        assert!(IssuerId::parse("Acme").is_err());
        assert!(ClientId::parse("a b").is_err());
        assert!(UserId::parse("").is_err());
        // OpenID Connect Core 2: a `sub` has at most 255 characters of ASCII.
        assert!(UserId::parse(&"x".repeat(255)).is_ok());
        assert!(UserId::parse(&"x".repeat(256)).is_err() && UserId::parse("gr\u{fc}n").is_err());
        assert!(GroupId::parse("b2f1c0de-77_A").is_ok());
        for bad in ["", ".", "..", "a/b", "a.b", "gr\u{fc}n", &"x".repeat(129)] {
            assert!(GroupId::parse(bad).is_err() && RoleId::parse(bad).is_err(), "{bad}");
        }
        assert!(serde_json::from_str::<ClientId>("\"a\\u0000b\"").is_err());
        let drawn = DeliveryId::draw(&SeededRandom::new(1));
        assert_eq!(DeliveryId::parse(drawn.as_str()).map(|id| id.as_str().len()), Ok(22));
        assert_eq!(drawn.recipient(), None);
        let [one, other] = [2, 3].map(|own| DeliveryId::for_recipient(&[1; 16], &[own; 16]));
        assert_eq!(DeliveryId::parse(one.as_str()).as_ref(), Ok(&one));
        assert!(one != other && one.recipient().is_some_and(|it| other.as_str().starts_with(it)));
    }
}
