//! Scope (RFC 6749 3.3): a set of tokens in the order in which they were asked for.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

/// A scope that breaks the grammar of RFC 6749 appendix A.4.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scope may hold visible ASCII characters but \" and \\, separated by one space")]
pub struct InvalidScope;

/// A set of scope tokens, kept as the text that goes on the wire. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope(SmolStr);

/// `openid`: an ID token is wanted (OpenID Connect Core 3.1.2.1).
pub const OPENID: &str = "openid";
/// `offline_access`: a refresh token that outlives the session (OpenID Connect Core 11).
pub const OFFLINE_ACCESS: &str = "offline_access";

/// RFC 6749 appendix A.4: scope-token = 1*( %x21 / %x23-5B / %x5D-7E ).
fn is_scope_token(token: &str) -> bool {
    !token.is_empty()
        && token.bytes().all(|b| b == 0x21 || (0x23..=0x5b).contains(&b) || (0x5d..=0x7e).contains(&b))
}

impl Scope {
    /// Parses a scope parameter. Repeated tokens count once; the empty text is the empty scope.
    ///
    /// # Errors
    /// [`InvalidScope`] where a token breaks RFC 6749 appendix A.4, or the text is longer than 2,048 bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidScope> {
        if text.len() > 2048 {
            return Err(InvalidScope);
        }
        let mut seen: Vec<&str> = Vec::with_capacity(8);
        for token in text.split(' ').filter(|token| !token.is_empty()) {
            if !is_scope_token(token) {
                return Err(InvalidScope);
            }
            if !seen.contains(&token) {
                seen.push(token);
            }
        }
        // The usual request has neither repeats nor stray spaces: keep its text as it came.
        if seen.len() + seen.iter().map(|t| t.len()).sum::<usize>() == text.len() + 1 {
            return Ok(Self(SmolStr::new(text)));
        }
        Ok(Self(SmolStr::from(seen.join(" "))))
    }

    /// The tokens in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').filter(|token| !token.is_empty())
    }

    /// Whether the token is in the set.
    pub fn contains(&self, token: &str) -> bool {
        self.iter().any(|own| own == token)
    }

    /// Whether every token of `other` is in this set.
    pub fn covers(&self, other: &Self) -> bool {
        self.0 == other.0 || other.iter().all(|token| self.contains(token))
    }

    /// The tokens that are in both sets, in this one's order.
    pub fn intersection(&self, other: &Self) -> Self {
        if other.covers(self) {
            return self.clone();
        }
        self.filtered(|token| other.contains(token))
    }

    /// The tokens that `keep` accepts.
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(SmolStr::from(self.iter().filter(|token| keep(token)).collect::<Vec<_>>().join(" ")))
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text for the wire: tokens separated by one space.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SmolStr::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> Scope {
        Scope::parse(text).expect("valid")
    }

    #[test]
    fn repeats_and_stray_spaces_are_dropped() {
        assert_eq!(scope(" openid  email openid ").as_str(), "openid email");
        assert_eq!(scope("openid email").as_str(), "openid email");
        assert!(scope("").is_empty());
    }

    #[test]
    fn grammar_of_appendix_a4_is_kept() {
        for bad in ["a\"b", "a\\b", "ä", "a\tb", "a\u{7f}"] {
            assert_eq!(Scope::parse(bad), Err(InvalidScope), "{bad:?}");
        }
    }

    #[test]
    fn a_set_covers_and_intersects() {
        assert!(scope("a b c").covers(&scope("c a")));
        assert!(!scope("a b").covers(&scope("a d")));
        assert_eq!(scope("a b c").intersection(&scope("c b x")).as_str(), "b c");
    }
}
