//! What other providers publish: metadata and keys, kept for a while.
//!
//! Only providers that administrators have made are asked, so that there are as many entries as providers; a changed provider
//! has a new entry. An entry is read again after an hour, and keys when a token names one that is not known; the latter once a
//! minute at most, so that nobody makes this server call another one by tokens of his own making.
//!
//! That a document could not be read is kept, too, for a shorter time: only one person waits for a provider that is down, and
//! the others are told at once. When the time is over, the next one asks again, and the others are told what was last known
//! until the answer is there.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_crypto::jwk::JwkSet;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::identity_provider::IdentityProvider;
use symbolon_protocol::identity_provider::metadata::Metadata;
use symbolon_protocol::time::Timestamp;

use crate::failed_read::FailedRead;
use crate::upstream_calls::UpstreamCalls;

/// For how long metadata and keys are believed.
const FRESH: Duration = Duration::from_secs(3_600);
/// How often keys are read again because a token names another.
const KEYS_AT_MOST_EVERY: Duration = Duration::from_secs(60);
/// The most entries: more than most installations have providers. What was read first goes first.
const MOST: usize = 1_024;

/// A provider as it was when it was asked.
type Key = (IssuerId, String, Timestamp);

struct Entry {
    read_at: Timestamp,
    metadata: Arc<Metadata>,
    keys: Option<(Timestamp, Arc<JwkSet>)>,
}

/// What is read of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Document {
    Metadata,
    Keys,
}

/// What other providers publish.
#[derive(Default)]
pub struct UpstreamCache {
    entries: Mutex<HashMap<Key, Entry>>,
    failed: Mutex<HashMap<(Key, Document), FailedRead>>,
    /// Bounds the calls that are under way.
    pub(crate) calls: UpstreamCalls,
}

fn key(issuer: &IssuerId, provider: &IdentityProvider) -> Key {
    (issuer.clone(), provider.key.to_string(), provider.updated_at)
}

impl UpstreamCache {
    /// Whether a document may be asked for. After a failure it may not, for a while; then by whoever asks first.
    ///
    /// # Errors
    /// Why it could not be read the last time.
    pub(crate) fn may_read(
        &self,
        (issuer, provider): (&IssuerId, &IdentityProvider),
        document: Document,
        now: Timestamp,
    ) -> Result<(), String> {
        match self.failed.lock().get_mut(&(key(issuer, provider), document)) {
            Some(failed) => failed.may_read_again(now),
            None => Ok(()),
        }
    }

    /// Keeps why a document could not be read (`Some`), or that it was read.
    pub(crate) fn note_read(
        &self,
        (issuer, provider): (&IssuerId, &IdentityProvider),
        document: Document,
        (failure, now): (Option<String>, Timestamp),
    ) {
        let own = (key(issuer, provider), document);
        let mut failed = self.failed.lock();
        let Some(why) = failure else {
            failed.remove(&own);
            return;
        };
        if failed.len() >= MOST {
            failed.retain(|_, failed| failed.is_recent(now));
        }
        if failed.len() < MOST {
            failed.insert(own, FailedRead::new(why, now));
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream_calls::tests::provider;

    #[test]
    fn a_read_that_failed_is_tried_again_after_a_while_by_one() {
        let (cache, issuer, own) = (UpstreamCache::default(), IssuerId::default_issuer(), provider("k"));
        let at = |seconds: u64| Timestamp::from_millis(seconds * 1_000);
        let may =
            |own: &IdentityProvider, document, seconds| cache.may_read((&issuer, own), document, at(seconds));
        let fail = |why: &str, seconds| {
            cache.note_read((&issuer, &own), Document::Metadata, (Some(why.to_owned()), at(seconds)));
        };
        assert_eq!(may(&own, Document::Metadata, 0), Ok(()));
        assert_eq!(may(&own, Document::Metadata, 0), Ok(()), "nothing is known to have failed");
        fail("down", 5);
        assert_eq!(may(&own, Document::Metadata, 34), Err("down".to_owned()));
        assert_eq!(may(&own, Document::Keys, 34), Ok(()));
        assert_eq!(may(&provider("other"), Document::Metadata, 34), Ok(()));
        let changed = IdentityProvider { updated_at: at(1), ..own.clone() };
        assert_eq!(may(&changed, Document::Metadata, 34), Ok(()), "what was wrong may have been mended");
        assert_eq!(may(&own, Document::Metadata, 35), Ok(()));
        assert_eq!(may(&own, Document::Metadata, 35), Err("down".to_owned()), "one asks");
        fail("still down", 40);
        assert_eq!(may(&own, Document::Metadata, 69), Err("still down".to_owned()));
        cache.note_read((&issuer, &own), Document::Metadata, (None, at(70)));
        assert_eq!(may(&own, Document::Metadata, 70), Ok(()));
        assert_eq!(may(&own, Document::Metadata, 70), Ok(()));
    }
}
