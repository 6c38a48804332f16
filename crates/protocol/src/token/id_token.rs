//! ID tokens (OpenID Connect Core 2). Claims about the user come from UserInfo alone, as Core 5.4 says where an access
//! token is issued too.

use serde::Serialize;
use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::{digest, encoding};

use super::Context;
use super::claim::amr;
use crate::id::{ClientId, Sid, UserId};
use crate::session::Amr;
use crate::time::Timestamp;

/// `typ` of ID tokens.
pub const TYP: &str = "JWT";

/// The claims of an ID token, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdToken {
    /// The issuer's URL.
    pub iss: String,
    /// The user.
    pub sub: UserId,
    /// The client.
    pub aud: ClientId,
    /// When it ends, in seconds.
    pub exp: u64,
    /// When it was issued, in seconds.
    pub iat: u64,
    /// When the user last proved who they are, in seconds.
    pub auth_time: u64,
    /// From the authorization request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// Binds the access token: [`Self::bind`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_hash: Option<SmolStr>,
    /// The session (OpenID Connect Front-Channel Logout 3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sid: Option<Sid>,
    /// How the user proved it.
    #[serde(with = "amr", skip_serializing_if = "no_method")]
    pub amr: Amr,
}

fn no_method(amr: &Amr) -> bool {
    amr.is_empty()
}

/// Who signed in, and how.
#[derive(Clone, Copy, Debug)]
pub struct Authentication<'a> {
    /// Who.
    pub user: &'a UserId,
    /// When.
    pub auth_time: Timestamp,
    /// How.
    pub amr: Amr,
    /// In which session, where it is known.
    pub sid: Option<&'a Sid>,
    /// The `nonce` of the request.
    pub nonce: Option<&'a str>,
}

impl IdToken {
    /// An ID token issued now to the context's client.
    pub(super) fn new(context: &Context<'_>, authentication: &Authentication<'_>) -> Self {
        let iat = context.now.seconds();
        Self {
            iss: context.issuer.url.clone(),
            sub: authentication.user.clone(),
            aud: context.client.client_id.clone(),
            exp: iat.saturating_add(context.lifetimes().id_token.as_secs()),
            iat,
            auth_time: authentication.auth_time.seconds(),
            nonce: authentication.nonce.map(str::to_owned),
            at_hash: None,
            sid: authentication.sid.cloned(),
            amr: authentication.amr,
        }
    }

    /// Binds the signed access token (OpenID Connect Core 3.1.3.6). `algorithm` signs this ID token.
    pub fn bind(&mut self, access_token: &str, algorithm: Algorithm) {
        self.at_hash = Some(at_hash(access_token, algorithm));
    }

    /// The JWS payload.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(512);
        // Writing text and numbers into memory cannot fail.
        let _ = serde_json::to_writer(&mut json, self);
        json
    }
}

/// The left half of the access token's digest, by the hash of the ID token's algorithm (OpenID Connect Core 3.1.3.6).
/// Ed25519 hashes with SHA-512 (RFC 8032 5.1).
pub fn at_hash(access_token: &str, algorithm: Algorithm) -> SmolStr {
    let token = access_token.as_bytes();
    let mut text = [0; 43];
    let half = match algorithm {
        Algorithm::Rs256 | Algorithm::Ps256 | Algorithm::Es256 => {
            let digest = digest::sha256(&[token]);
            digest.first_chunk::<16>().map(|half| encoding::encode_to_slice(half, &mut text))
        }
        Algorithm::EdDsa => {
            let digest = digest::sha512(token);
            digest.first_chunk::<32>().map(|half| encoding::encode_to_slice(half, &mut text))
        }
    };
    // The buffer has room for the longer of the two.
    half.and_then(Result::ok).map(SmolStr::new).unwrap_or_default()
}

#[cfg(test)]
mod tests;
