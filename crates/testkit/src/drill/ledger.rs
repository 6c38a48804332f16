//! What one worker sent, and what was answered.

use super::people::{Holder, MailedKind, MailedSecret, QueuedMail};
use super::used_once::UsedOnce;

/// Microseconds since 1970, of the wall clock.
pub type Micros = u64;

/// The point in time as of which a whole ledger is considered.
pub type Moment = Micros;

/// The times of a request and of its answer. Without an answer, it is unknown whether the request was carried out.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Before the first byte was sent.
    pub sent: Micros,
    /// After the last byte of a successful answer was read.
    pub acked: Option<Micros>,
}

impl Span {
    /// The span as it was known at a moment; `None` if it was not sent yet.
    pub(super) fn as_of(self, at: Moment) -> Option<Self> {
        (self.sent < at).then(|| Self { acked: self.acked.filter(|acked| *acked <= at), ..self })
    }

    /// When it was sent and answered, in seconds before now.
    pub fn ago(self) -> String {
        let now = super::unix_micros();
        let ago = |at: Micros| now.saturating_sub(at) as f64 / 1e6;
        let acked = self.acked.map_or_else(|| "never".to_owned(), |acked| format!("{:.3}", ago(acked)));
        format!("({:.3}, answered {acked})", ago(self.sent))
    }

    pub(super) fn fate(self) -> Fate {
        if self.acked.is_some() { Fate::Ended } else { Fate::Unknown }
    }
}

/// The required state of a session, a chain or a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It must work.
    Alive,
    /// Its end was requested, and the request never answered.
    Unknown,
    /// Its end was acknowledged: it must not work.
    Ended,
}

/// A user.
#[derive(Clone, Debug)]
pub struct Person {
    /// Its id.
    pub id: String,
    /// Its e-mail address, which is verified.
    pub email: String,
    /// When it was created.
    pub created: Span,
}

/// A session.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The cookie's value.
    pub secret: String,
    /// Its public name, once an ID token has contained it.
    pub sid: Option<String>,
    /// When it was opened.
    pub opened: Span,
    /// When it was ended.
    pub ended: Option<Span>,
}

/// A refresh token in a chain of rotations.
#[derive(Clone, Debug)]
pub struct Link {
    /// The token.
    pub token: String,
    /// The request whose answer contained this token.
    pub span: Span,
}

/// The rotations of one family.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Index of its session.
    pub session: usize,
    /// Its tokens, oldest first; all were answered.
    pub links: Vec<Link>,
    /// A rotation of the last link that was sent and not answered.
    pub attempt: Option<Micros>,
    /// The answer to that rotation that came later, in a ledger as of an earlier moment.
    pub successor: Option<String>,
    /// When it was ended, by revocation or by a reuse.
    pub ended: Option<Span>,
}

/// An access token.
#[derive(Clone, Debug)]
pub struct Token {
    /// The token.
    pub access: String,
    /// Index of its chain.
    pub chain: usize,
    /// Index of the token that it was exchanged from.
    pub parent: Option<usize>,
    /// The request whose answer contained this token.
    pub issued: Span,
    /// When it was revoked itself.
    pub revoked: Option<Span>,
}

/// An authorization code that was issued.
#[derive(Clone, Debug)]
pub struct Code {
    /// The code.
    pub code: String,
    /// Its PKCE verifier.
    pub verifier: String,
    /// The request whose answer contained this code.
    pub issued: Span,
    /// When it was redeemed.
    pub redeemed: Option<Span>,
    /// Index of the chain that began with it.
    pub chain: Option<usize>,
}

