//! Signs JWTs, as clients, load scripts and attackers do.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::encoding;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::{KeyGenerator, SigningKey};
use symbolon_crypto::secret::SecretString;

use crate::key_pool::KeyPool;

/// A signing key for tests.
pub struct Signing(SigningKey);

impl Signing {
    /// A new key.
    pub fn generate(algorithm: Algorithm) -> Self {
        Self(KeyPool.generate(algorithm).expect("a key"))
    }

    /// An RS256 key from its PKCS#8 PEM, the form in which the test endpoint returns it.
    pub fn from_pem(kid: &str, pem: &str) -> Self {
        Self(
            SigningKey::from_pkcs8_pem(Algorithm::Rs256, Some(kid), &SecretString::new(pem.to_owned()))
                .expect("a key"),
        )
    }

    /// The public half, in the form in which a client registers it.
    pub fn jwks(&self) -> Value {
        json!({ "keys": [self.0.public().jwk()] })
    }

    /// A signed JWT.
    pub fn jwt(&self, typ: &str, claims: &Value) -> String {
        let input =
            signing_input(EncodedHeader::for_key(&self.0, Some(typ)).as_str(), claims.to_string().as_bytes());
        let signature = self.0.sign(input.as_bytes()).expect("a signature");
        finish(input, &signature)
    }

    /// A JWS with any header and claims.
    pub fn jws(&self, header: &Value, claims: &Value) -> String {
        let header = encoding::encode(header.to_string().as_bytes());
        let input = signing_input(&header, claims.to_string().as_bytes());
        let signature = self.0.sign(input.as_bytes()).expect("a signature");
        finish(input, &signature)
    }

    /// The header of the key's DPoP proofs (RFC 9449 4.2).
    pub fn dpop_header(&self) -> Value {
        json!({ "typ": "dpop+jwt", "alg": self.0.algorithm(), "jwk": self.0.public().jwk() })
    }

    /// The thumbprint of the public half (RFC 7638).
    pub fn thumbprint(&self) -> String {
        self.0.public().jwk().thumbprint().to_string()
    }

    /// A client assertion that is valid for a minute (RFC 7523 3).
    pub fn assertion(&self, client_id: &str, audience: &str, jti: &str, now_seconds: u64) -> String {
        self.jwt(
            "JWT",
            &json!({
                "iss": client_id, "sub": client_id, "aud": audience, "jti": jti,
                "iat": now_seconds, "exp": now_seconds + 60,
            }),
        )
    }
}
