//! `GET /authorize` with `prompt=none`: a random session of the pool, fresh state, nonce and PKCE challenge.

use std::sync::Arc;

use percent_encoding::percent_decode_str;
use symbolon_crypto::{SystemRandom, digest, encoding, random};

use super::answer::{expect_eq, expect_new, expect_status};
use super::{Next, Picker, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{Code, CodePool, SCOPE, Seed};

pub(crate) struct SilentVisitor {
    seed: Arc<Seed>,
    picker: Picker,
    /// Everything up to the value of `state`.
    prefix: Vec<u8>,
    /// What follows the query, up to the value of the session cookie.
    suffix: Vec<u8>,
    asked: Asked,
    /// Where codes go that somebody wants to redeem.
    keep: Option<CodePool>,
}

#[derive(Default)]
struct Asked {
    session: usize,
    state: String,
    verifier: String,
}

impl SilentVisitor {
    /// `keep` receives the codes.
    pub(crate) fn new(seed: &Arc<Seed>, index: usize, keep: Option<CodePool>) -> Result<Self, &'static str> {
        if seed.sessions.is_empty() {
            return Err("sessions");
        }
        let mut prefix = format!("GET {}?", seed.target.endpoints.authorize).into_bytes();
        request::parameters(
            &mut prefix,
            &[
                ("response_type", "code"),
                ("client_id", &seed.client.id),
                ("redirect_uri", &seed.client.redirect_uri),
                ("scope", SCOPE),
                ("prompt", "none"),
                ("code_challenge_method", "S256"),
                ("state", ""),
            ],
        );
        let suffix = format!(" HTTP/1.1\r\nhost: {}\r\ncookie: {}=", seed.target.authority, seed.cookie);
        Ok(Self {
            seed: Arc::clone(seed),
            picker: Picker::new(index),
            prefix,
            suffix: suffix.into_bytes(),
            asked: Asked::default(),
            keep,
        })
    }
}

impl Visitor for SilentVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let asked = &mut self.asked;
        asked.session = self.picker.index(self.seed.sessions.len());
        let Some(session) = self.seed.sessions.get(asked.session) else { return Next::Exhausted };
        // One draw for all: 32 bytes of verifier (RFC 7636 4.1), 16 of state and nonce together.
        let drawn = random::bytes::<48>(&SystemRandom);
        let (verifier, state) = drawn.split_at(32);
        asked.verifier.clear();
        encoding::encode_into(&mut asked.verifier, verifier);
        asked.state.clear();
        encoding::encode_into(&mut asked.state, state);
        let challenge = digest::sha256(&[asked.verifier.as_bytes()]);
        let mut encoded = [0; 43];
        let challenge = encoding::encode_to_slice(&challenge, &mut encoded).unwrap_or("");
        for part in [
            self.prefix.as_slice(),
            asked.state.as_bytes(),
            b"&nonce=",
            asked.state.as_bytes(),
            b"&code_challenge=",
            challenge.as_bytes(),
            &self.suffix,
            session.id.as_bytes(),
            b"\r\n\r\n",
        ] {
            out.extend_from_slice(part);
        }
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        if response.status != 303 {
            expect_status(response, 302)?;
        }
        let location = response.header("location").ok_or_else(|| Wrong::new("location", "missing"))?;
        let answer = read_location(location, &self.seed.client.redirect_uri)?;
        expect_eq("state", answer.state, &self.asked.state)?;
        let issuer = percent_decode_str(answer.iss).decode_utf8_lossy();
        // RFC 9207 2: the issuer in the authorization response.
        expect_eq("iss", &issuer, &self.seed.target.issuer)?;
        expect_new(&self.seed, "code_twice", answer.code)?;
        if let Some(pool) = &self.keep {
            let user_id =
                self.seed.sessions.get(self.asked.session).map(|session| Arc::clone(&session.user_id));
            pool.put(Code {
                code: percent_decode_str(answer.code).decode_utf8_lossy().into_owned(),
                verifier: self.asked.verifier.clone(),
                user_id: user_id.unwrap_or_default(),
            });
        }
        Ok(Right::default())
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) code: &'a str,
    pub(super) state: &'a str,
    pub(super) iss: &'a str,
}

/// The parameters of a successful authorization response (RFC 6749 4.1.2), still encoded.
pub(super) fn read_location<'a>(location: &'a str, redirect_uri: &str) -> Result<Answer<'a>, Wrong> {
    let query = location
        .strip_prefix(redirect_uri)
        .and_then(|rest| rest.strip_prefix('?').or_else(|| rest.strip_prefix('&')))
        .ok_or_else(|| Wrong::new("location", location.chars().take(60).collect::<String>()))?;
    let mut answer = Answer::default();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("code", value)) => answer.code = value,
            Some(("state", value)) => answer.state = value,
            Some(("iss", value)) => answer.iss = value,
            Some(("error", value)) => return Err(Wrong::new(error_kind(value), pair)),
            _ => {}
        }
    }
    if answer.code.is_empty() { Err(Wrong::new("code", "missing")) } else { Ok(answer) }
}

/// The errors that a silent request must be ready for (OpenID Connect Core 1.0, 3.1.2.6).
fn error_kind(error: &str) -> &'static str {
    match error {
        "login_required" => "login_required",
        "consent_required" => "consent_required",
        "interaction_required" => "interaction_required",
        _ => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations() {
        let uri = "https://a.example/cb";
        let read = |location| read_location(location, uri);
        let answer =
            read("https://a.example/cb?code=c_1&state=s&iss=https%3A%2F%2Fi&session_state=x").unwrap();
        assert_eq!(answer, Answer { code: "c_1", state: "s", iss: "https%3A%2F%2Fi" });
        assert_eq!(
            read("https://a.example/cb?error=login_required&state=s").unwrap_err().kind,
            "login_required"
        );
        assert_eq!(read("https://a.example/cb?state=s").unwrap_err().kind, "code");
        assert_eq!(read("https://b.example/cb?code=c").unwrap_err().kind, "location");
        assert_eq!(read("/login?x=y").unwrap_err().kind, "location");
    }
}
