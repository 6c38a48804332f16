//! A software authenticator with one passkey (WebAuthn 6): answers the options of the login API as a browser would.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use symbolon_crypto::{digest, encoding};

/// User present, user verified, attested credential data (WebAuthn 6.1).
const UP: u8 = 0x01;
const UV: u8 = 0x04;
const BE: u8 = 0x08;
const BS: u8 = 0x10;
const AT: u8 = 0x40;

/// How an answer differs from a good one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flaw {
    /// It does not.
    #[default]
    None,
    /// The person was not verified.
    Unverified,
    /// The signature is of other data.
    BadSignature,
    /// It is for another relying party.
    OtherRelyingParty,
}

/// An authenticator at one origin.
pub struct Authenticator {
    key: EcdsaKeyPair,
    /// The credential's id.
    pub id: Vec<u8>,
    /// The origin of the page that it answers for.
    pub origin: String,
    /// The user whom the passkey is for: known once it was registered.
    pub user: Option<Vec<u8>>,
    /// The signature counter. 0 stays 0, as of passkeys that are synced.
    pub counter: u32,
    /// Whether it attests itself with the passkey's own key (WebAuthn 8.2), as virtualwebauthn does, or not at all.
    pub attests: bool,
    /// Whether the passkey is synced between devices.
    pub is_synced: bool,
    /// What is wrong with its answers.
    pub flaw: Flaw,
}

impl Authenticator {
    /// A new passkey.
    pub fn new(origin: &str) -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key");
        let id = digest::sha256(&[key.public_key().as_ref()]).to_vec();
        Self {
            key,
            id,
            origin: origin.to_owned(),
            user: None,
            counter: 0,
            attests: false,
            is_synced: false,
            flaw: Flaw::None,
        }
    }

    /// Answers the options of `register/options`: makes the passkey.
    pub fn create(&mut self, options: &Value) -> Value {
        self.user = Some(encoding::decode(text(options, "/user/id")).expect("a user handle"));
        let client_data = self.client_data("webauthn.create", text(options, "/challenge"));
        let data = self.attested_data(text(options, "/rp/id"));
        let mut object = Vec::new();
        let signature = self.signature(&data, &client_data);
        cbor_map(&mut object, 3);
        cbor_text(&mut object, "fmt");
        if self.attests {
            cbor_text(&mut object, "packed");
            cbor_text(&mut object, "attStmt");
            cbor_map(&mut object, 2);
            cbor_text(&mut object, "alg");
            object.push(0x26);
            cbor_text(&mut object, "sig");
            cbor_bytes(&mut object, &signature);
        } else {
            cbor_text(&mut object, "none");
            cbor_text(&mut object, "attStmt");
            cbor_map(&mut object, 0);
        }
        cbor_text(&mut object, "authData");
        cbor_bytes(&mut object, &data);
        let id = encoding::encode(&self.id);
        json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "response": {
                "clientDataJSON": encoding::encode(client_data.as_bytes()),
                "attestationObject": encoding::encode(&object),
            },
        })
    }

    /// Answers the options of `login/options`.
    pub fn get(&mut self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.get", text(options, "/challenge"));
        if self.counter > 0 {
            self.counter += 1;
        }
        let data = self.data(text(options, "/rpId"), 0);
        let id = encoding::encode(&self.id);
        json!({
            "id": id,
            "rawId": id,
            "type": "public-key",
            "response": {
                "clientDataJSON": encoding::encode(client_data.as_bytes()),
                "authenticatorData": encoding::encode(&data),
                "signature": encoding::encode(&self.signature(&data, &client_data)),
                "userHandle": self.user.as_deref().map(encoding::encode),
            },
        })
    }

    fn client_data(&self, kind: &str, challenge: &str) -> String {
        json!({ "type": kind, "challenge": challenge, "origin": self.origin }).to_string()
    }

    /// Authenticator data (WebAuthn 6.1).
    fn data(&self, rp_id: &str, more: u8) -> Vec<u8> {
        let rp_id = if self.flaw == Flaw::OtherRelyingParty { "evil.example" } else { rp_id };
        let mut flags = UP | more;
        if self.flaw != Flaw::Unverified {
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
    fn attested_data(&self, rp_id: &str) -> Vec<u8> {
        let mut data = self.data(rp_id, AT);
        data.extend_from_slice(&[0; 16]);
        data.extend_from_slice(&u16::try_from(self.id.len()).expect("a short id").to_be_bytes());
        data.extend_from_slice(&self.id);
        // A COSE key (RFC 9053 7.1): EC2, ES256, P-256, x, y.
        let point = self.key.public_key().as_ref();
        data.extend_from_slice(&[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]);
        cbor_bytes(&mut data, &point[1..33]);
        data.push(0x22);
        cbor_bytes(&mut data, &point[33..65]);
        data
    }

    fn signature(&self, data: &[u8], client_data: &str) -> Vec<u8> {
        let mut signed = data.to_vec();
        signed.extend_from_slice(&digest::sha256(&[client_data.as_bytes()]));
        if self.flaw == Flaw::BadSignature {
            signed.push(0);
        }
        self.key.sign(&SystemRandom::new(), &signed).expect("a signature").as_ref().to_vec()
    }
}

fn text<'a>(options: &'a Value, pointer: &str) -> &'a str {
    options.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer}: {options}"))
}

/// Major types of CBOR (RFC 8949 3.1).
fn cbor_map(out: &mut Vec<u8>, pairs: u8) {
    out.push(0xa0 | pairs);
}

fn cbor_text(out: &mut Vec<u8>, text: &str) {
    out.push(0x60 | u8::try_from(text.len()).ok().filter(|len| *len < 24).expect("a short text"));
    out.extend_from_slice(text.as_bytes());
}

fn cbor_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(0x59);
    out.extend_from_slice(&u16::try_from(bytes.len()).expect("few bytes").to_be_bytes());
    out.extend_from_slice(bytes);
}
