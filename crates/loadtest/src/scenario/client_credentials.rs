//! `POST /token` by client credentials (RFC 6749 4.4).

use std::sync::Arc;

use super::issued::{self, Expected};
use super::{Next, Right, TokenAnswer, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, Seed};

pub(super) struct ClientCredentialsVisitor {
    seed: Arc<Seed>,
    request: Vec<u8>,
}

impl ClientCredentialsVisitor {
    pub(super) fn new(seed: &Arc<Seed>) -> Self {
        let basic = seed.client.basic();
        let fields = [FORM, ("authorization", &*basic)];
        let target = &seed.target;
        let mut bytes = Vec::new();
        let body = b"grant_type=client_credentials";
        request::with_body(&mut bytes, ("POST", &target.endpoints.token), &target.authority, &fields, body);
        Self { seed: Arc::clone(seed), request: bytes }
    }
}

impl Visitor for ClientCredentialsVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(&self.request);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer = TokenAnswer::read(response)?;
        issued::check_access_token(&self.seed, &answer, Expected { user_id: None, scope: None })?;
        if answer.id_token.is_some() || answer.refresh_token.is_some() {
            // RFC 6749 4.4.3: no refresh token; and no ID token without a user.
            return Err(Wrong::new("extra_token", "an ID token or a refresh token"));
        }
        Ok(issued::right(&self.seed, &answer))
    }
}
