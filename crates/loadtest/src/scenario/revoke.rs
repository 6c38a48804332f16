//! `POST /revoke` (RFC 7009 2), for seeding: tokens that were good once and must not be any more.

use std::sync::Arc;

use super::answer::expect_status;
use super::{Next, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, Seed};

pub(crate) struct RevokeVisitor {
    seed: Arc<Seed>,
    path: String,
    basic: String,
    tokens: Vec<Arc<str>>,
}

impl RevokeVisitor {
    pub(crate) fn new(seed: &Arc<Seed>, path: &str, tokens: Vec<Arc<str>>) -> Self {
        Self { seed: Arc::clone(seed), path: path.to_owned(), basic: seed.client.basic(), tokens }
    }
}

impl Visitor for RevokeVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let Some(token) = self.tokens.pop() else { return Next::Exhausted };
        let mut body = Vec::new();
        request::parameters(&mut body, &[("token", &token), ("token_type_hint", "access_token")]);
        let fields = [FORM, ("authorization", &*self.basic)];
        request::with_body(out, ("POST", &self.path), &self.seed.target.authority, &fields, &body);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        // RFC 7009 2.2: 200, whether it was valid or not.
        expect_status(response, 200).map(|()| Right::default())
    }
}
