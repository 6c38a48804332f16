//! A software authenticator with one passkey (WebAuthn 6): answers the options of the login API as a browser would. Load
//! tests sign in with it, and so do the tests of the provider.

use serde_json::{Value, json};
use symbolon_crypto::jwk::KeyParameters;
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::{Algorithm, SecretString, digest, encoding};

/// User present, user verified, synced between devices, attested credential data (WebAuthn 6.1).
const UP: u8 = 0x01;
const UV: u8 = 0x04;
const BE: u8 = 0x08;
const BS: u8 = 0x10;
const AT: u8 = 0x40;

/// ES256 as a COSE algorithm, -7 in CBOR (RFC 9053 2.1).
const COSE_ES256: u8 = 0x26;

/// Why an authenticator cannot answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticatorError {
    /// The options lack a member, by its JSON pointer.
    #[error("the options have no {0}")]
    Options(&'static str),
    /// The private key is none for ES256, or failed.
    #[error("the private key cannot be used")]
    Key,
    /// What is to be encoded is longer than any such value.
    #[error("a value is too long")]
    TooLong,
}

/// An authenticator at one origin.
pub struct Authenticator {
    key: SigningKey,
    /// The credential's id.
    pub id: Vec<u8>,
    /// The origin of the page that it answers for.
    pub origin: String,
    /// The user whom the passkey is for: known once it was registered.
    pub user: Option<Vec<u8>>,
    /// The signature counter that it tells (WebAuthn 6.1.1). 0 stays 0, as of passkeys that are synced.
    pub counter: u32,
    /// Whether it attests itself with the passkey's own key (WebAuthn 8.2), as virtualwebauthn does, or not at all.
    pub attests: bool,
    /// Whether the passkey is synced between devices.
    pub is_synced: bool,
    /// Whether it verifies the person who uses it.
    pub verifies_user: bool,
}

impl Authenticator {
    /// A new passkey.
    ///
    /// # Errors
    /// [`AuthenticatorError::Key`] when none could be made.
    pub fn new(origin: &str) -> Result<Self, AuthenticatorError> {
        let key = SigningKey::generate(Algorithm::Es256, None).map_err(|_| AuthenticatorError::Key)?;
        Self::with(key, origin)
    }

    /// The passkey of a private key that was kept ([`private_key`](Self::private_key)).
    ///
    /// # Errors
    /// [`AuthenticatorError::Key`] where it is none for ES256.
    pub fn of_private_key(origin: &str, pem: &SecretString) -> Result<Self, AuthenticatorError> {
        let key = SigningKey::from_pkcs8_pem(Algorithm::Es256, None, pem);
        Self::with(key.map_err(|_| AuthenticatorError::Key)?, origin)
    }

    fn with(key: SigningKey, origin: &str) -> Result<Self, AuthenticatorError> {
        let (x, y) = point(&key)?;
        Ok(Self {
            id: digest::sha256(&[x, y]).to_vec(),
            key,
            origin: origin.to_owned(),
            user: None,
            counter: 0,
            attests: false,
            is_synced: false,
            verifies_user: true,
        })
    }

    /// The private key as PKCS#8 in PEM (RFC 7468 10).
    ///
    /// # Errors
    /// [`AuthenticatorError::Key`]
    pub fn private_key(&self) -> Result<SecretString, AuthenticatorError> {
        self.key.to_pkcs8_pem().map_err(|_| AuthenticatorError::Key)
    }

