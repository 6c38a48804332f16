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

/// The numbers of records of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    created: u64,
    existing: u64,
    refused: u64,
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
            let place = if self.unit == Unit::Lines { "line" } else { "record" };
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
                (kind.nouns().replace(' ', "_"), counts)
            });
            let counts = Value::Object(counts.collect());
            let (dry, left_out, notes) = (self.is_dry, json!(self.left_out), json!(self.notes));
            writeln!(
                self.out,
                "{before}],\n\"dry_run\": {dry},\n\"records\": {counts},\n\"left_out\": {left_out},\n\"notes\": {notes}}}"
            )?;
            return self.out.flush();
        }
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
        if self.counts.is_empty() {
            writeln!(self.out, "the file has no record that could be taken")?;
        }
        self.out.flush()
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
