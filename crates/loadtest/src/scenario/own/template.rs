//! Texts with values in them: `Bearer {{access_token}}`.

use symbolon_crypto::SecretString;

/// A text of a file, read.
pub(super) struct Template(pub(super) Vec<Piece>);

/// A part of a text.
pub(super) enum Piece {
    /// As it stands in the file.
    Text(String),
    /// What comes in place of `{{...}}`.
    Value {
        /// Where from.
        source: Source,
        /// Whether everything but unreserved characters is percent-encoded, whatever it stands in.
        encoded: bool,
    },
}

/// Where a value comes from.
pub(super) enum Source {
    /// A constant, which may be a secret.
    Constant(SecretString),
    /// A column of a table, by the table's and the column's number.
    Data(usize, usize),
    /// What was set, or taken from an earlier answer.
    Slot(usize),
    /// The address that a form goes to.
    FormAction(usize),
    /// A field of a form.
    FormField(usize, String),
    /// What a visit draws, or the seed and the target have.
    BuiltIn(BuiltIn),
}

/// Values that need not be told in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuiltIn {
    /// Drawn for each visit (RFC 6749 10.12).
    State,
    /// Drawn for each visit (OpenID Connect Core 1.0, 3.1.2.1).
    Nonce,
    /// Drawn for each visit (RFC 7636 4.1).
    Verifier,
    /// Its S256 challenge (RFC 7636 4.2).
    Challenge,
    /// Seconds since 1970.
    Now,
    /// Drawn anew wherever it stands: 32 hexadecimal digits.
    RandomHex,
    /// Drawn anew: a UUID of version 4 (RFC 9562 5.4).
    RandomUuid,
    /// Drawn anew: a number below a thousand million.
    RandomNumber,
    Issuer,
    Discovery,
    Authorize,
    Token,
    Userinfo,
    Introspect,
    Revoke,
    Jwks,
    ClientId,
    ClientSecret,
    RedirectUri,
    Username,
    UserId,
    Password,
}

impl BuiltIn {
    pub(super) const ALL: [(&'static str, Self); 22] = [
        ("state", Self::State),
        ("nonce", Self::Nonce),
        ("pkce.verifier", Self::Verifier),
        ("pkce.challenge", Self::Challenge),
        ("now", Self::Now),
        ("random.hex", Self::RandomHex),
        ("random.uuid", Self::RandomUuid),
        ("random.number", Self::RandomNumber),
        ("target.issuer", Self::Issuer),
        ("target.discovery", Self::Discovery),
        ("target.authorize", Self::Authorize),
        ("target.token", Self::Token),
        ("target.userinfo", Self::Userinfo),
        ("target.introspect", Self::Introspect),
        ("target.revoke", Self::Revoke),
        ("target.jwks", Self::Jwks),
        ("seed.client_id", Self::ClientId),
        ("seed.client_secret", Self::ClientSecret),
        ("seed.redirect_uri", Self::RedirectUri),
        ("seed.username", Self::Username),
        ("seed.user_id", Self::UserId),
        ("seed.password", Self::Password),
    ];

    /// By its name in files.
    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, built_in)| built_in)
    }

    /// Whether the seed has it.
    pub(super) fn is_of_the_seed(self) -> bool {
        Self::ALL.iter().any(|(name, own)| *own == self && name.starts_with("seed."))
    }
}

/// Splits a text at its `{{...}}`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(
    text: &str,
    mut resolve: impl FnMut(&str) -> Result<Source, String>,
) -> Result<Template, String> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("{{") {
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        let (inner, behind) = after
            .split_once("}}")
            .ok_or_else(|| format!("`{{{{` in {text:?} is not closed: `{{{{name}}}}` stands for a value"))?;
        let (name, filter) =
            inner.split_once('|').map_or((inner, None), |(name, filter)| (name, Some(filter.trim())));
        let encoded = match filter {
            None => false,
            Some("encoded") => true,
            Some(other) => {
                return Err(format!("{{{{{inner}}}}}: no filter {other:?}; there is `encoded`"));
            }
        };
        pieces.push(Piece::Value { source: resolve(name.trim())?, encoded });
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(Template(pieces))
}

impl Template {
    /// What it uses of what there is without a file.
    pub(super) fn built_ins(&self) -> impl Iterator<Item = BuiltIn> + '_ {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value { source: Source::BuiltIn(built_in), .. } => Some(*built_in),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        parse(text, |name| {
            names.push(name.to_owned());
            Ok(Source::Slot(0))
        })?;
        Ok(names)
    }

    #[test]
    fn texts_are_split_at_their_values() {
        assert_eq!(names("Bearer {{ token }}.{{a.b}}").unwrap(), ["token", "a.b"]);
        assert_eq!(names("{{x | encoded}}").unwrap(), ["x"]);
        assert_eq!(names("{\"json\": {}}").unwrap(), <[String; 0]>::default());
        let template = parse("a{{x}}b", |_| Ok(Source::BuiltIn(BuiltIn::Now))).unwrap();
        assert_eq!((template.0.len(), template.built_ins().next()), (3, Some(BuiltIn::Now)));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(names("{{x").unwrap_err().contains("not closed"));
        assert!(names("{{x | upper}}").unwrap_err().contains("`encoded`"));
        assert!(names("{{x |}}").unwrap_err().contains("no filter"));
    }

    #[test]
    fn every_built_in_has_one_name() {
        for (name, built_in) in BuiltIn::ALL {
            assert_eq!(BuiltIn::find(name), Some(built_in));
        }
        assert!(BuiltIn::Password.is_of_the_seed() && !BuiltIn::Issuer.is_of_the_seed());
        assert_eq!(BuiltIn::find("other"), None);
    }
}