    /// Answers the options of `register/options`: makes the passkey (WebAuthn 6.3.2).
    ///
    /// # Errors
    /// [`AuthenticatorError`]
    pub fn create(&mut self, options: &Value) -> Result<Value, AuthenticatorError> {
        let handle = text(options, "/user/id")?;
        self.user = Some(encoding::decode(handle).map_err(|_| AuthenticatorError::Options("/user/id"))?);
        let client_data = self.client_data("webauthn.create", text(options, "/challenge")?);
        let data = self.attested_data(text(options, "/rp/id")?)?;
        let mut object = Vec::new();
        cbor_map(&mut object, 3);
        cbor_text(&mut object, "fmt")?;
        if self.attests {
            cbor_text(&mut object, "packed")?;
            cbor_text(&mut object, "attStmt")?;
            cbor_map(&mut object, 2);
            cbor_text(&mut object, "alg")?;
            object.push(COSE_ES256);
            cbor_text(&mut object, "sig")?;
            cbor_bytes(&mut object, &self.signature(&data, &client_data)?)?;
        } else {
            cbor_text(&mut object, "none")?;
            cbor_text(&mut object, "attStmt")?;
            cbor_map(&mut object, 0);
        }
        cbor_text(&mut object, "authData")?;
        cbor_bytes(&mut object, &data)?;
        Ok(self.credential(&json!({
            "clientDataJSON": encoding::encode(client_data.as_bytes()),
            "attestationObject": encoding::encode(&object),
        })))
    }

    /// Answers the options of `login/options` (WebAuthn 6.3.3).
    ///
    /// # Errors
    /// [`AuthenticatorError`]
    pub fn get(&self, options: &Value) -> Result<Value, AuthenticatorError> {
        let client_data = self.client_data("webauthn.get", text(options, "/challenge")?);
        let data = self.data(text(options, "/rpId")?, 0);
        Ok(self.credential(&json!({
            "clientDataJSON": encoding::encode(client_data.as_bytes()),
            "authenticatorData": encoding::encode(&data),
            "signature": encoding::encode(&self.signature(&data, &client_data)?),
            "userHandle": self.user.as_deref().map(encoding::encode),
        })))
    }

    /// A signature of these bytes by the passkey's key: ASN.1, as WebAuthn 6.5.5 wants it of ES256.
    ///
    /// # Errors
    /// [`AuthenticatorError::Key`]
    pub fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, AuthenticatorError> {
        let signature = self.key.sign(bytes).map_err(|_| AuthenticatorError::Key)?;
        der(signature.as_bytes()).ok_or(AuthenticatorError::Key)
    }

    fn credential(&self, response: &Value) -> Value {
        let id = encoding::encode(&self.id);
        json!({ "id": id, "rawId": id, "type": "public-key", "response": response })
    }

    fn client_data(&self, kind: &str, challenge: &str) -> String {
        json!({ "type": kind, "challenge": challenge, "origin": self.origin }).to_string()
    }

    /// Authenticator data (WebAuthn 6.1).
    fn data(&self, rp_id: &str, more: u8) -> Vec<u8> {
        let mut flags = UP | more;
        if self.verifies_user {
            flags |= UV;
        }
        if self.is_synced {
            flags |= BE | BS;
        }
        let mut data = digest::sha256(&[rp_id.as_bytes()]).to_vec();
        data.push(flags);
        data.extend_from_slice(&self.counter.to_be_bytes());
        data
    }

    /// Authenticator data with attested credential data (WebAuthn 6.5.1).
    fn attested_data(&self, rp_id: &str) -> Result<Vec<u8>, AuthenticatorError> {
        let mut data = self.data(rp_id, AT);
        // No model is told.
        data.extend_from_slice(&[0; 16]);
        let length = u16::try_from(self.id.len()).map_err(|_| AuthenticatorError::TooLong)?;
        data.extend_from_slice(&length.to_be_bytes());
        data.extend_from_slice(&self.id);
        // A COSE key (RFC 9053 7.1): EC2, ES256, P-256, x, y.
        let (x, y) = point(&self.key)?;
        data.extend_from_slice(&[0xa5, 0x01, 0x02, 0x03, COSE_ES256, 0x20, 0x01, 0x21]);
        cbor_bytes(&mut data, x)?;
        data.push(0x22);
        cbor_bytes(&mut data, y)?;
        Ok(data)
    }

    fn signature(&self, data: &[u8], client_data: &str) -> Result<Vec<u8>, AuthenticatorError> {
        self.sign(&[data, &digest::sha256(&[client_data.as_bytes()])].concat())
    }
}

