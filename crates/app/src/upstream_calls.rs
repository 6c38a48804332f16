//! Bounds the calls to other providers that are under way: all of them, those of one issuer, and those of one provider. A provider
//! that hangs takes only what is its own, and the providers of one issuer take only half of all. The calls to clients, for
//! their keys, are bounded in the same way and apart from these, so that neither takes the room of the other.

use std::collections::HashMap;

use parking_lot::Mutex;
use smol_str::SmolStr;
use symbolon_protocol::id::IssuerId;

/// The most calls at a time. Each may hold a connection and an answer of 256 KiB.
const MOST: usize = 256;
/// The most of one issuer.
const MOST_OF_ISSUER: usize = 128;
/// The most of one provider: where a call takes a quarter of a second, 256 calls a second, which is a hundred sign-ins.
const MOST_OF_PROVIDER: usize = 64;

/// An issuer, and the key of one of its providers or the address of one of its clients.
type Key = (IssuerId, SmolStr);

/// How many calls are under way. A provider without a call has no entry.
#[derive(Default)]
pub(crate) struct UpstreamCalls(Mutex<HashMap<Key, usize>>);

/// One call that is under way.
pub(crate) struct UpstreamCall<'a> {
    calls: &'a UpstreamCalls,
    key: Key,
}

impl UpstreamCalls {
    /// Begins a call, which ends when the result is dropped; `None` if too many are under way.
    pub(crate) fn begin(&self, issuer: &IssuerId, called: &str) -> Option<UpstreamCall<'_>> {
        let key = (issuer.clone(), SmolStr::new(called));
        let mut calls = self.0.lock();
        let of_issuer = calls.iter().filter(|((at, _), _)| at == issuer).map(|(_, count)| count);
        let (all, of_issuer): (usize, usize) = (calls.values().sum(), of_issuer.sum());
        let own = calls.get(&key).copied().unwrap_or_default();
        if all >= MOST || of_issuer >= MOST_OF_ISSUER || own >= MOST_OF_PROVIDER {
            return None;
        }
        calls.insert(key.clone(), own + 1);
        drop(calls);
        Some(UpstreamCall { calls: self, key })
    }
}

impl Drop for UpstreamCall<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.0.lock();
        match calls.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                calls.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use symbolon_protocol::id::IdentityProviderId;
    use symbolon_protocol::identity_provider::{
        IdentityProvider, ProviderKind, ProviderLogout, ProviderResponseMode,
    };
    use symbolon_protocol::time::Timestamp;

    use super::*;

    pub(crate) fn provider(key: &str) -> IdentityProvider {
        IdentityProvider {
            id: IdentityProviderId::trusted("acme"),
            key: key.into(),
            name: "Acme".to_owned(),
            kind: ProviderKind::Openid,
            issuer: "https://acme.example".to_owned(),
            client_id: "us".to_owned(),
            sealed_secret: None,
            scopes: vec!["openid".to_owned()],
            response_mode: ProviderResponseMode::default(),
            claims: Default::default(),
            groups: None,
            sign_up: false,
            link_by_verified_email: false,
            email_domains: Vec::new(),
            logout: ProviderLogout::default(),
            enabled: true,
            created_at: Timestamp::EPOCH,
            updated_at: Timestamp::EPOCH,
        }
    }

    #[test]
    fn who_hangs_takes_only_what_is_its_own() {
        let calls = UpstreamCalls::default();
        let (one, two, three) = ("one", "two", "three");
        let begin = |issuer: &str, key: &str| calls.begin(&IssuerId::parse(issuer).unwrap(), key);
        let hang = |issuer: &str, key: &str, expected: usize| {
            let begun: Vec<_> = std::iter::from_fn(|| begin(issuer, key)).collect();
            assert_eq!(begun.len(), expected, "{issuer} {key}");
            begun
        };
        let of_a = hang(one, "a", MOST_OF_PROVIDER);
        let of_b = hang(one, "b", MOST_OF_ISSUER - MOST_OF_PROVIDER);
        assert!(begin(one, "c").is_none(), "the issuer has all that one issuer may have");
        let elsewhere = (hang(two, "a", MOST_OF_PROVIDER), hang(three, "a", MOST_OF_PROVIDER));
        assert!(begin("four", "a").is_none(), "there are no more");
        drop((of_a, elsewhere));
        assert!(begin(one, "a").is_some() && begin(two, "a").is_some());
        drop(of_b);
        assert!(calls.0.lock().is_empty(), "nothing is kept of calls that ended");
    }
}
