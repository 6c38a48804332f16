//! A server that notes what an import sends, for the tests of the readers.

use std::cell::{Cell, RefCell};

use serde_json::{Value, json};
use symbolon_protocol::logo::Logo;

use super::importer::Importer;
use super::report::{Report, Unit};
use super::schema::Schema;
use super::server::Server;
use super::{Reader, carry_out};
use crate::command::CommandError;

/// Answers every line as one that was created, unless a test said otherwise.
#[derive(Default)]
pub(super) struct Noted {
    /// What was sent: the path, and the line.
    pub(super) sent: RefCell<Vec<(String, Value)>>,
    /// Lines that have this text are answered by this.
    pub(super) answers: RefCell<Vec<(String, Value)>>,
    /// The groups and roles that are there.
    pub(super) there: RefCell<Vec<(String, Value)>>,
    /// The settings of the issuer.
    pub(super) settings: RefCell<Value>,
    pub(super) requests: Cell<usize>,
    /// From which request on the server fails.
    pub(super) fails_from: Cell<Option<usize>>,
}

impl Server for Noted {
    fn send(&self, path: &str, lines: Vec<u8>) -> Result<Vec<Value>, CommandError> {
        self.requests.set(self.requests.get() + 1);
        if self.fails_from.get().is_some_and(|from| self.requests.get() >= from) {
            return Err(CommandError::Failed("the server is gone"));
        }
        let answers = self.answers.borrow();
        let answered = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| {
            let text = String::from_utf8(line.to_vec()).unwrap();
            self.sent.borrow_mut().push((path.to_owned(), serde_json::from_str(&text).unwrap()));
            let own = answers.iter().find(|(part, _)| text.contains(part));
            own.map_or_else(|| json!({}), |(_, answer)| answer.clone())
        });
        Ok(answered.collect())
    }

    fn read(&self, path: &str, each: &mut dyn FnMut(Value)) -> Result<(), CommandError> {
        let there = self.there.borrow();
        there.iter().filter(|(of, _)| of == path).for_each(|(_, record)| each(record.clone()));
        Ok(())
    }

    fn schema(&self) -> Result<Schema, CommandError> {
        Ok(Schema::of(&self.settings.borrow()).unwrap_or_default())
    }

    fn set(&self, settings: &Value) -> Result<(), CommandError> {
        self.sent.borrow_mut().push(("/settings".to_owned(), settings.clone()));
        *self.settings.borrow_mut() = settings.clone();
        Ok(())
    }

    fn put_logo(&self, path: &str, logo: &Logo) -> Result<bool, CommandError> {
        let sent = json!({ "media_type": logo.media_type(), "bytes": logo.content().len() });
        self.sent.borrow_mut().push((path.to_owned(), sent));
        Ok(true)
    }
}

impl Noted {
    /// Answers lines that have a text by an error.
    pub(super) fn refuse(&self, part: &str, code: &str, why: &str) {
        let answer = json!({ "error": code, "error_description": why });
        self.answers.borrow_mut().push((part.to_owned(), answer));
    }

    /// The lines that were sent to a path.
    pub(super) fn to(&self, path: &str) -> Vec<Value> {
        self.sent.borrow().iter().filter(|(to, _)| to == path).map(|(_, line)| line.clone()).collect()
    }

    /// Runs an import; what it returned, and the report.
    pub(super) fn import(
        &self,
        is_dry: bool,
        read: impl FnOnce(&mut Importer<'_>) -> Result<(), CommandError>,
    ) -> (Result<(), String>, Value) {
        let mut out = Vec::new();
        let read = {
            let mut importer =
                Importer::new(self, Report::new(&mut out, true, Unit::Records, is_dry), is_dry);
            carry_out(&mut importer, true, read).map_err(|error| error.to_string())
        };
        (read, serde_json::from_slice(&out).unwrap())
    }
}

/// Opens a file as the command line names it.
pub(super) fn opened(arguments: &[&str]) -> Result<Reader, CommandError> {
    let arguments = std::iter::once("import").chain(arguments.iter().copied());
    let matches = super::command().try_get_matches_from(arguments).unwrap();
    let (name, matches) = matches.subcommand().unwrap();
    let source = super::SOURCES.iter().find(|source| source.name == name).unwrap();
    (source.open)(matches)
}

/// A file with a text, which goes when the test ends.
pub(super) fn file(text: &str) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    (file, path)
}

/// The reasons of a report, each with the name of the record and of the part.
pub(super) fn reasons(report: &Value) -> Vec<String> {
    let text = |entry: &Value, member: &str| entry[member].as_str().unwrap_or_default().to_owned();
    let not_taken = report["not_taken"].as_array().unwrap();
    not_taken
        .iter()
        .map(|entry| {
            format!(
                "{} {} {}: {}; {}",
                text(entry, "kind"),
                text(entry, "name"),
                text(entry, "part"),
                text(entry, "reason"),
                text(entry, "mend")
            )
        })
        .collect()
}
