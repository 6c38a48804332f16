//! Normalizes e-mail addresses and user names in records of earlier releases, which did not normalize them.
//!
//! An address belongs to one user. If two older users have the same address in two spellings, one of them keeps the
//! spelling that is stored, and each signs in with its own. The same holds for user names: a name with which a user
//! could sign in still works.

use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;

use super::Records;
use super::text::looked_up;
use super::user::move_address;
use crate::postgres::{column, retried};

/// How many users are read at a time.
const PIECE: i64 = 10_000;

/// The last user of a piece; no row if less than a piece is left.
const PIECE_END: &str =
    "SELECT issuer, id FROM users WHERE (issuer, id) > ($1, $2) ORDER BY issuer, id OFFSET $3 LIMIT 1";

/// The users of a piece who have a name that is not ASCII: normalization does not change the others.
const OF_PIECE: &str = "
    SELECT issuer, id, email_lower, username_lower FROM users
    WHERE (issuer, id) > ($1, $2) AND (issuer, id) <= ($3, $4)
    AND (octet_length(email_lower) <> char_length(email_lower)
         OR octet_length(username_lower) <> char_length(username_lower))
    ORDER BY issuer, id";

/// An upper bound: it sorts after the id of every issuer.
const BEYOND: &str = "\u{10ffff}";

/// Renames all users with this spelling of the name at once, because the oldest of them signs in with it.
const RENAME: &str = "
    UPDATE users SET username_lower = $3 WHERE issuer = $1 AND username_lower = $2
    AND NOT EXISTS (SELECT 1 FROM users o WHERE o.issuer = $1 AND o.username_lower = $3)";

impl Records {
    /// Normalizes the columns of every user, one user at a time. Repeating it changes nothing.
    pub(crate) async fn normalize_login_names(&self) -> Result<(), StoreError> {
        let (mut after, mut kept) = ((String::new(), String::new()), 0_u64);
        loop {
            let connection = self.postgres.connection().await?;
            let end = connection.first(PIECE_END, &[&after.0, &after.1, &(PIECE - 1)]).await?;
            let last = match &end {
                Some(row) => (column::<String>(row, 0)?, column::<String>(row, 1)?),
                None => (BEYOND.to_owned(), String::new()),
            };
            let rows = connection.all(OF_PIECE, &[&after.0, &after.1, &last.0, &last.1]).await?;
            drop(connection);
            for row in &rows {
                let (issuer, user) = (column::<&str>(row, 0)?, column::<&str>(row, 1)?);
                if let Some(email) = column::<Option<&str>>(row, 2)? {
                    kept += u64::from(!self.normalize_email(issuer, user, email).await?);
                }
                if let Some(name) = column::<Option<&str>>(row, 3)? {
                    self.normalize_name(issuer, name).await?;
                }
            }
            if end.is_none() {
                break;
            }
            after = last;
        }
        if kept > 0 {
            tracing::warn!(target: "symbolon::store", kept, "e-mail addresses are two users' in two spellings");
        }
        Ok(())
    }

    /// Normalizes an address. False: the normalized address belongs to another user.
    async fn normalize_email(&self, issuer: &str, user: &str, email: &str) -> Result<bool, StoreError> {
        let key = looked_up(email);
        if key == email {
            return Ok(true);
        }
        let of = IssuerId::trusted(issuer);
        let normalize = || async {
            let mut connection = self.postgres.connection().await?;
            let transaction = connection.transaction().await?;
            let sql = "UPDATE users SET email_lower = $4 WHERE issuer = $1 AND id = $2 AND email_lower = $3";
            if transaction.change(sql, &[&issuer, &user, &email, &key]).await? == 0 {
                // The address was changed meanwhile.
                return Ok(true);
            }
            let moved = move_address((&of, user), (Some(email), Some(&key)), &transaction).await?;
            if moved {
                transaction.commit().await?;
            }
            Ok(moved)
        };
        let normalized = retried(normalize).await?;
        if !normalized {
            tracing::warn!(
                target: "symbolon::store", issuer, user,
                "this user's e-mail address is another user's too, in another spelling: each signs in by the spelling \
                 that it was created with; change one of them, or delete a user"
            );
        }
        Ok(normalized)
    }

    async fn normalize_name(&self, issuer: &str, name: &str) -> Result<(), StoreError> {
        let key = looked_up(name);
        if key != name {
            let rename =
                || async { self.postgres.connection().await?.change(RENAME, &[&issuer, &name, &key]).await };
            retried(rename).await?;
        }
        Ok(())
    }
}
