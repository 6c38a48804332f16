//! Reads a JSON document whose lists are too long to be held: one element at a time, each of bounded size.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::budget::{Budget, Budgeted, SPENT};
use super::file::text;
use super::json_skip::{List, Skipped};
use super::{open_text, unreadable};
use crate::command::CommandError;

/// The most bytes of a user in the file.
pub(super) const USER: u64 = 1 << 20;
/// The most bytes of another record, such as a group with all groups below it.
pub(super) const RECORD: u64 = 32 << 20;
/// The most bytes of the name of a member.
const NAME: u64 = 64 << 10;

/// What to do with a member of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It is skipped.
    Nothing,
    /// It is a value of at most so many bytes.
    Whole(u64),
    /// It must be a list, whose elements are skipped.
    List,
    /// It is a list of elements of at most so many bytes each.
    Elements(u64),
}

/// Takes the members of a document that it wants.
pub(super) trait Members {
    /// Whether a member is wanted. A document that is a list is the member without a name.
    fn wanted(&self, name: &str) -> Wanted;

    /// A wanted list begins.
    fn begun(&mut self, name: &str) {
        let _ = name;
    }

    /// Takes a whole member.
    fn whole(&mut self, name: &str, value: Value) -> Result<(), CommandError> {
        let _ = (name, value);
        Ok(())
    }

    /// Takes the element with a number, counted from 1.
    fn element(&mut self, name: &str, number: u64, value: Value) -> Result<(), CommandError> {
        let _ = (name, number, value);
        Ok(())
    }
}

/// Reads a file.
///
/// # Errors
/// [`CommandError::Usage`] says where the file is no JSON, or has another form; what `members` took before is taken.
pub(super) fn read(path: &str, members: &mut dyn Members) -> Result<(), CommandError> {
    read_from(open_text(path)?, path, members)
}

pub(super) fn read_from(file: impl Read, path: &str, members: &mut dyn Members) -> Result<(), CommandError> {
    let file = BufReader::with_capacity(256 << 10, text(file, path)?);
    let budget = Rc::new(Cell::new(NAME));
    let mut json = serde_json::Deserializer::from_reader(Budgeted::new(file, &budget));
    let mut reading = Reading { members, budget, failed: None };
    let read = Document(&mut reading).deserialize(&mut json).and_then(|()| json.end());
    match (reading.failed, read) {
        (Some(error), _) => Err(error),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(broken(path, error)),
    }
}

/// The error of a file, without the parser's words: they may repeat a part of the file, which has hashes.
fn broken(path: &str, error: serde_json::Error) -> CommandError {
    let place = format!("line {}, column {}", error.line(), error.column());
    if error.is_io() {
        let source = io::Error::from(error);
        return match source.kind() {
            SPENT => CommandError::Usage(format!("{path}: a record of the file is too long, at {place}")),
            _ => unreadable(path, source),
        };
    }
    CommandError::Usage(if error.is_eof() {
        format!("{path} is cut off at {place}: export it again")
    } else if error.is_data() {
        format!("{path} is not what was expected: a list or an object has another form at {place}")
    } else {
        format!("{path} is not JSON at {place}, or is nested too deep there")
    })
}

/// The state of a reading.
struct Reading<'a> {
    members: &'a mut dyn Members,
    budget: Budget,
    /// Why `members` took no more.
    failed: Option<CommandError>,
}

impl Reading<'_> {
    fn kept<E: Error>(&mut self, taken: Result<(), CommandError>) -> Result<(), E> {
        taken.map_err(|error| {
            self.failed = Some(error);
            E::custom("stopped")
        })
    }
}

/// The whole document.
struct Document<'r, 'a>(&'r mut Reading<'a>);

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reading = self.0;
        loop {
            reading.budget.set(NAME);
            let Some(name) = map.next_key::<String>()? else { return Ok(()) };
            match reading.members.wanted(&name) {
                Wanted::Nothing => map.next_value_seed(Skipped(&reading.budget))?,
                Wanted::Whole(most) => {
                    reading.budget.set(most);
                    let value = map.next_value()?;
                    let taken = reading.members.whole(&name, value);
                    reading.kept::<A::Error>(taken)?;
                }
                Wanted::List => {
                    reading.members.begun(&name);
                    map.next_value_seed(List(&reading.budget))?;
                }
                Wanted::Elements(most) => {
                    reading.members.begun(&name);
                    map.next_value_seed(Elements { reading: &mut *reading, name: &name, most })?;
                }
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        let wanted = self.0.members.wanted("");
        if matches!(wanted, Wanted::List | Wanted::Elements(_)) {
            self.0.members.begun("");
        }
        match wanted {
            Wanted::Elements(most) => Elements { reading: self.0, name: "", most }.visit_seq(seq),
            Wanted::Nothing | Wanted::List => Skipped(&self.0.budget).visit_seq(seq),
            Wanted::Whole(_) => Err(A::Error::custom("a list")),
        }
    }
}

