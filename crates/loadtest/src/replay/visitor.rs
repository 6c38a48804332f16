//! Sends what stands in for each line.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::mapping::Request;
use crate::client::{Response, request};
use crate::scenario::{
    CodeVisitor, DiscoveryVisitor, Mix, Next, Right, Scenario, SilentVisitor, Visitor, Wrong,
};
use crate::seed::{Code, CodePool, Family, Seed};
use crate::{LoadtestError, clock};

/// A code that is older may have ended. Providers let them live for a minute or so.
const FRESH: Duration = Duration::from_secs(10);
/// Codes that wait at most.
const MOST_CODES: usize = 10_000;

/// Codes that the authorization requests of the log brought, for the redemptions that follow them.
#[derive(Clone, Default)]
struct Codes(Arc<Mutex<VecDeque<(Instant, Code)>>>);

impl Codes {
    fn put(&self, code: Code) {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if codes.len() >= MOST_CODES {
            codes.pop_front();
        }
        codes.push_back((clock::now(), code));
    }

    /// The newest, unless it is too old.
    fn take(&self) -> Option<Code> {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = codes.pop_back().filter(|(put, _)| clock::now().saturating_duration_since(*put) < FRESH);
        if newest.is_none() {
            codes.clear();
        }
        newest.map(|(_, code)| code)
    }
}

/// An authorization request whose code is kept for a redemption.
struct Authorizer {
    silent: SilentVisitor,
    own: CodePool,
    codes: Codes,
}

impl Authorizer {
    fn new(seed: &Arc<Seed>, index: usize, codes: &Codes) -> Result<Self, &'static str> {
        let own = CodePool::default();
        let silent = SilentVisitor::new(seed, index, Some(own.clone()))?;
        Ok(Self { silent, own, codes: codes.clone() })
    }
}

impl Visitor for Authorizer {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.silent.next_request(out)
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let right = self.silent.check(response)?;
        if let Some(code) = self.own.take() {
            self.codes.put(code);
        }
        Ok(right)
    }
}

/// A redemption, of a code that the log's own authorization requests brought, or else of one that it asks for first.
struct Redeemer {
    authorizer: Authorizer,
    code: CodeVisitor,
    seed: Arc<Seed>,
    /// Whether the code was asked for last.
    authorizes: bool,
    goes_on: bool,
}

impl Visitor for Redeemer {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.goes_on = false;
        self.authorizes = false;
        match self.authorizer.codes.take() {
            Some(code) => {
                self.seed.codes.put(code);
                self.code.next_request(out)
            }
            None => {
                self.authorizes = true;
                self.authorizer.next_request(out)
            }
        }
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        if !self.authorizes {
            return self.code.check(response);
        }
        self.goes_on = true;
        self.authorizer.check(response).inspect_err(|_| self.goes_on = false)
    }

    fn goes_on(&self) -> bool {
        self.goes_on
    }
}

/// Who asks for one of the requests.
#[derive(Clone, Copy)]
enum Asker {
    /// One of the visitors, by its place.
    Visitor(usize),
    /// It stands in the log.
    Plain,
}

/// One connection's side of a replay.
struct ReplayVisitor {
    requests: Arc<[Request]>,
    /// By request.
    askers: Arc<[Asker]>,
    visitors: Vec<Box<dyn Visitor>>,
    seed: Arc<Seed>,
    /// Which request this arrival is.
    asks: usize,
}

