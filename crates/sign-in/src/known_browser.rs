//! Which browsers are known: those in which an account was signed in before. Of a sign-in in any other one its person is told by
//! mail, after the answer.
//!
//! Nothing is stored of browsers: each keeps a sealed mark that names the accounts that were signed in in it, by digests, and when
//! each was. A mark opens nothing. Whoever takes it away, or changes it, causes a mail.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use symbolon_app::app::App;
use symbolon_app::http::language::{locale, page_language};
use symbolon_app::http::{Context, Received, cookies, set_cookie};
use symbolon_app::issuer::IssuerState;
use symbolon_crypto::digest;
use symbolon_mail::{Mail, Message};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::session_origin::device;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::AuthenticatorUpdate;

use crate::after_answer::{after_answer, mail_language, queue};

/// The sealing purpose.
const PURPOSE: &str = "known browser";

const DAY: Duration = Duration::from_secs(86_400);

/// For how many days after its last sign-in an account is known in a browser. No browser keeps a cookie for longer (RFC 6265bis
/// 5.5).
const KNOWN_DAYS: u32 = 400;

/// The most accounts that are known in one browser; beyond it the one signed in longest ago is forgotten.
const MOST_ACCOUNTS: usize = 10;

/// The bytes of an account in the mark: eight of its digest, and the day of its last sign-in.
const ENTRY: usize = 8 + size_of::<u32>();

/// How often the note that a user has signed in is tried, where other changes come first.
const TRIES: usize = 3;

/// An account in a browser's mark.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    account: [u8; 8],
    day: u32,
}

impl Entry {
    fn of(issuer: &IssuerId, user: &UserId, now: Timestamp) -> Self {
        let digest = digest::sha256(&[issuer.as_str().as_bytes(), b"\0", user.as_str().as_bytes()]);
        let mut account = [0; 8];
        for (to, from) in account.iter_mut().zip(digest) {
            *to = from;
        }
        Self { account, day: day_of(now) }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (account, day) = bytes.split_first_chunk::<8>()?;
        Some(Self { account: *account, day: u32::from_be_bytes(day.try_into().ok()?) })
    }
}

fn day_of(now: Timestamp) -> u32 {
    u32::try_from(now.seconds() / DAY.as_secs()).unwrap_or(u32::MAX)
}

fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_known")
}

/// The accounts in the mark of the browser that sent a request, the one signed in last first; none if it has no mark of ours.
fn accounts(headers: &HeaderMap, issuer: &IssuerState, now: Timestamp) -> Vec<Entry> {
    let name = cookie_name(issuer);
    let opened = cookies(headers, &name).find_map(|sealed| issuer.interactions.open(PURPOSE, sealed).ok());
    let Some(opened) = opened else { return Vec::new() };
    let is_recent = |entry: &Entry| day_of(now).saturating_sub(entry.day) < KNOWN_DAYS;
    let entries = opened.expose().chunks_exact(ENTRY).filter_map(Entry::parse);
    entries.filter(is_recent).take(MOST_ACCOUNTS).collect()
}

/// Whether a user has signed in before in the browser that sent a request.
pub(super) fn knows(context: &Context, received: &Received, user: &UserId) -> bool {
    let Context { app, issuer, .. } = context;
    let now = app.now();
    let own = Entry::of(&issuer.id, user, now);
    accounts(&received.headers, issuer, now).iter().any(|known| known.account == own.account)
}

/// The cookie by which the browser that sent a request knows a user from now on, besides those that it knows. `None` if it
/// could not be made: then the browser stays as it is.
pub(super) fn cookie(context: &Context, received: &Received, user: &UserId) -> Option<HeaderValue> {
    let Context { app, issuer, .. } = context;
    let now = app.now();
    let own = Entry::of(&issuer.id, user, now);
    let others = accounts(&received.headers, issuer, now);
    let others = others.into_iter().filter(|other| other.account != own.account);
    let mut plain = Vec::with_capacity(MOST_ACCOUNTS * ENTRY);
    for entry in std::iter::once(own).chain(others).take(MOST_ACCOUNTS) {
        plain.extend_from_slice(&entry.account);
        plain.extend_from_slice(&entry.day.to_be_bytes());
    }
    let sealed = issuer.interactions.seal(PURPOSE, &plain).ok()?;
    set_cookie(issuer, &cookie_name(issuer), &sealed, DAY * KNOWN_DAYS)
}

