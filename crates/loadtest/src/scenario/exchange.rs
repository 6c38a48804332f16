//! `POST /token` by token exchange (RFC 8693): random subject tokens, 20 audiences, 4 scopes; with the reports'
//! mix also 10 resources, actor tokens of 5 services, and subject tokens that must be refused.

use std::sync::Arc;

use serde::Deserialize;

use super::answer::{Audience, expect_actor, expect_eq, expect_scope, expect_status};
use super::issued;
use super::mix::Deck;
use super::{Claims, Mix, Next, Picker, Right, TokenAnswer, Visitor, Wrong};
use crate::client::{Response, request};
use crate::seed::{FORM, Seed, Special, TokenFormat};

/// The grant type (RFC 8693 2.1).
pub(crate) const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// The type of every token here (RFC 8693 3).
pub(crate) const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
/// The scopes asked for; each is part of the subject token's.
const SCOPES: [&str; 4] = ["openid", "openid profile", "openid email", "openid profile email"];
/// How many audiences there are.
const AUDIENCES: usize = 20;
/// How many resources there are.
const RESOURCES: usize = 10;

/// The shares of the reports, in percent.
const REPORT: [(Kind, usize); 5] = [
    (Kind::Standard, 56),
    (Kind::Actor, 14),
    (Kind::Expired, 10),
    (Kind::BadSignature, 10),
    (Kind::Revoked, 10),
];

/// What kind of exchange is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Standard,
    Actor,
    Expired,
    BadSignature,
    Revoked,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Standard => "plain",
            Self::Actor => "with an actor",
            Self::Expired => "expired",
            Self::BadSignature => "badly signed",
            Self::Revoked => "revoked",
        }
    }

    /// The subject tokens that must be refused, and what it is called when they are not.
    fn refused(self, special: Option<&Special>) -> Option<(&[Arc<str>], &'static str)> {
        let special = special?;
        match self {
            Self::Standard | Self::Actor => None,
            Self::Expired => Some((&special.expired, "expired-accepted")),
            Self::BadSignature => Some((&special.bad_signature, "signature-accepted")),
            Self::Revoked => Some((&special.revoked, "revoked-accepted")),
        }
    }
}

pub(super) struct ExchangeVisitor {
    seed: Arc<Seed>,
    basic: String,
    body: Vec<u8>,
    audiences: Vec<String>,
    /// None in the pure mix.
    resources: Vec<String>,
    deck: Deck<Kind>,
    picker: Picker,
    asked: Asked,
}

#[derive(Clone, Copy)]
struct Asked {
    kind: Kind,
    token: usize,
    audience: usize,
    resource: usize,
    scope: usize,
    service: usize,
}

