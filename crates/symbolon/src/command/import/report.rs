//! What became of the records of a file. What was not taken is written as it is found, so that a file in which nothing
//! is good needs no memory.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::record::{Fault, Kind, Origin, Part};
use crate::command::output::line;

/// How many different names of members that mean nothing here are counted apart.
const MOST_NAMES: usize = 500;

/// What counts the places of users in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Lines of text.
    Lines,
    /// Records of each kind.
    Records,
}

impl Unit {
    /// What a place is called.
    const fn place(self) -> &'static str {
        match self {
            Self::Lines => "line",
            Self::Records => "record",
        }
    }
}

/// The numbers of records of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    created: u64,
    existing: u64,
    refused: u64,
}

/// Records of a kind of which it is not known whether the server took them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lost {
    count: u64,
    /// The place of the first one, and the file where there are several.
    first: u64,
    file: Option<String>,
}

/// Where the report is written, and its counts.
pub(super) struct Report<'a> {
    out: Box<dyn Write + 'a>,
    is_json: bool,
    unit: Unit,
    /// Whether nothing was changed.
    is_dry: bool,
    /// The file that is read, where there are several.
    file: Option<String>,
    counts: BTreeMap<Kind, Counts>,
    lost: BTreeMap<Kind, Lost>,
    /// Whether the import ended before the end of the file.
    broke_off: bool,
    left_out: BTreeMap<String, u64>,
    notes: Vec<String>,
    /// The number of entries that were written.
    written: u64,
}

impl<'a> Report<'a> {
    pub(super) fn new(out: impl Write + 'a, is_json: bool, unit: Unit, is_dry: bool) -> Self {
        Self {
            out: Box::new(out),
            is_json,
            unit,
            is_dry,
            file: None,
            counts: BTreeMap::new(),
            lost: BTreeMap::new(),
            broke_off: false,
            left_out: BTreeMap::new(),
            notes: Vec::new(),
            written: 0,
        }
    }

    /// Names the file that the next records are from.
    pub(super) fn in_file(&mut self, path: &str) {
        self.file = Some(path.to_owned());
    }

    fn of(&mut self, kind: Kind) -> &mut Counts {
        self.counts.entry(kind).or_default()
    }

    pub(super) fn note_created(&mut self, kind: Kind) {
        self.of(kind).created += 1;
    }

    pub(super) fn note_existing(&mut self, kind: Kind) {
        self.of(kind).existing += 1;
    }

    /// A record of which it is not known whether the server took it.
    pub(super) fn note_lost(&mut self, kind: Kind, place: u64) {
        let file = &self.file;
        let lost =
            self.lost.entry(kind).or_insert_with(|| Lost { count: 0, first: place, file: file.clone() });
        lost.count += 1;
        lost.first = lost.first.min(place);
    }

    /// The import ended before the end of the file.
    pub(super) fn note_broken_off(&mut self) {
        self.broke_off = true;
    }

    /// A record that was not taken.
    pub(super) fn refuse(&mut self, kind: Kind, origin: &Origin, fault: &Fault) -> io::Result<()> {
        self.of(kind).refused += 1;
        self.write(kind, origin, None, fault)
    }

    /// A part of a record that was not taken.
    pub(super) fn partly(&mut self, kind: Kind, origin: &Origin, part: &Part) -> io::Result<()> {
        self.write(kind, origin, Some(&part.name), &part.fault)
    }

    /// Members that mean nothing here.
    pub(super) fn note_left_out(&mut self, members: Vec<String>) {
        members.iter().for_each(|member| self.note_left_out_often(member, 1));
    }

    /// A member that means nothing here, and how often it is there.
    pub(super) fn note_left_out_often(&mut self, member: &str, times: u64) {
        let is_known = self.left_out.contains_key(member);
        let name = if is_known || self.left_out.len() < MOST_NAMES { member } else { "others" };
        *self.left_out.entry(name.to_owned()).or_default() += times;
    }

