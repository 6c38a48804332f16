//! Verifies after the accident that everything holds that the ledger has as acknowledged.

use super::actor::{Actor, told};
use super::ledger::{Code, Fate, Span};
use super::{Dice, NoAnswer, Pressure, unix_micros};

/// Microseconds after which a lost rotation may count as theft (the retry window is 10 s).
const FORGIVEN: u64 = 9_000_000;

/// Most codes that are checked, per worker.
const CODES: usize = 2_000;

/// Most sessions of a crowd that are checked, per worker.
const CROWD: usize = 400;

/// How many entries are checked.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// So many of the newest entries of each kind, all of them.
    pub youngest: usize,
    /// In addition, so many random older ones.
    pub others: usize,
}

impl Depth {
    /// Everything.
    pub const ALL: Self = Self { youngest: usize::MAX, others: 0 };

    /// At most `number` entries, newest and older ones.
    pub(super) fn at_most(self, number: usize) -> Self {
        let youngest = self.youngest.min(number / 2);
        Self { youngest, others: if self.youngest > number { number / 2 } else { self.others } }
    }

    /// Whether everything is checked.
    pub(super) fn is_all(self) -> bool {
        self.youngest == usize::MAX
    }

    pub(super) fn choose(self, count: usize, dice: &mut Dice) -> Vec<usize> {
        let older = count.saturating_sub(self.youngest);
        let mut chosen: Vec<usize> =
            if older == 0 { Vec::new() } else { (0..self.others).map(|_| dice.below(older)).collect() };
        chosen.sort_unstable();
        chosen.dedup();
        chosen.extend(older..count);
        chosen
    }
}

