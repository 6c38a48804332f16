//! Verifies that what was put into the queue of deliveries has arrived, and how often.

use std::time::Duration;

use super::inbox::Inbox;
use super::ledger::{Fate, Ledger};
use super::{Crew, unix_micros};

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// The most copies of a mail: a process that ended in the middle may have sent the first one.
pub(super) const MOST_COPIES: usize = 2;

/// What a ledger has as acknowledged, and the inbox as not arrived.
struct Missing {
    mail: Vec<String>,
    logouts: Vec<String>,
}

impl Missing {
    fn of(ledger: &Ledger, inbox: &Inbox) -> Self {
        let acknowledged = ledger.mails.iter().filter(|mail| mail.queued.acked.is_some());
        let mail = acknowledged.map(|mail| &mail.to).filter(|to| inbox.mail_to(to).is_empty());
        let logouts = due_logouts(ledger).filter(|sid| inbox.logouts_of(sid) == 0);
        Self { mail: mail.cloned().collect(), logouts: logouts.map(str::to_owned).collect() }
    }

    fn is_empty(&self) -> bool {
        self.mail.is_empty() && self.logouts.is_empty()
    }
}

/// The sessions of whose end the client must be told: it got a code in them.
fn due_logouts(ledger: &Ledger) -> impl Iterator<Item = &str> {
    let took_part = move |session: usize| ledger.chains.iter().any(|chain| chain.session == session);
    (0..ledger.sessions.len())
        .filter(move |index| ledger.session_fate(*index) == Fate::Ended && took_part(*index))
        .filter_map(|index| ledger.sessions[index].sid.as_deref())
}

impl Crew {
    /// Waits until everything has arrived that was acknowledged, or the time is over; what is missing then is a violation. To
    /// be called when no claim of an earlier process holds anything back.
    pub fn verify_deliveries(&mut self, within: Duration) {
        let Some(inbox) = self.people().map(|people| people.inbox.clone()) else { return };
        let began = unix_micros();
        while u128::from(unix_micros() - began) < within.as_micros() {
            let mut all = true;
            self.each_ledger(|ledger, _| all &= Missing::of(ledger, &inbox).is_empty());
            if all {
                break;
            }
            std::thread::sleep(LOOK);
        }
        self.each_ledger(|ledger, tally| {
            let missing = Missing::of(ledger, &inbox);
            let mails = ledger.mails.iter().filter(|mail| mail.queued.acked.is_some()).count();
            tally.add("checked mail that was acknowledged", mails as u64);
            tally.add("checked logout token of a session that ended", due_logouts(ledger).count() as u64);
            let again = |sid: &str| inbox.logouts_of(sid).saturating_sub(1) as u64;
            tally.add("logout token that came again", due_logouts(ledger).map(again).sum());
            for to in missing.mail {
                tally.violation(format!("mail that was acknowledged never came: {to}"));
            }
            for sid in missing.logouts {
                tally.violation(format!("logout token never came: {sid}"));
            }
        });
    }

    /// Verifies that no mail came too often.
    pub fn verify_copies(&mut self) {
        let Some(inbox) = self.people().map(|people| people.inbox.clone()) else { return };
        let copies = inbox.copies();
        let mut counted = false;
        self.each_ledger(|_, tally| {
            // All copies are in one inbox: they are counted once.
            if std::mem::replace(&mut counted, true) {
                return;
            }
            for (message, number) in &copies {
                let kind = "mail that came twice at most";
                tally.check(kind, *number <= MOST_COPIES, || format!("{message} came {number} times"));
                tally.add("mail that came twice", u64::from(*number == MOST_COPIES));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drill::inbox::Manner;
    use crate::drill::{Chain, QueuedMail, SignedIn, Span};

    #[test]
    fn mail_and_logout_tokens_that_never_came_are_missing() {
        let inbox = Inbox::open(&[]).expect("free ports");
        let done = Span { sent: 1, acked: Some(2) };
        let session = |sid: &str, ended| SignedIn {
            secret: String::new(),
            sid: Some(sid.to_owned()),
            opened: done,
            ended,
        };
        let chain =
            |session| Chain { session, links: Vec::new(), attempt: None, successor: None, ended: None };
        let mail = |name, queued| QueuedMail { to: Manner::Taken.address(name), queued };
        let ledger = Ledger {
            sessions: vec![
                session("told", Some(done)),
                session("lives", None),
                session("stranger", Some(done)),
            ],
            chains: vec![chain(0), chain(1)],
            mails: vec![mail("acknowledged", done), mail("in-flight", Span { sent: 1, acked: None })],
            ..Ledger::default()
        };
        let missing = Missing::of(&ledger, &inbox);
        assert_eq!(
            (missing.mail, missing.logouts),
            (vec!["acknowledged@drill.example".into()], vec!["told".into()])
        );
    }
}
