//! What is stored of a code sent by e-mail: to whom it was mailed, and what became of its tries. One small record, so that a
//! code takes no more room than it must.
//!
//! Whether a typed code is right is known before its try is taken, because the HMAC of the right one travels with the browser
//! ([`SentCode`](super::email_code::SentCode)). So a try and the use are one change of the record: a wrong code takes one try,
//! a right one takes all that are left. Of any number of requests at once, at most as many are told whether they were right as
//! a code has tries, and one is told that it was right (NIST SP 800-63B 5.1.3.2).

use serde::{Deserialize, Serialize};

use super::email_code::TRIES;

/// To whom a code was mailed: a keyed digest of the code's id, the account and the address. It tells neither account nor
/// address to who reads the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipient(pub [u8; 16]);

/// What is stored of one code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmailCodeUse {
    /// To whom it was mailed; `None` if it was mailed to nobody, or not yet.
    pub recipient: Option<Recipient>,
    /// The tries that are taken, [`TRIES`] at most. A right code takes all that are left.
    pub tries: u8,
}

/// What a try of a code achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmailCodeTry {
    /// The code was right, and is used up: no other caller is told so.
    Right {
        /// To whom it was mailed, if to anybody.
        recipient: Option<Recipient>,
    },
    /// The code was wrong.
    Wrong {
        /// How many tries are left.
        left: u8,
    },
    /// It was used before, or has no tries left. Whether this one was right is not told.
    UsedUp,
}

impl EmailCodeUse {
    /// Notes to whom the code was mailed, unless that is known already or the code is used up. Whether anything was changed.
    pub const fn mailed_to(&mut self, recipient: Recipient) -> bool {
        if self.recipient.is_some() || self.tries >= TRIES {
            return false;
        }
        self.recipient = Some(recipient);
        true
    }

    /// Takes a try (NIST SP 800-63B 5.1.3.2: a code SHALL be accepted only once, and guesses SHALL be limited).
    pub const fn attempt(&mut self, is_right: bool) -> EmailCodeTry {
        if self.tries >= TRIES {
            return EmailCodeTry::UsedUp;
        }
        self.tries = if is_right { TRIES } else { self.tries + 1 };
        self.told(is_right)
    }

    /// What the caller is told whose try led to this state.
    pub const fn told(&self, is_right: bool) -> EmailCodeTry {
        match is_right {
            true => EmailCodeTry::Right { recipient: self.recipient },
            false => EmailCodeTry::Wrong { left: TRIES.saturating_sub(self.tries) },
        }
    }
}

/// How many tries a code takes: one if it is wrong, all if it is right.
pub const fn tries_taken(is_right: bool) -> u8 {
    if is_right { TRIES } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Recipient = Recipient([1; 16]);
    const BOB: Recipient = Recipient([2; 16]);

    #[test]
    fn a_code_has_five_tries_and_the_last_may_be_right() {
        let mut code = EmailCodeUse::default();
        assert!(code.mailed_to(ANN));
        for left in (1..TRIES).rev() {
            assert_eq!(code.attempt(false), EmailCodeTry::Wrong { left });
        }
        let mut wrong_again = code;
        assert_eq!(wrong_again.attempt(false), EmailCodeTry::Wrong { left: 0 });
        assert_eq!(wrong_again.attempt(true), EmailCodeTry::UsedUp, "right, but too late");
        assert_eq!(code.attempt(true), EmailCodeTry::Right { recipient: Some(ANN) });
    }

    #[test]
    fn a_right_code_is_used_up_with_all_its_tries() {
        let mut code = EmailCodeUse::default();
        assert_eq!(code.attempt(true), EmailCodeTry::Right { recipient: None }, "it was mailed to nobody");
        for is_right in [true, false] {
            assert_eq!(code.attempt(is_right), EmailCodeTry::UsedUp);
        }
        assert!(!code.mailed_to(ANN), "too late: it leads nowhere");
        assert_eq!(code.recipient, None);
    }

    #[test]
    fn a_code_is_mailed_to_one_recipient() {
        let mut code = EmailCodeUse::default();
        assert_eq!(code.attempt(false), EmailCodeTry::Wrong { left: TRIES - 1 });
        assert!(code.mailed_to(ANN) && !code.mailed_to(BOB));
        assert_eq!((code.recipient, code.tries), (Some(ANN), 1), "a try before the mail counts");
    }
}
