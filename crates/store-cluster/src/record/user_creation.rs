//! Creates users in bulk. Each of them is created or refused on its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::identity_provider::Identity;
use symbolon_store::StoreError;
use symbolon_store::columns::AttributeColumns;
use symbolon_store::port::{Created, IdentityCreation};

use super::user::free_address;
use super::user_row::UserRow;
use super::{Records, Written, each, identity, user_attribute};
use crate::postgres::{Connection, Transaction, column};

/// Users that one transaction creates.
const ROWS_PER_WRITE: usize = 1_000;

/// Transactions of one bulk creation at a time.
const WRITES_IN_FLIGHT: usize = 4;

/// Users with different ids and addresses; in the order of their ids if other writers may create users too.
struct Piece {
    issuer: IssuerId,
    rows: Vec<UserRow>,
}

impl Records {
    /// Creates users; returns the result of each, in the given order.
    pub(super) async fn create_users(
        &self,
        issuer: &IssuerId,
        rows: Vec<UserRow>,
    ) -> Result<Vec<Created>, StoreError> {
        let mut created = vec![Created::Exists; rows.len()];
        let unique = self.unique_values(issuer, &rows).await?;
        let (mut ids_taken, mut emails_taken) = (HashSet::new(), HashSet::new());
        for mut wave in waves(rows, &unique) {
            // A user whose id or address went to an earlier one is not created.
            wave.retain(|(_, row)| {
                let email_taken = row.email.as_ref().is_some_and(|email| emails_taken.contains(email));
                !email_taken && !ids_taken.contains(&row.id)
            });
            let mut places: HashMap<String, (usize, Option<String>)> =
                wave.iter().map(|(place, row)| (row.id.clone(), (*place, row.email.clone()))).collect();
            let pieces = pieces(issuer, wave.into_iter().map(|(_, row)| row).collect());
            let writes =
                stream::iter(pieces).map(|piece| self.create_piece(piece)).buffer_unordered(WRITES_IN_FLIGHT);
            let written: Vec<HashSet<String>> = writes.try_collect().await?;
            for id in written.into_iter().flatten() {
                if let Some((place, email)) = places.remove(&id) {
                    emails_taken.extend(email);
                    if let Some(outcome) = created.get_mut(place) {
                        *outcome = Created::Created;
                    }
                }
                ids_taken.insert(id);
            }
        }
        Ok(created)
    }

    /// Creates users in the given order; returns the ids of those that were created. Nothing else may create users
    /// meanwhile.
    pub(super) async fn create_in_order(
        &self,
        issuer: &IssuerId,
        rows: Vec<UserRow>,
    ) -> Result<HashSet<String>, StoreError> {
        self.create_piece(Piece { issuer: issuer.clone(), rows }).await
    }

    async fn create_piece(&self, piece: Piece) -> Result<HashSet<String>, StoreError> {
        let piece = Arc::new(piece);
        self.write(StoreKind::User, |connection| create(Arc::clone(&piece), connection)).await
    }
}

impl Records {
    /// Makes a user for an identity: both or neither.
    pub(super) async fn create_user_with_identity(
        &self,
        issuer: &IssuerId,
        row: UserRow,
        identity: Identity,
    ) -> Result<IdentityCreation, StoreError> {
        let given = Arc::new((issuer.clone(), [row], identity));
        let create = move |connection| create_with_identity(Arc::clone(&given), connection);
        self.write(StoreKind::User, create).await
    }
}

/// A transaction that is not committed is rolled back.
async fn create_with_identity(
    given: Arc<(IssuerId, [UserRow; 1], Identity)>,
    mut connection: Connection,
) -> Written<IdentityCreation> {
    let (issuer, rows, own) = &*given;
    let transaction = connection.transaction().await?;
    let created = insert(issuer, rows, &transaction).await?;
    let kept: Vec<&UserRow> = rows.iter().filter(|row| created.contains(&row.id)).collect();
    if kept.is_empty()
        || !refused(issuer, rows, &created, &transaction).await?.is_empty()
        || !user_attribute::take(issuer, &kept, &transaction).await?.is_empty()
    {
        return Ok(Some(IdentityCreation::UserExists));
    }
    if !identity::insert(issuer, own, &transaction).await? {
        return Ok(Some(IdentityCreation::OfAnother));
    }
    transaction.commit().await?;
    Ok(Some(IdentityCreation::Created))
}

