//! Public JSON Web Keys (RFC 7517, RFC 7518 6, RFC 8037 2) and their thumbprints (RFC 7638).

use std::fmt::Write;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smol_str::SmolStr;

use crate::{digest, encoding};

/// Why a JSON object is not a usable public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwkError {
    /// Not a JSON object with members of the right types.
    #[error("not a JWK: {0}")]
    Malformed(String),
    /// It contains private or symmetric key material, which must not be given to others (RFC 7517 9.2).
    #[error("the JWK contains the private member \"{0}\": publish the public key only")]
    Private(&'static str),
    /// Another key type or curve than RSA, EC P-256 and OKP Ed25519.
    #[error("unsupported key type or curve \"{0}\"")]
    Unsupported(String),
    /// A required member is missing (RFC 7518 6.2.1, 6.3.1).
    #[error("the member \"{0}\" is missing")]
    Missing(&'static str),
    /// A member's value is not base64url of the right length, or not canonical (RFC 7518 6.2.1.2, 6.3.1.1).
    #[error("the member \"{0}\" has an invalid value")]
    Invalid(&'static str),
    /// An RSA modulus under 2048 bits (RFC 7518 3.3) or over 8192.
    #[error("an RSA key of {0} bits: 2048 to 8192 are accepted")]
    RsaSize(usize),
}

/// The numbers of a public key, whose form and size are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyParameters {
    /// RSA: modulus and exponent, big-endian, without leading zeros.
    Rsa {
        /// The modulus, 2048 to 8192 bits.
        n: Box<[u8]>,
        /// The public exponent, odd, 3 to 2^33.
        e: Box<[u8]>,
    },
    /// A point on P-256. Whether it lies on the curve is checked when the key is prepared for verification.
    P256 {
        /// The x coordinate.
        x: [u8; 32],
        /// The y coordinate.
        y: [u8; 32],
    },
    /// An Ed25519 public key.
    Ed25519 {
        /// The encoded point.
        x: [u8; 32],
    },
}

/// A public key with its owner's metadata. Serialized as the JSON of RFC 7517. When it is read, members that are not
/// understood are ignored (RFC 7517 4), and private ones are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwk {
    parameters: KeyParameters,
    /// The key's id (RFC 7517 4.5).
    pub kid: Option<SmolStr>,
    /// The algorithm that it is meant for (RFC 7517 4.4), as it was written.
    pub alg: Option<SmolStr>,
    /// `sig` or `enc` (RFC 7517 4.2), as it was written.
    pub key_use: Option<SmolStr>,
    /// The permitted operations (RFC 7517 4.3).
    pub key_ops: Option<Vec<String>>,
}

impl Jwk {
    /// A key without metadata.
    ///
    /// # Errors
    /// [`JwkError::RsaSize`] and [`JwkError::Invalid`] for RSA numbers out of bounds.
    pub fn new(parameters: KeyParameters) -> Result<Self, JwkError> {
        if let KeyParameters::Rsa { n, e } = &parameters {
            check_rsa(n, e)?;
        }
        Ok(Self { parameters, kid: None, alg: None, key_use: None, key_ops: None })
    }

    /// Parses one JWK. Also available through serde.
    ///
    /// # Errors
    /// [`JwkError`]
    pub fn parse(json: &[u8]) -> Result<Self, JwkError> {
        serde_json::from_slice::<Members>(json)
            .map_err(|error| JwkError::Malformed(error.to_string()))
            .and_then(Self::try_from)
    }

    /// The key's numbers.
    pub fn parameters(&self) -> &KeyParameters {
        &self.parameters
    }