impl Actor<'_> {
    /// Compares the ledger with the process. For requests without an answer, first finds out what happened.
    pub(super) fn verify(&mut self, depth: Depth, dice: &mut Dice) -> Result<(), NoAnswer> {
        self.settle_attempts()?;
        self.verify_codes(depth, dice)?;
        self.verify_used_once(depth, dice)?;
        self.verify_tokens(depth, dice)?;
        self.verify_chains(depth, dice)?;
        self.verify_sessions(depth, dice)?;
        self.verify_people(depth, dice)?;
        self.verify_sign_ins(depth, dice)
    }

    /// Settles rotations that were never answered. To be done first, while the old token is still accepted.
    fn settle_attempts(&mut self) -> Result<(), NoAnswer> {
        for chain in 0..self.ledger.chains.len() {
            self.settle(chain)?;
        }
        Ok(())
    }

    /// Asks again for a rotation that was not answered.
    pub(super) fn settle(&mut self, chain: usize) -> Result<(), NoAnswer> {
        let Some(attempt) = self.ledger.chains[chain].attempt else { return Ok(()) };
        let fate = self.ledger.chain_fate(chain);
        // A known successor works whether or not the rotation was carried out, because the store moves up to its
        // version.
        let known = self.ledger.chains[chain].successor.clone();
        let token = known.clone().unwrap_or_else(|| self.newest(chain));
        let sent = unix_micros();
        let answer = self.refresh(&token)?;
        if self.pressure == Pressure::Faults && answer.is_unavailable() {
            self.tally.count("unavailable (503) rotation in flight");
            return Ok(());
        }
        (self.ledger.chains[chain].attempt, self.ledger.chains[chain].successor) = (None, None);
        let works = answer.status == 200;
        let forgiven = known.is_some() || unix_micros() - attempt < FORGIVEN;
        let links = &self.ledger.chains[chain].links;
        let last = links.last().map_or_else(String::new, |link| link.span.ago());
        let tried = Span { sent: attempt, acked: None }.ago();
        let what = format!("{} after {} links, the last {last}, tried {tried}", told(&answer), links.len());
        match fate {
            Fate::Alive if works || forgiven => self.tally.check("rotation in flight", works, || what),
            Fate::Ended => {
                self.tally.check("rotation in flight of an ended family", !works, || told(&answer));
            }
            _ => {}
        }
        if works {
            self.note_rotation(chain, &answer, sent);
        } else if fate == Fate::Alive {
            // The refresh was taken for theft.
            self.ledger.chains[chain].ended = Some(Span { sent, acked: Some(unix_micros()) });
        }
        Ok(())
    }

    fn verify_codes(&mut self, depth: Depth, dice: &mut Dice) -> Result<(), NoAnswer> {
        let codes = std::mem::take(&mut self.ledger.codes);
        for index in depth.at_most(CODES).choose(codes.len(), dice) {
            if self.pressure == Pressure::Faults {
                // A replay ends a family, so some families are left alive.
                let chain = codes[index].chain;
                let alive = chain.is_some_and(|chain| self.ledger.chain_fate(chain) == Fate::Alive);
                if !alive || dice.once_in(5) {
                    self.verify_code(&codes[index])?;
                }
            } else {
                self.verify_forgotten(&codes[index])?;
            }
        }
        Ok(())
    }

    /// The codes of a single machine are lost with it: no earlier code may work, whether it was redeemed, in flight or
    /// unused.
    fn verify_forgotten(&mut self, code: &Code) -> Result<(), NoAnswer> {
        let kind = match code.redeemed {
            Some(Span { acked: Some(_), .. }) => "code that was redeemed",
            Some(_) => "code whose redemption was in flight",
            None => "code that was not redeemed",
        };
        let answer = self.redeem(&code.code, &code.verifier)?;
        let refused = answer.status == 400 && answer.error() == "invalid_grant";
        self.tally.check(kind, refused, || told(&answer));
        Ok(())
    }

    /// The codes of a cluster may survive: each gives tokens at most once.
    fn verify_code(&mut self, code: &Code) -> Result<(), NoAnswer> {
        let redeemed = code.redeemed.is_some_and(|span| span.acked.is_some());
        let mut gave = usize::from(redeemed);
        let times = if redeemed { 1 } else { 2 };
        for _ in 0..times {
            let answer = self.redeem(&code.code, &code.verifier)?;
            let known = answer.status == 200 || (answer.status == 400 && answer.error() == "invalid_grant");
            self.tally.check("code, whether it lives or not", known, || told(&answer));
            gave += usize::from(answer.status == 200);
        }
        let issued = code.issued.ago();
        self.tally.check("code that gives tokens once at most", gave < 2, || {
            format!("a code issued {issued} gave tokens {gave} times, redeemed before: {redeemed}")
        });
        match code.chain {
            // The replay ends what the code gave.
            Some(chain) if redeemed && self.ledger.chain_fate(chain) == Fate::Alive => {
                let sent = unix_micros();
                self.ledger.chains[chain].ended = Some(Span { sent, acked: Some(sent) });
                self.was_replay_noticed(chain)
            }
            _ => Ok(()),
        }
    }

    fn verify_tokens(&mut self, depth: Depth, dice: &mut Dice) -> Result<(), NoAnswer> {
        for index in depth.choose(self.ledger.tokens.len(), dice) {
            let fate = self.ledger.token_fate(index);
            if fate == Fate::Unknown {
                continue;
            }
            let alive = fate == Fate::Alive;
            let kind = if alive { "live access token" } else { "revoked access token" };
            let active = self.introspect(index)?;
            self.tally.check(kind, active == Some(alive), || {
                format!("introspection says active={active:?} of {}", self.ledger.token_story(index))
            });
            // UserInfo accepts tokens that were issued at a login; an exchanged token may be for another audience.
            if self.ledger.tokens[index].parent.is_none() {
                let status = self.userinfo(index)?;
                self.tally.check(kind, status == Some(if alive { 200 } else { 401 }), || {
                    format!("UserInfo answers {status:?} for {}", self.ledger.token_story(index))
                });
            }
        }
        Ok(())
    }

    fn verify_chains(&mut self, depth: Depth, dice: &mut Dice) -> Result<(), NoAnswer> {
        for chain in depth.choose(self.ledger.chains.len(), dice) {
            match self.ledger.chain_fate(chain) {
                Fate::Unknown => {}
                Fate::Ended => {
                    let answer = self.refresh(&self.newest(chain))?;
                    self.tally.check("newest refresh token of an ended family", answer.status == 400, || {
                        told(&answer)
                    });
                }
                Fate::Alive if self.ledger.chains[chain].links.len() >= 3 && dice.once_in(3) => {
                    self.verify_old(chain, dice)?;
                }
                Fate::Alive => self.verify_newest(chain)?,
            }
        }
        Ok(())
    }

    fn verify_newest(&mut self, chain: usize) -> Result<(), NoAnswer> {
        let sent = unix_micros();
        self.ledger.chains[chain].attempt = Some(sent);
        let answer = self.refresh(&self.newest(chain))?;
        self.ledger.chains[chain].attempt = None;
        let works = answer.status == 200;
        if works {
            self.note_rotation(chain, &answer, sent);
        } else if unix_micros() - sent > FORGIVEN {
            // It was repeated for too long.
            self.ledger.chains[chain].ended = Some(Span { sent, acked: None });
            return Ok(());
        }
        let links = &self.ledger.chains[chain].links;
        let last = links.last().map_or_else(String::new, |link| link.span.ago());
        let what = || format!("{} after {} links, the last {last}", told(&answer), links.len());
        self.tally.check("newest refresh token", works, what);
        Ok(())
    }

    /// A token that was rotated away is refused, and ends every branch of its family.
    fn verify_old(&mut self, chain: usize, dice: &mut Dice) -> Result<(), NoAnswer> {
        let links = &self.ledger.chains[chain].links;
        let old = links[dice.below(links.len() - 2)].token.clone();
        let sent = unix_micros();
        let answer = self.refresh(&old)?;
        self.tally.check("refresh token that was rotated away", answer.status == 400, || told(&answer));
        let answer = self.refresh(&self.newest(chain))?;
        self.tally.check("one branch of a replayed family", answer.status == 400, || told(&answer));
        self.ledger.chains[chain].ended = Some(Span { sent, acked: Some(unix_micros()) });
        if let Some(token) = self.ledger.tokens.iter().rposition(|token| token.chain == chain) {
            let active = self.introspect(token)?;
            self.tally.check("access token of a replayed family", active == Some(false), || {
                format!("active={active:?}")
            });
        }
        Ok(())
    }

    fn verify_sessions(&mut self, depth: Depth, dice: &mut Dice) -> Result<(), NoAnswer> {
        for index in depth.choose(self.ledger.sessions.len(), dice) {
            let fate = self.ledger.session_fate(index);
            let (answer, ..) = self.ask_for_code(&self.ledger.sessions[index])?;
            let code = (answer.status / 100 == 3).then(|| answer.redirected("code")).flatten();
            match fate {
                Fate::Alive => self.tally.check("live session", code.is_some(), || told(&answer)),
                Fate::Ended => self.tally.check("ended session", code.is_none(), || told(&answer)),
                Fate::Unknown => {}
            }
        }
        for index in depth.at_most(CROWD).choose(self.ledger.crowd.len(), dice) {
            let (answer, ..) = self.ask_for_code(&self.ledger.crowd[index])?;
            let code = (answer.status / 100 == 3).then(|| answer.redirected("code")).flatten();
            self.tally.check("session of a crowd", code.is_some(), || told(&answer));
        }
        Ok(())
    }

    fn verify_people(&mut self, depth: Depth, dice: &mut Dice) -> Result<(), NoAnswer> {
        for index in depth.choose(self.ledger.people.len(), dice) {
            let answer = self.wire.admin("GET", &format!("/users/{}", self.ledger.people[index].id), None)?;
            self.tally.check("user", answer.status == 200, || told(&answer));
        }
        Ok(())
    }
}
