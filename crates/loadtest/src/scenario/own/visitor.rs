//! Does what a scenario file says, over one connection.

use std::sync::Arc;

use super::super::cookies::Jar;
use super::super::mix::Deck;
use super::super::redirect::Reference;
use super::super::{Next, Right, Visitor, Wrong};
use super::asked::{Asked, Hosts};
use super::document::Cookies;
use super::judge::Answer;
use super::program::{Program, Script, Step};
use super::values::{Context, Slot, Values};
use crate::client::Response;
use crate::seed::Seed;

/// More redirects than this in a row are a circle.
const MAX_HOPS: usize = 10;

pub(super) struct OwnVisitor {
    program: Arc<Program>,
    seed: Arc<Seed>,
    hosts: Hosts,
    deck: Deck<usize>,
    values: Values,
    jar: Jar,
    /// The scenario of this visit, and the request of it that is asked.
    script: usize,
    step: usize,
    /// Whether the last answer was right and more requests follow it; otherwise the next one begins another visit.
    is_under_way: bool,
    /// Redirects that were followed since the request.
    hops: usize,
    asked: Asked,
    /// What the last answer redirects to, and is asked next.
    redirected: Option<Asked>,
    /// The client's own address, which redirects are not followed to.
    callback: String,
    /// Why the request should not have been sent.
    refused: Option<Wrong>,
    /// Whether more is asked before it counts.
    goes_on: bool,
}

impl OwnVisitor {
    pub(super) fn new(program: &Arc<Program>, seed: &Arc<Seed>, index: usize) -> Self {
        let scripts = program.scripts.iter().enumerate();
        let shares: Vec<_> = scripts.map(|(number, script)| (number, script.weight)).collect();
        let issuer = Reference::resolve(&seed.target.issuer, ("", "/")).map(|issuer| issuer.authority());
        let hosts = [Some(seed.target.authority.clone()), issuer.ok()];
        Self {
            values: Values::new(program, index),
            program: Arc::clone(program),
            seed: Arc::clone(seed),
            hosts: Hosts(hosts.into_iter().flatten().collect()),
            deck: Deck::new(&shares, index),
            jar: Jar::default(),
            script: 0,
            step: 0,
            is_under_way: false,
            hops: 0,
            asked: Asked::default(),
            redirected: None,
            callback: String::new(),
            refused: None,
            goes_on: false,
        }
    }

    /// Another visit: which scenario, and what is drawn for it.
    fn begin(&mut self, program: &Program) {
        self.script = self.deck.draw().unwrap_or_default();
        self.step = 0;
        self.callback.clear();
        let Some(script) = program.scripts.get(self.script) else { return };
        if script.cookies != Cookies::Visitor {
            self.jar.clear();
        }
        self.values.begin(program, script, &self.seed);
        for (slot, template) in &script.set {
            let text = self.context().text(template);
            self.keep(*slot, Slot::Text(text));
        }
    }

    fn keep(&mut self, slot: usize, value: Slot) {
        if let Some(own) = self.values.slots.get_mut(slot) {
            *own = value;
        }
    }

    fn context(&self) -> Context<'_> {
        Context { program: &self.program, seed: &self.seed, values: &self.values }
    }

    /// The scenario and the request of it that are under way.
    fn now<'p>(&self, program: &'p Program) -> Option<(&'p Script, &'p Step)> {
        let script = program.scripts.get(self.script)?;
        Some((script, script.steps.get(self.step)?))
    }

    /// Puts a request together. What must not be sent is told when its answer would be judged: the target's first page is
    /// asked for in its place.
    fn prepare(&mut self, step: &Step) {
        self.hops = 0;
        match Asked::of(step, &self.context(), &self.hosts) {
            Ok(asked) => self.asked = asked,
            Err(refused) => {
                self.refused = Some(refused);
                self.asked = Asked { method: "GET".into(), path: "/".into(), ..Asked::default() };
            }
        }
        if let Some(callback) = self.asked.callback.take() {
            self.callback = callback;
        }
    }

    /// The request that an answer redirects to, where that is followed.
    fn redirected(&self, step: &Step, response: &Response<'_>) -> Result<Option<Asked>, Wrong> {
        let is_redirect = matches!(response.status, 301 | 302 | 303 | 307 | 308);
        let Some(location) = response.header("location").filter(|_| is_redirect && step.follow) else {
            return Ok(None);
        };
        let stop_at = step.stop_at.as_ref().map(|prefix| self.context().text(prefix));
        let ends = |prefix: &str| !prefix.is_empty() && location.starts_with(prefix);
        if stop_at.as_deref().is_some_and(ends) || ends(&self.callback) {
            return Ok(None);
        }
        let reference = Reference::resolve(location, (self.hosts.own(), &self.asked.path))?;
        if !self.hosts.have(&reference) {
            return Ok(None);
        }
        if self.hops >= MAX_HOPS {
            return Err(Wrong::new("circle", format!("more than {MAX_HOPS} redirects")));
        }
        Ok(Some(self.asked.redirected(response.status, reference.path_and_query())))
    }

    /// Judges an answer, takes from it, and finds out what comes next.
    fn judge(&mut self, program: &Program, response: &Response<'_>) -> Result<(), Wrong> {
        let Some((script, step)) = self.now(program) else { return Ok(()) };
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        if script.cookies != Cookies::None {
            self.jar.keep(response, &self.asked.path);
        }
        if let Some(next) = self.redirected(step, response)? {
            self.redirected = Some(next);
            self.goes_on = true;
            return Ok(());
        }
        let mut taken = Vec::new();
        {
            let answer = Answer::new(response, &self.asked.path, step);
            answer.check(step, &self.context())?;
            for take in &step.takes {
                taken.push((take.slot, answer.take(take, &self.jar, &self.hosts)?));
            }
        }
        taken.into_iter().for_each(|(slot, value)| self.keep(slot, value));
        self.is_under_way = self.step + 1 < script.steps.len();
        self.goes_on = self.is_under_way && !script.each;
        Ok(())
    }
}

impl Visitor for OwnVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.goes_on = false;
        let program = Arc::clone(&self.program);
        // Whoever gets no answer, or a wrong one, begins anew.
        let is_under_way = std::mem::take(&mut self.is_under_way);
        if let Some(next) = self.redirected.take() {
            self.asked = next;
            self.hops += 1;
        } else {
            if is_under_way {
                self.step += 1;
            } else {
                self.begin(&program);
            }
            let Some((_, step)) = self.now(&program) else { return Next::Exhausted };
            self.prepare(step);
        }
        let keeps = program.scripts.get(self.script).is_some_and(|script| script.cookies != Cookies::None);
        self.asked.write(&self.seed.target.authority, keeps.then_some(&self.jar), out);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let program = Arc::clone(&self.program);
        self.judge(&program, response).map(|()| Right::default())
    }

    fn kind(&self) -> &'static str {
        let Some((script, step)) = self.now(&self.program) else { return "" };
        if script.each { step.kind } else { script.kind }
    }

    fn goes_on(&self) -> bool {
        self.goes_on
    }
}