    /// The key type, as in `kty`.
    pub fn key_type(&self) -> &'static str {
        match self.parameters {
            KeyParameters::Rsa { .. } => "RSA",
            KeyParameters::P256 { .. } => "EC",
            KeyParameters::Ed25519 { .. } => "OKP",
        }
    }

    /// Whether the owner allows the key for verifying signatures (RFC 7517 4.2, 4.3). A key without `use` and `key_ops`
    /// is allowed.
    pub fn may_verify(&self) -> bool {
        self.key_use.as_deref().is_none_or(|key_use| key_use == "sig")
            && self.key_ops.as_ref().is_none_or(|ops| ops.iter().any(|op| op == "verify"))
    }

    /// The SHA-256 thumbprint in base64url. It depends on the key's numbers only, not on its metadata (RFC 7638 3;
    /// RFC 8037 2 for OKP). DPoP's `jkt` is this thumbprint, and the id of a key of ours is its beginning.
    pub fn thumbprint(&self) -> SmolStr {
        let members = Members::from(self);
        let mut json = String::with_capacity(768);
        // RFC 7638 3.2, 3.3: the required members in lexicographic order, without white space. Their values
        // are base64url or names, so nothing needs escaping.
        for (name, value) in [
            ("crv", &members.crv),
            ("e", &members.e),
            ("kty", &members.kty),
            ("n", &members.n),
            ("x", &members.x),
            ("y", &members.y),
        ] {
            if let Some(value) = value {
                json.push(if json.is_empty() { '{' } else { ',' });
                let _ = write!(json, "\"{name}\":\"{value}\"");
            }
        }
        json.push('}');
        SmolStr::new(encoding::encode(&digest::sha256(&[json.as_bytes()])))
    }
}

/// RFC 7518 3.3: at least 2048 bits; an RSA key has no even exponent, and none of 1.
fn check_rsa(n: &[u8], e: &[u8]) -> Result<(), JwkError> {
    // RFC 7518 6.3.1.1: the minimum number of octets (Base64urlUInt, section 2).
    let top = *n.first().ok_or(JwkError::Invalid("n"))?;
    if top == 0 || n.last().is_none_or(|low| low % 2 == 0) {
        return Err(JwkError::Invalid("n"));
    }
    let bits = n.len() * 8 - top.leading_zeros() as usize;
    if !(2048..=8192).contains(&bits) {
        return Err(JwkError::RsaSize(bits));
    }
    let odd = e.last().is_some_and(|low| low % 2 == 1);
    let canonical = e.first().is_some_and(|top| *top != 0);
    // AWS-LC verifies with exponents of at most 33 bits, as a protection against denial of service.
    let too_long = e.len() > 5 || (e.len() == 5 && e.first().is_some_and(|top| *top > 1));
    if !odd || !canonical || too_long || *e == [1] {
        return Err(JwkError::Invalid("e"));
    }
    Ok(())
}

/// The members of the JSON object.
#[derive(Default, Serialize, Deserialize)]
struct Members {
    kty: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<SmolStr>,
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    key_use: Option<SmolStr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_ops: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alg: Option<SmolStr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    // Private members (RFC 7518 6.2.2, 6.3.2, 6.4.1; RFC 8037 2): only their presence is read, never their values.
    #[serde(skip_serializing)]
    d: Option<serde::de::IgnoredAny>,
    #[serde(skip_serializing)]
    p: Option<serde::de::IgnoredAny>,
    #[serde(skip_serializing)]
    q: Option<serde::de::IgnoredAny>,
    #[serde(skip_serializing)]
    dp: Option<serde::de::IgnoredAny>,
    #[serde(skip_serializing)]
    dq: Option<serde::de::IgnoredAny>,
    #[serde(skip_serializing)]
    qi: Option<serde::de::IgnoredAny>,
    #[serde(skip_serializing)]
    oth: Option<serde::de::IgnoredAny>,
    #[serde(skip_serializing)]
    k: Option<serde::de::IgnoredAny>,
}

impl Members {
    fn private_member(&self) -> Option<&'static str> {
        let members = [
            ("d", &self.d),
            ("p", &self.p),
            ("q", &self.q),
            ("dp", &self.dp),
            ("dq", &self.dq),
            ("qi", &self.qi),
            ("oth", &self.oth),
            ("k", &self.k),
        ];
        members.into_iter().find(|(_, value)| value.is_some()).map(|(name, _)| name)
    }

    fn parameters(&self) -> Result<KeyParameters, JwkError> {
        match (self.kty.as_deref().ok_or(JwkError::Missing("kty"))?, self.crv.as_deref()) {
            ("RSA", _) => Ok(KeyParameters::Rsa {
                n: required("n", self.n.as_deref(), encoding::decode)?.into(),
                e: required("e", self.e.as_deref(), encoding::decode)?.into(),
            }),
            // RFC 7518 6.2.1.2: coordinates have the full size of the field, leading zeros included.
            ("EC", Some("P-256")) => Ok(KeyParameters::P256 {
                x: required("x", self.x.as_deref(), encoding::decode_array)?,
                y: required("y", self.y.as_deref(), encoding::decode_array)?,
            }),
            ("OKP", Some("Ed25519")) => {
                Ok(KeyParameters::Ed25519 { x: required("x", self.x.as_deref(), encoding::decode_array)? })
            }
            ("EC" | "OKP", None) => Err(JwkError::Missing("crv")),
            ("EC" | "OKP", Some(other)) | (other, _) => Err(JwkError::Unsupported(other.to_owned())),
        }
    }
}

