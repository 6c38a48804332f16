//! The authorization request of a login, and what must come of it.

use std::sync::{Arc, PoisonError};

use percent_encoding::percent_decode_str;
use symbolon_crypto::{SystemRandom, digest, encoding, random};

use super::answer::{expect_eq, expect_new};
use super::code::check_tokens;
use super::cookies::Jar;
use super::issued::{self, Keep};
use super::silent::read_location;
use super::{Right, TokenAnswer, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, SCOPE, Seed, Session, User};

/// What binds the answers of one login to it.
#[derive(Default)]
pub(super) struct Authorization {
    /// `state` and `nonce`.
    state: String,
    /// The PKCE verifier (RFC 7636 4.1).
    verifier: String,
}

impl Authorization {
    /// One that nobody has asked for yet.
    pub(super) fn draw() -> Self {
        Self {
            state: random::base64url::<16>(&SystemRandom),
            verifier: random::base64url::<32>(&SystemRandom),
        }
    }

    /// The request (RFC 6749 4.1.1) by path and query, with the `prompt` of OpenID Connect Core 1.0, 3.1.2.1.
    pub(super) fn request(&self, seed: &Seed, prompt: Option<&str>) -> String {
        let challenge = encoding::encode(&digest::sha256(&[self.verifier.as_bytes()]));
        let mut path = format!("{}?", seed.target.endpoints.authorize).into_bytes();
        request::parameters(
            &mut path,
            &[
                ("response_type", "code"),
                ("client_id", &seed.client.id),
                ("redirect_uri", &seed.client.redirect_uri),
                ("scope", SCOPE),
                ("code_challenge_method", "S256"),
                ("code_challenge", &challenge),
                ("nonce", &self.state),
                ("state", &self.state),
            ],
        );
        if let Some(prompt) = prompt {
            path.push(b'&');
            request::parameters(&mut path, &[("prompt", prompt)]);
        }
        String::from_utf8_lossy(&path).into_owned()
    }

    /// The code of a redirect to the client.
    pub(super) fn code(&self, seed: &Seed, location: &str) -> Result<String, Wrong> {
        let answer = read_location(location, &seed.client.redirect_uri)?;
        expect_eq("state", answer.state, &self.state)?;
        let issuer = percent_decode_str(answer.iss).decode_utf8_lossy();
        // RFC 9207 2: the issuer in the authorization response.
        expect_eq("iss", &issuer, &seed.target.issuer)?;
        expect_new(seed, "code_twice", answer.code)?;
        Ok(percent_decode_str(answer.code).decode_utf8_lossy().into_owned())
    }

    /// Appends the request that redeems it (RFC 6749 4.1.3).
    pub(super) fn redeem(&self, (seed, basic): (&Seed, &str), code: &str, out: &mut Vec<u8>) {
        let mut form = Vec::new();
        request::parameters(
            &mut form,
            &[
                ("grant_type", "authorization_code"),
                ("code", code),
                ("redirect_uri", &seed.client.redirect_uri),
                ("code_verifier", &self.verifier),
            ],
        );
        let fields = [FORM, ("authorization", basic)];
        request::with_body(
            out,
            ("POST", &seed.target.endpoints.token),
            &seed.target.authority,
            &fields,
            &form,
        );
    }

    /// The tokens: of this user, and of this request. `keep` receives them with the browser's session.
    pub(super) fn check(
        &self,
        seed: &Seed,
        response: &Response<'_>,
        user: &User,
        keep: Option<(&Keep, &Jar)>,
    ) -> Result<Right, Wrong> {
        let answer = TokenAnswer::read(response)?;
        let id_token = check_tokens(seed, &answer, &user.id)?;
        // OpenID Connect Core 1.0, 2: the request's nonce, unmodified.
        expect_eq("nonce", id_token.nonce.as_deref().unwrap_or(""), &self.state)?;
        if let Some((keep, cookies)) = keep {
            issued::keep(seed, keep, &answer, &user.id)?;
            let session = cookies.value(&seed.cookie);
            let session = session.map(|id| Session { id: id.into(), user_id: Arc::clone(&user.id) });
            keep.lock().unwrap_or_else(PoisonError::into_inner).sessions.extend(session);
        }
        Ok(issued::right(seed, &answer))
    }
}

/// Where a redirect leads.
pub(super) fn location<'a>(response: &Response<'a>) -> Result<&'a str, Wrong> {
    response.header("location").ok_or_else(|| Wrong::new("location", "missing"))
}