/// A list of the document.
struct Elements<'r, 'a> {
    reading: &'r mut Reading<'a>,
    name: &'r str,
    most: u64,
}

impl<'de> DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { reading, name, most } = self;
        let mut number = 0;
        loop {
            reading.budget.set(most);
            let Some(value) = seq.next_element::<Value>()? else { return Ok(()) };
            number += 1;
            let taken = reading.members.element(name, number, value);
            reading.kept::<A::Error>(taken)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wants nothing.
    struct Unread;

    impl Members for Unread {
        fn wanted(&self, _: &str) -> Wanted {
            Wanted::Nothing
        }
    }

    /// Notes what it is given.
    #[derive(Default)]
    struct Noted {
        told: Vec<String>,
        fails_at: Option<u64>,
    }

    impl Members for Noted {
        fn wanted(&self, name: &str) -> Wanted {
            match name {
                "users" | "" => Wanted::Elements(1_000),
                "roles" => Wanted::Whole(1_000),
                _ => Wanted::Nothing,
            }
        }

        fn whole(&mut self, name: &str, value: Value) -> Result<(), CommandError> {
            self.told.push(format!("{name} {value}"));
            Ok(())
        }

        fn element(&mut self, name: &str, number: u64, value: Value) -> Result<(), CommandError> {
            if self.fails_at == Some(number) {
                return Err(CommandError::Failed("no more"));
            }
            self.told.push(format!("{name}{number} {value}"));
            Ok(())
        }
    }

    fn told(text: &str, noted: &mut Noted) -> Result<(), String> {
        read_from(text.as_bytes(), "x.json", noted).map_err(|error| error.to_string())
    }

    fn all(text: &str) -> (Vec<String>, Result<(), String>) {
        let mut noted = Noted::default();
        let read = told(text, &mut noted);
        (noted.told, read)
    }

    #[test]
    fn elements_come_one_by_one_and_the_rest_is_skipped() {
        let long = "x".repeat(10_000);
        let text =
            format!(r#"{{"other":"{long}","users":[{{"a":1}},2],"roles":{{"b":[]}},"users":null,"z":[[]]}}"#);
        assert_eq!(
            all(&text),
            (vec!["users1 {\"a\":1}".into(), "users2 2".into(), "roles {\"b\":[]}".into()], Ok(()))
        );
        assert_eq!(all("\u{feff} [7] ").0, ["1 7"]);
    }

    #[test]
    fn a_record_that_is_too_long_or_too_deep_ends_the_reading() {
        let long = format!(r#"{{"users":[1,"{}"]}}"#, "x".repeat(2_000));
        let (told, read) = all(&long);
        assert!(told == ["users1 1"] && read.unwrap_err().contains("too long"));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(all(&format!(r#"{{"users":[{}]}}"#, nested(100))).1.is_ok());
        assert!(all(&format!(r#"{{"users":[{}]}}"#, nested(300))).1.unwrap_err().contains("too deep"));
        assert!(all(&format!(r#"{{"skipped":{}}}"#, nested(100_000))).1.is_ok());
        let name = format!(r#"{{"{}":1}}"#, "n".repeat(100_000));
        assert!(all(&name).1.unwrap_err().contains("too long"));
    }

    #[test]
    fn a_file_that_is_broken_is_told_by_its_place_and_not_repeated() {
        for (text, why) in [
            (r#"{"users":["secret"#, "cut off"),
            (r#"{"users":["secret",}"#, "not JSON at line 1"),
            (r#"{"users":"secret"}"#, "not what was expected"),
            (r#""secret""#, "not what was expected"),
            ("\u{0}secret", "not JSON"),
            ("", "cut off"),
            ("[1] secret", "not JSON"),
        ] {
            let refused = all(text).1.unwrap_err();
            assert!(refused.contains(why) && !refused.contains("secret"), "{text}: {refused}");
        }
        assert!(
            read_from(&b"\xff\xfe{"[..], "x", &mut Noted::default())
                .unwrap_err()
                .to_string()
                .contains("UTF-16")
        );
    }

    #[test]
    fn whoever_takes_no_more_ends_the_reading() {
        let mut noted = Noted { fails_at: Some(2), ..Noted::default() };
        assert_eq!(told("[1,2,3]", &mut noted).unwrap_err(), "no more");
        assert_eq!(noted.told, ["1 1"]);
    }

    #[test]
    fn whatever_is_cut_off_is_an_error() {
        let text = r#"{"a":{"b":[1,"\u00e4"]},"users":[{"x":1.5e3},null,true],"roles":"r"}"#;
        for end in 0..text.len() {
            assert!(read_from(&text.as_bytes()[..end], "x", &mut Noted::default()).is_err(), "{end}");
            assert!(read_from(&text.as_bytes()[..end], "x", &mut Unread).is_err(), "{end}");
        }
        assert!(all(text).1.is_ok() && told("[[]]", &mut Noted::default()).is_ok());
    }
}
