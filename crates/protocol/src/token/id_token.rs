//! ID tokens (OpenID Connect Core 2): who signed in, when and how, and the claims about the user that the granted
//! scopes request (Core 5.4), unless the settings leave those to UserInfo.

use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::{digest, encoding};

use super::Context;
use super::claim::amr;
use crate::claim_definition::DefinedClaims;
use crate::id::{ClientId, Sid, UserId};
use crate::json::Object;
use crate::session::Amr;
use crate::sign_in::acr::Acr;
use crate::time::Timestamp;
use crate::user_claims::UserClaims;

/// `typ` of ID tokens.
pub const TYP: &str = "JWT";

/// The claims of an ID token; written in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdToken {
    /// The issuer's URL.
    pub iss: String,
    /// The user's id.
    pub sub: UserId,
    /// The client's id.
    pub aud: ClientId,
    /// When it expires, in seconds.
    pub exp: u64,
    /// When it was issued, in seconds.
    pub iat: u64,
    /// When the user last authenticated, in seconds.
    pub auth_time: u64,
    /// The `nonce` of the authorization request.
    pub nonce: Option<String>,
    /// The hash of the access token, set by [`Self::bind`].
    pub at_hash: Option<SmolStr>,
    /// The session (OpenID Connect Front-Channel Logout 3).
    pub sid: Option<Sid>,
    /// How the user authenticated.
    pub amr: Amr,
    /// The class of that authentication.
    pub acr: Option<Acr>,
    /// The claims about the user, set by [`IssuePlan::release`](super::IssuePlan::release).
    pub about_user: Option<UserClaims>,
    /// The claims of definitions, set by the same.
    pub defined: DefinedClaims,
}

/// The authentication that an ID token describes.
#[derive(Clone, Copy, Debug)]
pub struct Authentication<'a> {
    /// The user.
    pub user: &'a UserId,
    /// When they authenticated.
    pub auth_time: Timestamp,
    /// How they authenticated.
    pub amr: Amr,
    /// The class of that authentication.
    pub acr: Option<Acr>,
    /// The session, if it is known.
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
            acr: authentication.acr,
            about_user: None,
            defined: DefinedClaims::default(),
        }
    }

    /// Sets `at_hash` for the signed access token (OpenID Connect Core 3.1.3.6). Pass its SHA-256 if it is already
    /// known. `algorithm` is that of this ID token.
    pub fn bind(&mut self, access_token: &[u8], sha256: Option<[u8; 32]>, algorithm: Algorithm) {
        self.at_hash = Some(at_hash(access_token, sha256, algorithm));
    }

    /// The JWS payload.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Object::with_capacity(if self.about_user.is_some() { 1024 } else { 512 });
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
        json.optional_text("acr", self.acr.map(Acr::as_str));
        // The names of these claims are fixed, and none of them is a name from above.
        if let Some(claims) = &self.about_user {
            claims.write(&self.aud, &mut json);
        }
        // No definition has a name from above, and the standard claims that one replaces are not written.
        json.members(&self.defined);
        json.end()
    }
}

/// The left half of the access token's hash, by the hash function of the ID token's algorithm (OpenID Connect Core
/// 3.1.3.6). Ed25519 uses SHA-512 (RFC 8032 5.1).
fn at_hash(access_token: &[u8], sha256: Option<[u8; 32]>, algorithm: Algorithm) -> SmolStr {
    let mut text = [0; 43];
    let half = if algorithm.signs_sha256() {
        let digest = sha256.unwrap_or_else(|| digest::sha256(&[access_token]));
        digest.first_chunk::<16>().map(|half| encoding::encode_to_slice(half, &mut text))
    } else {
        let digest = digest::sha512(access_token);
        digest.first_chunk::<32>().map(|half| encoding::encode_to_slice(half, &mut text))
    };
    // The buffer is large enough for both lengths.
    half.and_then(Result::ok).map(SmolStr::new).unwrap_or_default()
}

#[cfg(test)]
mod tests;
