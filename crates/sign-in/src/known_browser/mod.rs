//! Which browsers are known: those in which an account was signed in before. Attempts at the names of such an account are counted
//! for the browser, so that whoever guesses at the account from the same address, or from everywhere, takes none of them away
//! (`docs/decisions/062-known-browsers.md`). Of a sign-in in any other browser its person is told by mail
//! (`docs/decisions/064-mail-about-new-browsers.md`).
//!
//! Nothing is stored of browsers: each keeps a sealed mark with an id and, by digests, the accounts that were signed in in it and their
//! names. A mark proves nothing and opens nothing: whoever steals it has as many attempts as anybody at another address; whoever
//! takes it away, or changes it, causes a mail.

mod news;

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use symbolon_app::http::{Context, Received, cookies, set_cookie};
use symbolon_app::issuer::IssuerState;
use symbolon_app::rate_limit::LoginFrom;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::{digest, encoding};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

pub(super) use news::{note, tell};

/// The sealing purpose.
const PURPOSE: &str = "known browser";

const DAY: Duration = Duration::from_secs(86_400);

/// For how many days after its last sign-in an account is known in a browser. No browser keeps a cookie for longer (RFC 6265bis
/// 5.5).
const KNOWN_DAYS: u32 = 400;

/// The most accounts that are known in one browser; beyond it the one signed in longest ago is forgotten.
const MOST_ACCOUNTS: usize = 10;

/// The bytes of an account in a mark: its digest, those of its e-mail address and its user name, and the day of its last sign-in.
const ACCOUNT: usize = 3 * size_of::<Digest>() + size_of::<u32>();

/// The first bytes of a digest of an issuer and of a user, or of a login name. It is sealed, so that it need not be keyed.
type Digest = [u8; 8];

/// What stands for a name that the account has not.
const NO_NAME: Digest = [0; 8];

fn digest_of(issuer: &IssuerId, kind: &[u8], text: &str) -> Digest {
    let digest = digest::sha256(&[issuer.as_str().as_bytes(), b"\0", kind, b"\0", text.as_bytes()]);
    digest.first_chunk().copied().unwrap_or(NO_NAME)
}

/// The digest of a login name as it was typed, equal for every spelling of one name.
fn name_digest(issuer: &IssuerState, typed: &str) -> Digest {
    digest_of(&issuer.id, b"name", &issuer.login_name_digest(typed))
}

fn account_digest(issuer: &IssuerId, user: &UserId) -> Digest {
    digest_of(issuer, b"user", user.as_str())
}

/// An account in a browser's mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account {
    user: Digest,
    /// Its names, each of which is [`NO_NAME`] if there is none.
    names: [Digest; 2],
    /// The day of its last sign-in, counted from 1970.
    day: u32,
}

impl Account {
    fn of(issuer: &IssuerState, user: &User, now: Timestamp) -> Self {
        let names = [user.email.as_deref(), user.profile.preferred_username.as_deref()];
        let names = names.map(|name| name.map_or(NO_NAME, |name| name_digest(issuer, name)));
        Self { user: account_digest(&issuer.id, &user.id), names, day: day_of(now) }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (user, rest) = bytes.split_first_chunk()?;
        let (email, rest) = rest.split_first_chunk()?;
        let (username, day) = rest.split_first_chunk()?;
        Some(Self { user: *user, names: [*email, *username], day: u32::from_be_bytes(day.try_into().ok()?) })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let [email, username] = &self.names;
        out.extend_from_slice(&self.user);
        out.extend_from_slice(email);
        out.extend_from_slice(username);
        out.extend_from_slice(&self.day.to_be_bytes());
    }
}

fn day_of(now: Timestamp) -> u32 {
    u32::try_from(now.seconds() / DAY.as_secs()).unwrap_or(u32::MAX)
}

/// What a browser keeps.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    /// Which browser it is.
    id: [u8; 16],
    /// The accounts that it knows, the one signed in last first.
    accounts: Vec<Account>,
}

impl Mark {
    fn new(random: &dyn Random) -> Self {
        Self { id: random::bytes(random), accounts: Vec::new() }
    }

    fn parse(bytes: &[u8], now: Timestamp) -> Option<Self> {
        let (id, accounts) = bytes.split_first_chunk()?;
        let is_recent = |account: &Account| day_of(now).saturating_sub(account.day) < KNOWN_DAYS;
        let accounts = accounts.chunks_exact(ACCOUNT).filter_map(Account::parse);
        Some(Self { id: *id, accounts: accounts.filter(is_recent).take(MOST_ACCOUNTS).collect() })
    }

