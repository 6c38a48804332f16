//! ID tokens (OpenID Connect Core 2). Claims about the user come from UserInfo alone, as Core 5.4 says where an access
//! token is issued too.

use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::{digest, encoding};

use super::Context;
use super::claim::amr;
use crate::id::{ClientId, Sid, UserId};
use crate::json::Object;
use crate::session::Amr;
use crate::time::Timestamp;

/// `typ` of ID tokens.
pub const TYP: &str = "JWT";

/// The claims of an ID token, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub nonce: Option<String>,
    /// Binds the access token: [`Self::bind`].
    pub at_hash: Option<SmolStr>,
    /// The session (OpenID Connect Front-Channel Logout 3).
    pub sid: Option<Sid>,
    /// How the user proved it.
    pub amr: Amr,
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

    /// Binds the signed access token (OpenID Connect Core 3.1.3.6), whose SHA-256 may be known already. `algorithm` signs
    /// this ID token.
    pub fn bind(&mut self, access_token: &[u8], sha256: Option<[u8; 32]>, algorithm: Algorithm) {
        self.at_hash = Some(at_hash(access_token, sha256, algorithm));
    }

    /// The JWS payload.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Object::with_capacity(512);
        json.text("iss", &self.iss);
        json.text("sub", self.sub.as_str());
        json.text("aud", self.aud.as_str());
        json.number("exp", self.exp);
        json.number("iat", self.iat);
        json.number("auth_time", self.auth_time);
        json.optional_text("nonce", self.nonce.as_deref());
        json.optional_text("at_hash", self.at_hash.as_deref());
        json.optional_text("sid", self.sid.as_ref().map(Sid::as_str));
        amr::write(self.amr, &mut json);
        json.end()
    }
}

/// The left half of the access token's digest, by the hash of the ID token's algorithm (OpenID Connect Core 3.1.3.6).
/// Ed25519 hashes with SHA-512 (RFC 8032 5.1).
fn at_hash(access_token: &[u8], sha256: Option<[u8; 32]>, algorithm: Algorithm) -> SmolStr {
    let mut text = [0; 43];
    let half = if algorithm.signs_sha256() {
        let digest = sha256.unwrap_or_else(|| digest::sha256(&[access_token]));
        digest.first_chunk::<16>().map(|half| encoding::encode_to_slice(half, &mut text))
    } else {
        let digest = digest::sha512(access_token);
        digest.first_chunk::<32>().map(|half| encoding::encode_to_slice(half, &mut text))
    };
    // The buffer has room for the longer of the two.
    half.and_then(Result::ok).map(SmolStr::new).unwrap_or_default()
}

#[cfg(test)]
mod tests;
