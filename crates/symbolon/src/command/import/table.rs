//! A table in CSV (RFC 4180): a header, and a user in each row.

use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

use clap::ArgMatches;
use csv::{Reader, ReaderBuilder, StringRecord};
use serde_json::json;

use super::budget::{Budgeted, SPENT};
use super::file::text;
use super::importer::Importer;
use super::record::{Entry, Fault, Object, Origin, set};
use super::{Reader as FileReader, open_text, unreadable};
use crate::command::{CommandError, given};

/// Members that are texts.
const TEXTS: [&str; 17] = [
    "id",
    "email",
    "preferred_username",
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "profile",
    "picture",
    "website",
    "gender",
    "birthdate",
    "zoneinfo",
    "locale",
    "phone_number",
    "password_hash",
];
/// Members that are true or false.
const FLAGS: [&str; 3] = ["email_verified", "phone_number_verified", "active"];

/// What stands before the name of an attribute of the schema.
const ATTRIBUTE: [&str; 2] = ["attributes.", "attribute:"];

/// The most bytes of a row; what the reader has read ahead comes on top.
const ROW: u64 = 1 << 20;

/// What is read behind the end of the file. Where the last row is whole it is a row of its own; where the file ends inside
/// a row, or inside a quoted cell, it is a part of that row. So a row that is cut off is never taken for a shorter one,
/// such as that of a disabled user whose cell `active` is missing.
const END: &str = "\u{1}end of the file\u{1}";

/// What is told of a row at whose end the file ends.
const CUT: [&str; 2] = [
    "the file ends inside this row, so that it may be cut off",
    "export it again; where the row is whole, end it with a line break",
];

/// What a column is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Column {
    Text(&'static str),
    Flag(&'static str),
    /// An attribute that the source defines itself: the name that it may have here, and the one in the file.
    Attribute {
        name: String,
        called: String,
    },
    LeftOut,
}

impl Column {
    /// The column of a member.
    pub(super) fn named(member: &str) -> Option<Self> {
        let member = if member == "username" { "preferred_username" } else { member };
        let attribute = ATTRIBUTE.iter().find_map(|prefix| member.strip_prefix(prefix));
        if let Some(name) = attribute.filter(|name| !name.is_empty()) {
            return Some(Self::Attribute { name: name.to_owned(), called: name.to_owned() });
        }
        let text = TEXTS.iter().find(|name| **name == member).map(|name| Self::Text(name));
        text.or_else(|| FLAGS.iter().find(|name| **name == member).map(|name| Self::Flag(name)))
    }
}

/// The users of a table, or what ends the reading.
pub(super) type Entries<'e> = Box<dyn Iterator<Item = Result<Entry, CommandError>> + 'e>;

/// The users, a row each.
pub(super) fn reader(matches: &ArgMatches) -> Result<FileReader, CommandError> {
    let path = given(matches, "file");
    let map: Vec<&String> = matches.get_many("map").map(Iterator::collect).unwrap_or_default();
    let map = map.into_iter().map(|text| {
        text.rsplit_once('=').ok_or_else(|| CommandError::Usage(format!("--map {text}: write COLUMN=MEMBER")))
    });
    let map = map.collect::<Result<Vec<_>, _>>()?;
    let entries = rows(open_text(path)?, path, |names| columns(names, &map))?;
    Ok(Box::new(move |importer: &mut Importer<'_>| {
        for entry in entries {
            importer.user(entry?)?;
        }
        Ok(())
    }))
}

/// The users of a table, whose columns are what `named` says.
pub(super) fn rows<'e>(
    file: impl Read + 'e,
    path: &str,
    named: impl FnOnce(&[&str]) -> Result<Vec<Column>, CommandError>,
) -> Result<Entries<'e>, CommandError> {
    let budget = Rc::new(Cell::new(ROW));
    // Rows of another length are told one by one.
    let file = Budgeted::new(text(file, path)?.chain(END.as_bytes()), &budget);
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(file);
    let header = reader.headers().map_err(|error| broken(path, error))?;
    let names = header.iter().map(|name| name.trim_end_matches(END).trim());
    let names: Vec<&str> = names.collect();
    let columns = named(&names)?;
    let path = path.to_owned();
    Ok(Box::new(std::iter::from_fn(move || {
        budget.set(ROW);
        next(&mut reader, &columns, &path)
    })))
}

