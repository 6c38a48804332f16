//! `POST /token` by token exchange (RFC 8693): a random subject token, 20 audiences, 4 scopes.

use std::sync::Arc;

use super::answer::{expect_eq, expect_scope};
use super::{Claims, Next, Picker, Right, TokenAnswer, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, Seed};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// The scopes asked for; each is part of the subject token's.
const SCOPES: [&str; 4] = ["openid", "openid profile", "openid email", "openid profile email"];
/// How many audiences there are.
const AUDIENCES: usize = 20;

pub(super) struct ExchangeVisitor {
    seed: Arc<Seed>,
    basic: String,
    body: Vec<u8>,
    audiences: Vec<String>,
    picker: Picker,
    asked: Asked,
}

#[derive(Clone, Copy, Default)]
struct Asked {
    token: usize,
    audience: usize,
    scope: usize,
}

impl ExchangeVisitor {
    pub(super) fn new(seed: &Arc<Seed>, index: usize) -> Result<Self, &'static str> {
        if seed.tokens.is_empty() {
            return Err("access tokens");
        }
        let audiences = (0..AUDIENCES).map(|index| format!("https://service-{index}.example.com")).collect();
        Ok(Self {
            seed: Arc::clone(seed),
            basic: seed.client.basic(),
            body: Vec::new(),
            audiences,
            picker: Picker::new(index),
            asked: Asked::default(),
        })
    }
}

impl Visitor for ExchangeVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.asked = Asked {
            token: self.picker.index(self.seed.tokens.len()),
            audience: self.picker.index(AUDIENCES),
            scope: self.picker.index(SCOPES.len()),
        };
        let Some(token) = self.seed.tokens.get(self.asked.token) else { return Next::Exhausted };
        self.body.clear();
        request::parameters(
            &mut self.body,
            &[
                ("grant_type", GRANT),
                ("subject_token", &token.token),
                ("subject_token_type", ACCESS_TOKEN),
                ("requested_token_type", ACCESS_TOKEN),
                ("scope", SCOPES.get(self.asked.scope).copied().unwrap_or("openid")),
                ("audience", self.audiences.get(self.asked.audience).map_or("", String::as_str)),
            ],
        );
        let target = &self.seed.target;
        let fields = [FORM, ("authorization", &*self.basic)];
        request::with_body(out, ("POST", &target.endpoints.token), &target.authority, &fields, &self.body);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer = TokenAnswer::read(response)?;
        expect_eq("issued_token_type", answer.issued_token_type.unwrap_or(""), ACCESS_TOKEN)?;
        let claims = Claims::of(answer.access_token)?;
        let subject = self.seed.tokens.get(self.asked.token);
        expect_eq("iss", &claims.iss, &self.seed.target.issuer)?;
        expect_eq("sub", &claims.sub, subject.map_or("", |token| &*token.user_id))?;
        expect_eq("client_id", &claims.client_id, &self.seed.client.id)?;
        expect_scope(&claims.scope, SCOPES.get(self.asked.scope).copied().unwrap_or(""))?;
        let audience = self.audiences.get(self.asked.audience).map_or("", String::as_str);
        if !claims.aud.is(audience) {
            return Err(Wrong::new("aud", format!("{:?} instead of {audience}", claims.aud)));
        }
        // RFC 8693 4.1: delegation names who acts; without an actor token that is the client.
        let actor = claims.act.map(|actor| actor.sub).unwrap_or_default();
        if actor.strip_prefix("client:").unwrap_or(&actor) != &*self.seed.client.id {
            return Err(Wrong::new("act", format!("{actor:?} acts")));
        }
        Ok(Right { signatures: answer.signatures() })
    }
}
