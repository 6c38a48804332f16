//! The fuzz target of the readers.

use std::cell::Cell;
use std::io::Write as _;

use serde_json::{Value, json};
use symbolon_protocol::logo::Logo;

use super::importer::Importer;
use super::report::Report;
use super::schema::Schema;
use super::server::Server;
use super::{SOURCES, carry_out};
use crate::command::CommandError;

/// A server that takes every record, and counts them.
#[derive(Default)]
struct Counting {
    taken: Cell<u64>,
}

impl Server for Counting {
    fn send(&self, _: &str, lines: Vec<u8>) -> Result<Vec<Value>, CommandError> {
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let answers = lines.map(|line| {
            let record = serde_json::from_slice::<Value>(line);
            assert!(record.is_ok_and(|record| record.is_object()), "a line that is no record");
            self.taken.set(self.taken.get() + 1);
            json!({})
        });
        Ok(answers.collect())
    }

    fn read(&self, _: &str, _: &mut dyn FnMut(Value)) -> Result<(), CommandError> {
        Ok(())
    }

    fn schema(&self) -> Result<Schema, CommandError> {
        Ok(Schema::default())
    }

    fn set(&self, _: &Value) -> Result<(), CommandError> {
        Ok(())
    }

    fn put_logo(&self, _: &str, _: &Logo) -> Result<bool, CommandError> {
        self.taken.set(self.taken.get() + 1);
        Ok(true)
    }
}

/// A file of `symbolon import` behind a digit, which is the place of its kind in the list of kinds: it is refused with a reason,
/// or the report is one JSON document and says that as many records were created as the server took.
pub fn import_file(data: &[u8]) {
    let Some((kind, content)) = data.split_first() else { return };
    let Some(source) = SOURCES.get(usize::from(kind.wrapping_sub(b'0')) % SOURCES.len()) else { return };
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(content).is_err() {
        return;
    }
    let path = file.path().to_string_lossy();
    let matches = super::command().try_get_matches_from(["import", source.name, &*path]);
    let Ok(matches) = matches else { return };
    let Some((_, matches)) = matches.subcommand() else { return };
    let read = match (source.open)(matches) {
        Ok(read) => read,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal without a reason");
            return;
        }
    };
    let server = Counting::default();
    let mut out = Vec::new();
    {
        let report = Report::new(&mut out, true, source.unit, false);
        let mut importer = Importer::new(&server, report, false);
        if let Err(error) = carry_out(&mut importer, source.is_structured, read) {
            assert!(!error.to_string().is_empty(), "an end without a reason");
        }
    }
    let report = serde_json::from_slice::<Value>(&out).unwrap_or_default();
    let kinds = report.get("records").and_then(Value::as_object);
    assert!(kinds.is_some(), "a report that is not whole");
    let created = kinds.into_iter().flatten().filter_map(|(_, counts)| counts.get("created")?.as_u64());
    assert_eq!(created.sum::<u64>(), server.taken.get(), "a record that the report does not count");
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::path::PathBuf;

    use super::*;

    /// As the corpora of the other targets are replayed, which are of crates that the testkit sees.
    #[test]
    fn the_corpus_holds() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/import_file");
        let files = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<(PathBuf, Vec<u8>)> =
            files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect();
        for kind in 0..SOURCES.len() {
            let digit = b'0' + u8::try_from(kind).unwrap();
            assert!(files.iter().any(|(_, data)| data.first() == Some(&digit)), "no file of kind {kind}");
        }
        let fails = |data: &[u8]| catch_unwind(|| import_file(data)).is_err();
        let failed: Vec<&PathBuf> =
            files.iter().filter(|(_, data)| fails(data)).map(|(path, _)| path).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