/// What each column of the header is.
fn columns(names: &[&str], map: &[(&str, &str)]) -> Result<Vec<Column>, CommandError> {
    if let Some((column, _)) = map.iter().find(|(column, _)| !names.contains(column)) {
        return Err(CommandError::Usage(format!("--map {column}=: the file has no such column")));
    }
    let mut columns = Vec::new();
    for name in names {
        let mapped = map.iter().find(|(column, _)| column == name).map(|(_, member)| *member);
        let column = match mapped {
            Some("") => Column::LeftOut,
            member => Column::named(member.unwrap_or(name)).ok_or_else(|| unknown(name, member))?,
        };
        if column != Column::LeftOut && columns.contains(&column) {
            return Err(CommandError::Usage(format!(
                "the column {name:?} is a member that another column is too"
            )));
        }
        columns.push(column);
    }
    Ok(columns)
}

fn unknown(name: &str, member: Option<&str>) -> CommandError {
    let known = TEXTS.iter().chain(&FLAGS).copied().collect::<Vec<_>>().join(", ");
    let known = format!("{known}, attributes.NAME");
    let fault = match member {
        Some(member) => format!("--map {name}={member}: a user has no such member"),
        None => format!(
            "the column {name:?} is no member of a user: say by --map what it is, or leave it out by --map {name}="
        ),
    };
    CommandError::Usage(format!("{fault} (members: {known})"))
}

fn next<R: Read>(
    reader: &mut Reader<R>,
    columns: &[Column],
    path: &str,
) -> Option<Result<Entry, CommandError>> {
    let mut record = StringRecord::new();
    let place = reader.position().line();
    match reader.read_record(&mut record) {
        Ok(false) => None,
        Ok(true) if record.len() == 1 && record.as_slice() == END => None,
        Ok(true) => {
            let place = record.position().map_or(place, csv::Position::line);
            let is_cut = record.as_slice().ends_with(END);
            Some(Ok(if is_cut { cut(place) } else { entry(place, &record, columns) }))
        }
        // The reader has passed the row, and goes on behind it.
        Err(error) if matches!(error.kind(), csv::ErrorKind::Utf8 { .. }) => {
            let place = error.position().map_or(place, csv::Position::line);
            Some(Ok(Entry::unreadable(place, "the row is not UTF-8")))
        }
        Err(error) => Some(Err(broken(path, error))),
    }
}

fn cut(place: u64) -> Entry {
    let [why, mend] = CUT;
    Entry::unreadable(place, Fault::new(why, mend))
}

fn broken(path: &str, error: csv::Error) -> CommandError {
    match error.into_kind() {
        csv::ErrorKind::Io(source) if source.kind() == SPENT => CommandError::Usage(format!(
            "{path}: a row is longer than 1 MiB: is there a quote that is not closed?"
        )),
        csv::ErrorKind::Io(source) => unreadable(path, source),
        _ => CommandError::Usage(format!("{path} is no table in CSV in UTF-8")),
    }
}

fn entry(place: u64, record: &StringRecord, columns: &[Column]) -> Entry {
    if record.len() != columns.len() {
        let why = format!("the row has {} cells, and the header {}", record.len(), columns.len());
        return Entry::unreadable(place, why);
    }
    let mut entry = Entry::new(place, Object::new());
    let mut user = Object::new();
    let mut fault = None;
    for (cell, column) in record.iter().map(str::trim).zip(columns) {
        match column {
            _ if cell.is_empty() => {}
            Column::LeftOut => {}
            Column::Flag(member) => match truth(cell) {
                Some(value) => set(&mut user, member, Some(json!(value))),
                None => fault = Some(format!("{member} is neither true nor false")),
            },
            Column::Text(member) => set(&mut user, member, Some(json!(cell))),
            Column::Attribute { name, called } => entry.attribute(name, called, json!(cell)),
        }
    }
    entry.origin = Origin::of_user(place, &user);
    entry.user = fault.map_or(Ok(user), |fault| Err(Fault::from(fault)));
    entry
}

