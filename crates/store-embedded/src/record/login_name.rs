//! Normalizes the e-mail addresses and user names that were stored before names were normalized.
//!
//! Each address belongs to one user. If two older users have one address in two spellings, one of them keeps the stored
//! spelling, and each signs in by the spelling of its own. The same goes for user names: every user can still sign in
//! by the stored name.

use rusqlite::{Connection, params};
use symbolon_protocol::precis::login_key;

/// Normalizes the columns of every user. A second run changes nothing.
pub(super) fn normalize(connection: &Connection) -> rusqlite::Result<()> {
    let (mut normalized, mut kept) = (0_u64, 0_u64);
    for Email { row, issuer, user, email } in emails(connection)? {
        // The update is skipped if another user already has the normalized address.
        let sql = "UPDATE OR IGNORE users SET email_lower = ?2 WHERE rowid = ?1";
        if connection.prepare_cached(sql)?.execute(params![row, login_key(&email)])? == 1 {
            normalized += 1;
            continue;
        }
        kept += 1;
        tracing::warn!(
            target: "symbolon::store", issuer, user,
            "this user's e-mail address is another user's too, in another spelling: each signs in by the spelling that \
             it was created with; change one of them, or delete a user"
        );
    }
    for (issuer, name) in names(connection)? {
        // All users with the name in this spelling keep it together: the oldest of them signs in by it.
        let sql =
            "UPDATE users SET username_lower = ?3 WHERE issuer = ?1 AND username_lower = ?2 AND NOT EXISTS
                   (SELECT 1 FROM users o WHERE o.issuer = ?1 AND o.username_lower = ?3)";
        let changed = connection.prepare_cached(sql)?.execute([&issuer, &name, &login_key(&name)])?;
        normalized += changed as u64;
        kept += u64::from(changed == 0);
    }
    if normalized + kept > 0 {
        tracing::info!(target: "symbolon::store", normalized, kept, "login names were brought into one form");
    }
    Ok(())
}

/// An address that is not normalized.
struct Email {
    row: i64,
    issuer: String,
    user: String,
    email: String,
}

/// Addresses that are not normalized, that of the oldest user first.
fn emails(connection: &Connection) -> rusqlite::Result<Vec<Email>> {
    let sql = "SELECT rowid, issuer, id, email_lower FROM users
               WHERE length(CAST(email_lower AS BLOB)) <> length(email_lower) ORDER BY rowid";
    let mut statement = connection.prepare(sql)?;
    let email = |row: &rusqlite::Row<'_>| {
        Ok(Email { row: row.get(0)?, issuer: row.get(1)?, user: row.get(2)?, email: row.get(3)? })
    };
    let found = statement.query_map([], email)?;
    found
        .filter(|found| found.as_ref().map_or(true, |found| login_key(&found.email) != found.email))
        .collect()
}

/// User names that are not normalized, with their issuers, that of the oldest user first.
fn names(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT issuer, username_lower FROM users
               WHERE length(CAST(username_lower AS BLOB)) <> length(username_lower)
               GROUP BY issuer, username_lower ORDER BY min(rowid)";
    let mut statement = connection.prepare(sql)?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let other = |(_, name): &(String, String)| login_key(name) != *name;
    found.filter(|found| found.as_ref().map_or(true, other)).collect()
}