/// Whether somebody proved who they are by a code or a link sent by mail.
fn is_by_mail(amr: Amr) -> bool {
    use AuthenticationMethod::{Federated, Hwk, Otp, Pwd, Swk};
    amr.contains(Otp) && ![Pwd, Hwk, Swk, Federated].into_iter().any(|method| amr.contains(method))
}

/// Tells a user by mail that somebody signed in in a browser that is not [known](knows): a moment after the answer, so that it
/// delays nobody. Nobody is told of the very first sign-in of an account, nor where the sign-in was by mail, which the mailbox has
/// seen already.
pub(super) async fn tell(context: &Context, received: &Received, user: &User, amr: Amr) {
    let Context { app, issuer, remote, .. } = context;
    let at = app.now();
    if app.rate_limits.check_new_device(&issuer.id, &user.id, at).is_err() {
        return;
    }
    let named = received.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let message = Message::NewDevice {
        device: named.and_then(device).unwrap_or_default(),
        address: remote.to_string(),
        at,
    };
    let page = page_language(locale(&received.headers, issuer, None));
    let language = mail_language(page, user.profile.locale.as_deref());
    let to = user.email.clone().filter(|_| !is_by_mail(amr));
    let id = user.id.clone();
    let mail = to.map(|to| Mail { to, language, user: Some(id.clone()), message });
    let of_work = context.clone();
    after_answer(context, async move {
        let is_first = match note_sign_in(&of_work.app, &of_work.issuer.id, &id).await {
            Ok(is_first) => is_first,
            Err(error) => {
                tracing::warn!(target: "symbolon::mail", %error, "whether a user has signed in before is not known");
                false
            }
        };
        if let Some(mail) = mail.filter(|_| !is_first) {
            queue(&of_work, &mail).await;
        }
    })
    .await;
}

/// Notes that a user has signed in; returns whether it was for the first time.
///
/// # Errors
/// [`StoreError`].
async fn note_sign_in(app: &App, issuer: &IssuerId, user: &UserId) -> Result<bool, StoreError> {
    for _ in 0..TRIES {
        let enrolled = app.store.authenticators(issuer, user).await?;
        if enrolled.set.has_signed_in {
            return Ok(false);
        }
        let set = AuthenticatorSet { has_signed_in: true, ..enrolled.set };
        match app.store.put_authenticators(issuer, user, enrolled.revision, &set).await? {
            AuthenticatorUpdate::Written | AuthenticatorUpdate::UserUnknown => return Ok(true),
            AuthenticatorUpdate::Overtaken => {}
        }
    }
    Err(StoreError::Conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_arrived_by_mail_alone_is_by_mail() {
        use AuthenticationMethod::{Device, Federated, Hwk, Mfa, Otp, Pwd, Swk};
        let of = |methods: &[AuthenticationMethod]| {
            is_by_mail(methods.iter().fold(Amr::default(), |amr, method| amr.with(*method)))
        };
        assert!(of(&[Otp]) && of(&[Otp, Device]) && of(&[Otp, Mfa]));
        for others in [&[Pwd][..], &[Pwd, Otp, Mfa], &[Hwk, Mfa], &[Swk, Otp], &[Federated, Otp, Mfa], &[]] {
            assert!(!of(others), "{others:?}");
        }
    }

    #[test]
    fn entries_come_back_and_name_one_account_of_one_issuer() {
        let (issuer, other) = (IssuerId::default_issuer(), IssuerId::parse("other").unwrap());
        let (ann, bob) = (UserId::trusted("ann"), UserId::trusted("bob"));
        let now = Timestamp::from_seconds(1_800_000_000);
        let entry = Entry::of(&issuer, &ann, now);
        let bytes = [&entry.account[..], &entry.day.to_be_bytes()].concat();
        assert!(Entry::parse(&bytes) == Some(entry) && bytes.len() == ENTRY);
        assert!(Entry::parse(&bytes[1..]).is_none());
        for different in [Entry::of(&issuer, &bob, now), Entry::of(&other, &ann, now)] {
            assert!(different.account != entry.account);
        }
    }
}