/// Divides users, with their positions, into waves. A user with the id, the address or a unique value of an earlier one is in
/// a later wave, when the result of the earlier one is known. Nearly always there is one wave.
fn waves(rows: Vec<UserRow>, unique: &[Vec<AttributeColumns>]) -> Vec<Vec<(usize, UserRow)>> {
    let mut wave_of = Vec::with_capacity(rows.len());
    let (mut ids, mut emails) = (HashMap::<&str, usize>::new(), HashMap::<&str, usize>::new());
    let mut values = HashMap::<&AttributeColumns, usize>::new();
    for (row, own) in rows.iter().zip(unique) {
        let (id, email) = (row.id.as_str(), row.email.as_deref());
        let before = ids.get(id).max(email.and_then(|email| emails.get(email)));
        let before = before.max(own.iter().filter_map(|value| values.get(value)).max());
        let wave = before.map_or(0, |before| before + 1);
        ids.insert(id, wave);
        emails.extend(email.map(|email| (email, wave)));
        values.extend(own.iter().map(|value| (value, wave)));
        wave_of.push(wave);
    }
    let number = wave_of.iter().max().map_or(0, |last| last + 1);
    let mut waves: Vec<Vec<_>> = (0..number).map(|_| Vec::new()).collect();
    for (place, (row, wave)) in rows.into_iter().zip(wave_of).enumerate() {
        if let Some(wave) = waves.get_mut(wave) {
            wave.push((place, row));
        }
    }
    waves
}

/// Every writer sorts by id, so that writers do not deadlock.
fn pieces(issuer: &IssuerId, mut rows: Vec<UserRow>) -> Vec<Piece> {
    rows.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let mut pieces = Vec::with_capacity(rows.len().div_ceil(ROWS_PER_WRITE));
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let rows = rows.by_ref().take(ROWS_PER_WRITE).collect();
        pieces.push(Piece { issuer: issuer.clone(), rows });
    }
    pieces
}

/// Creates the users whose ids, addresses and unique values are free; returns their ids.
async fn create(piece: Arc<Piece>, mut connection: Connection) -> Written<HashSet<String>> {
    let Piece { issuer, rows } = &*piece;
    let transaction = connection.transaction().await?;
    let mut created = insert(issuer, rows, &transaction).await?;
    let refused = refused(issuer, rows, &created, &transaction).await?;
    created.retain(|id| !refused.contains(id.as_str()));
    let kept: Vec<&UserRow> = rows.iter().filter(|row| created.contains(&row.id)).collect();
    let shared = user_attribute::take(issuer, &kept, &transaction).await?;
    created.retain(|id| !shared.contains(id.as_str()));
    if created.is_empty() {
        // The transaction is rolled back: there is nothing to commit.
        return Ok(Some(created));
    }
    for email in
        kept.iter().filter(|row| shared.contains(row.id.as_str())).filter_map(|row| row.email.as_deref())
    {
        free_address(issuer, email, &transaction).await?;
    }
    if !refused.is_empty() || !shared.is_empty() {
        let refused: Vec<&str> = refused.into_iter().chain(shared).collect();
        let sql = "DELETE FROM users WHERE issuer = $1 AND id = ANY($2)";
        transaction.change(sql, &[&issuer.as_str(), &refused]).await?;
    }
    transaction.commit().await?;
    Ok(Some(created))
}

/// Inserts the users whose ids are free; returns their ids.
async fn insert(
    issuer: &IssuerId,
    rows: &[UserRow],
    transaction: &Transaction<'_>,
) -> Result<HashSet<String>, StoreError> {
    let written = transaction
        .change_returning(
            "INSERT INTO users (issuer, id, email_lower, username_lower, verified, search, created_at, updated_at,
                                password, document)
             SELECT $1::text, new.id, new.email, new.username, new.verified, new.search, new.created_at,
                    new.updated_at, new.password, new.document
             FROM unnest($2::text[], $3::text[], $4::text[], $5::boolean[], $6::text[], $7::bigint[], $8::bigint[],
                         $9::text[], $10::text[])
                  AS new(id, email, username, verified, search, created_at, updated_at, password, document)
             ON CONFLICT DO NOTHING RETURNING id",
            &[
                &issuer.as_str(),
                &each(rows, |row| row.id.as_str()),
                &each(rows, |row| row.email.as_deref()),
                &each(rows, |row| row.username.as_deref()),
                &each(rows, |row| row.verified),
                &each(rows, |row| row.search.as_str()),
                &each(rows, |row| row.created_at),
                &each(rows, |row| row.updated_at),
                &each(rows, |row| row.password.as_ref().map(|password| password.expose())),
                &each(rows, |row| row.document.as_str()),
            ],
        )
        .await?;
    written.iter().map(|row| column(row, 0)).collect()
}

