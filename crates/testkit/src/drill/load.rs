//! The mixed load: one step of a worker.

use symbolon_protocol::token::token_exchange::MAX_CHAIN;

use super::actor::{Actor, Done, LOST_CODE};
use super::ledger::{Fate, Span};
use super::{Dice, NoAnswer, Pressure, unix_micros};
use crate::browser::Answer;

/// A lost rotation is answered again within 10 s; a drill presents the old token again only within this time
/// (microseconds).
const FORGIVEN: u64 = 4_000_000;
/// If the answer came within this time after the rotation, it must be the same successor (microseconds).
const MUST_FORGIVE: u64 = 9_000_000;
/// Most live chains per worker, so that the checks after an accident stay short.
const CHAINS: usize = 40;
/// The same for sessions.
const SESSIONS: usize = 120;

impl Actor<'_> {
    /// One operation of the mix.
    pub(super) fn step(&mut self, dice: &mut Dice) -> Result<(), NoAnswer> {
        let sessions = self.ledger.live_sessions();
        let chains = self.ledger.live_chains();
        let Some(session) = dice.pick(&sessions) else { return self.open_session().map(drop) };
        let Some(chain) = dice.pick(&chains) else { return self.log_in(session).map(drop) };
        if self.pressure == Pressure::Faults && dice.once_in(3) {
            // A client that got no answer asks again soon.
            if let Some(pending) = dice.pick(&self.ledger.pending_chains()) {
                return self.settle(pending);
            }
        }
        if self.people.is_some_and(|people| dice.once_in(people.one_in)) {
            return self.person_step(dice);
        }
        if self.crowd > 0 && dice.once_in(60) {
            let user = self.ledger.people[dice.below(self.ledger.people.len())].id.clone();
            return self.open_crowd(&user, self.crowd).map(drop);
        }
        match dice.below(100) {
            0..6 if sessions.len() < SESSIONS => self.open_session().map(drop),
            6..8 => self.end_session(session).map(drop),
            8..24 if chains.len() < CHAINS => self.log_in(session).map(drop),
            24..26 if self.pressure == Pressure::Faults => self.race_code(session),
            24..29 => self.authorize(session).map(drop),
            29..32 => self.replay_code(session),
            32..36 => self.replay_old(chain, dice),
            36..40 => self.ask_again(chain),
            40..43 => self.race(chain),
            43..46 => self.revoke_family(chain).map(drop),
            46..54 => self.with_token(dice, |actor, token| actor.revoke_token(token).map(drop)),
            54..62 => self.with_token(dice, |actor, token| {
                // While a full disk refuses every login, the newest tokens come from ever longer chains of exchanges.
                if actor.ledger.ancestry(token).count() > MAX_CHAIN {
                    return Ok(());
                }
                actor.exchange(token).map(drop)
            }),
            62..72 => self.look_at_token(dice),
            72..80 if self.party.uses_once => self.use_once(session, dice),
            _ => self.rotate(chain).map(drop),
        }
    }

    fn with_token(
        &mut self,
        dice: &mut Dice,
        work: impl FnOnce(&mut Self, usize) -> Result<(), NoAnswer>,
    ) -> Result<(), NoAnswer> {
        // One of the newest: older ones are checked after the accident.
        let count = self.ledger.tokens.len();
        let found = (0..4).map(|_| count - 1 - dice.below(count.min(200)));
        let alive = found.into_iter().find(|index| self.ledger.token_fate(*index) == Fate::Alive);
        alive.map_or(Ok(()), |token| work(self, token))
    }

    /// Introspects a new token, revoked or not.
    fn look_at_token(&mut self, dice: &mut Dice) -> Result<(), NoAnswer> {
        let count = self.ledger.tokens.len();
        let index = count - 1 - dice.below(count.min(200));
        let fate = self.ledger.token_fate(index);
        if let Some(active) = self.introspect(index)? {
            let right = fate == Fate::Unknown || active == (fate == Fate::Alive);
            let what = || format!("active={active:?} of {}", self.ledger.token_story(index));
            self.tally.check("introspection under load", right, what);
        }
        // UserInfo accepts tokens that were issued at a login; an exchanged token may be for another audience.
        let login = self.ledger.ancestry(index).last().unwrap_or(index);
        let fate = self.ledger.token_fate(login);
        if let Some(status) = self.userinfo(login)? {
            let right = fate == Fate::Unknown || status == if fate == Fate::Alive { 200 } else { 401 };
            let what = || format!("{status} for {}", self.ledger.token_story(login));
            self.tally.check("UserInfo under load", right, what);
        }
        Ok(())
    }

    fn revoke_family(&mut self, chain: usize) -> Result<Done, NoAnswer> {
        let token = self.newest(chain);
        self.end_chain(chain, "revocation of a refresh token", 200, |actor| {
            actor.as_client("/revoke", &[("token", &token), ("token_type_hint", "refresh_token")])
        })
    }

    pub(super) fn newest(&self, chain: usize) -> String {
        self.ledger.chains[chain].links.last().map(|link| link.token.clone()).unwrap_or_default()
    }

    /// Redeems a code twice: the second time must fail, and end what the first one gave.
    fn replay_code(&mut self, session: usize) -> Result<(), NoAnswer> {
        let Some(chain) = self.log_in(session)? else { return Ok(()) };
        let Some(code) = self.ledger.codes.last() else { return Ok(()) };
        let (code, verifier) = (code.code.clone(), code.verifier.clone());
        let done =
            self.end_chain(chain, "replay of a code, refused", 400, |actor| actor.redeem(&code, &verifier))?;
        if let (Done::Yes, Pressure::Faults) = (done, self.pressure) {
            self.was_replay_noticed(chain)?;
        }
        Ok(())
    }

    /// To be called after a code was refused the second time. Its grant has ended; unless the code was lost with a
    /// primary of Redis meanwhile, because then the replay cannot be recognised.
    pub(super) fn was_replay_noticed(&mut self, chain: usize) -> Result<(), NoAnswer> {
        let ended = self.ledger.chains[chain].ended;
        let sent = unix_micros();
        self.ledger.chains[chain].ended = Some(Span { sent, acked: None });
        let answer = self.refresh(&self.newest(chain))?;
        if answer.status == 200 {
            self.tally.count(LOST_CODE);
            self.ledger.chains[chain].ended = None;
            self.note_rotation(chain, &answer, sent);
        } else if let Done::Yes = self.accept("refresh after the replay of a code, refused", &[400], &answer)
        {
            self.ledger.chains[chain].ended = ended;
        }
        Ok(())
    }

    /// Redeems a code twice at once: one of the two gets tokens, and the other's replay revokes them.
    fn race_code(&mut self, session: usize) -> Result<(), NoAnswer> {
        let Some(index) = self.authorize(session)? else { return Ok(()) };
        let (code, verifier) =
            (self.ledger.codes[index].code.clone(), self.ledger.codes[index].verifier.clone());
        let sent = unix_micros();
        self.ledger.codes[index].redeemed = Some(Span { sent, acked: None });
        let answers = self.at_once(|actor| actor.redeem(&code, &verifier));
        let answered: Vec<Answer> = answers.into_iter().filter_map(|answer| self.note_lost(answer)).collect();
        for answer in &answered {
            self.accept("code redemption, raced", &[200, 400], answer);
        }
        let gave: Vec<&Answer> = answered.iter().filter(|answer| answer.status == 200).collect();
        self.tally.check("one redemption of a raced code", gave.len() < 2, || {
            "a code was redeemed twice".to_owned()
        });
        let Some(winner) = gave.first() else { return Ok(()) };
        let chain = self.note_login(session, index, winner, sent);
        let noticed = answered.iter().any(|answer| answer.status == 400);
        let acked = noticed.then(unix_micros);
        self.ledger.chains[chain].ended = Some(Span { sent, acked });
        if noticed { self.was_replay_noticed(chain) } else { Ok(()) }
    }

    /// Presents a refresh token that was rotated long ago: it must fail, and end the family.
    pub(super) fn replay_old(&mut self, chain: usize, dice: &mut Dice) -> Result<(), NoAnswer> {
        let links = &self.ledger.chains[chain].links;
        if links.len() < 3 {
            return self.rotate(chain).map(drop);
        }
        let old = links[dice.below(links.len() - 2)].token.clone();
        self.end_chain(chain, "replay of a refresh token, refused", 400, |actor| actor.refresh(&old))
            .map(drop)
    }

    /// Presents the last token but one at once, as if its answer had been lost: the same successor must be returned.
    fn ask_again(&mut self, chain: usize) -> Result<(), NoAnswer> {
        let Done::Yes = self.rotate(chain)? else { return Ok(()) };
        let links = &self.ledger.chains[chain].links;
        let [.., before, last] = links.as_slice() else { return Ok(()) };
        if unix_micros() - last.span.sent > FORGIVEN {
            return Ok(());
        }
        let (before, last, sent) = (before.token.clone(), last.token.clone(), last.span.sent);
        let answer = self.refresh(&before)?;
        if self.pressure == Pressure::Faults && answer.status == 400 && unix_micros() - sent > MUST_FORGIVE {
            // It took so long that it counts as theft instead of a lost answer.
            self.ledger.chains[chain].ended = Some(Span { sent, acked: None });
            return Ok(());
        }
        if let Done::Yes = self.accept("lost rotation asked for again", &[200], &answer) {
            let same = answer.json()["refresh_token"] == *last;
            self.tally.check("same successor", same, || "another successor was handed out".into());
        }
        Ok(())
    }

    /// Presents the newest token twice at once: both must get the same successor.
    fn race(&mut self, chain: usize) -> Result<(), NoAnswer> {
        let token = self.newest(chain);
        let sent = unix_micros();
        self.ledger.chains[chain].attempt = Some(sent);
        let mut unknown = false;
        let mut moved = Vec::new();
        for answer in self.at_once(|actor| actor.refresh(&token)) {
            let answer =
                if self.pressure == Pressure::Faults { self.note_lost(answer) } else { Some(answer?) };
            let Some(answer) = answer else {
                unknown = true;
                continue;
            };
            match self.accept("rotation, raced", &[200], &answer) {
                Done::Yes => moved.push(answer),
                Done::No => {}
                Done::Unknown => unknown = true,
            }
        }
        if let [one, other] = moved.as_slice() {
            let same = one.json()["refresh_token"] == other.json()["refresh_token"];
            self.tally.check("one branch of a race", same, || "two successors of one refresh token".into());
        }
        // If one of the two was refused, the other one's successor counts.
        if let Some(answer) = moved.first() {
            self.note_rotation(chain, answer, sent);
        }
        self.ledger.chains[chain].attempt = (moved.is_empty() && unknown).then_some(sent);
        Ok(())
    }

    /// Sends a request twice at once.
    fn at_once(
        &self,
        send: impl Fn(&Self) -> Result<Answer, NoAnswer> + Sync,
    ) -> [Result<Answer, NoAnswer>; 2] {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| send(self));
            let own = send(self);
            [own, other.join().expect("a worker")]
        })
    }

    /// The answer; or counts a lost one.
    pub(super) fn note_lost(&mut self, answer: Result<Answer, NoAnswer>) -> Option<Answer> {
        if answer.is_err() {
            self.tally.count("lost answer");
        }
        answer.ok()
    }
}