/// So many visitors, each ready for all requests.
pub(super) fn visitors(
    requests: &Arc<[Request]>,
    seed: &Arc<Seed>,
    connections: usize,
) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
    let mut kinds: Vec<&Request> = Vec::new();
    let askers: Vec<Asker> = requests
        .iter()
        .map(|request| match request {
            Request::Get { .. } => Asker::Plain,
            other => Asker::Visitor(kinds.iter().position(|kind| *kind == other).unwrap_or_else(|| {
                kinds.push(other);
                kinds.len() - 1
            })),
        })
        .collect();
    let askers: Arc<[Asker]> = askers.into();
    let rotates = kinds.contains(&&Request::Of(Scenario::Refresh));
    let connections = if rotates { seed.rotating(connections) } else { connections };
    let codes = Codes::default();
    let mut all: Vec<Vec<Box<dyn Visitor>>> = Vec::new();
    all.resize_with(connections, Vec::new);
    for kind in kinds {
        for (own, visitor) in all.iter_mut().zip(visitors_of(kind, seed, connections, &codes)?) {
            own.push(visitor);
        }
    }
    let visitor = |visitors| {
        let (requests, askers, seed) = (Arc::clone(requests), Arc::clone(&askers), Arc::clone(seed));
        Box::new(ReplayVisitor { requests, askers, visitors, seed, asks: 0 }) as Box<dyn Visitor>
    };
    Ok(all.into_iter().map(visitor).collect())
}

fn visitors_of(
    request: &Request,
    seed: &Arc<Seed>,
    connections: usize,
    codes: &Codes,
) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
    let missing = |what| LoadtestError::Unseeded { scenario: request.name(), what };
    let authorizer = |index| Authorizer::new(seed, index, codes);
    let make = |index: usize| -> Result<Box<dyn Visitor>, &'static str> {
        Ok(match request {
            Request::Of(Scenario::Silent) => Box::new(authorizer(index)?),
            Request::Of(_) => Box::new(Redeemer {
                // Others than those of the log's authorization requests.
                authorizer: authorizer(index + connections)?,
                code: CodeVisitor::new(seed, None),
                seed: Arc::clone(seed),
                authorizes: false,
                goes_on: false,
            }),
            keys => Box::new(DiscoveryVisitor::of_one(seed, *keys == Request::Keys)?),
        })
    };
    match request {
        Request::Of(scenario) if !matches!(scenario, Scenario::Silent | Scenario::Code) => {
            scenario.visitors(seed, connections, Mix::Pure)
        }
        _ => (0..connections).map(|index| make(index).map_err(missing)).collect(),
    }
}

impl ReplayVisitor {
    fn asker(&mut self) -> Option<&mut Box<dyn Visitor>> {
        match self.askers.get(self.asks) {
            Some(Asker::Visitor(place)) => self.visitors.get_mut(*place),
            _ => None,
        }
    }
}

impl Visitor for ReplayVisitor {
    fn arrives(&mut self, asks: u32) {
        self.asks = usize::try_from(asks).unwrap_or_default();
    }

    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        if let Some(visitor) = self.asker() {
            return visitor.next_request(out);
        }
        let Some(Request::Get { path, .. }) = self.requests.get(self.asks) else { return Next::Exhausted };
        request::get(out, path, &self.seed.target.authority, &[("accept", "*/*")]);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        if let Some(visitor) = self.asker() {
            return visitor.check(response);
        }
        let Some(Request::Get { class, .. }) = self.requests.get(self.asks) else {
            return Ok(Right::default());
        };
        let now = response.status / 100;
        // 304 was an answer to somebody who had it already.
        let is_same = |was: u16| now == was || (matches!(now, 2 | 3) && matches!(was, 2 | 3));
        if *class >= 5 || is_same(*class) {
            return Ok(Right::default());
        }
        Err(Wrong::new("other_status", format!("{} instead of {class}xx as in the log", response.status)))
    }

    fn kind(&self) -> &'static str {
        self.requests.get(self.asks).map_or("", Request::name)
    }

    fn goes_on(&self) -> bool {
        match self.askers.get(self.asks) {
            Some(Asker::Visitor(place)) => self.visitors.get(*place).is_some_and(|visitor| visitor.goes_on()),
            _ => false,
        }
    }

    fn give_back(&mut self) -> Vec<Family> {
        self.visitors.iter_mut().flat_map(|visitor| visitor.give_back()).collect()
    }
}