    /// Something that the whole import should say once.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Whether every record is there now.
    pub(super) fn is_whole(&self) -> bool {
        self.counts.values().all(|counts| counts.refused == 0)
    }

    fn write(&mut self, kind: Kind, origin: &Origin, part: Option<&str>, fault: &Fault) -> io::Result<()> {
        self.written += 1;
        if self.is_json {
            let before = if self.written == 1 { "{\"not_taken\": [\n" } else { ",\n" };
            let place = self.unit.place();
            let mut entry = json!({
                "kind": kind.noun(), place: origin.place, "id": origin.id, "name": origin.name, "reason": fault.why,
            });
            let more = [("part", part), ("mend", Some(&*fault.mend)), ("file", self.file.as_deref())];
            if let Some(entry) = entry.as_object_mut() {
                for (name, value) in more {
                    if let Some(value) = value.filter(|value| !value.is_empty()) {
                        entry.insert(name.to_owned(), Value::from(value));
                    }
                }
            }
            return write!(self.out, "{before}  {entry}");
        }
        let file = self.file.as_ref().map(|file| format!("{}: ", line(file))).unwrap_or_default();
        let place = match self.unit {
            Unit::Lines => format!("line {}", origin.place),
            Unit::Records => format!("{} {}", kind.noun(), origin.place),
        };
        let name = if origin.name.is_empty() { &origin.id } else { &origin.name };
        let named = if name.is_empty() { String::new() } else { format!(" ({})", line(name)) };
        let part = part.map(|part| format!(", {}", line(part))).unwrap_or_default();
        let mend = if fault.mend.is_empty() { String::new() } else { format!("; {}", line(&fault.mend)) };
        writeln!(self.out, "{file}{place}{named}{part}: {}{mend}", line(&fault.why))
    }

