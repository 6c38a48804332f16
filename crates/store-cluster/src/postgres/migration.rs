//! Migrations of the schema. Of several nodes that start together, one runs them.

use symbolon_store::StoreError;

use super::{Connection, Postgres, column};

/// One step of the schema.
pub(crate) struct Migration {
    /// Counts from 1.
    pub(crate) number: i32,
    /// The newest step that a program must know to work with this schema. A step that only adds something leaves this
    /// number as it was, so that two adjacent releases can run side by side.
    pub(crate) oldest: i32,
    /// Statements. They must not lock a table that is in use: new tables, new columns without a default, nothing else.
    pub(crate) sql: &'static str,
}

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum MigrationError {
    #[error(
        "the database is of schema {found}, which this program (schema {known}) is too old for: install the newer one"
    )]
    TooNew { found: i32, known: i32 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS schema_steps (
        number INTEGER NOT NULL PRIMARY KEY,
        oldest INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS schema_lock (id INTEGER NOT NULL PRIMARY KEY);
    INSERT INTO schema_lock (id) VALUES (1) ON CONFLICT DO NOTHING;
";

/// Texts of a column are compared and ordered by their bytes, whatever the database's locale.
const BY_BYTES: &str = " COLLATE \"C\"";

/// How often the creation of the first tables is repeated: if nodes start together, it fails for all but one.
const TRIES: u32 = 20;

/// Applies the steps that the database lacks, in one transaction. A table gets as many partitions as its step says, but
/// `most_partitions` at most.
pub(crate) async fn migrate(
    postgres: &Postgres,
    steps: &[Migration],
    most_partitions: u32,
) -> Result<(), MigrationError> {
    let mut connection = postgres.connection().await?;
    if is_current(&connection, steps).await? {
        return Ok(());
    }
    make_tables(&connection).await?;
    let transaction = connection.transaction().await?;
    // A second node waits here, and then finds every step applied.
    transaction.first("SELECT id FROM schema_lock WHERE id = 1 FOR UPDATE", &[]).await?;
    let newest = transaction.first("SELECT max(number), max(oldest) FROM schema_steps", &[]).await?;
    let (found, oldest) = match newest {
        Some(row) => (column::<Option<i32>>(&row, 0)?, column::<Option<i32>>(&row, 1)?),
        None => (None, None),
    };
    let version = transaction.first("SELECT version()", &[]).await?;
    let version = version.map(|row| column::<String>(&row, 0)).transpose()?;
    // CockroachDB distributes every table by itself, and does not know the clause.
    let partitioned = !version.is_some_and(|version| version.contains("CockroachDB"));
    let most_partitions = partitioned.then_some(most_partitions);
    let known = steps.last().map_or(0, |last| last.number);
    if let (Some(found), Some(oldest)) = (found, oldest)
        && oldest > known
    {
        return Err(MigrationError::TooNew { found, known });
    }
    for step in steps.iter().filter(|step| found.is_none_or(|found| step.number > found)) {
        transaction.script(&in_dialect(step.sql, most_partitions)).await?;
        let record = "INSERT INTO schema_steps (number, oldest) VALUES ($1, $2)";
        transaction.change(record, &[&step.number, &step.oldest]).await?;
        tracing::info!(target: "symbolon::store", step = step.number, "the schema was brought up to date");
    }
    transaction.commit().await?;
    Ok(())
}

/// Whether the schema is up to date: nearly always, and then nothing is locked.
async fn is_current(connection: &Connection, steps: &[Migration]) -> Result<bool, StoreError> {
    let there = "SELECT 1 FROM information_schema.tables
                 WHERE table_name = 'schema_steps' AND table_schema = current_schema()";
    if connection.first(there, &[]).await?.is_none() {
        return Ok(false);
    }
    let newest = connection.first("SELECT max(number) FROM schema_steps", &[]).await?;
    let newest = newest.map(|row| column::<Option<i32>>(&row, 0)).transpose()?.flatten();
    Ok(newest.is_some() && newest == steps.last().map(|last| last.number))
}

/// Adapts the statements to the database. A line `--partitions TABLE NUMBER` after the creation of a table `PARTITION
/// BY HASH (…)` stands for its partitions, each with the text after the number, as `WITH (fillfactor = 70)`. A database
/// without partitions gets one table, without `COLLATE "C"`: it orders texts by their bytes anyway, and not every
/// version of it knows that clause: `most_partitions` is `None` for it.
fn in_dialect(sql: &str, most_partitions: Option<u32>) -> String {
    let mut statements = String::with_capacity(sql.len() * 2);
    for line in sql.lines() {
        match (line.strip_prefix("--partitions "), line.find(" PARTITION BY HASH (")) {
            (Some(of), _) => {
                statements.push_str(&most_partitions.map_or_else(String::new, |most| partitions(of, most)))
            }
            (None, Some(clause)) if most_partitions.is_none() => {
                statements.push_str(line.get(..clause).unwrap_or(line));
                statements.push(';');
            }
            (None, None) if most_partitions.is_none() => statements.push_str(&line.replace(BY_BYTES, "")),
            _ => statements.push_str(line),
        }
        statements.push('\n');
    }
    statements
}

fn partitions(of: &str, most: u32) -> String {
    let mut words = of.trim().splitn(3, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (table, number, with) = (word(), word().parse().unwrap_or(1).min(most), word());
    let one = |part: u32| {
        let values = format!("FOR VALUES WITH (MODULUS {number}, REMAINDER {part})");
        format!("CREATE TABLE {table}_{part} PARTITION OF {table} {values} {with};")
    };
    (0..number).map(one).collect()
}

async fn make_tables(connection: &Connection) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        match connection.script(TABLES).await {
            Err(StoreError::Failed(_)) if tries < TRIES => tries += 1,
            done => return done,
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_made_where_the_database_has_them() {
        let sql = "CREATE TABLE t (key TEXT COLLATE \"C\" PRIMARY KEY\n) PARTITION BY HASH (key);\n--partitions t 2\nSELECT 1;";
        let with = in_dialect(sql, Some(u32::MAX));
        assert!(with.contains("(key TEXT COLLATE \"C\" PRIMARY KEY\n) PARTITION BY HASH (key);"));
        assert!(with.contains("CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1) ;"));
        let packed = in_dialect("--partitions t 2 WITH (fillfactor = 70)", Some(u32::MAX));
        assert!(packed.contains("(MODULUS 2, REMAINDER 0) WITH (fillfactor = 70);"), "{packed}");
        assert!(with.contains("REMAINDER 0") && !with.contains("REMAINDER 2"));
        assert_eq!(in_dialect("--partitions t 16", Some(2)).matches("MODULUS 2").count(), 2);
        assert_eq!(in_dialect(sql, None), "CREATE TABLE t (key TEXT PRIMARY KEY\n);\n\nSELECT 1;\n");
    }
}
