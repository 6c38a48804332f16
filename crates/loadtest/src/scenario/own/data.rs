//! Tables of values, for instance of users: CSV or JSON lines.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value};
use symbolon_crypto::SecretString;

use super::super::Picker;
use super::document::{Deal, Span};

/// A table. Its values may be passwords, and are not printable.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    rows: Vec<Vec<SecretString>>,
    deal: Deal,
    pub(super) each: Span,
    next: AtomicUsize,
}

impl Table {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it; never a value that stands in it.
    pub(super) fn read(name: &str, path: &Path, (deal, each): (Deal, Span)) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("it cannot be read: {error}"))?;
        let is_json = path.extension().is_some_and(|ending| ending == "jsonl" || ending == "ndjson");
        let (columns, rows) = if is_json { of_json_lines(&text)? } else { of_csv(&text)? };
        if rows.is_empty() {
            return Err("it has no rows".into());
        }
        Ok(Self { name: name.to_owned(), columns, rows, deal, each, next: AtomicUsize::new(0) })
    }

    /// The number of the next row.
    pub(super) fn next(&self, picker: &mut Picker) -> usize {
        match self.deal {
            Deal::InTurn => self.next.fetch_add(1, Ordering::Relaxed) % self.rows.len().max(1),
            Deal::Random => picker.index(self.rows.len()),
        }
    }

    /// A value; empty where there is none.
    pub(super) fn value(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|row| row.get(column)).map_or("", SecretString::expose)
    }
}

type Rows = (Vec<String>, Vec<Vec<SecretString>>);

fn of_csv(text: &str) -> Result<Rows, String> {
    // Of an error only where it is: its words may quote a value.
    let damaged = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        format!("line {line}: it is no CSV, or has not as many values as the first line has names")
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(text.as_bytes());
    let columns = reader.headers().map_err(damaged)?.iter().map(ToOwned::to_owned).collect();
    let mut rows = Vec::new();
    for record in reader.records() {
        let values = record.map_err(damaged)?;
        rows.push(values.iter().map(|value| SecretString::new(value.to_owned())).collect());
    }
    Ok((columns, rows))
}

fn of_json_lines(text: &str) -> Result<Rows, String> {
    let (mut columns, mut rows) = (Vec::<String>::new(), Vec::new());
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = place + 1;
        let object: Map<String, Value> =
            serde_json::from_str(line).map_err(|_| format!("line {place} is no JSON object"))?;
        if rows.is_empty() {
            columns = object.keys().cloned().collect();
        }
        let value = |column: &String| match object.get(column) {
            Some(Value::String(text)) => Ok(SecretString::new(text.clone())),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(SecretString::new(value.to_string())),
            Some(_) => Err(format!("line {place}: {column} is neither a text nor a number")),
            None => Err(format!("line {place}: {column} is missing, which the first line has")),
        };
        rows.push(columns.iter().map(value).collect::<Result<_, _>>()?);
    }
    Ok((columns, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ending: &str, text: &str, deal: Deal) -> Result<Table, String> {
        let file = tempfile::Builder::new().suffix(ending).tempfile().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Table::read("users", file.path(), (deal, Span::Visit))
    }

    #[test]
    fn both_forms_say_the_same() {
        let csv = "name, password\nalice,\"a,1\"\nbob,2\n";
        let json =
            "{\"name\":\"alice\",\"password\":\"a,1\"}\n\n{\"password\":2,\"name\":\"bob\",\"more\":[]}\n";
        for (ending, text) in [(".csv", csv), (".jsonl", json)] {
            let table = read(ending, text, Deal::InTurn).unwrap();
            assert_eq!(table.columns, ["name", "password"]);
            let mut picker = Picker::new(0);
            let rows: Vec<_> = (0..3).map(|_| table.next(&mut picker)).collect();
            assert_eq!(rows, [0, 1, 0]);
            let value = |row, column| table.value(row, column);
            assert_eq!((value(0, 0), value(0, 1), value(1, 1), value(9, 9)), ("alice", "a,1", "2", ""));
        }
    }

    #[test]
    fn random_rows_are_rows() {
        let table = read(".csv", "a\n1\n2\n3\n", Deal::Random).unwrap();
        let mut picker = Picker::new(7);
        let dealt: std::collections::BTreeSet<_> = (0..100).map(|_| table.next(&mut picker)).collect();
        assert_eq!(dealt.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn mistakes_name_their_line_and_no_value() {
        for (ending, text, why) in [
            (".csv", "a,b\n1\n", "line 2"),
            (".csv", "a,b\n", "no rows"),
            (".jsonl", "secret-1\n", "line 1 is no JSON"),
            (".jsonl", "{\"a\":1}\n{\"b\":\"secret-1\"}\n", "line 2: a is missing"),
            (".jsonl", "{\"a\":[\"secret-1\"]}\n", "neither a text nor a number"),
        ] {
            let told = read(ending, text, Deal::InTurn).err().unwrap();
            assert!(told.contains(why) && !told.contains("secret-1"), "{told}");
        }
    }
}
