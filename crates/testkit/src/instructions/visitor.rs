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

/// What a token request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    /// Client credentials, which are granted.
    ClientCredentials,
    /// A grant type that there is not. It is refused once the client has authenticated and its proof, if there is one, is
    /// verified, and before anything else happens.
    NoGrant,
}

/// A token request, with a new DPoP proof each time (RFC 9449 4) by a key of ES256, as most clients have, or without.
pub(super) struct TokenVisitor {
    seed: Arc<Seed>,
    asks: Asks,
    key: Option<Signing>,
    basic: String,
}

impl TokenVisitor {
    pub(super) fn new(seed: &Arc<Seed>, asks: Asks, with_proof: bool) -> Self {
        let key = with_proof.then(|| Signing::generate(Algorithm::Es256));
        Self { seed: Arc::clone(seed), asks, key, basic: basic(seed) }
    }

    fn proof(&self, key: &Signing) -> String {
        let target = &self.seed.target;
        let claims = json!({
            "jti": random::base64url::<16>(&SystemRandom), "htm": "POST", "iat": unix_micros() / 1_000_000,
            "htu": format!("{}{}", target.issuer, target.endpoints.token),
        });
        key.jws(&key.dpop_header(), &claims)
    }
}

impl Visitor for TokenVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let proof = self.key.as_ref().map(|key| self.proof(key));
        let target = &self.seed.target;
        let mut fields = vec![FORM, ("authorization", &*self.basic)];
        fields.extend(proof.as_deref().map(|proof| ("dpop", proof)));
        let body: &[u8] = match self.asks {
            Asks::ClientCredentials => b"grant_type=client_credentials",
            Asks::NoGrant => b"grant_type=there_is_no_such_one",
        };
        request::with_body(out, ("POST", &target.endpoints.token), &target.authority, &fields, body);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer: Value = serde_json::from_slice(response.body).unwrap_or_default();
        let is_right = match (self.asks, &self.key) {
            (Asks::ClientCredentials, Some(_)) => answer["token_type"] == "DPoP",
            (Asks::ClientCredentials, None) => answer["token_type"] == "Bearer",
            // A proof that is not good would be told of instead.
            (Asks::NoGrant, _) => answer["error"] == "unsupported_grant_type",
        };
        match is_right {
            true => Ok(Right { signatures: u32::from(self.asks == Asks::ClientCredentials) }),
            false => Err(wrong("token", response)),
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
