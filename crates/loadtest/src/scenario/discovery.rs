//! `GET /.well-known/openid-configuration` (OpenID Connect Discovery 1.0, section 4).

use std::sync::Arc;

use serde::Deserialize;

use super::answer::{expect_eq, expect_status};
use super::{Next, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::Seed;

pub(super) struct DiscoveryVisitor {
    seed: Arc<Seed>,
    request: Vec<u8>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    issuer: &'a str,
    jwks_uri: Option<&'a str>,
}

impl DiscoveryVisitor {
    pub(super) fn new(seed: &Arc<Seed>) -> Self {
        let mut bytes = Vec::new();
        request::get(&mut bytes, &seed.target.endpoints.discovery, &seed.target.authority, &[]);
        Self { seed: Arc::clone(seed), request: bytes }
    }
}

impl Visitor for DiscoveryVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(&self.request);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        expect_status(response, 200)?;
        let metadata: Metadata<'_> =
            serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
        expect_eq("iss", metadata.issuer, &self.seed.target.issuer)?;
        metadata.jwks_uri.ok_or_else(|| Wrong::new("jwks_uri", "missing"))?;
        Ok(Right::default())
    }
}
