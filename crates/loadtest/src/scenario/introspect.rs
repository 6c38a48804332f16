//! `POST /introspect` of a random active access token of the pool (RFC 7662).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::answer::{Audience, expect_eq, expect_scope, expect_status};
use super::{Next, Picker, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, SCOPE, Seed};

pub(super) struct IntrospectVisitor {
    seed: Arc<Seed>,
    path: String,
    basic: String,
    body: Vec<u8>,
    picker: Picker,
    asked: usize,
}

#[derive(Deserialize)]
struct Introspection<'a> {
    active: bool,
    #[serde(borrow)]
    sub: Option<Cow<'a, str>>,
    #[serde(borrow)]
    scope: Option<Cow<'a, str>>,
    #[serde(borrow)]
    client_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    iss: Option<Cow<'a, str>>,
    aud: Option<Audience>,
}

impl IntrospectVisitor {
    pub(super) fn new(seed: &Arc<Seed>, index: usize) -> Result<Self, &'static str> {
        let path = seed.target.endpoints.introspect.clone().ok_or("an introspection endpoint")?;
        if seed.tokens.is_empty() {
            return Err("access tokens");
        }
        let basic = seed.client.basic();
        Ok(Self {
            seed: Arc::clone(seed),
            path,
            basic,
            body: Vec::new(),
            picker: Picker::new(index),
            asked: 0,
        })
    }
}

impl Visitor for IntrospectVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.asked = self.picker.index(self.seed.tokens.len());
        let Some(token) = self.seed.tokens.get(self.asked) else { return Next::Exhausted };
        self.body.clear();
        request::parameters(&mut self.body, &[("token", &token.token)]);
        let fields = [FORM, ("authorization", &*self.basic)];
        request::with_body(out, ("POST", &self.path), &self.seed.target.authority, &fields, &self.body);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        expect_status(response, 200)?;
        let answer: Introspection<'_> =
            serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
        if !answer.active {
            return Err(Wrong::new("inactive", "an active token was called inactive"));
        }
        let expected = self.seed.tokens.get(self.asked).map_or("", |token| &*token.user_id);
        expect_eq("sub", answer.sub.as_deref().unwrap_or(""), expected)?;
        expect_scope(answer.scope.as_deref().unwrap_or(""), SCOPE)?;
        expect_eq("client_id", answer.client_id.as_deref().unwrap_or(""), &self.seed.client.id)?;
        expect_eq("iss", answer.iss.as_deref().unwrap_or(""), &self.seed.target.issuer)?;
        answer.aud.ok_or_else(|| Wrong::new("aud", "missing"))?;
        Ok(Right::default())
    }
}