/// Takes the addresses of the users that were inserted; returns the users whose address belongs to another one.
async fn refused<'a>(
    issuer: &IssuerId,
    rows: &'a [UserRow],
    written: &HashSet<String>,
    transaction: &Transaction<'_>,
) -> Result<HashSet<&'a str>, StoreError> {
    let with_address = |row: &'a UserRow| Some((row.email.as_deref()?, row.id.as_str()));
    let mut wanted: Vec<(&str, &str)> =
        rows.iter().filter(|row| written.contains(&row.id)).filter_map(with_address).collect();
    if wanted.is_empty() {
        return Ok(HashSet::new());
    }
    wanted.sort_unstable();
    let taken = transaction
        .change_returning(
            "INSERT INTO emails (issuer, email_lower, user_id)
             SELECT $1::text, new.email, new.id FROM unnest($2::text[], $3::text[]) AS new(email, id)
             ON CONFLICT DO NOTHING RETURNING user_id",
            &[&issuer.as_str(), &each(&wanted, |(email, _)| *email), &each(&wanted, |(_, id)| *id)],
        )
        .await?;
    let mut refused: HashSet<&str> = wanted.into_iter().map(|(_, id)| id).collect();
    for row in &taken {
        refused.remove(column::<&str>(row, 0)?);
    }
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::id::UserId;
    use symbolon_protocol::time::Timestamp;
    use symbolon_protocol::user::{User, UserProfile};

    use super::*;

    fn row(id: &str, email: &str) -> UserRow {
        let now = Timestamp::from_seconds(1_800_000_000);
        let user = User {
            id: UserId::parse(id).unwrap(),
            email: (!email.is_empty()).then(|| email.to_owned()),
            email_verified: false,
            profile: UserProfile::default(),
            active: true,
            created_at: now,
            updated_at: now,
        };
        UserRow::of(&user, None).unwrap()
    }

    #[test]
    fn whoever_shares_an_id_or_an_address_with_one_before_comes_later() {
        let rows =
            [("a", "x@x"), ("b", "X@x"), ("b", "y@y"), ("c", ""), ("d", ""), ("e", "y@y"), ("a", "z@z")];
        let rows: Vec<UserRow> = rows.into_iter().map(|(id, email)| row(id, email)).collect();
        let none = vec![Vec::new(); rows.len()];
        let waves = waves(rows, &none);
        let places: Vec<Vec<usize>> =
            waves.iter().map(|wave| wave.iter().map(|(place, _)| *place).collect()).collect();
        assert_eq!(places, [vec![0, 3, 4], vec![1, 6], vec![2], vec![5]]);
    }

    #[test]
    fn whoever_shares_a_unique_value_with_one_before_comes_later() {
        let value = |key: &str| AttributeColumns { name: "number".to_owned(), key: key.to_owned() };
        let values =
            [vec![value("1")], vec![], vec![value("2"), value("1")], vec![value("2")], vec![value("3")]];
        let rows = (0..values.len()).map(|n| row(&n.to_string(), "")).collect();
        let waves = waves(rows, &values);
        let places: Vec<Vec<usize>> =
            waves.iter().map(|wave| wave.iter().map(|(place, _)| *place).collect()).collect();
        assert_eq!(places, [vec![0, 1, 4], vec![2], vec![3]]);
    }

    #[test]
    fn pieces_are_in_the_order_of_the_ids() {
        let rows = (0..2_500).rev().map(|n| row(&format!("{n:04}"), "")).collect();
        let pieces = pieces(&IssuerId::default_issuer(), rows);
        let sizes: Vec<usize> = pieces.iter().map(|piece| piece.rows.len()).collect();
        assert_eq!(sizes, [1_000, 1_000, 500]);
        assert!(pieces.iter().flat_map(|piece| &piece.rows).is_sorted_by_key(|row| &row.id));
    }
}
