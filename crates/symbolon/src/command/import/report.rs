//! What became of the users of a file.

use std::collections::BTreeMap;

use clap::ArgMatches;
use serde_json::{Value, json};

use crate::command::CommandError;
use crate::command::output::{line, print};

/// A user who was not taken.
struct Refusal {
    place: u64,
    name: String,
    why: String,
}

/// The counts and every refusal.
pub(super) struct Report {
    /// Whether nothing was changed.
    pub(super) is_dry: bool,
    created: u64,
    existing: u64,
    refused: Vec<Refusal>,
    left_out: BTreeMap<String, u64>,
}

impl Report {
    pub(super) const fn new(is_dry: bool) -> Self {
        Self { is_dry, created: 0, existing: 0, refused: Vec::new(), left_out: BTreeMap::new() }
    }

    pub(super) fn refuse(&mut self, place: u64, name: String, why: String) {
        self.refused.push(Refusal { place, name, why });
    }

    /// Members of a user that mean nothing here.
    pub(super) fn note_left_out(&mut self, members: &[String]) {
        for member in members {
            *self.left_out.entry(member.clone()).or_default() += 1;
        }
    }

    /// The server's answer about a user; `None` if it broke off before.
    pub(super) fn note_answer(&mut self, place: u64, name: String, answer: Option<Value>) {
        let text = |member: &str| answer.as_ref().and_then(|answer| answer.get(member)?.as_str());
        match (&answer, text("error")) {
            (Some(_), None) => self.created += 1,
            (_, Some("conflict")) => self.existing += 1,
            (_, Some(code)) => {
                let why = text("error_description").unwrap_or(code).to_owned();
                self.refuse(place, name, why);
            }
            (None, None) => {
                self.refuse(place, name, "the server broke off; run the import again".to_owned());
            }
        }
    }

    /// Whether every user is there now.
    pub(super) fn is_whole(&self) -> bool {
        self.refused.is_empty()
    }

    pub(super) fn print(&self, matches: &ArgMatches) -> Result<(), CommandError> {
        Ok(print(matches, &self.document(), |_| self.text())?)
    }

    fn document(&self) -> Value {
        let refused: Vec<Value> = self
            .refused
            .iter()
            .map(|Refusal { place, name, why }| json!({ "line": place, "user": name, "reason": why }))
            .collect();
        json!({
            "dry_run": self.is_dry,
            "created": self.created,
            "existing": self.existing,
            "refused": refused,
            "left_out": self.left_out,
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Refusal { place, name, why } in &self.refused {
            let named = if name.is_empty() { String::new() } else { format!(" ({})", line(name)) };
            text.push_str(&format!("line {place}{named}: {}\n", line(why)));
        }
        for (member, count) in &self.left_out {
            text.push_str(&format!("left out: {} of {count} users\n", line(member)));
        }
        let made = if self.is_dry { "would be created" } else { "created" };
        let (created, existing, refused) = (self.created, self.existing, self.refused.len());
        text.push_str(&format!("{created} {made}, {existing} there already, {refused} not taken\n"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_counted_and_every_refusal_told() {
        let mut report = Report::new(false);
        let name = || "ann@example.com".to_owned();
        report.note_answer(1, name(), Some(json!({ "user": { "id": "u1" } })));
        report.note_answer(
            2,
            name(),
            Some(json!({ "error": "conflict", "error_description": "there is a user" })),
        );
        assert!(report.is_whole());
        let refused =
            json!({ "error": "invalid_request", "error_description": "email is not\u{1b} one", "line": 9 });
        report.note_answer(3, name(), Some(refused));
        report.note_answer(4, String::new(), None);
        report.note_left_out(&["tenant".to_owned()]);
        assert!(!report.is_whole());
        let text = report.text();
        assert!(text.starts_with("line 3 (ann@example.com): email is not"), "{text}");
        assert!(
            text.contains("line 4: the server broke off") && text.contains("left out: tenant of 1 users")
        );
        assert!(
            text.ends_with("1 created, 1 there already, 2 not taken\n") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert_eq!(report.document()["refused"][0]["line"], 3);
    }
}