fn required<T>(
    name: &'static str,
    value: Option<&str>,
    decode: impl FnOnce(&str) -> Result<T, encoding::EncodingError>,
) -> Result<T, JwkError> {
    decode(value.ok_or(JwkError::Missing(name))?).map_err(|_| JwkError::Invalid(name))
}

impl TryFrom<Members> for Jwk {
    type Error = JwkError;

    fn try_from(members: Members) -> Result<Self, JwkError> {
        if let Some(name) = members.private_member() {
            return Err(JwkError::Private(name));
        }
        let jwk = Self::new(members.parameters()?)?;
        Ok(Self {
            kid: members.kid,
            alg: members.alg,
            key_use: members.key_use,
            key_ops: members.key_ops,
            ..jwk
        })
    }
}

impl From<&Jwk> for Members {
    fn from(jwk: &Jwk) -> Self {
        let mut members = Self {
            kty: Some(jwk.key_type().to_owned()),
            kid: jwk.kid.clone(),
            alg: jwk.alg.clone(),
            key_use: jwk.key_use.clone(),
            key_ops: jwk.key_ops.clone(),
            ..Self::default()
        };
        match &jwk.parameters {
            KeyParameters::Rsa { n, e } => {
                members.n = Some(encoding::encode(n));
                members.e = Some(encoding::encode(e));
            }
            KeyParameters::P256 { x, y } => {
                members.crv = Some("P-256".to_owned());
                members.x = Some(encoding::encode(x));
                members.y = Some(encoding::encode(y));
            }
            KeyParameters::Ed25519 { x } => {
                members.crv = Some("Ed25519".to_owned());
                members.x = Some(encoding::encode(x));
            }
        }
        members
    }
}

impl Serialize for Jwk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Members::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Jwk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Members::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

/// A set of public keys (RFC 7517 5). Reading a set skips keys that cannot be used here, as RFC 7517 5 asks, but fails
/// if the set discloses a private key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JwkSet {
    /// The usable keys, in the order of the document.
    pub keys: Vec<Jwk>,
    /// How many keys were skipped when the set was read.
    #[serde(skip)]
    pub skipped: usize,
}

impl JwkSet {
    /// A set of these keys.
    pub fn new(keys: Vec<Jwk>) -> Self {
        Self { keys, skipped: 0 }
    }

    /// Parses a set. Also available through serde.
    ///
    /// # Errors
    /// [`JwkError::Malformed`] if it is not a set, [`JwkError::Private`] if it discloses a private key.
    pub fn parse(json: &[u8]) -> Result<Self, JwkError> {
        serde_json::from_slice::<SetMembers>(json)
            .map_err(|error| JwkError::Malformed(error.to_string()))
            .and_then(Self::try_from)
    }

    /// The key of this id, the first one if the id is not unique.
    pub fn find(&self, kid: &str) -> Option<&Jwk> {
        self.keys.iter().find(|key| key.kid.as_deref() == Some(kid))
    }
}

#[derive(Deserialize)]
struct SetMembers {
    keys: Vec<serde_json::Value>,
}

impl TryFrom<SetMembers> for JwkSet {
    type Error = JwkError;

    fn try_from(members: SetMembers) -> Result<Self, JwkError> {
        let mut set = Self::default();
        for value in members.keys {
            // A symmetric key has another `kty` and is skipped (RFC 7517 5). It does not count as a leaked private key.
            let symmetric = value.get("kty").is_some_and(|kty| kty == "oct");
            match serde_json::from_value::<Members>(value).map(Jwk::try_from) {
                Ok(Ok(key)) => set.keys.push(key),
                Ok(Err(JwkError::Private(name))) if !symmetric => return Err(JwkError::Private(name)),
                _ => set.skipped += 1,
            }
        }
        Ok(set)
    }
}

impl<'de> Deserialize<'de> for JwkSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SetMembers::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