fn point(key: &SigningKey) -> Result<(&[u8], &[u8]), AuthenticatorError> {
    match key.public().jwk().parameters() {
        KeyParameters::P256 { x, y } => Ok((x, y)),
        _ => Err(AuthenticatorError::Key),
    }
}

fn text<'a>(options: &'a Value, pointer: &'static str) -> Result<&'a str, AuthenticatorError> {
    options.pointer(pointer).and_then(Value::as_str).ok_or(AuthenticatorError::Options(pointer))
}

/// `r || s` as an ASN.1 sequence of two integers (RFC 3279 2.2.3).
fn der(raw: &[u8]) -> Option<Vec<u8>> {
    let (r, s) = raw.split_at_checked(raw.len() / 2)?;
    let (r, s) = (integer(r)?, integer(s)?);
    let mut sequence = vec![0x30, u8::try_from(r.len() + s.len()).ok().filter(|length| *length < 0x80)?];
    sequence.extend(r);
    sequence.extend(s);
    Some(sequence)
}

/// A number that is not negative, in as few bytes as it needs (X.690 8.3).
fn integer(bytes: &[u8]) -> Option<Vec<u8>> {
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len().saturating_sub(1));
    let digits = bytes.get(first..)?;
    let sign = usize::from(digits.first()? & 0x80 != 0);
    let mut integer = vec![0x02, u8::try_from(sign + digits.len()).ok()?];
    integer.extend(std::iter::repeat_n(0, sign));
    integer.extend_from_slice(digits);
    Some(integer)
}

/// Major types of CBOR (RFC 8949 3.1).
fn cbor_map(out: &mut Vec<u8>, pairs: u8) {
    out.push(0xa0 | pairs);
}

fn cbor_text(out: &mut Vec<u8>, text: &str) -> Result<(), AuthenticatorError> {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 24);
    out.push(0x60 | length.ok_or(AuthenticatorError::TooLong)?);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn cbor_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), AuthenticatorError> {
    out.push(0x59);
    let length = u16::try_from(bytes.len()).map_err(|_| AuthenticatorError::TooLong)?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "https://login.example";

    #[test]
    fn signatures_are_two_positive_numbers() {
        let raw = |r: &[u8], s: &[u8]| {
            let padded = |number: &[u8]| [&vec![0; 32 - number.len()][..], number].concat();
            der(&[padded(r), padded(s)].concat()).unwrap()
        };
        assert_eq!(raw(&[1], &[0x7f, 2]), [0x30, 7, 2, 1, 1, 2, 2, 0x7f, 2]);
        assert_eq!(raw(&[0x80], &[]), [0x30, 7, 2, 2, 0, 0x80, 2, 1, 0]);
        assert_eq!(raw(&[0xff; 32], &[0xff; 32]).len(), 72);
    }

    #[test]
    fn a_passkey_that_was_kept_is_the_same() {
        let mut passkey = Authenticator::new(ORIGIN).unwrap();
        let options =
            json!({ "challenge": "Y2hhbGxlbmdl", "rp": { "id": "login.example" }, "user": { "id": "dTE" } });
        let made = passkey.create(&options).unwrap();
        let kept = Authenticator::of_private_key(ORIGIN, &passkey.private_key().unwrap()).unwrap();
        assert_eq!(kept.id, passkey.id);
        assert_eq!(made["rawId"], encoding::encode(&kept.id));
        assert_eq!(passkey.user.as_deref(), Some(&b"u1"[..]));
        let key = passkey.key.public();
        let raw = kept.key.sign(b"both").unwrap();
        assert!(key.verify(b"both", raw.as_bytes()).is_ok());
    }

    #[test]
    fn options_without_a_challenge_are_not_answered() {
        let passkey = Authenticator::new(ORIGIN).unwrap();
        let told = passkey.get(&json!({ "rpId": "login.example" })).unwrap_err();
        assert_eq!(told, AuthenticatorError::Options("/challenge"));
    }
}