/// What one worker sent, and what was answered. Entries refer to each other by index and are never removed.
#[derive(Clone, Default)]
#[allow(missing_docs, reason = "each field is a list of what its type says")]
pub struct Ledger {
    pub people: Vec<Person>,
    pub sessions: Vec<SignedIn>,
    pub chains: Vec<Chain>,
    pub tokens: Vec<Token>,
    pub codes: Vec<Code>,
    pub used_once: Vec<UsedOnce>,
    /// Sessions that were opened many at once. They are neither used nor ended during the load.
    pub crowd: Vec<SignedIn>,
    pub holders: Vec<Holder>,
    pub mailed: Vec<MailedSecret>,
    pub mails: Vec<QueuedMail>,
}

impl Ledger {
    /// The required state of a session.
    pub fn session_fate(&self, index: usize) -> Fate {
        self.sessions[index].ended.map_or(Fate::Alive, Span::fate)
    }

    /// The required state of a chain: it ends with its session, because no client requested `offline_access`.
    pub fn chain_fate(&self, index: usize) -> Fate {
        let chain = &self.chains[index];
        chain.ended.map_or(Fate::Alive, Span::fate).max(self.session_fate(chain.session))
    }

    /// The required state of a token: it ends with its grant, and with the token that it was exchanged from.
    pub fn token_fate(&self, index: usize) -> Fate {
        let token = &self.tokens[index];
        let own = token.revoked.map_or(Fate::Alive, Span::fate).max(self.chain_fate(token.chain));
        own.max(token.parent.map_or(Fate::Alive, |parent| self.token_fate(parent)))
    }

    /// When a token was issued and what may have ended it, in seconds before now: for reports.
    pub fn token_story(&self, index: usize) -> String {
        let told = |span: Option<Span>| span.map_or_else(|| "never".to_owned(), Span::ago);
        let of_one = |token: usize| {
            let token = &self.tokens[token];
            let chain = &self.chains[token.chain];
            let (issued, revoked) = (token.issued.ago(), told(token.revoked));
            let (family, session) = (told(chain.ended), told(self.sessions[chain.session].ended));
            format!(
                "a token issued {issued}, revoked {revoked}, family ended {family}, session ended {session}"
            )
        };
        let story: Vec<String> = self.ancestry(index).map(of_one).collect();
        format!("{:?}: {}", self.token_fate(index), story.join(", exchanged from "))
    }

    /// A token, the one that it was exchanged from, and so on to the token of a login.
    pub fn ancestry(&self, index: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(index), |token| self.tokens[*token].parent)
    }

    /// Indices of the sessions that must work.
    pub fn live_sessions(&self) -> Vec<usize> {
        (0..self.sessions.len()).filter(|index| self.session_fate(*index) == Fate::Alive).collect()
    }

    /// Indices of the chains that must work, but have a rotation of which it is unknown whether it was carried out.
    pub fn pending_chains(&self) -> Vec<usize> {
        (0..self.chains.len())
            .filter(|index| self.chain_fate(*index) == Fate::Alive && self.chains[*index].attempt.is_some())
            .collect()
    }

    /// Indices of the chains that must work.
    pub fn live_chains(&self) -> Vec<usize> {
        (0..self.chains.len())
            .filter(|index| self.chain_fate(*index) == Fate::Alive && self.chains[*index].attempt.is_none())
            .collect()
    }

    /// Indices of what was asked for by mail, of one kind.
    pub(super) fn mailed_of(&self, kind: MailedKind) -> Vec<usize> {
        (0..self.mailed.len()).filter(|index| self.mailed[*index].kind == kind).collect()
    }

    /// The ledger as it was at a moment: requests that were sent later are not in it, requests that were answered later
    /// are in flight.
    #[must_use]
    pub fn as_of(&self, at: Moment) -> Self {
        // One thread appends the entries as they are answered: those up to a moment are a prefix of the list.
        let sessions: Vec<SignedIn> =
            self.sessions.iter().take_while(|one| answered(one.opened, at)).cloned().collect();
        let mut past = Self {
            people: self.people.iter().take_while(|one| answered(one.created, at)).cloned().collect(),
            chains: self.chains.iter().take_while(|one| answered(one.links[0].span, at)).cloned().collect(),
            tokens: self.tokens.iter().take_while(|one| answered(one.issued, at)).cloned().collect(),
            codes: self.codes.iter().take_while(|one| answered(one.issued, at)).cloned().collect(),
            used_once: self.used_once.iter().map_while(|one| one.as_of(at)).collect(),
            crowd: self.crowd.iter().take_while(|one| answered(one.opened, at)).cloned().collect(),
            holders: self.holders.iter().map_while(|one| one.as_of(at)).collect(),
            mailed: self.mailed.iter().map_while(|one| one.as_of(at)).collect(),
            mails: self.mails.iter().map_while(|one| one.as_of(at)).collect(),
            sessions,
        };
        for session in &mut past.sessions {
            session.ended = session.ended.and_then(|span| span.as_of(at));
        }
        for chain in &mut past.chains {
            chain.ended = chain.ended.and_then(|span| span.as_of(at));
            look_back(chain, at);
        }
        for token in &mut past.tokens {
            token.revoked = token.revoked.and_then(|span| span.as_of(at));
        }
        for code in &mut past.codes {
            code.redeemed = code.redeemed.and_then(|span| span.as_of(at));
        }
        past
    }
}

