//! Replaces everything that is sealed under the master key, in one transaction.

use std::sync::Arc;

use symbolon_figures::StoreKind;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_store::StoreError;
use symbolon_store::port::Changed;

use super::{Written, each};
use crate::ClusterStore;
use crate::nodes::next_control;
use crate::postgres::{Connection, column};

const SECRETS: &str = "UPDATE issuers SET sealed_secret = new.after
    FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS new(id, before, after)
    WHERE issuers.id = new.id AND issuers.sealed_secret = new.before";
const KEYS: &str = "UPDATE signing_keys SET sealed = new.after
    FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) AS new(issuer, kid, before, after)
    WHERE signing_keys.issuer = new.issuer AND signing_keys.kid = new.kid AND signing_keys.sealed = new.before";

/// One sealed value: what it was and what it becomes.
struct Secret {
    issuer: String,
    from: Vec<u8>,
    to: Vec<u8>,
}

/// Every sealed value: the secret of each issuer, and each key.
#[derive(Default)]
struct Exchange {
    secrets: Vec<Secret>,
    keys: Vec<(String, Secret)>,
}

impl Exchange {
    fn of(
        seen: &[(Issuer, Vec<KeyRecord>)],
        sealed: &[(Issuer, Vec<KeyRecord>)],
    ) -> Result<Self, StoreError> {
        let mismatch = || StoreError::Failed("what is to be sealed anew is not what was seen".into());
        if seen.len() != sealed.len() {
            return Err(mismatch());
        }
        let mut exchange = Self::default();
        for ((old, old_keys), (new, new_keys)) in seen.iter().zip(sealed) {
            if old.id != new.id || old_keys.len() != new_keys.len() {
                return Err(mismatch());
            }
            let secret = |from: &[u8], to: &[u8]| Secret {
                issuer: old.id.as_str().to_owned(),
                from: from.to_vec(),
                to: to.to_vec(),
            };
            exchange.secrets.push(secret(&old.sealed_secret, &new.sealed_secret));
            for (old_key, new_key) in old_keys.iter().zip(new_keys) {
                if old_key.kid != new_key.kid {
                    return Err(mismatch());
                }
                let kid = old_key.kid.as_str().to_owned();
                exchange.keys.push((kid, secret(&old_key.sealed, &new_key.sealed)));
            }
        }
        Ok(exchange)
    }
}

async fn apply(exchange: Arc<Exchange>, mut connection: Connection) -> Written<((), Option<i64>)> {
    let Exchange { secrets, keys } = &*exchange;
    let transaction = connection.transaction().await?;
    // Locked, so that no other transaction changes an issuer or its keys.
    let issuers = transaction.all("SELECT id FROM issuers ORDER BY id FOR UPDATE", &[]).await?.len();
    let stored = transaction.first("SELECT count(*) FROM signing_keys", &[]).await?;
    let stored: i64 = stored.map(|row| column(&row, 0)).transpose()?.unwrap_or(0);
    if issuers != secrets.len() || usize::try_from(stored).ok() != Some(keys.len()) {
        return Ok(None);
    }
    let changed = transaction
        .change(
            SECRETS,
            &[
                &each(secrets, |secret| secret.issuer.as_str()),
                &each(secrets, |secret| secret.from.as_slice()),
                &each(secrets, |secret| secret.to.as_slice()),
            ],
        )
        .await?;
    let changed_keys = transaction
        .change(
            KEYS,
            &[
                &each(keys, |(_, secret)| secret.issuer.as_str()),
                &each(keys, |(kid, _)| kid.as_str()),
                &each(keys, |(_, secret)| secret.from.as_slice()),
                &each(keys, |(_, secret)| secret.to.as_slice()),
            ],
        )
        .await?;
    if changed != secrets.len() as u64 || changed_keys != keys.len() as u64 {
        return Ok(None);
    }
    let version = next_control(&transaction).await?;
    transaction.commit().await?;
    Ok(Some(((), Some(version))))
}

impl ClusterStore {
    /// Replaces the sealed part of every issuer and key, or of none: [`StoreError::Conflict`] if one of them is not as
    /// the caller had read it, or there is another one.
    pub(crate) async fn reseal_records(
        &self,
        seen: &[(Issuer, Vec<KeyRecord>)],
        sealed: &[(Issuer, Vec<KeyRecord>)],
    ) -> Result<(), StoreError> {
        let exchange = Arc::new(Exchange::of(seen, sealed)?);
        let apply = move |connection| apply(Arc::clone(&exchange), connection);
        self.followed(self.records.change(StoreKind::Key, Changed::Issuers, apply).await?).await
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::algorithm::Algorithm;
    use symbolon_protocol::id::{IssuerId, Kid};
    use symbolon_protocol::key::KeyState;
    use symbolon_protocol::time::Timestamp;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn sealed(id: &str, kids: &[&str], by: u8) -> (Issuer, Vec<KeyRecord>) {
        let url = format!("https://{id}.example");
        let id = IssuerId::parse(id).unwrap();
        let key = |kid: &&str| KeyRecord {
            kid: Kid::parse(kid).unwrap(),
            algorithm: Algorithm::Rs256,
            state: KeyState::Active,
            sealed: vec![by, 1],
            created_at: NOW,
            known_from: None,
            signs_from: None,
            activated_at: None,
            retired_at: None,
            gone_at: None,
            reason: None,
        };
        (Issuer { id, url, sealed_secret: vec![by], created_at: NOW }, kids.iter().map(key).collect())
    }

    #[test]
    fn every_value_is_exchanged_for_its_own() {
        let seen = [sealed("one", &["a", "b"], 7), sealed("two", &[], 7)];
        let exchange = Exchange::of(&seen, &[sealed("one", &["a", "b"], 8), sealed("two", &[], 8)]).unwrap();
        let secrets =
            exchange.secrets.iter().map(|secret| (secret.issuer.as_str(), &secret.from, &secret.to));
        assert!(secrets.eq([("one", &vec![7], &vec![8]), ("two", &vec![7], &vec![8])]));
        let keys =
            exchange.keys.iter().map(|(kid, secret)| (secret.issuer.as_str(), kid.as_str(), &secret.to));
        assert!(keys.eq([("one", "a", &vec![8, 1]), ("one", "b", &vec![8, 1])]));
        for other in [
            vec![sealed("one", &["a", "b"], 8)],
            vec![sealed("two", &[], 8), sealed("one", &["a", "b"], 8)],
            vec![sealed("one", &["b", "a"], 8), sealed("two", &[], 8)],
            vec![sealed("one", &["a"], 8), sealed("two", &[], 8)],
        ] {
            assert!(Exchange::of(&seen, &other).is_err());
        }
    }
}
