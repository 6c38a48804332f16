//! `POST /token` by authorization code (RFC 6749 4.1.3), with codes that silent requests obtained just before.

use std::sync::Arc;

use super::issued::{self, Expected, Keep};
use super::{Claims, Next, Right, TokenAnswer, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{Code, FORM, SCOPE, Seed};

pub(crate) struct CodeVisitor {
    seed: Arc<Seed>,
    basic: String,
    body: Vec<u8>,
    asked: Option<Code>,
    keep: Option<Keep>,
}

impl CodeVisitor {
    /// `keep` receives the tokens.
    pub(crate) fn new(seed: &Arc<Seed>, keep: Option<Keep>) -> Self {
        Self { seed: Arc::clone(seed), basic: seed.client.basic(), body: Vec::new(), asked: None, keep }
    }
}

impl Visitor for CodeVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.asked = self.seed.codes.take();
        let Some(asked) = &self.asked else { return Next::Exhausted };
        self.body.clear();
        request::parameters(
            &mut self.body,
            &[
                ("grant_type", "authorization_code"),
                ("code", &asked.code),
                ("redirect_uri", &self.seed.client.redirect_uri),
                ("code_verifier", &asked.verifier),
            ],
        );
        let target = &self.seed.target;
        let fields = [FORM, ("authorization", &*self.basic)];
        request::with_body(out, ("POST", &target.endpoints.token), &target.authority, &fields, &self.body);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer = TokenAnswer::read(response)?;
        let Some(asked) = &self.asked else { return Ok(Right::default()) };
        check_tokens(&self.seed, &answer, &asked.user_id)?;
        if let Some(keep) = &self.keep {
            issued::keep(&self.seed, keep, &answer, &asked.user_id)?;
        }
        Ok(issued::right(&self.seed, &answer))
    }
}

/// The access token and the ID token of a redeemed code: both about this user, for the seed's client, with
/// [`SCOPE`]. The claims of the ID token.
pub(super) fn check_tokens(seed: &Seed, answer: &TokenAnswer<'_>, user_id: &str) -> Result<Claims, Wrong> {
    issued::check_access_token(seed, answer, Expected { user_id: Some(user_id), scope: Some(SCOPE) })?;
    // OpenID Connect Core 1.0, 3.1.3.3: an ID token belongs to every such answer.
    let id_token = answer.id_token.ok_or_else(|| Wrong::new("id_token", "missing"))?;
    issued::check_id_token(seed, id_token, user_id)
}