fn answered(span: Span, at: Moment) -> bool {
    span.as_of(at).is_some_and(|span| span.acked.is_some())
}

fn look_back(chain: &mut Chain, at: Moment) {
    let known = chain.links.iter().take_while(|link| answered(link.span, at)).count();
    if let Some(next) = chain.links.get(known) {
        chain.attempt = (next.span.sent < at).then_some(next.span.sent);
        chain.successor = chain.attempt.map(|_| next.token.clone());
    } else {
        chain.attempt = chain.attempt.filter(|sent| *sent < at);
    }
    chain.links.truncate(known);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(sent: Micros, acked: Micros) -> Span {
        Span { sent, acked: Some(acked) }
    }

    fn ledger() -> Ledger {
        let link = |name: &str, sent, acked| Link { token: name.into(), span: span(sent, acked) };
        Ledger {
            sessions: vec![SignedIn {
                secret: "s".into(),
                sid: None,
                opened: span(1, 2),
                ended: Some(span(50, 60)),
            }],
            chains: vec![Chain {
                session: 0,
                links: vec![link("a", 10, 12), link("b", 20, 22), link("c", 30, 32)],
                attempt: None,
                successor: None,
                ended: None,
            }],
            tokens: vec![
                Token {
                    access: "t".into(),
                    chain: 0,
                    parent: None,
                    issued: span(10, 12),
                    revoked: Some(span(40, 42)),
                },
                Token { access: "u".into(), chain: 0, parent: Some(0), issued: span(20, 22), revoked: None },
            ],
            ..Ledger::default()
        }
    }

    #[test]
    fn looks_back_into_the_middle_of_a_rotation() {
        let past = ledger().as_of(31);
        let chain = &past.chains[0];
        assert_eq!((chain.links.len(), chain.attempt, chain.successor.as_deref()), (2, Some(30), Some("c")));
        assert_eq!(past.token_fate(1), Fate::Alive);
        let past = ledger().as_of(25);
        assert_eq!((past.chains[0].links.len(), past.chains[0].attempt), (2, None));
        assert_eq!(ledger().as_of(11).chains.len(), 0);
    }

    #[test]
    fn what_was_exchanged_ends_with_what_it_came_from_and_with_the_session() {
        assert_eq!(ledger().as_of(41).token_fate(1), Fate::Unknown);
        assert_eq!(ledger().as_of(42).token_fate(1), Fate::Ended);
        assert_eq!(ledger().as_of(42).chain_fate(0), Fate::Alive);
        assert_eq!(ledger().as_of(55).chain_fate(0), Fate::Unknown);
        assert_eq!(ledger().as_of(60).chain_fate(0), Fate::Ended);
    }
}
