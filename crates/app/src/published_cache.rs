//! What others publish, by its addresses, kept for a while: the keys of clients and trusted issuers, and the documents of clients.
//!
//! An address is asked by one request at a time: the others wait for its answer, or go on with what is known. It is asked
//! when what it said is no longer believed, and when a token names a key that is not among its keys (OpenID Connect Core 10.1.1); the latter
//! once a minute at most, because anybody can name keys. That it did not answer is kept for half a minute.
//!
//! While an address does not answer, the keys that it had last go on for some hours: a client's server that is down for a while must not
//! keep its people from signing in. What its document said does not.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_protocol::client::Client;
use symbolon_protocol::time::Timestamp;
use tokio::sync::watch;

use crate::failed_read::FailedRead;
use crate::upstream_calls::UpstreamCalls;

/// How often an address is asked because a token names a key that is not known.
const UNKNOWN_AT_MOST_EVERY: Duration = Duration::from_secs(60);
/// The most addresses. What was used least lately goes first, and before all what strangers published: so
/// strangers push out nothing but what is theirs. A set of keys has 64 KiB at most, so all take 64 MiB at most.
const MOST: usize = 1_024;

/// For how long keys that are no longer believed are used while their address does not answer.
pub(crate) const KEYS_STALE_FOR: Duration = Duration::from_secs(4 * 3_600);
/// What a document said no longer counts when its time is over, also while its server does not answer: a redirect URI that was taken out of it
/// must not come back by an attack on that server. Nor does a request object, which may have ended since.
pub(crate) const DOCUMENTS_STALE_FOR: Duration = Duration::ZERO;

/// What was read at a URL that names a client.
pub(crate) enum ClientDocument {
    /// A client.
    Client(Arc<Client>),
    /// A document of which no client can be made, and why. Kept only for as long as that a document could not be read, so that the URL is not
    /// asked at every request (OAuth Client ID Metadata Document 5.2: the document itself MUST NOT be cached).
    Invalid(String),
}

/// What was fetched.
struct Kept<T> {
    what: Arc<T>,
    believed_until: Timestamp,
}

/// What is known of an address.
struct Entry<T> {
    kept: Option<Kept<T>>,
    failed: Option<FailedRead>,
    /// When it was last asked.
    asked_at: Option<Timestamp>,
    /// Closed when whoever asks it now has an answer.
    asking: Option<watch::Receiver<()>>,
    used_at: Timestamp,
    /// Whether only strangers use it: clients that no administrator made.
    is_of_strangers: bool,
}

impl<T> Entry<T> {
    fn new(is_of_strangers: bool, used_at: Timestamp) -> Self {
        Self { kept: None, failed: None, asked_at: None, asking: None, used_at, is_of_strangers }
    }

    /// What may be used if its address does not answer.
    fn usable(&self, stale_for: Duration, now: Timestamp) -> Option<&Kept<T>> {
        self.kept.as_ref().filter(|kept| now < kept.believed_until + stale_for)
    }

    /// The channel of whoever asks it now. One whose other end is gone was of somebody who has an answer.
    fn asking(&self) -> Option<watch::Receiver<()>> {
        self.asking.clone().filter(|asking| asking.has_changed().is_ok())
    }
}

/// What is to be done for what an address publishes.
pub(crate) enum Known<T> {
    /// It is here.
    Kept(Arc<T>),
    /// Somebody asks for it: the channel is closed when there is an answer.
    Asked(watch::Receiver<()>),
    /// The caller is the one to ask, and drops this when there is an answer.
    Ask(watch::Sender<()>),
    /// It could not be fetched a moment ago, for this reason.
    Failed(String),
}

/// What others publish.
pub(crate) struct PublishedCache<T> {
    entries: Mutex<HashMap<String, Entry<T>>>,
    /// For how long what is no longer believed is used while its address does not answer.
    stale_for: Duration,
    /// Bounds the calls that are under way.
    pub(crate) calls: UpstreamCalls,
    /// Those to addresses of clients that registered themselves: where they do not answer, the others are asked all the same.
    pub(crate) calls_of_strangers: UpstreamCalls,
}

