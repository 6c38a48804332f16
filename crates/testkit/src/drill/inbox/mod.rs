//! Where a provider's deliveries arrive during a drill: a server of mail, and an application that is told of logouts. Both
//! count what comes, and when.

mod application;
mod mail_server;
mod space;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::ledger::{Micros, Moment};
use super::unix_micros;

/// How the server of mail treats the mail to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It takes each copy.
    Taken,
    /// It takes the first copy and closes the connection without an answer: nobody can know that it was taken. It answers the
    /// next one.
    SecondAnswered,
    /// It never answers.
    Unanswered,
}

impl Manner {
    const UNANSWERED: &str = "-unanswered@";
    const SECOND_ANSWERED: &str = "-second-answered@";

    /// An address whose mail is treated like this; `name` is the beginning of its local part.
    pub fn address(self, name: &str) -> String {
        let mark = match self {
            Self::Taken => "@",
            Self::SecondAnswered => Self::SECOND_ANSWERED,
            Self::Unanswered => Self::UNANSWERED,
        };
        format!("{name}{mark}drill.example")
    }

    fn of(address: &str) -> Self {
        match address {
            to if to.contains(Self::UNANSWERED) => Self::Unanswered,
            to if to.contains(Self::SECOND_ANSWERED) => Self::SecondAnswered,
            _ => Self::Taken,
        }
    }
}

/// A copy of a mail that arrived.
#[derive(Clone, Debug)]
pub struct MailCopy {
    /// Its `Message-ID`, which all copies of one mail have.
    pub message: String,
    /// The six digits in it, if there are any.
    pub code: Option<String>,
    /// The path and query of the link for a new password in it, if there is one.
    pub link: Option<String>,
    /// When it had arrived.
    pub at: Micros,
}

/// What arrived.
#[derive(Default)]
struct Arrived {
    /// Copies of mails by their recipient, in lower case.
    mail: Mutex<HashMap<String, Vec<MailCopy>>>,
    /// The times of logout tokens by their `sid`.
    logouts: Mutex<HashMap<String, Vec<Micros>>>,
    /// Whether both ends refuse everything for now.
    away: AtomicBool,
}

impl Arrived {
    fn is_away(&self) -> bool {
        self.away.load(Ordering::SeqCst)
    }

    /// Notes a copy; returns whether the server answers it.
    fn take_mail(&self, to: &str, copy: MailCopy) -> bool {
        let mut mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let copies = mail.entry(to.to_ascii_lowercase()).or_default();
        copies.push(copy);
        match Manner::of(to) {
            Manner::Taken => true,
            Manner::SecondAnswered => copies.len() > 1,
            Manner::Unanswered => false,
        }
    }

    fn take_logout(&self, sid: String) {
        let mut logouts = self.logouts.lock().unwrap_or_else(PoisonError::into_inner);
        logouts.entry(sid).or_default().push(unix_micros());
    }
}

/// What arrived, as a provider's state at a moment could know it: see [`as_of`](Self::as_of).
#[derive(Clone)]
pub struct Inbox {
    arrived: Arc<Arrived>,
    mail_port: u16,
    application_port: u16,
    until: Moment,
    since: Micros,
}

impl Inbox {
    /// Opens both ends at loopback, also in each of these network namespaces.
    ///
    /// # Errors
    /// A port could not be opened.
    pub fn open(spaces: &[File]) -> io::Result<Self> {
        let arrived = Arc::new(Arrived::default());
        let (mail_port, listeners) = space::listen(spaces)?;
        serve_all(listeners, &arrived, mail_server::serve);
        let (application_port, listeners) = space::listen(spaces)?;
        serve_all(listeners, &arrived, application::serve);
        Ok(Self { arrived, mail_port, application_port, until: Moment::MAX, since: Micros::MAX })
    }

    /// The URL of the server of mail.
    pub fn smtp_url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.mail_port)
    }

    /// The `backchannel_logout_uri` of the application.
    pub fn logout_uri(&self) -> String {
        format!("http://127.0.0.1:{}/logout", self.application_port)
    }

    /// Refuses everything from now on, or takes it again.
    pub fn set_away(&self, away: bool) {
        self.arrived.away.store(away, Ordering::SeqCst);
    }

    /// The same inbox for a copy of a provider's state at `moment`, which is started now: of what arrived after the moment,
    /// only what this copy sends counts.
    #[must_use]
    pub fn as_of(&self, moment: Moment) -> Self {
        Self { until: moment, since: unix_micros(), ..self.clone() }
    }

    fn counts(&self, at: Micros) -> bool {
        at <= self.until || at >= self.since
    }

    /// The copies of mails to an address, in the order of their arrival.
    pub fn mail_to(&self, address: &str) -> Vec<MailCopy> {
        let mail = self.arrived.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let copies = mail.get(&address.to_ascii_lowercase()).into_iter().flatten();
        copies.filter(|copy| self.counts(copy.at)).cloned().collect()
    }

    /// How many logout tokens named a session.
    pub fn logouts_of(&self, sid: &str) -> usize {
        let logouts = self.arrived.logouts.lock().unwrap_or_else(PoisonError::into_inner);
        logouts.get(sid).into_iter().flatten().filter(|at| self.counts(**at)).count()
    }

    /// How many copies arrived of each mail, by its `Message-ID`.
    pub fn copies(&self) -> HashMap<String, usize> {
        let mail = self.arrived.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copies = HashMap::new();
        for copy in mail.values().flatten().filter(|copy| self.counts(copy.at)) {
            *copies.entry(copy.message.clone()).or_default() += 1;
        }
        copies
    }
}

/// Serves every connection in a thread of its own.
fn serve_all(
    listeners: Vec<TcpListener>,
    arrived: &Arc<Arrived>,
    serve: fn(std::net::TcpStream, &Arrived) -> Option<()>,
) {
    for listener in listeners {
        let arrived = Arc::clone(arrived);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let arrived = Arc::clone(&arrived);
                thread::spawn(move || serve(stream, &arrived));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(message: &str, at: Micros) -> MailCopy {
        MailCopy { message: message.to_owned(), code: None, link: None, at }
    }

    #[test]
    fn the_address_says_which_copy_is_answered() {
        let arrived = Arrived::default();
        let answered = |manner: Manner| {
            let to = manner.address("one");
            [0, 1].map(|nth| arrived.take_mail(&to, copy("m", nth)))
        };
        assert_eq!(answered(Manner::Taken), [true, true]);
        assert_eq!(answered(Manner::SecondAnswered), [false, true]);
        assert_eq!(answered(Manner::Unanswered), [false, false]);
    }

    #[test]
    fn of_what_came_after_the_moment_only_the_present_copy_counts() {
        let inbox = Inbox::open(&[]).expect("free ports");
        for at in [10, 20] {
            inbox.arrived.take_mail("a@drill.example", copy("m", at));
        }
        let past = inbox.as_of(15);
        assert_eq!((inbox.copies()["m"], past.copies()["m"]), (2, 1));
        inbox.arrived.take_mail("a@drill.example", copy("m", unix_micros()));
        assert_eq!((past.copies()["m"], past.mail_to("a@drill.example").len()), (2, 2));
    }
}
