//! What SQLite is told of the tables' sizes, for its choice of an index.
//!
//! Without statistics it takes it that any first column of an index, here the issuer, leaves ten rows: of two indexes it then
//! takes the one that also gives the order, and reads all users of an issuer to find the one of a name. The real numbers, by
//! `ANALYZE`, would change with what is stored, and the choice with them: a query that is fast with a hundred users could be
//! slow with a million. So the numbers are always those of a large installation.

use rusqlite::{Connection, params};

/// Rows of each table.
const ROWS: u32 = 1_000_000;

/// Rows of one issuer.
const ROWS_OF_ISSUER: u32 = 100_000;

/// Rows that have the same values in further columns of an index.
const ROWS_ALIKE: u32 = 10;

/// An index as the schema has it.
struct Index {
    /// The name that `sqlite_stat1` has for it: the table's, where the table is its own primary key.
    name: String,
    is_unique: bool,
    columns: Vec<String>,
}

/// Writes the numbers for every index, also for this connection. Others know them when they have read the schema.
///
/// # Errors
/// SQLite's.
pub(super) fn describe(connection: &Connection) -> rusqlite::Result<()> {
    // Makes the table, if it is not there, and reads no rows to fill it.
    connection.execute_batch("ANALYZE sqlite_schema; DELETE FROM sqlite_stat1")?;
    let mut insert = connection.prepare("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?1, ?2, ?3)")?;
    for table in tables(connection)? {
        for index in indexes(connection, &table)? {
            insert.execute(params![table, index.name, numbers(&index)])?;
        }
    }
    connection.execute_batch("ANALYZE sqlite_schema")
}

/// The rows of the table, and those that are left by the first column, by the first two, and so on.
fn numbers(index: &Index) -> String {
    let mut numbers = vec![ROWS.to_string()];
    for (position, column) in (1..).zip(&index.columns) {
        let rows = match column.as_str() {
            _ if index.is_unique && position == index.columns.len() => 1,
            "issuer" => ROWS_OF_ISSUER,
            _ => ROWS_ALIKE,
        };
        numbers.push(rows.to_string());
    }
    numbers.join(" ")
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    connection.prepare(sql)?.query_map((), |row| row.get(0))?.collect()
}

fn indexes(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Index>> {
    let sql = "SELECT l.name, l.\"unique\", l.origin = 'pk' AND t.wr, json_group_array(i.name ORDER BY i.seqno)
               FROM pragma_table_list AS t CROSS JOIN pragma_index_list(t.name) AS l CROSS JOIN pragma_index_info(l.name) AS i
               WHERE t.schema = 'main' AND t.name = ?1 GROUP BY l.name";
    let index = |row: &rusqlite::Row<'_>| {
        let is_table: bool = row.get(2)?;
        let columns: String = row.get(3)?;
        Ok(Index {
            name: if is_table { table.to_owned() } else { row.get(0)? },
            is_unique: row.get(1)?,
            columns: serde_json::from_str(&columns).unwrap_or_default(),
        })
    };
    connection.prepare(sql)?.query_map([table], index)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_has_the_numbers_of_a_large_installation() {
        let connection = Connection::open_in_memory().unwrap();
        let schema = "
            CREATE TABLE users (issuer TEXT NOT NULL, id TEXT NOT NULL, name TEXT, age INTEGER, UNIQUE (issuer, id)) STRICT;
            CREATE INDEX users_by_name ON users (issuer, name, age) WHERE name IS NOT NULL;
            CREATE TABLE hashes (issuer TEXT, user TEXT, PRIMARY KEY (issuer, user)) STRICT, WITHOUT ROWID;
            CREATE INDEX hashes_by_user ON hashes (user);";
        connection.execute_batch(schema).unwrap();
        // Twice, as after a migration.
        describe(&connection).unwrap();
        describe(&connection).unwrap();
        let mut statement = connection.prepare("SELECT idx, stat FROM sqlite_stat1 ORDER BY idx").unwrap();
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let told: Vec<(String, String)> = rows.collect::<Result<_, _>>().unwrap();
        let wanted = [
            ("hashes", "1000000 100000 1"),
            ("hashes_by_user", "1000000 10"),
            ("sqlite_autoindex_users_1", "1000000 100000 1"),
            ("users_by_name", "1000000 100000 10 10"),
        ];
        assert_eq!(told, wanted.map(|(index, numbers)| (index.to_owned(), numbers.to_owned())));
    }
}
