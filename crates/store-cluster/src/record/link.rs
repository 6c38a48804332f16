//! Memberships and given roles.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::link::{Link, Linked, Links};

use super::{Records, Written, each};
use crate::postgres::{Connection, Transaction, column};

/// Links that one transaction adds or removes.
const ROWS_PER_WRITE: usize = 500;

/// How many links one transaction deletes when what is had is deleted.
const LINKS_PER_WRITE: i64 = 5_000;

/// Links of one kind.
struct Piece {
    links: Links,
    issuer: IssuerId,
    rows: Vec<Link>,
}

impl Piece {
    fn holders(&self) -> Vec<&str> {
        each(&self.rows, |row| row.holder.as_str())
    }

    fn held(&self) -> Vec<&str> {
        each(&self.rows, |row| row.held.as_str())
    }
}

/// What the database has at the ends of the links that are to be added.
#[derive(Default)]
struct Found {
    /// Those who may have something, and how many links each has.
    holders: HashMap<String, u64>,
    /// What may be had.
    held: HashSet<String>,
    /// The links that exist.
    links: HashSet<Link>,
}

impl Found {
    /// Reads and locks both ends: neither can be deleted before the commit, and nobody else gives the same holders
    /// anything, so that their numbers stay true.
    async fn lock(piece: &Piece, transaction: &Transaction<'_>) -> Result<Self, StoreError> {
        let Piece { links, issuer, .. } = piece;
        let (issuer, of_holders, of_held) = (issuer.as_str(), piece.holders(), piece.held());
        let (table, holder, held) = (links.table(), links.holder(), links.held());
        let mut found = Self::default();
        // Every writer locks in the order of the ids, so that writers do not deadlock.
        let sql = format!(
            "SELECT id FROM {} WHERE issuer = $1 AND id = ANY($2) ORDER BY id FOR NO KEY UPDATE",
            links.holders()
        );
        for row in transaction.all(&sql, &[&issuer, &of_holders]).await? {
            found.holders.insert(column(&row, 0)?, 0);
        }
        let sql = format!(
            "SELECT id FROM {} WHERE issuer = $1 AND id = ANY($2) ORDER BY id FOR KEY SHARE",
            links.things()
        );
        for row in transaction.all(&sql, &[&issuer, &of_held]).await? {
            found.held.insert(column(&row, 0)?);
        }
        let sql = format!(
            "SELECT {holder}, count(*) FROM {table} WHERE issuer = $1 AND {holder} = ANY($2) GROUP BY {holder}"
        );
        for row in transaction.all(&sql, &[&issuer, &of_holders]).await? {
            if let Some(number) = found.holders.get_mut(column::<&str>(&row, 0)?) {
                *number = column::<i64>(&row, 1)?.unsigned_abs();
            }
        }
        // `OFFSET 0` keeps the look-up of one pair as it is, so that it uses the index. A plan that is made while the table
        // is empty, and kept, may otherwise read all links for every piece.
        let sql = format!(
            "SELECT l.{holder}, l.{held} FROM unnest($2::text[], $3::text[]) AS new(holder, held), LATERAL
                 (SELECT {holder}, {held} FROM {table}
                  WHERE issuer = $1 AND {holder} = new.holder AND {held} = new.held OFFSET 0) AS l"
        );
        for row in transaction.all(&sql, &[&issuer, &of_holders, &of_held]).await? {
            found.links.insert(Link { holder: column(&row, 0)?, held: column(&row, 1)? });
        }
        Ok(found)
    }

    /// Decides whether a link is added, and takes it for added if so.
    fn add(&mut self, row: &Link, most: u64) -> Linked {
        let Some(number) = self.holders.get_mut(&row.holder) else { return Linked::NoHolder };
        if !self.held.contains(&row.held) {
            return Linked::NoHeld;
        }
        if self.links.contains(row) {
            return Linked::Was;
        }
        if *number >= most {
            return Linked::TooMany;
        }
        *number += 1;
        self.links.insert(row.clone());
        Linked::Added
    }
}

async fn add(piece: Arc<Piece>, mut connection: Connection) -> Written<Vec<Linked>> {
    let Piece { links, issuer, rows } = &*piece;
    let transaction = connection.transaction().await?;
    let mut found = Found::lock(&piece, &transaction).await?;
    let linked: Vec<Linked> = rows.iter().map(|row| found.add(row, links.most())).collect();
    let added = rows.iter().zip(&linked).filter(|(_, linked)| **linked == Linked::Added);
    let added: Vec<&Link> = added.map(|(row, _)| row).collect();
    if !added.is_empty() {
        let issuers = vec![issuer.as_str(); added.len()];
        let holders = each(&added, |row| row.holder.as_str());
        let held = each(&added, |row| row.held.as_str());
        transaction.change(&insertion(*links), &[&issuers, &holders, &held]).await?;
        transaction.commit().await?;
    }
    Ok(Some(linked))
}

