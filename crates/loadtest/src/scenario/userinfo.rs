//! `GET /userinfo` with a random access token of the pool (OpenID Connect Core 1.0, 5.3).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::answer::{expect_eq, expect_status};
use super::{Next, Picker, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::Seed;

pub(super) struct UserinfoVisitor {
    seed: Arc<Seed>,
    prefix: Vec<u8>,
    picker: Picker,
    asked: usize,
}

#[derive(Deserialize)]
struct Userinfo<'a> {
    #[serde(borrow)]
    sub: Cow<'a, str>,
    email_verified: Option<bool>,
}

impl UserinfoVisitor {
    pub(super) fn new(seed: &Arc<Seed>, index: usize) -> Result<Self, &'static str> {
        let path = seed.target.endpoints.userinfo.as_deref().ok_or("a userinfo endpoint")?;
        if seed.tokens.is_empty() {
            return Err("access tokens");
        }
        let mut prefix = Vec::new();
        request::get(&mut prefix, path, &seed.target.authority, &[]);
        // The last field follows in place of the empty line.
        prefix.truncate(prefix.len().saturating_sub(2));
        prefix.extend_from_slice(b"authorization: Bearer ");
        Ok(Self { seed: Arc::clone(seed), prefix, picker: Picker::new(index), asked: 0 })
    }
}

impl Visitor for UserinfoVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.asked = self.picker.index(self.seed.tokens.len());
        let Some(token) = self.seed.tokens.get(self.asked) else { return Next::Exhausted };
        out.extend_from_slice(&self.prefix);
        out.extend_from_slice(token.token.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        expect_status(response, 200)?;
        let answer: Userinfo<'_> =
            serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
        let expected = self.seed.tokens.get(self.asked).map_or("", |token| &*token.user_id);
        expect_eq("sub", &answer.sub, expected)?;
        // The tokens' scope holds `email` (OpenID Connect Core 1.0, 5.4), and the seed's users are verified.
        if answer.email_verified != Some(true) {
            return Err(Wrong::new("email_verified", format!("{:?}", answer.email_verified)));
        }
        Ok(Right::default())
    }
}