impl<T> PublishedCache<T> {
    /// An empty one.
    pub(crate) fn new(stale_for: Duration) -> Self {
        Self {
            entries: Mutex::default(),
            stale_for,
            calls: UpstreamCalls::default(),
            calls_of_strangers: UpstreamCalls::default(),
        }
    }

    /// Whether a [look](Self::look_up) now would lead to a call.
    pub(crate) fn needs_call(&self, address: &str, now: Timestamp) -> bool {
        let entries = self.entries.lock();
        entries.get(address).is_none_or(|entry| {
            let is_believed = entry.usable(Duration::ZERO, now).is_some();
            let failed = entry.failed.as_ref().is_some_and(|failed| failed.is_recent(now));
            !is_believed && !failed && entry.asking().is_none()
        })
    }

    /// Looks for what an address publishes. `fits`: whether this has what is needed; if not, the address may have more by now.
    pub(crate) fn look_up(
        &self,
        address: &str,
        fits: impl FnOnce(&T) -> bool,
        of_stranger: bool,
        now: Timestamp,
    ) -> Known<T> {
        let mut entries = self.entries.lock();
        if !entries.contains_key(address) {
            make_room(&mut entries);
        }
        let entry = entries.entry(address.to_owned()).or_insert_with(|| Entry::new(of_stranger, now));
        entry.used_at = now;
        entry.is_of_strangers &= of_stranger;
        let known = entry.usable(self.stale_for, now).map(|kept| {
            let has_it = fits(&kept.what);
            (Arc::clone(&kept.what), now < kept.believed_until, has_it)
        });
        let asked_lately = entry.asked_at.is_some_and(|at| now.since(at) < UNKNOWN_AT_MOST_EVERY);
        if let Some((what, true, has_it)) = &known
            && (*has_it || asked_lately)
        {
            return Known::Kept(Arc::clone(what));
        }
        match (entry.asking(), known) {
            (Some(_), Some((what, _, true))) => Known::Kept(what),
            (Some(asking), _) => Known::Asked(asking),
            (None, known) => ask(entry, known.map(|(what, ..)| what), now),
        }
    }

    /// Keeps what an address answered, and for how long it is believed; or why it did not.
    pub(crate) fn note_read(&self, address: &str, read: Result<(T, Duration), String>, now: Timestamp) {
        let mut entries = self.entries.lock();
        // Pushed out in the meantime.
        let Some(entry) = entries.get_mut(address) else { return };
        entry.asked_at = Some(now);
        match read {
            Ok((what, believed_for)) => {
                entry.kept = Some(Kept { what: Arc::new(what), believed_until: now + believed_for });
                entry.failed = None;
            }
            Err(why) => entry.failed = Some(FailedRead::new(why, now)),
        }
    }

    /// What an address had last, if that is not too long ago.
    pub(crate) fn last_known(&self, address: &str, now: Timestamp) -> Option<Arc<T>> {
        let entries = self.entries.lock();
        entries.get(address)?.usable(self.stale_for, now).map(|kept| Arc::clone(&kept.what))
    }

    /// What an address had last, however long ago: for what is only shown.
    pub(crate) fn at_hand(&self, address: &str) -> Option<Arc<T>> {
        let entries = self.entries.lock();
        entries.get(address)?.kept.as_ref().map(|kept| Arc::clone(&kept.what))
    }
}

/// Lets the caller ask, unless that failed a moment ago.
fn ask<T>(entry: &mut Entry<T>, usable: Option<Arc<T>>, now: Timestamp) -> Known<T> {
    let may = entry.failed.as_mut().map_or(Ok(()), |failed| failed.may_read_again(now));
    match (may, usable) {
        (Ok(()), _) => {
            let (told, asking) = watch::channel(());
            entry.asking = Some(asking);
            Known::Ask(told)
        }
        (Err(_), Some(what)) => Known::Kept(what),
        (Err(why), None) => Known::Failed(format!("{why} (a moment ago)")),
    }
}

/// Makes room for one more.
fn make_room<T>(entries: &mut HashMap<String, Entry<T>>) {
    if entries.len() < MOST {
        return;
    }
    let least = entries.iter().min_by_key(|(_, entry)| (!entry.is_of_strangers, entry.used_at));
    if let Some(address) = least.map(|(address, _)| address.clone()) {
        entries.remove(&address);
    }
}

#[cfg(test)]
mod tests;
