//! Replaces everything that is sealed under the master key, in one transaction.

use rusqlite::params;
use symbolon_figures::StoreKind;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_store::StoreError;

use super::statement::Statements;
use super::{Records, Written, refuse};

const SECRET: &str = "UPDATE issuers SET sealed_secret = ?3 WHERE id = ?1 AND sealed_secret = ?2";
const KEY: &str = "UPDATE signing_keys SET sealed = ?4 WHERE issuer = ?1 AND kid = ?2 AND sealed = ?3";

/// One sealed value: where it is stored, its old and its new form.
struct Change {
    issuer: String,
    kid: Option<String>,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Records {
    /// Replaces the sealed half of every issuer and key: all or none. [`StoreError::Conflict`] if one of them is not as
    /// it was `seen`, or if there is an issuer or key that was not seen.
    pub(crate) async fn reseal(
        &self,
        seen: &[(Issuer, Vec<KeyRecord>)],
        sealed: &[(Issuer, Vec<KeyRecord>)],
    ) -> Result<(), StoreError> {
        let changes = changes(seen, sealed)?;
        // Nothing is announced, because no layer above keeps sealed values.
        self.write(StoreKind::Key, move |statements| apply(statements, &changes)).await
    }
}

fn changes(
    seen: &[(Issuer, Vec<KeyRecord>)],
    sealed: &[(Issuer, Vec<KeyRecord>)],
) -> Result<Vec<Change>, StoreError> {
    let mut changes = Vec::new();
    let mismatch = || StoreError::Failed("what is to be sealed anew is not what was seen".into());
    if seen.len() != sealed.len() {
        return Err(mismatch());
    }
    for ((old, old_keys), (new, new_keys)) in seen.iter().zip(sealed) {
        if old.id != new.id || old_keys.len() != new_keys.len() {
            return Err(mismatch());
        }
        let issuer = || old.id.as_str().to_owned();
        let (from, to) = (old.sealed_secret.clone(), new.sealed_secret.clone());
        changes.push(Change { issuer: issuer(), kid: None, from, to });
        for (old_key, new_key) in old_keys.iter().zip(new_keys) {
            if old_key.kid != new_key.kid {
                return Err(mismatch());
            }
            let kid = Some(old_key.kid.as_str().to_owned());
            changes.push(Change {
                issuer: issuer(),
                kid,
                from: old_key.sealed.clone(),
                to: new_key.sealed.clone(),
            });
        }
    }
    Ok(changes)
}

fn apply(statements: &Statements<'_>, changes: &[Change]) -> Written<()> {
    let stored = "SELECT (SELECT count(*) FROM issuers) + (SELECT count(*) FROM signing_keys)";
    let stored = statements.first(stored, (), |row| row.get::<_, i64>(0))?;
    if stored != i64::try_from(changes.len()).ok() {
        return refuse(StoreError::Conflict);
    }
    for Change { issuer, kid, from, to } in changes {
        let changed = match kid {
            None => statements.change(SECRET, params![issuer, from, to])?,
            Some(kid) => statements.change(KEY, params![issuer, kid, from, to])?,
        };
        if changed != 1 {
            return refuse(StoreError::Conflict);
        }
    }
    Ok(())
}
