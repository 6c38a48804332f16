//! What is known of people's proofs: which must work, which must not, and of which that is unknown.

use std::sync::Arc;

use symbolon_loadtest::authenticator::Authenticator;

use crate::drill::ledger::{Fate, Micros, Moment, Span};

/// Something by which a person proves who they are.
#[derive(Clone, Debug)]
pub struct Proof<T> {
    /// What the person has or knows.
    pub secret: T,
    /// The request whose success made it valid.
    pub given: Span,
    /// Of a proof that counts once: the requests that brought it. One that was answered has used it up.
    pub uses: Vec<Span>,
    /// The request that ends it.
    pub withdrawn: Option<Span>,
}

impl<T> Proof<T> {
    /// A proof that nobody brought yet.
    pub fn new(secret: T, given: Span) -> Self {
        Self { secret, given, uses: Vec::new(), withdrawn: None }
    }

    /// Whether it must be accepted. Unknown: it may be, but once at most if it counts once.
    pub fn fate(&self) -> Fate {
        let given = if self.given.acked.is_some() { Fate::Alive } else { Fate::Unknown };
        let used = self.uses.iter().map(|span| span.fate()).max().unwrap_or(Fate::Alive);
        given.max(used).max(self.withdrawn.map_or(Fate::Alive, Span::fate))
    }

    /// What is said of one that must not be accepted.
    pub(super) fn ended_as(&self) -> &'static str {
        if self.uses.iter().any(|span| span.acked.is_some()) { "used" } else { "withdrawn" }
    }

    /// Notes that it is valid, whatever was unknown before.
    pub(super) fn confirm(&mut self) {
        self.given.acked = Some(crate::drill::unix_micros());
        self.withdrawn = None;
    }

    /// As it was known at a moment; `None` if it was not requested yet.
    fn as_of(&self, at: Moment) -> Option<Self>
    where
        T: Clone,
    {
        Some(Self {
            secret: self.secret.clone(),
            given: self.given.as_of(at)?,
            uses: self.uses.iter().filter_map(|span| span.as_of(at)).collect(),
            withdrawn: self.withdrawn.and_then(|span| span.as_of(at)),
        })
    }
}

/// A code of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the generator.
    pub generator: usize,
    /// The number of its step of 30 seconds (RFC 6238 4.2).
    pub number: u64,
}

/// A passkey.
#[derive(Clone)]
pub struct HeldPasskey {
    /// The provider's name for it; empty until it was told.
    pub id: String,
    /// The authenticator, whose counter stays 0.
    pub authenticator: Arc<Authenticator>,
}

/// A user with a password, and with what the person enrolled beside it.
#[derive(Clone)]
pub struct Holder {
    /// The user's id.
    pub id: String,
    /// The name to sign in with.
    pub email: String,
    /// When the user was created.
    pub created: Span,
    /// Passwords, of which the last one that was not withdrawn is the present one.
    pub passwords: Vec<Proof<String>>,
    /// Secrets of generators, one after the other.
    pub generators: Vec<Proof<Vec<u8>>>,
    /// Codes that were brought, each once.
    pub steps: Vec<Proof<Step>>,
    /// Recovery codes, each once.
    pub recovery_codes: Vec<Proof<String>>,
    /// Passkeys.
    pub passkeys: Vec<Proof<HeldPasskey>>,
}

/// What leads in and comes by mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailedKind {
    /// A code of the login API.
    Code,
    /// A link for a new password.
    RecoveryLink,
    /// The code that completes a registration.
    RegistrationCode,
}

impl MailedKind {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Code, Self::RecoveryLink, Self::RegistrationCode];

    /// Its name in counts and violations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Code => "code by mail",
            Self::RecoveryLink => "recovery link",
            Self::RegistrationCode => "code of a registration",
        }
    }

    /// Within so many seconds it must be accepted: somewhat less than it lives, and a registration's page with it.
    pub(super) const fn lives(self) -> u64 {
        match self {
            Self::Code => 270,
            Self::RecoveryLink => 1_700,
            Self::RegistrationCode => 540,
        }
    }

    /// How often it may be brought. A code has five tries, and one that has none left is refused whatever it is. A drill leaves one.
    pub(super) const fn tries(self) -> usize {
        match self {
            Self::Code | Self::RegistrationCode => 4,
            Self::RecoveryLink => usize::MAX,
        }
    }
}

/// What was asked for by mail, and leads in once.
#[derive(Clone, Debug)]
pub struct MailedSecret {
    /// What it is.
    pub kind: MailedKind,
    /// The address that was typed.
    pub email: String,
    /// The cookies of the browser that asked, as their header; none where any browser may bring it.
    pub cookies: String,
    /// The page on which it is typed, of a registration.
    pub page: String,
    /// The request for it.
    pub asked: Span,
    /// When the mail had arrived, and the code or link in it.
    pub arrived: Option<(Micros, String)>,
    /// The requests that brought it.
    pub uses: Vec<Span>,
    /// The one that was accepted.
    pub accepted: Option<Span>,
    /// The cookie of the session that a registration began. Its form sent again leads into the same session, which is no second use.
    pub session: Option<String>,
}

/// A mail that was put into the queue.
#[derive(Clone, Debug)]
pub struct QueuedMail {
    /// Its recipient, who gets no other.
    pub to: String,
    /// The request that queued it.
    pub queued: Span,
}

