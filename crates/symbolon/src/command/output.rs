//! What a command prints: a table for people, JSON for scripts.

use std::io::{self, Write};

use clap::{Arg, ArgMatches, value_parser};
use serde_json::Value;

use super::moment::dated;

/// A column: its title and the member that it shows.
pub(super) type Column = (&'static str, &'static str);

/// Prints JSON if `--json` is given, else the text that `human` makes.
pub(super) fn print(
    matches: &ArgMatches,
    value: &Value,
    human: impl FnOnce(&Value) -> String,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if matches.get_flag("json") {
        writeln!(out, "{value:#}")?;
    } else {
        out.write_all(human(value).as_bytes())?;
    }
    out.flush()
}

/// Lines of columns, each as wide as its widest cell.
pub(super) fn table(columns: &[Column], rows: &[Value]) -> String {
    let cells: Vec<Vec<String>> =
        std::iter::once(columns.iter().map(|(title, _)| (*title).to_owned()).collect())
            .chain(rows.iter().map(|row| columns.iter().map(|(_, member)| cell(row.get(*member))).collect()))
            .collect();
    let width = |column: usize| {
        let cells = cells.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let row = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}  "));
        format!("{}\n", padded.collect::<String>().trim_end())
    };
    cells.iter().map(row).collect()
}

/// Lines of `title  value`, without those that have no value.
pub(super) fn facts(columns: &[Column], of: &Value) -> String {
    let given = columns.iter().filter(|(_, member)| of.get(*member).is_some_and(|value| !value.is_null()));
    let width = given.clone().map(|(title, _)| title.len()).max().unwrap_or(0);
    given.map(|(title, member)| format!("{title:width$}  {}\n", cell(of.get(*member)))).collect()
}

/// Every member of a record, a line each, with times as people read them. Members of a member are named by their path
/// (`settings.pkce`). Those in `first` come first, in that order.
pub(super) fn members(of: &Value, first: &[&str]) -> String {
    let mut lines = Vec::new();
    collect_members(&dated(of), "", &mut lines);
    // A stable sort: the others stay in the order of their names.
    lines.sort_by_key(|(path, _)| first.iter().position(|name| name == path).unwrap_or(first.len()));
    let width = lines.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(path, shown)| format!("{path:width$}  {shown}\n")).collect()
}

fn collect_members(of: &Value, prefix: &str, lines: &mut Vec<(String, String)>) {
    for (name, value) in of.as_object().into_iter().flatten() {
        let path = format!("{prefix}{}", line(name));
        match value {
            Value::Null => {}
            Value::Object(inner) if inner.is_empty() => {}
            Value::Object(_) => collect_members(value, &format!("{path}."), lines),
            Value::Array(items) if items.is_empty() => {}
            other => lines.push((path, cell(Some(other)))),
        }
    }
}

/// `--limit`.
pub(super) fn limit() -> Arg {
    Arg::new("limit")
        .long("limit")
        .value_name("N")
        .value_parser(value_parser!(usize))
        .default_value("100")
        .help("The most entries that are printed; 0 for all")
}

/// The most entries that `--limit` allows.
pub(super) fn most(matches: &ArgMatches) -> usize {
    matches.get_one::<usize>("limit").copied().filter(|most| *most > 0).unwrap_or(usize::MAX)
}

/// Says on standard error that a listing was cut, so that nobody takes a part for the whole.
pub(super) fn say_cut(shown: usize) {
    note(&format!("there are more than these {shown}: --limit N shows more, --limit 0 all"));
}

/// Says something on standard error, beside what the command prints.
pub(super) fn note(text: &str) {
    // If standard error is closed, the line is dropped.
    drop(writeln!(io::stderr(), "symbolon: {text}"));
}

/// A text in one line, without control characters: text from outside must not control the terminal.
pub(super) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A value in one line.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => line(text),
        Some(Value::Array(items)) => items.iter().map(|item| cell(Some(item))).collect::<Vec<_>>().join(" "),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [json!({ "id": "a", "n": 1 }), json!({ "id": "longer", "list": ["x", "y"] })];
        let text = table(&[("ID", "id"), ("NUMBER", "n"), ("LIST", "list")], &rows);
        assert_eq!(text, "ID      NUMBER  LIST\na       1       -\nlonger  -       x y\n");
    }

    #[test]
    fn facts_leave_out_what_is_not_there() {
        let text =
            facts(&[("client_id", "id"), ("secret", "secret")], &json!({ "id": "app", "secret": null }));
        assert_eq!(text, "client_id  app\n");
    }

    #[test]
    fn every_member_has_a_line_and_the_named_ones_come_first() {
        let record = json!({
            "active": true, "address": { "country": "AT", "region": null }, "created_at": 1_000, "id": "u1",
            "labels": [], "settings": {}, "uris": ["a", "b"],
        });
        let text = members(&record, &["id", "missing", "uris"]);
        let wanted = "id               u1\nuris             a b\nactive           true\naddress.country  AT\n\
                      created_at       1970-01-01T00:00:01Z\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(cell(Some(&json!("\u{1b}[2Jhello\n"))), "\u{fffd}[2Jhello\u{fffd}");
    }
}
