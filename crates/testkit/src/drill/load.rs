//! The mixed load: one step of a worker.

use symbolon_protocol::token::token_exchange::MAX_CHAIN;

use super::actor::{Actor, Done};
use super::ledger::Fate;
use super::{Dice, NoAnswer, unix_micros};

/// A lost rotation is forgiven for 10 s; a drill asks for forgiveness only within this time (microseconds).
const FORGIVEN: u64 = 4_000_000;
/// Live chains per worker beyond which no more are begun, so that the checks after an accident stay short.
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
        if self.crowd > 0 && dice.once_in(60) {
            let user = self.ledger.people[dice.below(self.ledger.people.len())].id.clone();
            return self.open_crowd(&user, self.crowd).map(drop);
        }
        match dice.below(100) {
            0..6 if sessions.len() < SESSIONS => self.open_session().map(drop),
            6..8 => self.end_session(session).map(drop),
            8..24 if chains.len() < CHAINS => self.log_in(session).map(drop),
            24..29 => self.authorize(session).map(drop),
            29..32 => self.replay_code(session),
            32..36 => self.replay_old(chain, dice),
            36..40 => self.ask_again(chain),
            40..43 => self.race(chain),
            43..46 => self.revoke_family(chain).map(drop),
            46..54 => self.with_token(dice, |actor, token| actor.revoke_token(token).map(drop)),
            54..62 => self.with_token(dice, |actor, token| {
                // While a full disk refuses every login, the youngest tokens come from ever longer exchanges.
                if actor.ledger.ancestry(token).count() > MAX_CHAIN {
                    return Ok(());
                }
                actor.exchange(token).map(drop)
            }),
            62..72 => self.look_at_token(dice),
            _ => self.rotate(chain).map(drop),
        }
    }

    fn with_token(
        &mut self,
        dice: &mut Dice,
        work: impl FnOnce(&mut Self, usize) -> Result<(), NoAnswer>,
    ) -> Result<(), NoAnswer> {
        // One of the youngest: the older ones are looked at after the accident.
        let count = self.ledger.tokens.len();
        let found = (0..4).map(|_| count - 1 - dice.below(count.min(200)));
        let alive = found.into_iter().find(|index| self.ledger.token_fate(*index) == Fate::Alive);
        alive.map_or(Ok(()), |token| work(self, token))
    }

    /// Introspects a young token, revoked or not.
    fn look_at_token(&mut self, dice: &mut Dice) -> Result<(), NoAnswer> {
        let count = self.ledger.tokens.len();
        let index = count - 1 - dice.below(count.min(200));
        let fate = self.ledger.token_fate(index);
        let active = self.introspect(index)?;
        self.tally.count("acknowledged introspection");
        let right = match fate {
            Fate::Alive => active == Some(true),
            Fate::Ended => active == Some(false),
            Fate::Unknown => true,
        };
        self.tally
            .check("introspection under load", right, || format!("active={active:?} of a token {fate:?}"));
        // UserInfo answers for what was issued at a login; what was exchanged may be for somebody else.
        let login = self.ledger.ancestry(index).last().unwrap_or(index);
        let fate = self.ledger.token_fate(login);
        let status = self.userinfo(login)?;
        self.tally.count("acknowledged userinfo");
        let right = match fate {
            Fate::Alive => status == 200,
            Fate::Ended => status == 401,
            Fate::Unknown => true,
        };
        self.tally.check("UserInfo under load", right, || format!("{status} for a token {fate:?}"));
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

    /// Redeems a code and then once more: the second time must fail, and end what the first gave.
    fn replay_code(&mut self, session: usize) -> Result<(), NoAnswer> {
        let Some(chain) = self.log_in(session)? else { return Ok(()) };
        let Some(code) = self.ledger.codes.last() else { return Ok(()) };
        let (code, verifier) = (code.code.clone(), code.verifier.clone());
        self.end_chain(chain, "replay of a code, refused", 400, |actor| actor.redeem(&code, &verifier))
            .map(drop)
    }

    /// Presents a refresh token that is long rotated away: it must fail, and end the family.
    pub(super) fn replay_old(&mut self, chain: usize, dice: &mut Dice) -> Result<(), NoAnswer> {
        let links = &self.ledger.chains[chain].links;
        if links.len() < 3 {
            return self.rotate(chain).map(drop);
        }
        let old = links[dice.below(links.len() - 2)].token.clone();
        self.end_chain(chain, "replay of a refresh token, refused", 400, |actor| actor.refresh(&old))
            .map(drop)
    }

    /// Presents the last but one token at once, as if its answer had been lost: the same successor comes again.
    fn ask_again(&mut self, chain: usize) -> Result<(), NoAnswer> {
        let Done::Yes = self.rotate(chain)? else { return Ok(()) };
        let links = &self.ledger.chains[chain].links;
        let [.., before, last] = links.as_slice() else { return Ok(()) };
        if unix_micros() - last.span.sent > FORGIVEN {
            return Ok(());
        }
        let (before, last) = (before.token.clone(), last.token.clone());
        let answer = self.refresh(&before)?;
        if let Done::Yes = self.accept("lost rotation asked for again", &[200], &answer) {
            let same = answer.json()["refresh_token"] == *last;
            self.tally.check("same successor", same, || "another successor was handed out".into());
        }
        Ok(())
    }

    /// Presents the newest token twice at once: whoever comes second gets the same successor.
    fn race(&mut self, chain: usize) -> Result<(), NoAnswer> {
        let token = self.newest(chain);
        let sent = unix_micros();
        self.ledger.chains[chain].attempt = Some(sent);
        let answers = {
            let this = &*self;
            std::thread::scope(|scope| {
                let other = scope.spawn(|| this.refresh(&token));
                let own = this.refresh(&token);
                [own, other.join().expect("a worker")]
            })
        };
        let [own, other] = answers;
        let (own, other) = (own?, other?);
        self.ledger.chains[chain].attempt = None;
        let (Done::Yes, Done::Yes) =
            (self.accept("rotation, raced", &[200], &own), self.accept("rotation, raced", &[200], &other))
        else {
            // One of two was refused for want of room: the other one's successor counts.
            if let Some(moved) = [&own, &other].into_iter().find(|answer| answer.status == 200) {
                self.note_rotation(chain, moved, sent);
            }
            return Ok(());
        };
        let same = own.json()["refresh_token"] == other.json()["refresh_token"];
        self.tally.check("one branch of a race", same, || "two successors of one refresh token".into());
        self.note_rotation(chain, &own, sent);
        Ok(())
    }
}
