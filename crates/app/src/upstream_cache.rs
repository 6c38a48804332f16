//! What other providers publish: metadata and keys, kept for a while.
//!
//! Only providers that administrators have made are asked, so that there are as many entries as providers; a changed provider
//! has a new entry. An entry is read again after an hour, and keys when a token names one that is not known; the latter once a
//! minute at most, so that nobody makes this server call another one by tokens of his own making.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_crypto::jwk::JwkSet;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::identity_provider::IdentityProvider;
use symbolon_protocol::identity_provider::metadata::Metadata;
use symbolon_protocol::time::Timestamp;
use tokio::sync::Semaphore;

/// For how long metadata and keys are believed.
const FRESH: Duration = Duration::from_secs(3_600);
/// How often keys are read again because a token names another.
const KEYS_AT_MOST_EVERY: Duration = Duration::from_secs(60);
/// The most entries: more than most installations have providers. What was read first goes first.
const MOST: usize = 1_024;
/// The most calls to other providers at a time. Whoever is beyond is told that it did not work.
const MOST_CALLS: usize = 64;

/// A provider as it was when it was asked.
type Key = (IssuerId, String, Timestamp);

struct Entry {
    read_at: Timestamp,
    metadata: Arc<Metadata>,
    keys: Option<(Timestamp, Arc<JwkSet>)>,
}

/// What other providers publish.
pub struct UpstreamCache {
    entries: Mutex<HashMap<Key, Entry>>,
    /// Bounds the calls that are under way.
    pub(crate) calls: Semaphore,
}

impl Default for UpstreamCache {
    fn default() -> Self {
        Self { entries: Mutex::default(), calls: Semaphore::new(MOST_CALLS) }
    }
}

fn key(issuer: &IssuerId, provider: &IdentityProvider) -> Key {
    (issuer.clone(), provider.key.to_string(), provider.updated_at)
}

impl UpstreamCache {
    /// A provider's metadata, if they were read lately.
    pub(crate) fn metadata(
        &self,
        issuer: &IssuerId,
        provider: &IdentityProvider,
        now: Timestamp,
    ) -> Option<Arc<Metadata>> {
        let entries = self.entries.lock();
        let entry = entries.get(&key(issuer, provider))?;
        (now.since(entry.read_at) < FRESH).then(|| Arc::clone(&entry.metadata))
    }

    /// Keeps metadata that were read now.
    pub(crate) fn keep(
        &self,
        issuer: &IssuerId,
        provider: &IdentityProvider,
        metadata: Metadata,
        now: Timestamp,
    ) -> Arc<Metadata> {
        let metadata = Arc::new(metadata);
        let mut entries = self.entries.lock();
        // Those of the same provider before it was changed are of no use any more.
        entries.retain(|(at, name, changed), _| {
            at != issuer || *name != *provider.key || *changed == provider.updated_at
        });
        if entries.len() >= MOST
            && let Some(oldest) =
                entries.iter().min_by_key(|(_, entry)| entry.read_at).map(|(key, _)| key.clone())
        {
            entries.remove(&oldest);
        }
        let keys = entries.remove(&key(issuer, provider)).and_then(|entry| entry.keys);
        let entry = Entry { read_at: now, metadata: Arc::clone(&metadata), keys };
        entries.insert(key(issuer, provider), entry);
        metadata
    }

    /// A provider's keys, if they were read lately. `has_unknown`: a token names a key that is not among them; then only if
    /// they were read a moment ago.
    pub(crate) fn keys(
        &self,
        issuer: &IssuerId,
        provider: &IdentityProvider,
        has_unknown: bool,
        now: Timestamp,
    ) -> Option<Arc<JwkSet>> {
        let entries = self.entries.lock();
        let (read_at, keys) = entries.get(&key(issuer, provider))?.keys.as_ref()?;
        let fresh = if has_unknown { KEYS_AT_MOST_EVERY } else { FRESH };
        (now.since(*read_at) < fresh).then(|| Arc::clone(keys))
    }

    /// Keeps keys that were read now.
    pub(crate) fn keep_keys(
        &self,
        issuer: &IssuerId,
        provider: &IdentityProvider,
        keys: JwkSet,
        now: Timestamp,
    ) -> Arc<JwkSet> {
        let keys = Arc::new(keys);
        if let Some(entry) = self.entries.lock().get_mut(&key(issuer, provider)) {
            entry.keys = Some((now, Arc::clone(&keys)));
        }
        keys
    }
}
