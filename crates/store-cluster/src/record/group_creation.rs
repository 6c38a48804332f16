//! Creates groups in bulk. Each of them is created or refused on its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use symbolon_protocol::group::{MOST_DEPTH, MOST_GROUPS, check_place};
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::columns::NamedColumns;
use symbolon_store::port::GroupCreation;

use super::entitlement_count::{add, lock, number};
use super::{Written, each};
use crate::postgres::{Connection, Transaction, column};

/// Some groups that are not being deleted, each with itself and those above it, up to the topmost.
const UPWARDS: &str = "
    WITH RECURSIVE up (start, id, parent, depth) AS (
        SELECT id, id, parent, 1 FROM user_groups WHERE issuer = $1 AND id = ANY($2) AND NOT ending
        UNION ALL
        SELECT up.start, g.id, g.parent, up.depth + 1 FROM up, LATERAL
            (SELECT id, parent FROM user_groups WHERE issuer = $1 AND id = up.parent OFFSET 0) AS g
        WHERE up.depth <= $3)
    SELECT start, id FROM up ORDER BY start, depth";

const TAKEN: &str = "SELECT id, name_key FROM user_groups
    WHERE issuer = $1 AND (id = ANY($2) OR name_key = ANY($3))";

const INSERT: &str = "
    INSERT INTO user_groups (issuer, id, name, name_key, parent, search, created_at, updated_at, document)
    SELECT $1::text, new.id, new.name, new.name_key, new.parent, new.search, new.created_at, new.updated_at,
           new.document
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[])
         AS new(id, name, name_key, parent, search, created_at, updated_at, document)";

/// For each of some groups its id and those of the groups above it, from the bottom up.
pub(super) async fn upwards(
    issuer: &str,
    groups: &[&str],
    transaction: &Transaction<'_>,
) -> Result<HashMap<String, Vec<String>>, StoreError> {
    let mut above: HashMap<String, Vec<String>> = HashMap::new();
    for row in transaction.all(UPWARDS, &[&issuer, &groups, &MOST_DEPTH.cast_signed()]).await? {
        above.entry(column(&row, 0)?).or_default().push(column(&row, 1)?);
    }
    Ok(above)
}

/// What groups that are to be created are checked against. It is locked, so that it stays true until the commit.
struct Known {
    /// How many more groups the issuer may have.
    room: u64,
    ids: HashSet<String>,
    names: HashSet<String>,
    /// The parents, each with itself and those above it.
    above: HashMap<String, Vec<String>>,
}

impl Known {
    async fn read(
        issuer: &str,
        rows: &[NamedColumns],
        transaction: &Transaction<'_>,
    ) -> Result<Self, StoreError> {
        let room = MOST_GROUPS.saturating_sub(lock(issuer, transaction).await?.groups);
        let (ids, names) = (each(rows, |row| row.id.as_str()), each(rows, |row| row.key.as_str()));
        let taken = transaction.all(TAKEN, &[&issuer, &ids, &names]).await?;
        let parents = each(rows, |row| row.owner.as_str());
        Ok(Self {
            room,
            ids: taken.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?,
            names: taken.iter().map(|row| column(row, 1)).collect::<Result<_, _>>()?,
            above: upwards(issuer, &parents, transaction).await?,
        })
    }

    /// Decides whether a group is created, and takes it for created if so.
    fn create(&mut self, row: &NamedColumns) -> GroupCreation {
        let mut own = vec![row.id.clone()];
        if !row.owner.is_empty() {
            let above = self.above.get(&row.owner).map(Vec::as_slice).unwrap_or_default();
            if let Err(misplaced) = check_place(&row.id, 1, above) {
                return misplaced.into();
            }
            own.extend_from_slice(above);
        }
        if self.room == 0 {
            return GroupCreation::TooMany;
        }
        if self.ids.contains(&row.id) || self.names.contains(&row.key) {
            return GroupCreation::Exists;
        }
        self.room -= 1;
        self.ids.insert(row.id.clone());
        self.names.insert(row.key.clone());
        self.above.insert(row.id.clone(), own);
        GroupCreation::Created
    }
}

/// Creates groups in their order; returns the result of each.
pub(super) async fn create(
    piece: Arc<(IssuerId, Vec<NamedColumns>)>,
    mut connection: Connection,
) -> Written<Vec<GroupCreation>> {
    let (issuer, rows) = (piece.0.as_str(), &piece.1);
    let transaction = connection.transaction().await?;
    let mut known = Known::read(issuer, rows, &transaction).await?;
    let created: Vec<GroupCreation> = rows.iter().map(|row| known.create(row)).collect();
    let new = rows.iter().zip(&created).filter(|(_, created)| **created == GroupCreation::Created);
    let new: Vec<&NamedColumns> = new.map(|(row, _)| row).collect();
    if !new.is_empty() {
        insert(issuer, &new, &transaction).await?;
        transaction.commit().await?;
    }
    Ok(Some(created))
}

/// Inserts groups that do not exist. Their issuer is locked.
pub(super) async fn insert(
    issuer: &str,
    rows: &[&NamedColumns],
    transaction: &Transaction<'_>,
) -> Result<(), StoreError> {
    let values = (
        each(rows, |row| row.id.as_str()),
        each(rows, |row| row.name.as_str()),
        each(rows, |row| row.key.as_str()),
        each(rows, |row| row.owner.as_str()),
        each(rows, |row| row.search.as_str()),
        each(rows, |row| row.created_at),
        each(rows, |row| row.updated_at),
        each(rows, |row| row.document.as_str()),
    );
    let (id, name, key, owner, search, created_at, updated_at, document) = &values;
    transaction
        .change(INSERT, &[&issuer, id, name, key, owner, search, created_at, updated_at, document])
        .await?;
    add(issuer, number(rows.len()), 0, transaction).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, name: &str, parent: &str) -> NamedColumns {
        NamedColumns {
            id: id.to_owned(),
            name: name.to_owned(),
            key: name.to_lowercase(),
            owner: parent.to_owned(),
            search: String::new(),
            created_at: 0,
            updated_at: 0,
            document: String::new(),
        }
    }

    fn known(room: u64) -> Known {
        let above = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        Known {
            room,
            ids: HashSet::from(["old".to_owned()]),
            names: HashSet::from(["ops".to_owned()]),
            above: HashMap::from([
                ("old".to_owned(), above(&["old"])),
                ("deep".to_owned(), above(&["deep", "7", "6", "5", "4", "3", "2"])),
            ]),
        }
    }

    #[test]
    fn each_group_is_judged_after_those_before_it() {
        let mut known = known(5);
        let results = [
            ("a", "A", "", GroupCreation::Created),
            ("a", "B", "", GroupCreation::Exists),
            ("b", "a", "", GroupCreation::Exists),
            ("old", "New", "", GroupCreation::Exists),
            ("c", "OPS", "", GroupCreation::Exists),
            ("d", "D", "c", GroupCreation::NoSuchParent),
            ("d", "D", "d", GroupCreation::NoSuchParent),
            ("d", "D", "a", GroupCreation::Created),
            ("e", "E", "d", GroupCreation::Created),
            ("f", "F", "deep", GroupCreation::Created),
            ("g", "G", "f", GroupCreation::TooDeep),
            ("h", "H", "old", GroupCreation::Created),
            ("i", "I", "", GroupCreation::TooMany),
        ];
        for (id, name, parent, result) in results {
            assert_eq!(known.create(&row(id, name, parent)), result, "{id} {name}");
        }
        assert_eq!(known.above["e"], ["e", "d", "a"]);
    }
}