    /// The mark of the browser that sent a request, if the issuer has sealed it.
    fn of(headers: &HeaderMap, issuer: &IssuerState, now: Timestamp) -> Option<Self> {
        let name = cookie_name(issuer);
        cookies(headers, &name).find_map(|sealed| {
            let opened = issuer.interactions.open(PURPOSE, sealed).ok()?;
            Self::parse(opened.expose(), now)
        })
    }

    /// Notes a sign-in.
    fn note(&mut self, account: Account) {
        self.accounts.retain(|other| other.user != account.user);
        self.accounts.insert(0, account);
        self.accounts.truncate(MOST_ACCOUNTS);
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.id.len() + self.accounts.len() * ACCOUNT);
        bytes.extend_from_slice(&self.id);
        self.accounts.iter().for_each(|account| account.write(&mut bytes));
        bytes
    }
}

fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_known")
}

/// Whether a user has signed in before in the browser that sent a request.
pub(super) fn knows(context: &Context, received: &Received, user: &UserId) -> bool {
    let Context { app, issuer, .. } = context;
    let own = account_digest(&issuer.id, user);
    let mark = Mark::of(&received.headers, issuer, app.now());
    mark.is_some_and(|mark| mark.accounts.iter().any(|account| account.user == own))
}

/// The cookie by which the browser that sent a request knows a user from now on, besides those that it knows. `None` if it
/// could not be made: then the browser stays as it is.
pub(super) fn cookie(context: &Context, received: &Received, user: &User) -> Option<HeaderValue> {
    let Context { app, issuer, .. } = context;
    let now = app.now();
    let mut mark = Mark::of(&received.headers, issuer, now).unwrap_or_else(|| Mark::new(&*app.random));
    mark.note(Account::of(issuer, user, now));
    let sealed = issuer.interactions.seal(PURPOSE, &mark.bytes()).ok()?;
    set_cookie(issuer, &cookie_name(issuer), &sealed, DAY * KNOWN_DAYS)
}

/// Where an attempt at a name comes from: its address, and the browser if somebody has signed in there by this name. Nobody is looked
/// up, so it says nothing about the name.
pub(super) fn origin(context: &Context, received: &Received, typed: &str) -> LoginFrom {
    let Context { app, issuer, remote, .. } = context;
    let mark = Mark::of(&received.headers, issuer, app.now());
    let Some(mark) = mark.filter(|mark| !mark.accounts.is_empty()) else { return (*remote).into() };
    let own = name_digest(issuer, typed);
    match mark.accounts.iter().any(|account| account.names.contains(&own)) {
        true => LoginFrom::known_browser(*remote, encoding::encode(&mark.id)),
        false => (*remote).into(),
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn account(user: &str, day: u32) -> Account {
        let issuer = IssuerId::default_issuer();
        let user = account_digest(&issuer, &UserId::trusted(user));
        Account { user, names: [digest_of(&issuer, b"name", "ann@example.com"), NO_NAME], day }
    }

    #[test]
    fn a_mark_comes_back_without_what_is_too_old() {
        let mut mark = Mark::new(&SeededRandom::new(1));
        let today = day_of(NOW);
        mark.note(account("ann", today - KNOWN_DAYS));
        mark.note(account("bob", today - KNOWN_DAYS + 1));
        let read = Mark::parse(&mark.bytes(), NOW).unwrap();
        assert_eq!((read.id, read.accounts), (mark.id, vec![account("bob", today - KNOWN_DAYS + 1)]));
        assert_eq!(Mark::parse(&mark.bytes()[..15], NOW), None);
    }

    #[test]
    fn ten_accounts_are_known_and_each_once() {
        let mut mark = Mark::new(&SeededRandom::new(1));
        for user in 0..12 {
            mark.note(account(&user.to_string(), day_of(NOW)));
        }
        mark.note(account("5", day_of(NOW)));
        let wanted = ["5", "11", "10", "9", "8", "7", "6", "4", "3", "2"];
        let wanted = wanted.map(|user| account(user, day_of(NOW)));
        assert_eq!(Mark::parse(&mark.bytes(), NOW).unwrap().accounts, wanted);
    }

    #[test]
    fn a_digest_is_of_one_issuer_and_of_one_kind() {
        let (issuer, other) = (IssuerId::default_issuer(), IssuerId::parse("other").unwrap());
        let ann = digest_of(&issuer, b"user", "ann");
        for different in [
            digest_of(&issuer, b"user", "bob"),
            digest_of(&other, b"user", "ann"),
            digest_of(&issuer, b"name", "ann"),
        ] {
            assert_ne!(ann, different);
        }
    }
}
