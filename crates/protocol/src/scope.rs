//! Scope (RFC 6749 3.3): a set of scope tokens in the order in which they were requested.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};

/// How many characters of scope tokens an error names: with the longest text before them fewer than the 300 that an
/// error has.
const LONGEST_LIST: usize = 160;

/// A scope that violates the grammar of RFC 6749 appendix A.4.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scope may hold visible ASCII characters but \" and \\, separated by one space")]
pub struct InvalidScope;

/// A set of scope tokens, stored as the text that is sent. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope(SmolStr);

/// `openid`: requests an ID token (OpenID Connect Core 3.1.2.1).
pub const OPENID: &str = "openid";
/// `offline_access`: a refresh token that outlives the session (OpenID Connect Core 11).
pub const OFFLINE_ACCESS: &str = "offline_access";
/// `groups`: requests the claim `groups`, the names of the groups that the user is in. A scope of this server.
pub const GROUPS: &str = "groups";
/// `roles`: requests the claim `roles`, the names of the roles that the user has. A scope of this server.
pub const ROLES: &str = "roles";

/// RFC 6749 appendix A.4: scope-token = 1*( %x21 / %x23-5B / %x5D-7E ), separated by a space.
fn is_scope_text(text: &str) -> bool {
    text.bytes().all(|b| (0x20..=0x7e).contains(&b) && b != b'"' && b != b'\\')
}

fn tokens(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes().split(|b| *b == b' ')
}

/// Whether no token is repeated, and no space is superfluous.
fn is_a_set(text: &str) -> bool {
    let is_new = |at, token| tokens(text).take(at).all(|earlier| earlier != token);
    text.is_empty() || tokens(text).enumerate().all(|(at, token)| !token.is_empty() && is_new(at, token))
}

/// `invalid_scope` (RFC 6749 4.1.2.1, 5.2), which names the scopes that the client may ask for instead.
pub(crate) fn invalid(reason: Reason, why: &str, may_ask: &Scope) -> OAuthError {
    let description = match may_ask.is_empty() {
        true => format!("{why}; there is no scope that the client may ask for here"),
        false => format!("{why}; the client may ask for: {}", shortened(may_ask)),
    };
    OAuthError::with(ErrorCode::InvalidScope, reason, description)
}

/// `invalid_scope` (RFC 6749 4.1.2.1, 5.2) for a text that [`Scope::parse`] refused.
pub(crate) fn malformed(text: &str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidScope, Reason::ScopeMalformed, "scope is malformed")
        .about(Details::of("scope").sent(text))
}

/// As many whole tokens as an error names.
fn shortened(scope: &Scope) -> String {
    let mut shown = String::new();
    for token in scope.iter() {
        let space = if shown.is_empty() { "" } else { " " };
        if shown.len() + space.len() + token.len() > LONGEST_LIST {
            return format!("{shown}{space}...");
        }
        shown.push_str(space);
        shown.push_str(token);
    }
    shown
}

impl Scope {
    /// Parses a scope parameter. Repeated tokens count once; the empty text is the empty scope.
    ///
    /// # Errors
    /// [`InvalidScope`] if a token violates RFC 6749 appendix A.4, or the text is longer than 2,048 bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidScope> {
        Self::check(text).map(|()| Self::of(SmolStr::new(text)))
    }

    fn check(text: &str) -> Result<(), InvalidScope> {
        if text.len() <= 2048 && is_scope_text(text) { Ok(()) } else { Err(InvalidScope) }
    }

    /// The set of the tokens in a valid text.
    fn of(text: SmolStr) -> Self {
        let scope = Self(text);
        // Most requests have neither repeated tokens nor superfluous spaces: their text is kept unchanged.
        if is_a_set(&scope.0) {
            return scope;
        }
        let mut seen: Vec<&str> = Vec::new();
        for token in scope.iter() {
            if !seen.contains(&token) {
                seen.push(token);
            }
        }
        Self(SmolStr::from(seen.join(" ")))
    }

    /// The tokens in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ').filter(|token| !token.is_empty())
    }

    /// Whether the token is in the set.
    pub fn contains(&self, token: &str) -> bool {
        !token.is_empty() && tokens(&self.0).any(|own| own == token.as_bytes())
    }

    /// Whether every token of `other` is in this set.
    pub fn covers(&self, other: &Self) -> bool {
        self.0 == other.0 || other.iter().all(|token| self.contains(token))
    }

    /// The union of both sets: this one's tokens in order, then those that only `other` has.
    ///
    /// # Errors
    /// [`InvalidScope`] if the union is longer than a scope may be.
    pub fn union(&self, other: &Self) -> Result<Self, InvalidScope> {
        Self::parse(&format!("{self} {other}"))
    }

    /// The intersection of both sets, in this one's order.
    pub fn intersection(&self, other: &Self) -> Self {
        if other.covers(self) {
            return self.clone();
        }
        self.filtered(|token| other.contains(token))
    }

    /// The tokens for which `keep` is true.
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(SmolStr::from(self.iter().filter(|token| keep(token)).collect::<Vec<_>>().join(" ")))
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text to send: tokens separated by one space.
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
        Self::check(&text).map_err(serde::de::Error::custom)?;
        Ok(Self::of(text))
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
        assert_eq!(scope("a  b").as_str(), "a b");
        assert!(scope("").is_empty() && scope("  ").is_empty());
        assert!(!scope("").contains("") && !scope("a b").contains("") && !scope("ab").contains("a"));
    }

    #[test]
    fn grammar_of_appendix_a4_is_kept() {
        for bad in ["a\"b", "a\\b", "ä", "a\tb", "a\u{7f}"] {
            assert_eq!(Scope::parse(bad), Err(InvalidScope), "{bad:?}");
        }
    }

    #[test]
    fn an_error_names_what_may_be_asked_for_in_whole_tokens() {
        let told =
            |text: &str| invalid(Reason::ScopeNotRegistered, "no", &scope(text)).description.into_owned();
        assert_eq!(told("openid email"), "no; the client may ask for: openid email");
        assert_eq!(told(""), "no; there is no scope that the client may ask for here");
        let long = "x".repeat(100);
        assert_eq!(told(&format!("{long} {long}y")), format!("no; the client may ask for: {long} ..."));
        assert_eq!(told(&"x".repeat(300)), "no; the client may ask for: ...");
    }

    #[test]
    fn a_set_covers_and_intersects() {
        assert!(scope("a b c").covers(&scope("c a")));
        assert!(!scope("a b").covers(&scope("a d")));
        assert_eq!(scope("a b c").intersection(&scope("c b x")).as_str(), "b c");
    }
}