impl Holder {
    /// As known at a moment; `None` if the user was not there yet.
    pub(in crate::drill) fn as_of(&self, at: Moment) -> Option<Self> {
        let created = self.created.as_of(at).filter(|span| span.acked.is_some())?;
        Some(Self {
            id: self.id.clone(),
            email: self.email.clone(),
            created,
            passwords: all_as_of(&self.passwords, at),
            generators: all_as_of(&self.generators, at),
            steps: all_as_of(&self.steps, at),
            recovery_codes: all_as_of(&self.recovery_codes, at),
            passkeys: all_as_of(&self.passkeys, at),
        })
    }

    /// Whether nothing is unknown that decides what the sign-in pages ask for.
    pub(super) fn is_settled(&self) -> bool {
        let unknown = |fate| fate == Fate::Unknown;
        !self.passwords.iter().any(|one| unknown(one.fate()))
            && !self.generators.iter().any(|one| unknown(one.fate()))
    }

    /// Index of the generator whose codes are asked for.
    pub(super) fn generator(&self) -> Option<usize> {
        self.generators.iter().rposition(|one| one.fate() == Fate::Alive)
    }

    /// The latest step that was brought of a generator. No code of it or of an earlier one is accepted (RFC 6238 5.2).
    pub(super) fn latest_step(&self, generator: usize) -> u64 {
        let brought = |step: &&Proof<Step>| step.secret.generator == generator && !step.uses.is_empty();
        let own = self.steps.iter().filter(brought);
        own.map(|step| step.secret.number).max().unwrap_or(0)
    }

    /// Indices of recovery codes of a fate.
    pub(super) fn recovery_codes_of(&self, fate: Fate) -> Vec<usize> {
        indices(&self.recovery_codes, fate)
    }
}

/// Indices of the proofs of a fate.
pub(super) fn indices<T>(proofs: &[Proof<T>], fate: Fate) -> Vec<usize> {
    (0..proofs.len()).filter(|index| proofs[*index].fate() == fate).collect()
}

/// Requests are made one after the other, so those of before a moment are a prefix, and indices stay right.
fn all_as_of<T: Clone>(proofs: &[Proof<T>], at: Moment) -> Vec<Proof<T>> {
    proofs.iter().map_while(|proof| proof.as_of(at)).collect()
}

impl MailedSecret {
    /// Whether it must be accepted; `None` while no mail has arrived.
    pub fn fate(&self) -> Option<Fate> {
        self.arrived.as_ref()?;
        Some(self.uses.iter().map(|span| span.fate()).max().unwrap_or(Fate::Alive))
    }

    pub(in crate::drill) fn as_of(&self, at: Moment) -> Option<Self> {
        let accepted = self.accepted.and_then(|span| span.as_of(at)).filter(|span| span.acked.is_some());
        Some(Self {
            asked: self.asked.as_of(at).filter(|span| span.acked.is_some())?,
            arrived: self.arrived.clone().filter(|(arrived, _)| *arrived <= at),
            uses: self.uses.iter().filter_map(|span| span.as_of(at)).collect(),
            session: self.session.clone().filter(|_| accepted.is_some()),
            accepted,
            ..self.clone()
        })
    }

    /// What became of it, for reports.
    pub(super) fn story(&self) -> String {
        let uses: Vec<String> = self.uses.iter().map(|span| span.ago()).collect();
        format!("asked for {}, used {}", self.asked.ago(), uses.join(" and "))
    }
}

impl QueuedMail {
    pub(in crate::drill) fn as_of(&self, at: Moment) -> Option<Self> {
        Some(Self { queued: self.queued.as_of(at)?, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(sent: Micros, acked: Micros) -> Span {
        Span { sent, acked: Some(acked) }
    }

    #[test]
    fn a_proof_lives_is_unknown_while_it_is_used_and_then_has_ended() {
        let mut code = Proof::new("code", span(10, 20));
        code.uses = vec![span(30, 40)];
        let fate = |at| code.as_of(at).map(|code| code.fate());
        let known = [Some(Fate::Unknown), Some(Fate::Alive), Some(Fate::Unknown), Some(Fate::Ended)];
        assert_eq!([15, 25, 35, 45].map(fate), known);
        assert_eq!(fate(10), None);
        assert_eq!(code.ended_as(), "used");
    }

    #[test]
    fn a_withdrawal_without_an_answer_leaves_it_unknown() {
        let mut password = Proof::new("word", span(10, 20));
        password.withdrawn = Some(Span { sent: 30, acked: None });
        assert_eq!(password.fate(), Fate::Unknown);
        password.withdrawn = Some(span(30, 40));
        assert_eq!((password.fate(), password.ended_as()), (Fate::Ended, "withdrawn"));
        password.confirm();
        assert_eq!(password.fate(), Fate::Alive);
    }

    #[test]
    fn a_mailed_code_counts_from_its_arrival() {
        let (asked, uses) = (span(10, 12), vec![span(30, 40)]);
        let arrived = Some((20, "123456".to_owned()));
        let (email, cookies, page) = Default::default();
        let (kind, accepted) = (MailedKind::Code, Some(span(30, 40)));
        let session = None;
        let code = MailedSecret { kind, email, cookies, page, asked, arrived, uses, accepted, session };
        let fate = |at| code.as_of(at).and_then(|code| code.fate());
        let known = [None, None, Some(Fate::Alive), Some(Fate::Unknown), Some(Fate::Ended)];
        assert_eq!([11, 19, 20, 31, 40].map(fate), known);
        let is_accepted = |at| code.as_of(at).is_some_and(|code| code.accepted.is_some());
        assert_eq!([20, 31, 40].map(is_accepted), [false, false, true]);
    }
}
