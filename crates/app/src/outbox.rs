//! The outbox of development mode: the last mails, in memory, for the page `/outbox`.

use std::collections::VecDeque;

use parking_lot::Mutex;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;

/// How many mails are kept.
const KEPT: usize = 100;

/// A mail as it was, or would have been, sent.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboxMail {
    /// The issuer that it is from.
    pub issuer: IssuerId,
    /// When it left the queue.
    pub at: Timestamp,
    /// The recipient's address.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The plain text.
    pub text: String,
}

/// The last mails of a server in development mode.
#[derive(Default)]
pub struct Outbox(Mutex<VecDeque<OutboxMail>>);

impl Outbox {
    /// Keeps a mail, in place of the oldest where there are too many.
    pub fn keep(&self, mail: OutboxMail) {
        let mut kept = self.0.lock();
        kept.push_front(mail);
        kept.truncate(KEPT);
    }

    /// The mails of an issuer, the newest first.
    pub fn of(&self, issuer: &IssuerId) -> Vec<OutboxMail> {
        self.0.lock().iter().filter(|mail| mail.issuer == *issuer).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_hundred_are_kept_and_each_issuer_sees_its_own() {
        let outbox = Outbox::default();
        for number in 0..150 {
            let issuer = IssuerId::trusted(if number % 2 == 0 { "even" } else { "odd" });
            let at = Timestamp::from_seconds(number);
            let text = String::new;
            outbox.keep(OutboxMail { issuer, at, to: text(), subject: number.to_string(), text: text() });
        }
        let even = outbox.of(&IssuerId::trusted("even"));
        assert_eq!((even.len(), even[0].subject.as_str(), even[49].subject.as_str()), (50, "148", "50"));
        assert!(outbox.of(&IssuerId::trusted("other")).is_empty());
    }
}