    /// Ends the report with its counts.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.is_json {
            let before = if self.written == 0 { "{\"not_taken\": [" } else { "\n" };
            let counts = self.counts.iter().map(|(kind, Counts { created, existing, refused })| {
                let counts = json!({ "created": created, "existing": existing, "refused": refused });
                (kind.member(), counts)
            });
            let counts = Value::Object(counts.collect());
            let (dry, left_out, notes) = (self.is_dry, json!(self.left_out), json!(self.notes));
            let (lost, broke_off) = (self.lost_as_json(), self.broke_off);
            writeln!(
                self.out,
                "{before}],\n\"dry_run\": {dry},\n\"records\": {counts},\n\"left_out\": {left_out},\n\"notes\": {notes},\n\
                 \"broke_off\": {broke_off},\n\"lost\": {lost}}}"
            )?;
            return self.out.flush();
        }
        self.write_counts()?;
        self.out.flush()
    }

    fn lost_as_json(&self) -> Value {
        let place = self.unit.place();
        let lost = self.lost.iter().map(|(kind, Lost { count, first, file })| {
            let mut lost = json!({ "count": count, place: first });
            if let (Some(file), Some(members)) = (file, lost.as_object_mut()) {
                members.insert("file".to_owned(), Value::from(&**file));
            }
            (kind.member(), lost)
        });
        Value::Object(lost.collect())
    }

    fn write_counts(&mut self) -> io::Result<()> {
        for (member, count) in &self.left_out {
            writeln!(self.out, "left out: {}, {count} times", line(member))?;
        }
        for text in &self.notes {
            writeln!(self.out, "note: {}", line(text))?;
        }
        let made = if self.is_dry { "would be created" } else { "created" };
        for (kind, Counts { created, existing, refused }) in &self.counts {
            let kind = kind.nouns();
            writeln!(self.out, "{kind}: {created} {made}, {existing} there already, {refused} not taken")?;
        }
        for (kind, Lost { count, first, file }) in &self.lost {
            let (kind, place) = (kind.nouns(), self.unit.place());
            let file = file.as_ref().map(|file| format!(" of {}", line(file))).unwrap_or_default();
            writeln!(
                self.out,
                "{kind}: {count} without an answer of the server, from {place} {first}{file} on; it is not known whether \
                 they were taken"
            )?;
        }
        if self.broke_off {
            writeln!(
                self.out,
                "the import broke off, and what follows was not sent: run it again, which leaves alone what is there"
            )?;
        } else if self.counts.is_empty() {
            writeln!(self.out, "the file has no record that could be taken")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(place: u64, name: &str) -> Origin {
        Origin { place, id: "u1".to_owned(), name: name.to_owned() }
    }

    fn written(is_json: bool, fill: impl FnOnce(&mut Report<'_>)) -> String {
        let mut out = Vec::new();
        let mut report = Report::new(&mut out, is_json, Unit::Lines, false);
        fill(&mut report);
        report.finish().unwrap();
        drop(report);
        String::from_utf8(out).unwrap()
    }

    fn fill(report: &mut Report<'_>) {
        report.note_created(Kind::User);
        report.note_existing(Kind::User);
        assert!(report.is_whole());
        let fault = Fault::new("email is not\u{1b} one", "mend it");
        report.refuse(Kind::User, &origin(3, "ann@example.com"), &fault).unwrap();
        report.refuse(Kind::User, &Origin { place: 4, ..Origin::default() }, &"cut".into()).unwrap();
        report.partly(Kind::Client, &origin(5, "app"), &Part::new("webOrigins", "is *")).unwrap();
        report.note_left_out(vec!["tenant".to_owned()]);
        report.note("no passwords");
        assert!(!report.is_whole());
    }

    #[test]
    fn every_refusal_is_told_with_its_mend() {
        let text = written(false, fill);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "line 3 (ann@example.com): email is not\u{fffd} one; mend it");
        assert_eq!(&lines[1..3], ["line 4: cut", "line 5 (app), webOrigins: is *"]);
        assert_eq!(&lines[3..5], ["left out: tenant, 1 times", "note: no passwords"]);
        assert_eq!(lines[5], "users: 1 created, 1 there already, 2 not taken");
    }

    #[test]
    fn the_json_is_one_document_and_has_the_same() {
        let document: Value = serde_json::from_str(&written(true, fill)).unwrap();
        assert_eq!(document["not_taken"].as_array().unwrap().len(), 3);
        assert_eq!(
            (&document["not_taken"][0]["line"], &document["not_taken"][0]["mend"]),
            (&json!(3), &json!("mend it"))
        );
        assert_eq!(document["not_taken"][2]["part"], "webOrigins");
        assert_eq!(document["records"]["users"], json!({ "created": 1, "existing": 1, "refused": 2 }));
        assert_eq!(
            (&document["left_out"]["tenant"], &document["notes"][0]),
            (&json!(1), &json!("no passwords"))
        );
        let empty: Value = serde_json::from_str(&written(true, |_| {})).unwrap();
        assert_eq!((&empty["not_taken"], &empty["dry_run"]), (&json!([]), &json!(false)));
        assert!(written(false, |_| {}).contains("no record"));
    }

    #[test]
    fn an_import_that_broke_off_says_what_is_lost_and_from_where() {
        let fill = |report: &mut Report<'_>| {
            [7, 5, 6].into_iter().for_each(|place| report.note_lost(Kind::User, place));
            report.note_broken_off();
        };
        let text = written(false, fill);
        assert!(text.contains("users: 3 without an answer of the server, from line 5 on"), "{text}");
        assert!(text.contains("run it again") && !text.contains("no record"), "{text}");
        let document: Value = serde_json::from_str(&written(true, fill)).unwrap();
        assert_eq!(
            (&document["lost"], &document["broke_off"]),
            (&json!({ "users": { "count": 3, "line": 5 } }), &json!(true))
        );
    }

    #[test]
    fn names_of_members_are_bounded() {
        let text = written(true, |report| {
            for n in 0..2 * MOST_NAMES {
                report.note_left_out(vec![format!("m{n}")]);
            }
        });
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["left_out"]["others"], MOST_NAMES);
    }
}
