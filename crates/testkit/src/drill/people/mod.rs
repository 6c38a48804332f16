//! People who sign in on the pages and by the login API: with passwords, codes of generators, recovery codes, passkeys and codes
//! sent by mail; who forget passwords, and who register. What proved somebody once never does again, and what was acknowledged as changed is so.

mod change;
mod ledger;
mod load;
mod mailed;
mod second_factor;
mod sign_in;
mod verify;
pub(super) mod visit;

use super::inbox::Inbox;
use super::{Launch, unix_micros};

pub use ledger::{HeldPasskey, Holder, MailedKind, MailedSecret, Proof, QueuedMail, Step};

/// What the people of a drill have around them.
#[derive(Clone)]
pub struct People {
    /// The issuer's URL, which is the origin of its pages.
    pub issuer: String,
    /// Where mail and logout tokens arrive.
    pub inbox: Inbox,
    /// By how many seconds the provider's clock is ahead of that of this process.
    pub ahead: i64,
    /// One step of the load in so many is one of theirs, or a mail.
    pub one_in: usize,
}

impl People {
    /// People at an issuer whose clock is right.
    pub fn new(issuer: &str, inbox: Inbox) -> Self {
        Self { issuer: issuer.to_owned(), inbox, ahead: 0, one_in: 5 }
    }

    /// The same with another part of the load.
    #[must_use]
    pub fn one_step_in(self, one_in: usize) -> Self {
        Self { one_in, ..self }
    }

    /// A process that delivers to them, and for which a password costs next to nothing.
    #[must_use]
    pub fn served_by(&self, launch: Launch) -> Launch {
        launch
            .env("SYMBOLON_SMTP_URL", &self.inbox.smtp_url())
            .env("SYMBOLON_MAIL_FROM", "A drill <no-reply@drill.example>")
            .env("SYMBOLON_OUTBOUND_ALLOW_PRIVATE", "true")
            .env("SYMBOLON_ARGON2_MEMORY", "64KiB")
            .env("SYMBOLON_ARGON2_ITERATIONS", "1")
    }

    /// The provider's time, in seconds since 1970.
    fn now(&self) -> u64 {
        (unix_micros() / 1_000_000).saturating_add_signed(self.ahead)
    }
}