impl ExchangeVisitor {
    pub(super) fn new(seed: &Arc<Seed>, index: usize, mix: Mix) -> Result<Self, &'static str> {
        if seed.tokens.is_empty() {
            return Err("access tokens");
        }
        if seed.access_tokens == TokenFormat::Opaque {
            // Nothing else says for whom, for what and on whose behalf a token was issued.
            return Err("JWT access tokens");
        }
        let (deck, resources) = match (mix, &seed.special) {
            (Mix::Pure, _) => (Deck::new(&[(Kind::Standard, 1)], index), 0),
            (Mix::Report, Some(special)) if special.is_complete() => (Deck::new(&REPORT, index), RESOURCES),
            (Mix::Report, _) => return Err("a seed for the reports' mix"),
        };
        let named = |count, name: fn(usize) -> String| (0..count).map(name).collect();
        Ok(Self {
            seed: Arc::clone(seed),
            basic: seed.client.basic(),
            body: Vec::new(),
            audiences: named(AUDIENCES, |index| format!("https://service-{index}.example.com")),
            resources: named(resources, |index| format!("https://api.example.com/resource-{index}")),
            deck,
            picker: Picker::new(index),
            asked: Asked { kind: Kind::Standard, token: 0, audience: 0, resource: 0, scope: 0, service: 0 },
        })
    }

    fn audience(&self) -> &str {
        self.audiences.get(self.asked.audience).map_or("", String::as_str)
    }

    fn resource(&self) -> Option<&str> {
        self.resources.get(self.asked.resource).map(String::as_str)
    }

    fn scope(&self) -> &'static str {
        SCOPES.get(self.asked.scope).copied().unwrap_or("openid")
    }

    /// Draws what is asked next; none when there are no such tokens.
    fn pick(&mut self) -> Option<Asked> {
        let kind = self.deck.draw()?;
        let special = self.seed.special.as_ref();
        let tokens = kind.refused(special).map_or(self.seed.tokens.len(), |(tokens, _)| tokens.len());
        let services = special.map_or(0, |special| special.services.len());
        Some(Asked {
            kind,
            token: self.picker.index(tokens),
            audience: self.picker.index(AUDIENCES),
            resource: self.picker.index(self.resources.len()),
            scope: self.picker.index(SCOPES.len()),
            service: self.picker.index(services),
        })
    }

    /// The parameters of the request (RFC 8693 2.1).
    fn parameters(&self) -> Option<Vec<(&'static str, &str)>> {
        let (asked, special) = (self.asked, self.seed.special.as_ref());
        let subject = match asked.kind.refused(special) {
            Some((tokens, _)) => tokens.get(asked.token)?,
            None => &self.seed.tokens.get(asked.token)?.token,
        };
        let mut parameters = Vec::with_capacity(9);
        parameters.extend([
            ("grant_type", GRANT),
            ("subject_token", &**subject),
            ("subject_token_type", ACCESS_TOKEN),
            ("requested_token_type", ACCESS_TOKEN),
            ("scope", self.scope()),
            ("audience", self.audience()),
        ]);
        parameters.extend(self.resource().map(|resource| ("resource", resource)));
        if asked.kind == Kind::Actor {
            let service = special?.services.get(asked.service)?;
            parameters.extend([("actor_token", &*service.token), ("actor_token_type", ACCESS_TOKEN)]);
        }
        Some(parameters)
    }

    fn check_issued(&self, response: &Response<'_>) -> Result<Right, Wrong> {
        let answer = TokenAnswer::read(response)?;
        expect_eq("issued_token_type", answer.issued_token_type.unwrap_or(""), ACCESS_TOKEN)?;
        let claims = Claims::of(answer.access_token)?;
        let seed = &self.seed;
        let subject = seed.tokens.get(self.asked.token);
        expect_eq("iss", &claims.iss, &seed.target.issuer)?;
        expect_eq("sub", &claims.sub, subject.map_or("", |token| &*token.user_id))?;
        expect_eq("client_id", &claims.client_id, &seed.client.id)?;
        expect_scope(&claims.scope, self.scope())?;
        self.check_audience(&claims.aud)?;
        // RFC 8693 4.1: delegation names who acts; without an actor token that is the client.
        let service = seed.special.as_ref().and_then(|special| special.services.get(self.asked.service));
        let actor = match (self.asked.kind, service) {
            (Kind::Actor, Some(service)) => &*service.client_id,
            _ => &*seed.client.id,
        };
        expect_actor(claims.act.as_ref(), actor)?;
        // A token does not outlive the one that it stands for.
        let limit = subject.map_or(0, |token| token.expires_at);
        if claims.exp > limit {
            return Err(Wrong::new("exp", format!("{} after the subject token's {limit}", claims.exp)));
        }
        Ok(issued::right(seed, &answer))
    }

    /// It is meant for the audience that was asked for, and for nothing else but the resource (RFC 8693 2.1).
    fn check_audience(&self, got: &Audience) -> Result<(), Wrong> {
        let asked = |value: &str| value == self.audience() || Some(value) == self.resource();
        let values = got.values();
        if values.iter().all(|value| asked(value)) && values.iter().any(|value| value == self.audience()) {
            return Ok(());
        }
        Err(Wrong::new("aud", format!("{got:?} instead of {} and {:?}", self.audience(), self.resource())))
    }
}

/// An error answer (RFC 6749 5.2).
#[derive(Deserialize)]
struct Refusal<'a> {
    error: &'a str,
}

/// A subject token that is no good is `invalid_grant`, as the load scripts have it; RFC 8693 2.2.2 would say
/// `invalid_request`. A token instead is `accepted`.
fn check_refused(response: &Response<'_>, accepted: &'static str) -> Result<Right, Wrong> {
    if (200..300).contains(&response.status) {
        return Err(Wrong::new(accepted, "a token was issued for it"));
    }
    expect_status(response, 400)?;
    let refusal: Refusal<'_> =
        serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
    expect_eq("verdict", refusal.error, "invalid_grant").map(|()| Right::default())
}

impl Visitor for ExchangeVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let Some(asked) = self.pick() else { return Next::Exhausted };
        self.asked = asked;
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let written = self.parameters().map(|parameters| request::parameters(&mut body, &parameters));
        self.body = body;
        if written.is_none() {
            return Next::Exhausted;
        }
        let target = &self.seed.target;
        let fields = [FORM, ("authorization", &*self.basic)];
        request::with_body(out, ("POST", &target.endpoints.token), &target.authority, &fields, &self.body);
        Next::Send
    }

    fn kind(&self) -> &'static str {
        self.asked.kind.name()
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        match self.asked.kind.refused(self.seed.special.as_ref()) {
            Some((_, accepted)) => check_refused(response, accepted),
            None => self.check_issued(response),
        }
    }
}