/// Inserts links that do not exist: parallel arrays of issuers, holders and what they have.
pub(super) fn insertion(links: Links) -> String {
    let (table, holder, held) = (links.table(), links.holder(), links.held());
    format!(
        "INSERT INTO {table} (issuer, {holder}, {held})
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[])"
    )
}

/// Removes links; returns of each whether there was one.
async fn remove(piece: Arc<Piece>, connection: Connection) -> Written<Vec<bool>> {
    let Piece { links, issuer, rows } = &*piece;
    let (table, holder, held) = (links.table(), links.holder(), links.held());
    let sql = format!(
        "DELETE FROM {table} WHERE issuer = $1
         AND ({holder}, {held}) IN (SELECT * FROM unnest($2::text[], $3::text[]))
         RETURNING {holder}, {held}"
    );
    let values = (issuer.as_str(), piece.holders(), piece.held());
    let gone = connection.change_returning(&sql, &[&values.0, &values.1, &values.2]).await?;
    let link = |row| Ok::<_, StoreError>(Link { holder: column(row, 0)?, held: column(row, 1)? });
    let mut gone = gone.iter().map(link).collect::<Result<HashSet<Link>, _>>()?;
    Ok(Some(rows.iter().map(|row| gone.remove(row)).collect()))
}

/// Deletes some of the links to groups or roles; returns how many. None may be left only if it is 0: one that was found
/// may have been removed meanwhile.
pub(super) async fn delete_some_to(
    links: Links,
    issuer: &str,
    things: &[&str],
    transaction: &Transaction<'_>,
) -> Result<u64, StoreError> {
    let (table, holder, held) = (links.table(), links.holder(), links.held());
    let sql = format!(
        "DELETE FROM {table} WHERE issuer = $1 AND ({holder}, {held}) IN
         (SELECT {holder}, {held} FROM {table} WHERE issuer = $1 AND {held} = ANY($2) LIMIT $3)"
    );
    transaction.change(&sql, &[&issuer, &things, &LINKS_PER_WRITE]).await
}

impl Records {
    /// Adds links; each is added or not, independently of the others.
    pub(super) async fn add_links(
        self: &Arc<Self>,
        links: Links,
        issuer: &IssuerId,
        rows: Vec<Link>,
    ) -> Result<Vec<Linked>, StoreError> {
        let mut linked = Vec::with_capacity(rows.len());
        for piece in pieces(links, issuer, &rows) {
            let changed = links.changed(issuer, &piece.rows);
            let add = move |connection| add(Arc::clone(&piece), connection);
            linked.extend(self.change_all(links.kind(), changed, add).await?);
        }
        Ok(linked)
    }

    /// Removes links; returns of each whether there was one.
    pub(super) async fn remove_links(
        self: &Arc<Self>,
        links: Links,
        issuer: &IssuerId,
        rows: Vec<Link>,
    ) -> Result<Vec<bool>, StoreError> {
        let mut removed = Vec::with_capacity(rows.len());
        for piece in pieces(links, issuer, &rows) {
            let changed = links.changed(issuer, &piece.rows);
            let remove = move |connection| remove(Arc::clone(&piece), connection);
            removed.extend(self.change_all(links.kind(), changed, remove).await?);
        }
        Ok(removed)
    }
}

fn pieces(links: Links, issuer: &IssuerId, rows: &[Link]) -> Vec<Arc<Piece>> {
    let piece = |rows: &[Link]| Piece { links, issuer: issuer.clone(), rows: rows.to_vec() };
    rows.chunks(ROWS_PER_WRITE).map(|rows| Arc::new(piece(rows))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(holder: &str, held: &str) -> Link {
        Link { holder: holder.to_owned(), held: held.to_owned() }
    }

    #[test]
    fn a_link_is_added_once_between_what_exists_and_up_to_the_bound() {
        let mut found = Found {
            holders: HashMap::from([("ann".to_owned(), 1), ("bob".to_owned(), 0)]),
            held: ["a", "b", "c"].map(str::to_owned).into(),
            links: HashSet::from([link("ann", "a")]),
        };
        let mut add = |holder, held| found.add(&link(holder, held), 2);
        assert_eq!(add("nobody", "a"), Linked::NoHolder);
        assert_eq!(add("ann", "nothing"), Linked::NoHeld);
        assert_eq!(add("ann", "a"), Linked::Was);
        assert_eq!(add("ann", "b"), Linked::Added);
        assert_eq!(add("ann", "b"), Linked::Was, "the same twice in one request");
        assert_eq!(add("ann", "c"), Linked::TooMany);
        assert_eq!(add("ann", "a"), Linked::Was, "what was there is no more than before");
        assert_eq!(add("bob", "c"), Linked::Added);
    }
}
