//! The JOSE header (RFC 7515 4).

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

use super::JwsError;
use crate::algorithm::Algorithm;
use crate::encoding;
use crate::key::SigningKey;

/// The header members that are understood. Others are ignored (RFC 7515 4), unless they are critical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The signature algorithm (RFC 7515 4.1.1).
    pub alg: Algorithm,
    /// The key's id (RFC 7515 4.1.4).
    pub kid: Option<SmolStr>,
    /// The type of the whole token, such as `JWT` or `at+jwt` (RFC 7515 4.1.9), as it was written.
    pub typ: Option<SmolStr>,
    /// The type of the payload (RFC 7515 4.1.10), as it was written.
    pub cty: Option<SmolStr>,
}

impl Header {
    /// Parses a header's JSON.
    ///
    /// # Errors
    /// [`JwsError`]
    pub fn parse(json: &[u8]) -> Result<Self, JwsError> {
        let members: Members =
            serde_json::from_slice(json).map_err(|error| JwsError::Header(error.to_string()))?;
        // RFC 7515 4: member names must be unique. Otherwise an attacker can make two parsers use different values.
        if let Some(name) = members.duplicate {
            return Err(JwsError::DuplicateMember(name));
        }
        // RFC 7515 4.1.11: a critical extension must be understood, and no extension is supported; the list must not be
        // empty.
        if let Some(critical) = members.crit {
            let Some(name) = critical.first() else {
                return Err(JwsError::Header("\"crit\" is empty".to_owned()));
            };
            return Err(JwsError::Critical(name.clone()));
        }
        // RFC 7797 3 and 6.
        if members.b64 == Some(false) {
            return Err(JwsError::UnencodedPayload);
        }
        let alg = members.alg.ok_or_else(|| JwsError::Header("\"alg\" is missing".to_owned()))?;
        if alg.eq_ignore_ascii_case("none") {
            return Err(JwsError::Unsecured);
        }
        let alg = alg.parse().map_err(|_| JwsError::UnsupportedAlgorithm(alg))?;
        Ok(Self { alg, kid: members.kid, typ: members.typ, cty: members.cty })
    }

    /// Whether `typ` is this media type, compared as RFC 7515 4.1.9 says: without regard to case, and with or
    /// without `application/`.
    pub fn is_type(&self, media_type: &str) -> bool {
        const PREFIX: &str = "application/";
        self.typ.as_deref().is_some_and(|typ| {
            let short = match typ.split_at_checked(PREFIX.len()) {
                Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PREFIX) && !rest.contains('/') => rest,
                _ => typ,
            };
            short.eq_ignore_ascii_case(media_type)
        })
    }
}

#[derive(Default)]
struct Members {
    alg: Option<SmolStr>,
    kid: Option<SmolStr>,
    typ: Option<SmolStr>,
    cty: Option<SmolStr>,
    crit: Option<Vec<SmolStr>>,
    b64: Option<bool>,
    duplicate: Option<SmolStr>,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

/// A name, borrowed from the input if it contains no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        let mut seen: Vec<Cow<'de, str>> = Vec::with_capacity(8);
        while let Some(Name(name)) = map.next_key::<Name<'de>>()? {
            if seen.contains(&name) {
                members.duplicate = Some(SmolStr::new(&name));
            }
            // No real header has so many members. The limit keeps the search above short.
            if seen.len() == 64 {
                return Err(de::Error::custom("too many members"));
            }
            match &*name {
                "alg" => members.alg = Some(map.next_value()?),
                "kid" => members.kid = Some(map.next_value()?),
                "typ" => members.typ = Some(map.next_value()?),
                "cty" => members.cty = Some(map.next_value()?),
                "crit" => members.crit = Some(map.next_value()?),
                "b64" => members.b64 = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            seen.push(name);
        }
        Ok(members)
    }
}

/// A header that is encoded once per key and type, and put before every payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedHeader {
    algorithm: Algorithm,
    kid: SmolStr,
    base64url: Box<str>,
}

impl EncodedHeader {
    /// Encodes `alg`, `typ` where given, and `kid`.
    pub fn new(algorithm: Algorithm, kid: &str, typ: Option<&str>) -> Self {
        #[derive(Serialize)]
        struct Written<'a> {
            alg: Algorithm,
            #[serde(skip_serializing_if = "Option::is_none")]
            typ: Option<&'a str>,
            kid: &'a str,
        }
        let json = serde_json::to_vec(&Written { alg: algorithm, typ, kid });
        // Serializing three strings cannot fail. An empty header would be refused by every recipient.
        let base64url = encoding::encode(&json.unwrap_or_default()).into_boxed_str();
        Self { algorithm, kid: SmolStr::new(kid), base64url }
    }

    /// The header for tokens of this type by this key.
    pub fn for_key(key: &SigningKey, typ: Option<&str>) -> Self {
        Self::new(key.algorithm(), key.kid(), typ)
    }

    /// The base64url text, without a dot.
    pub fn as_str(&self) -> &str {
        &self.base64url
    }

    /// The algorithm that it names.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The key id that it names.
    pub fn kid(&self) -> &str {
        &self.kid
    }
}
