//! Prepared statements, counted.

use std::ops::ControlFlow;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};
use symbolon_figures::DatabaseFigures;

/// A connection whose statements are prepared once and counted each time.
pub(super) struct Statements<'a> {
    connection: &'a Connection,
    figures: &'a DatabaseFigures,
}

impl<'a> Statements<'a> {
    pub(super) fn new(connection: &'a Connection, figures: &'a DatabaseFigures) -> Self {
        Self { connection, figures }
    }

    /// The connection itself, for statements that are not counted.
    pub(super) fn connection(&self) -> &'a Connection {
        self.connection
    }

    fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'a>> {
        #[cfg(test)]
        super::plan::assert_uses_an_index(self.connection, sql);
        self.connection.prepare_cached(sql)
    }

    /// The first row, if there is one.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        let found = self.prepare(sql)?.query_row(params, map).optional()?;
        self.figures.read(u64::from(found.is_some()));
        Ok(found)
    }

    /// Every row.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        map: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut statement = self.prepare(sql)?;
        let found = statement.query_map(params, map)?.collect::<Result<Vec<_>, _>>()?;
        self.figures.read(found.len() as u64);
        Ok(found)
    }

    /// Gives row after row to `take`, until it says that it needs no more.
    pub(super) fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
    ) -> rusqlite::Result<()> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(params)?;
        let mut found = 0;
        while let Some(row) = rows.next()? {
            found += 1;
            if take(row)?.is_break() {
                break;
            }
        }
        self.figures.read(found);
        Ok(())
    }

    /// Inserts a row; returns its number.
    pub(super) fn insert(&self, sql: &str, params: impl Params) -> rusqlite::Result<i64> {
        let number = self.prepare(sql)?.insert(params)?;
        self.figures.write(1);
        Ok(number)
    }

    /// Changes rows; returns how many.
    pub(super) fn change(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        let changed = self.prepare(sql)?.execute(params)?;
        self.figures.write(changed as u64);
        Ok(changed)
    }

    /// A statement that changes rows, prepared for repeated use.
    pub(super) fn repeated(&self, sql: &str) -> rusqlite::Result<Repeated<'_>> {
        Ok(Repeated { statement: self.prepare(sql)?, figures: self.figures })
    }
}

/// A statement that is looked up once and run for many rows.
pub(super) struct Repeated<'a> {
    statement: CachedStatement<'a>,
    figures: &'a DatabaseFigures,
}

impl Repeated<'_> {
    /// Changes rows; returns how many.
    pub(super) fn change(&mut self, params: impl Params) -> rusqlite::Result<usize> {
        let changed = self.statement.execute(params)?;
        self.figures.write(changed as u64);
        Ok(changed)
    }
}

/// The first column, as text: a document.
pub(super) fn document(row: &Row<'_>) -> rusqlite::Result<String> {
    row.get(0)
}
