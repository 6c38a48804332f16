//! ID tokens (OpenID Connect Core 2): who signed in, when and how, and the claims about the user that the granted
//! scopes request (Core 5.4), unless the settings leave those to UserInfo.

use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::{digest, encoding};

use super::Context;
use super::claim::amr;
use crate::claim_definition::DefinedClaims;
use crate::code::AuthorizationCode;
use crate::id::{ClientId, Sid, UserId};
use crate::json::Object;
use crate::pairwise::{self, Veiled};
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
    /// The user as the client knows them (OpenID Connect Core 8): the user's id, or a pairwise name.
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
    /// The hash of the code beside which it is returned, set by [`Self::bind_code`].
    pub c_hash: Option<SmolStr>,
    /// The hash of the request's `state`, set by [`Self::bind_state`].
    pub s_hash: Option<SmolStr>,
    /// The session as the client knows it (OpenID Connect Front-Channel Logout 3).
    pub sid: Option<Sid>,
    /// Whom it is about, where the subject is pairwise. The token has it sealed, so that it can come back as a hint.
    pub veiled: Option<Box<Veiled>>,
    /// The sealed [`Veiled`].
    pub pairwise_ref: Option<String>,
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
        let Authentication { user, sid, .. } = *authentication;
        let (sub, told_sid, veiled) = match context.pairwise() {
            None => (user.clone(), sid.cloned(), None),
            Some(pairwise) => {
                let veiled = Veiled { user: user.clone(), sid: sid.cloned(), gid: None };
                (pairwise.sub(user), sid.map(|sid| pairwise.sid(sid)), Some(Box::new(veiled)))
            }
        };
        Self {
            iss: context.issuer.url.clone(),
            sub,
            aud: context.client.client_id.clone(),
            exp: iat.saturating_add(context.lifetimes().id_token.as_secs()),
            iat,
            auth_time: authentication.auth_time.seconds(),
            nonce: authentication.nonce.map(str::to_owned),
            at_hash: None,
            c_hash: None,
            s_hash: None,
            sid: told_sid,
            veiled,
            pairwise_ref: None,
            amr: authentication.amr,
            acr: authentication.acr,
            about_user: None,
            defined: DefinedClaims::default(),
        }
    }

    /// Sets `at_hash` for the signed access token (OpenID Connect Core 3.1.3.6). Pass its SHA-256 if it is already
    /// known. `algorithm` is that of this ID token.
    pub fn bind(&mut self, access_token: &[u8], sha256: Option<[u8; 32]>, algorithm: Algorithm) {
        self.at_hash = Some(left_half(access_token, sha256, algorithm));
    }

    /// Sets `c_hash` for the code that is returned beside it (OpenID Connect Core 3.3.2.11).
    pub fn bind_code(&mut self, code: &AuthorizationCode, algorithm: Algorithm) {
        self.c_hash = Some(left_half(code.expose().as_bytes(), None, algorithm));
    }

    /// Sets `s_hash` for the `state` that is returned beside it (FAPI 1.0 Advanced 5.2.2.1).
    pub fn bind_state(&mut self, state: &str, algorithm: Algorithm) {
        self.s_hash = Some(left_half(state.as_bytes(), None, algorithm));
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
        json.optional_text("c_hash", self.c_hash.as_deref());
        json.optional_text("s_hash", self.s_hash.as_deref());
        json.optional_text("sid", self.sid.as_ref().map(Sid::as_str));
        json.optional_text(pairwise::CLAIM, self.pairwise_ref.as_deref());
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

/// The left half of a text's hash, by the hash function of the ID token's algorithm (OpenID Connect Core 3.1.3.6).
/// Ed25519 uses SHA-512 (RFC 8032 5.1).
fn left_half(text: &[u8], sha256: Option<[u8; 32]>, algorithm: Algorithm) -> SmolStr {
    let mut encoded = [0; 43];
    let half = if algorithm.signs_sha256() {
        let digest = sha256.unwrap_or_else(|| digest::sha256(&[text]));
        digest.first_chunk::<16>().map(|half| encoding::encode_to_slice(half, &mut encoded))
    } else {
        let digest = digest::sha512(text);
        digest.first_chunk::<32>().map(|half| encoding::encode_to_slice(half, &mut encoded))
    };
    // The buffer is large enough for both lengths.
    half.and_then(Result::ok).map(SmolStr::new).unwrap_or_default()
}

#[cfg(test)]
mod tests;
