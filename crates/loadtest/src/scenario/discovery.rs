//! `GET /.well-known/openid-configuration` (OpenID Connect Discovery 1.0, section 4) and the key set that it names
//! (RFC 7517 5), in turn.

use std::sync::Arc;

use serde::Deserialize;
use symbolon_crypto::jws::Compact;

use super::answer::{expect_eq, expect_status};
use super::{Next, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::Seed;

pub(crate) struct DiscoveryVisitor {
    seed: Arc<Seed>,
    discovery: Vec<u8>,
    jwks: Vec<u8>,
    /// The key that signed the seed's tokens, which must be published as long as they live.
    kid: Option<String>,
    /// Whether the key set was asked for last.
    keys: bool,
    /// Whether both are asked for in turn, and not always the same.
    in_turn: bool,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    issuer: &'a str,
    jwks_uri: Option<&'a str>,
}

#[derive(Deserialize)]
struct KeySet<'a> {
    #[serde(borrow)]
    keys: Vec<Key<'a>>,
}

/// What is looked at of a key (RFC 7517 4). The private parameters of RSA and elliptic curves are both `d`.
#[derive(Deserialize)]
struct Key<'a> {
    kty: &'a str,
    kid: Option<&'a str>,
    d: Option<serde::de::IgnoredAny>,
}

impl DiscoveryVisitor {
    pub(super) fn new(seed: &Arc<Seed>, index: usize) -> Result<Self, &'static str> {
        let endpoints = &seed.target.endpoints;
        let get = |path: &str| {
            let mut bytes = Vec::new();
            request::get(&mut bytes, path, &seed.target.authority, &[]);
            bytes
        };
        let token = seed.tokens.first().and_then(|token| Compact::parse(&token.token).ok());
        Ok(Self {
            discovery: get(&endpoints.discovery),
            jwks: get(endpoints.jwks.as_deref().ok_or("a jwks_uri")?),
            kid: token.and_then(|token| token.header().kid.as_ref().map(ToString::to_string)),
            // Half of the connections begin with the one, half with the other.
            keys: !index.is_multiple_of(2),
            in_turn: true,
            seed: Arc::clone(seed),
        })
    }

    /// One who asks for the key set alone, or for the metadata alone.
    pub(crate) fn of_one(seed: &Arc<Seed>, keys: bool) -> Result<Self, &'static str> {
        Ok(Self { keys, in_turn: false, ..Self::new(seed, 0)? })
    }

    fn check_keys(&self, response: &Response<'_>) -> Result<(), Wrong> {
        let set: KeySet<'_> =
            serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
        if set.keys.is_empty() {
            return Err(Wrong::new("keys", "an empty key set"));
        }
        for key in &set.keys {
            if key.d.is_some() || key.kty == "oct" {
                return Err(Wrong::new("private_key", "a key that must not be published"));
            }
            if key.kid.is_none_or(str::is_empty) {
                return Err(Wrong::new("kid", "a key without kid"));
            }
        }
        match &self.kid {
            Some(kid) if !set.keys.iter().any(|key| key.kid == Some(kid)) => {
                Err(Wrong::new("kid", format!("{kid}, which signed live tokens, is missing")))
            }
            _ => Ok(()),
        }
    }
}

impl Visitor for DiscoveryVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.keys ^= self.in_turn;
        out.extend_from_slice(if self.keys { &self.jwks } else { &self.discovery });
        Next::Send
    }

    fn kind(&self) -> &'static str {
        if self.keys { "key set" } else { "metadata" }
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        expect_status(response, 200)?;
        if self.keys {
            return self.check_keys(response).map(|()| Right::default());
        }
        let metadata: Metadata<'_> =
            serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
        expect_eq("iss", metadata.issuer, &self.seed.target.issuer)?;
        metadata.jwks_uri.ok_or_else(|| Wrong::new("jwks_uri", "missing"))?;
        Ok(Right::default())
    }
}
