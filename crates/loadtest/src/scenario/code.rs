//! `POST /token` by authorization code (RFC 6749 4.1.3), with codes that silent requests obtained just before.

use std::sync::{Arc, Mutex, PoisonError};

use super::issued::{self, Expected};
use super::{Claims, Next, Right, TokenAnswer, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{AccessToken, Code, FORM, Family, SCOPE, Seed};

/// Tokens that redeemed codes gave, for the seed.
#[derive(Default)]
pub(crate) struct IssuedTokens {
    pub(crate) tokens: Vec<AccessToken>,
    pub(crate) families: Vec<Family>,
}

pub(crate) struct CodeVisitor {
    seed: Arc<Seed>,
    basic: String,
    body: Vec<u8>,
    asked: Option<Code>,
    keep: Option<Arc<Mutex<IssuedTokens>>>,
}

impl CodeVisitor {
    /// `keep` receives the tokens.
    pub(crate) fn new(seed: &Arc<Seed>, keep: Option<Arc<Mutex<IssuedTokens>>>) -> Self {
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
            let claims = Claims::of(answer.access_token)?;
            let mut keep = keep.lock().unwrap_or_else(PoisonError::into_inner);
            let user_id = Arc::clone(&asked.user_id);
            let (token, user_id, expires_at) = (answer.access_token.into(), Arc::clone(&user_id), claims.exp);
            keep.tokens.push(AccessToken { token, user_id: Arc::clone(&user_id), expires_at });
            if let Some(refresh_token) = answer.refresh_token {
                keep.families.push(Family { refresh_token: refresh_token.into(), user_id });
            }
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