fn truth(cell: &str) -> Option<bool> {
    match &*cell.to_ascii_lowercase() {
        "true" | "t" | "yes" | "1" => Some(true),
        "false" | "f" | "no" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn read(text: &str, map: &[(&str, &str)]) -> Result<Vec<Entry>, CommandError> {
        rows(text.as_bytes(), "users.csv", |names| columns(names, map))?.collect()
    }

    #[test]
    fn columns_are_members_or_mapped_or_left_out() {
        let text = "\u{feff}mail,username,email_verified,Full name,password_hash,notes\n\
                    a@b.example,ann,Yes,\"Ann, the first\",$2b$04$x,\"two\nlines\"\nb@b.example,,,,,\n";
        let map = [("mail", "email"), ("Full name", "name"), ("notes", "")];
        let all = read(text, &map).unwrap_or_else(|error| panic!("{error}"));
        let user = |number: usize| Value::Object(all[number].user.clone().unwrap());
        let wanted = json!({
            "email": "a@b.example", "preferred_username": "ann", "email_verified": true, "name": "Ann, the first",
            "password_hash": "$2b$04$x",
        });
        assert_eq!((user(0), user(1)), (wanted, json!({ "email": "b@b.example" })));
        assert_eq!((all[0].origin.place, all[1].origin.place, &*all[1].origin.name), (2, 4, "b@b.example"));
    }

    #[test]
    fn a_header_that_is_not_understood_is_refused_whole() {
        let told =
            |text: &str, map: &[(&str, &str)]| read(text, map).err().map(|error| error.to_string()).unwrap();
        assert!(told("email,notes\n", &[]).contains("--map notes="));
        assert!(told("email,notes\n", &[("notes", "remark")]).contains("no such member"));
        assert!(told("email\n", &[("mail", "email")]).contains("no such column"));
        assert!(told("email,mail\n", &[("mail", "email")]).contains("another column"));
        assert!(told("", &[("mail", "email")]).contains("no such column"));
    }

    #[test]
    fn a_row_at_whose_end_the_file_ends_is_not_taken() {
        let told = |text: &str| {
            let mut all = read(text, &[]).unwrap_or_else(|error| panic!("{error}"));
            all.pop().unwrap().user.err().map(|fault| fault.why).unwrap_or_default()
        };
        for text in [
            "email,active\nb@b.example,",
            "email,active\nb@b.example,no",
            "email,name\nb@b.example,\"Bob\n",
            "email,name\nb@b.example,\"Bob\"",
            "email,name\nb@b.exa",
        ] {
            assert!(told(text).contains("ends inside this row"), "{text}: {}", told(text));
        }
        assert_eq!(told("email,active\nb@b.example,no\n"), "");
        assert_eq!(told("email,active\r\nb@b.example,no\r"), "");
        for text in ["email", "email\n"] {
            assert!(read(text, &[]).is_ok_and(|all| all.is_empty()), "{text}");
        }
    }

    #[test]
    fn rows_that_cannot_be_read_are_told_one_by_one() {
        let mut text = b"email,active\na@b.example,perhaps\nb@b.example\nc@b.example,1,2\n".to_vec();
        text.extend_from_slice(b"\xff@b.example,1\nd@b.example,0\n");
        let all: Vec<Entry> = rows(&*text, "users.csv", |names| columns(names, &[]))
            .and_then(Iterator::collect)
            .unwrap_or_else(|error| panic!("{error}"));
        let told = |number: usize| {
            all[number].user.as_ref().err().map(|fault| fault.why.clone()).unwrap_or_default()
        };
        assert!(
            told(0).contains("active is neither")
                && told(1).contains("1 cells")
                && told(2).contains("3 cells")
        );
        assert!(told(3).contains("UTF-8"), "{}", told(3));
        assert_eq!((all.len(), all[4].user.clone().unwrap()["active"].clone()), (5, json!(false)));
    }
}
