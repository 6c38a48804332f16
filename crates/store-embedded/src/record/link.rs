//! Memberships and given roles.

use std::sync::Arc;

use rusqlite::params;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::link::{Link, Linked, Links};

use super::statement::Statements;
use super::{ROWS_PER_WRITE, Records};

/// How many links one closure deletes when what is had is deleted: all other writes wait for it.
pub(super) const LINKS_PER_WRITE: usize = 1_000;

/// Writes a link that does not exist.
pub(super) fn insert(
    links: Links,
    issuer: &str,
    row: &Link,
    statements: &Statements<'_>,
) -> rusqlite::Result<()> {
    let (table, holder, held) = (links.table(), links.holder(), links.held());
    let sql = format!("INSERT INTO {table} (issuer, {holder}, {held}) VALUES (?1, ?2, ?3)");
    statements.change(&sql, [issuer, &row.holder, &row.held])?;
    Ok(())
}

/// Adds a link. Its ends cannot be deleted meanwhile: there is one writer.
fn add(links: Links, issuer: &str, row: &Link, statements: &Statements<'_>) -> rusqlite::Result<Linked> {
    let (table, holder, held) = (links.table(), links.holder(), links.held());
    let (holders, things) = (links.holders(), links.things());
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM {holders} WHERE issuer = ?1 AND id = ?2),
                EXISTS (SELECT 1 FROM {things} WHERE issuer = ?1 AND id = ?3),
                EXISTS (SELECT 1 FROM {table} WHERE issuer = ?1 AND {holder} = ?2 AND {held} = ?3),
                (SELECT count(*) FROM {table} WHERE issuer = ?1 AND {holder} = ?2)"
    );
    let found = statements.first(&sql, [issuer, &row.holder, &row.held], |found| {
        Ok((found.get::<_, bool>(0)?, found.get(1)?, found.get(2)?, found.get::<_, i64>(3)?))
    })?;
    Ok(match found {
        None | Some((false, ..)) => Linked::NoHolder,
        Some((_, false, ..)) => Linked::NoHeld,
        Some((_, _, true, _)) => Linked::Was,
        Some((.., number)) if number.unsigned_abs() >= links.most() => Linked::TooMany,
        Some(_) => {
            insert(links, issuer, row, statements)?;
            Linked::Added
        }
    })
}

/// Removes a link; returns whether there was one.
fn remove(links: Links, issuer: &str, row: &Link, statements: &Statements<'_>) -> rusqlite::Result<bool> {
    let (table, holder, held) = (links.table(), links.holder(), links.held());
    let sql = format!("DELETE FROM {table} WHERE issuer = ?1 AND {holder} = ?2 AND {held} = ?3");
    Ok(statements.change(&sql, [issuer, &row.holder, &row.held])? == 1)
}

/// Deletes some of the links to a group or role; returns how many. Fewer than [`LINKS_PER_WRITE`]: none is left.
pub(super) fn delete_some_to(
    links: Links,
    issuer: &str,
    held: &str,
    statements: &Statements<'_>,
) -> rusqlite::Result<usize> {
    let (table, holder, column) = (links.table(), links.holder(), links.held());
    let sql = format!(
        "DELETE FROM {table} WHERE issuer = ?1 AND {column} = ?2 AND {holder} IN
         (SELECT {holder} FROM {table} WHERE issuer = ?1 AND {column} = ?2 LIMIT ?3)"
    );
    let limit = i64::try_from(LINKS_PER_WRITE).unwrap_or(i64::MAX);
    statements.change(&sql, params![issuer, held, limit])
}

impl Records {
    /// Adds links; each is added or not, independently of the others.
    pub(super) async fn add_links(
        self: &Arc<Self>,
        links: Links,
        issuer: &IssuerId,
        rows: Vec<Link>,
    ) -> Result<Vec<Linked>, StoreError> {
        self.each_link(links, issuer, rows, add).await
    }

    /// Removes links; returns of each whether there was one.
    pub(super) async fn remove_links(
        self: &Arc<Self>,
        links: Links,
        issuer: &IssuerId,
        rows: Vec<Link>,
    ) -> Result<Vec<bool>, StoreError> {
        self.each_link(links, issuer, rows, remove).await
    }

    /// Does the same with every link, in as many transactions as are needed.
    async fn each_link<T: Send + 'static>(
        self: &Arc<Self>,
        links: Links,
        issuer: &IssuerId,
        rows: Vec<Link>,
        work: fn(Links, &str, &Link, &Statements<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut results = Vec::with_capacity(rows.len());
        for some in rows.chunks(ROWS_PER_WRITE) {
            let changed = links.changed(issuer, some);
            let (issuer, some) = (issuer.clone(), some.to_vec());
            let write = move |statements: &Statements<'_>| {
                let one = |row| work(links, issuer.as_str(), row, statements);
                Ok(some.iter().map(one).collect::<Result<Vec<_>, _>>()?)
            };
            results.extend(self.change_all(links.kind(), changed, write).await?);
        }
        Ok(results)
    }
}
