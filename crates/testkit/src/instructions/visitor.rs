//! Requests that no load test sends, and whose price has a limit of its own: with a proof of a key, and pushed.

use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::random::SystemRandom;
use symbolon_crypto::{digest, encoding, random};
use symbolon_loadtest::client::{Response, request};
use symbolon_loadtest::scenario::{Next, Right, Visitor, Wrong};
use symbolon_loadtest::seed::Seed;

use crate::Signing;
use crate::drill::unix_micros;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn basic(seed: &Seed) -> String {
    request::basic(&seed.client.id, seed.client.secret.expose())
}

fn wrong(kind: &'static str, response: &Response<'_>) -> Wrong {
    Wrong::new(kind, format!("{} {}", response.status, String::from_utf8_lossy(response.body)))
}

/// Client credentials with a new DPoP proof each time (RFC 9449 4), by a key of ES256 as most clients have.
pub(super) struct ProofVisitor {
    seed: Arc<Seed>,
    key: Signing,
    basic: String,
}

impl ProofVisitor {
    pub(super) fn new(seed: &Arc<Seed>) -> Self {
        Self { seed: Arc::clone(seed), key: Signing::generate(Algorithm::Es256), basic: basic(seed) }
    }

    fn proof(&self) -> String {
        let target = &self.seed.target;
        let claims = json!({
            "jti": random::base64url::<16>(&SystemRandom), "htm": "POST", "iat": unix_micros() / 1_000_000,
            "htu": format!("{}{}", target.issuer, target.endpoints.token),
        });
        self.key.jws(&self.key.dpop_header(), &claims)
    }
}

impl Visitor for ProofVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let proof = self.proof();
        let target = &self.seed.target;
        let fields = [FORM, ("authorization", &*self.basic), ("dpop", &*proof)];
        let body = b"grant_type=client_credentials";
        request::with_body(out, ("POST", &target.endpoints.token), &target.authority, &fields, body);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer: Value = serde_json::from_slice(response.body).unwrap_or_default();
        match answer["token_type"] == "DPoP" {
            true => Ok(Right { signatures: 1 }),
            false => Err(wrong("not_bound", response)),
        }
    }
}

/// A silent authentication whose request is pushed first (RFC 9126): two requests that count as one.
pub(super) struct PushedVisitor {
    seed: Arc<Seed>,
    basic: String,
    /// The reference, between both requests.
    pushed: Option<String>,
    /// Counts up, so that the sessions take turns.
    asked: usize,
}

impl PushedVisitor {
    pub(super) fn new(seed: &Arc<Seed>) -> Self {
        Self { seed: Arc::clone(seed), basic: basic(seed), pushed: None, asked: 0 }
    }

    fn push(&self, out: &mut Vec<u8>) {
        let Seed { target, client, .. } = &*self.seed;
        let state = random::base64url::<16>(&SystemRandom);
        let verifier = random::base64url::<32>(&SystemRandom);
        let challenge = encoding::encode(&digest::sha256(&[verifier.as_bytes()]));
        let mut body = Vec::new();
        request::parameters(
            &mut body,
            &[
                ("response_type", "code"),
                ("client_id", &client.id),
                ("redirect_uri", &client.redirect_uri),
                ("scope", "openid profile email"),
                ("prompt", "none"),
                ("code_challenge_method", "S256"),
                ("code_challenge", &challenge),
                ("state", &state),
                ("nonce", &state),
            ],
        );
        request::with_body(
            out,
            ("POST", "/par"),
            &target.authority,
            &[FORM, ("authorization", &self.basic)],
            &body,
        );
    }

    fn authorize(&mut self, out: &mut Vec<u8>, reference: &str) -> Next {
        let Seed { target, client, sessions, cookie, .. } = &*self.seed;
        let Some(session) = sessions.get(self.asked % sessions.len().max(1)) else { return Next::Exhausted };
        self.asked += 1;
        let mut path = format!("{}?", target.endpoints.authorize).into_bytes();
        request::parameters(&mut path, &[("client_id", &client.id), ("request_uri", reference)]);
        let cookie = format!("{cookie}={}", session.id);
        request::get(out, &String::from_utf8_lossy(&path), &target.authority, &[("cookie", &cookie)]);
        Next::Send
    }
}

impl Visitor for PushedVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        match self.pushed.take() {
            Some(reference) => self.authorize(out, &reference),
            None => {
                self.push(out);
                Next::Send
            }
        }
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        if response.status == 201 {
            let answer: Value = serde_json::from_slice(response.body).unwrap_or_default();
            self.pushed = answer["request_uri"].as_str().map(str::to_owned);
            return Ok(Right::default());
        }
        match response.header("location").is_some_and(|location| location.contains("?code=")) {
            true => Ok(Right::default()),
            false => Err(wrong("no_code", response)),
        }
    }

    fn goes_on(&self) -> bool {
        self.pushed.is_some()
    }
}
