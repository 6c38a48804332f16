//! `POST /token` by refresh token, with rotation (RFC 6749 6, RFC 9700 4.14.2). Every connection has families
//! of its own and uses them in turn.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::answer::expect_new;
use super::issued::{self, Expected, Keep};
use super::{Next, Right, TokenAnswer, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, Family, SCOPE, Seed};

pub(super) struct RefreshVisitor {
    seed: Arc<Seed>,
    basic: String,
    body: Vec<u8>,
    /// The family at the front is the one asked about.
    families: VecDeque<Family>,
    /// Whether it waits for its answer.
    asking: bool,
    /// Whose requests were not answered.
    unknown: HashSet<Arc<str>>,
    /// Where new access tokens go that somebody wants to use.
    keep: Option<Keep>,
}

impl RefreshVisitor {
    /// `keep` receives the new tokens.
    pub(super) fn new(
        seed: &Arc<Seed>,
        (index, of): (usize, usize),
        keep: Option<Keep>,
    ) -> Result<Self, &'static str> {
        let families: VecDeque<_> = seed.families.iter().skip(index).step_by(of.max(1)).cloned().collect();
        if families.is_empty() {
            return Err("a refresh-token family per connection");
        }
        Ok(Self {
            seed: Arc::clone(seed),
            basic: seed.client.basic(),
            body: Vec::new(),
            families,
            asking: false,
            unknown: HashSet::new(),
            keep,
        })
    }
}

impl RefreshVisitor {
    /// The token of a request that was not answered rightly may have been used.
    fn note_unanswered(&mut self) {
        if std::mem::take(&mut self.asking) {
            self.unknown.extend(self.families.front().map(|family| Arc::clone(&family.refresh_token)));
        }
    }
}

impl Visitor for RefreshVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.note_unanswered();
        self.families.rotate_left(1);
        let Some(family) = self.families.front() else { return Next::Exhausted };
        self.asking = true;
        self.body.clear();
        request::parameters(
            &mut self.body,
            &[("grant_type", "refresh_token"), ("refresh_token", &family.refresh_token)],
        );
        let target = &self.seed.target;
        let fields = [FORM, ("authorization", &*self.basic)];
        request::with_body(out, ("POST", &target.endpoints.token), &target.authority, &fields, &self.body);
        Next::Send
    }

    fn give_back(&mut self) -> Vec<Family> {
        self.note_unanswered();
        let families = std::mem::take(&mut self.families).into_iter();
        families.filter(|family| !self.unknown.contains(&family.refresh_token)).collect()
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer = TokenAnswer::read(response)?;
        self.asking = false;
        let Some(family) = self.families.front_mut() else { return Ok(Right::default()) };
        let next = answer.refresh_token.ok_or_else(|| Wrong::new("refresh_token", "missing"))?;
        if *next == *family.refresh_token {
            return Err(Wrong::new("not_rotated", "the same refresh token again"));
        }
        expect_new(&self.seed, "refresh_token_twice", next)?;
        // Whatever became of it before, it is not the newest any more.
        self.unknown.remove(&family.refresh_token);
        family.refresh_token = next.into();
        let expected = Expected { user_id: Some(&family.user_id), scope: Some(SCOPE) };
        issued::check_access_token(&self.seed, &answer, expected)?;
        // OpenID Connect Core 1.0, 12.2: there may be none.
        if let Some(id_token) = answer.id_token {
            issued::check_id_token(&self.seed, id_token, &family.user_id)?;
        }
        if let Some(keep) = &self.keep {
            issued::keep(&self.seed, keep, &answer, &family.user_id)?;
        }
        Ok(issued::right(&self.seed, &answer))
    }
}
