//! `POST /introspect` (RFC 7662): random active access tokens of the pool, or with the reports' mix also tokens
//! that came from an exchange, and tokens that must be called inactive.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::answer::{Actor, Audience, expect_actor, expect_eq, expect_scope, expect_status};
use super::mix::Deck;
use super::{Mix, Next, Picker, Right, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, SCOPE, Seed, Special, TokenFormat};

/// The shares of the reports, in percent.
const REPORT: [(Kind, usize); 6] = [
    (Kind::Valid, 60),
    (Kind::Exchanged, 5),
    (Kind::Expired, 12),
    (Kind::Revoked, 12),
    (Kind::WrongAudience, 6),
    (Kind::WrongClient, 5),
];

/// What kind of token is asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Valid,
    Exchanged,
    Expired,
    Revoked,
    WrongAudience,
    WrongClient,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Exchanged => "exchanged",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::WrongAudience => "other audience",
            Self::WrongClient => "client that is gone",
        }
    }

    /// The tokens that must be called inactive, and what it is called when they are not.
    fn refused(self, special: &Special) -> Option<(&[Arc<str>], &'static str)> {
        match self {
            Self::Valid | Self::Exchanged => None,
            Self::Expired => Some((&special.expired, "expired-accepted")),
            Self::Revoked => Some((&special.revoked, "revoked-accepted")),
            Self::WrongAudience => Some((&special.wrong_audience, "audience-accepted")),
            Self::WrongClient => Some((&special.wrong_client, "client-accepted")),
        }
    }

    /// How many tokens there are of the kind.
    fn count(self, seed: &Seed) -> usize {
        match &seed.special {
            Some(special) if self == Self::Exchanged => special.exchanged.len(),
            Some(special) => self.refused(special).map_or(seed.tokens.len(), |(tokens, _)| tokens.len()),
            None => seed.tokens.len(),
        }
    }

    /// One of them.
    fn token(self, seed: &Seed, index: usize) -> Option<&str> {
        let valid = || seed.tokens.get(index).map(|token| &*token.token);
        match &seed.special {
            Some(special) if self == Self::Exchanged => special.exchanged.get(index).map(|one| &*one.token),
            Some(special) => match self.refused(special) {
                Some((tokens, _)) => tokens.get(index).map(|token| &**token),
                None => valid(),
            },
            None => valid(),
        }
    }
}

pub(super) struct IntrospectVisitor {
    seed: Arc<Seed>,
    path: String,
    basic: String,
    body: Vec<u8>,
    deck: Deck<Kind>,
    picker: Picker,
    kind: Kind,
    /// The index among the tokens of its kind.
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
    act: Option<Actor>,
    resource: Option<Audience>,
}

impl IntrospectVisitor {
    pub(super) fn new(seed: &Arc<Seed>, index: usize, mix: Mix) -> Result<Self, &'static str> {
        let path = seed.target.endpoints.introspect.clone().ok_or("an introspection endpoint")?;
        if seed.tokens.is_empty() {
            return Err("access tokens");
        }
        let deck = match (mix, &seed.special) {
            (Mix::Pure, _) => Deck::new(&[(Kind::Valid, 1)], index),
            (Mix::Report, Some(special)) if special.is_complete() => Deck::new(&REPORT, index),
            (Mix::Report, _) => return Err("a seed for the reports' mix"),
        };
        let (seed, basic, body) = (Arc::clone(seed), seed.client.basic(), Vec::new());
        Ok(Self { seed, path, basic, body, deck, picker: Picker::new(index), kind: Kind::Valid, asked: 0 })
    }

    fn check_active(&self, answer: &Introspection<'_>) -> Result<(), Wrong> {
        if !answer.active {
            return Err(Wrong::new("inactive", "an active token was called inactive"));
        }
        let exchanged = self.seed.special.as_ref().filter(|_| self.kind == Kind::Exchanged);
        let exchanged = exchanged.and_then(|special| special.exchanged.get(self.asked));
        let user_id = match exchanged {
            Some(token) => Some(&token.user_id),
            None => self.seed.tokens.get(self.asked).map(|token| &token.user_id),
        };
        expect_eq("sub", answer.sub.as_deref().unwrap_or(""), user_id.map_or("", |user_id| user_id))?;
        expect_scope(answer.scope.as_deref().unwrap_or(""), SCOPE)?;
        expect_eq("client_id", answer.client_id.as_deref().unwrap_or(""), &self.seed.client.id)?;
        // A JWT has both, and introspection says what it holds; of an opaque token they are optional (RFC 7662 2.2).
        let is_jwt = self.seed.access_tokens == TokenFormat::Jwt;
        if is_jwt || answer.iss.is_some() {
            expect_eq("iss", answer.iss.as_deref().unwrap_or(""), &self.seed.target.issuer)?;
        }
        if is_jwt && answer.aud.is_none() {
            return Err(Wrong::new("aud", "missing"));
        }
        let Some(exchanged) = exchanged else { return Ok(()) };
        expect_actor(answer.act.as_ref(), &exchanged.actor)?;
        match &answer.resource {
            Some(resource) if resource.is(&exchanged.resource) => Ok(()),
            other => Err(Wrong::new("resource", format!("{other:?} instead of {}", exchanged.resource))),
        }
    }
}

impl Visitor for IntrospectVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let Some(kind) = self.deck.draw() else { return Next::Exhausted };
        self.kind = kind;
        self.asked = self.picker.index(kind.count(&self.seed));
        let Some(token) = kind.token(&self.seed, self.asked) else { return Next::Exhausted };
        self.body.clear();
        request::parameters(&mut self.body, &[("token", token)]);
        let fields = [FORM, ("authorization", &*self.basic)];
        request::with_body(out, ("POST", &self.path), &self.seed.target.authority, &fields, &self.body);
        Next::Send
    }

    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        expect_status(response, 200)?;
        let answer: Introspection<'_> =
            serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
        match self.seed.special.as_ref().and_then(|special| self.kind.refused(special)) {
            // RFC 7662 2.2: whatever the reason, `active` is false.
            Some((_, kind)) if answer.active => Err(Wrong::new(kind, "called active")),
            Some(_) => Ok(Right::default()),
            None => self.check_active(&answer).map(|()| Right::default()),
        }
    }
}
