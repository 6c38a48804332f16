//! Tables of the documentation that name files, tests, events and paths: what they name must be there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use symbolon_protocol::discovery::path;
use symbolon_protocol::event::Event;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Where a path of a table leads: below `crates/`, but for the clients.
fn place(path: &str) -> PathBuf {
    let below = if path.starts_with("clients/") { "" } else { "crates" };
    root().join(below).join(path)
}

/// The cells of every row of a document's tables, without heads and lines.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let is_line = |line: &str| line.starts_with("|---");
    let lines: Vec<&str> = document.lines().collect();
    let rows = lines.iter().enumerate().filter(|(number, line)| {
        let head = lines.get(number + 1).is_some_and(|next| is_line(next));
        line.starts_with('|') && !is_line(line) && !head
    });
    rows.map(|(_, line)| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// The texts in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn is_path(text: &str) -> bool {
    text.contains('/') && Path::new(text).extension().is_some()
}

/// What is missing of a cell that names paths, each with tests behind it.
fn missing(cell: &str) -> Vec<String> {
    let mut missing = Vec::new();
    let mut source = None;
    for text in quoted(cell) {
        if is_path(text) {
            source = fs::read_to_string(place(text)).ok();
            if source.is_none() {
                missing.push(format!("there is no file {text}"));
            }
            continue;
        }
        let defined = [
            format!("fn {text}("),
            format!("def {text}("),
            format!("func {text}("),
            format!("test(\"{text}\""),
        ];
        match &source {
            Some(source) if defined.iter().any(|form| source.contains(form)) => {}
            Some(_) => missing.push(format!("there is no test {text} where it is said to be")),
            None => missing.push(format!("{text} follows no file")),
        }
    }
    missing
}

#[test]
fn every_file_and_test_of_the_spec_map_exists() {
    let map = read("docs/spec-map.md");
    let rows = rows(&map);
    assert!(rows.len() > 100, "the tables were not read");
    for row in rows {
        let [section, rule, files, tests] = row[..] else { panic!("a row has {} cells: {row:?}", row.len()) };
        assert!(!section.is_empty() && !rule.is_empty(), "{row:?}");
        assert!(quoted(files).next().is_some_and(is_path), "{section} names no file");
        assert!(tests == "by hand" || quoted(tests).count() > 1, "{section} names no test");
        assert_eq!(missing(files), Vec::<String>::new(), "{section}");
        assert_eq!(missing(tests), Vec::<String>::new(), "{section}");
    }
}

#[test]
fn every_proof_against_an_attack_exists() {
    let attacks = read("docs/topics/attacks.md");
    let rows = rows(&attacks);
    assert!(rows.len() > 40, "the tables were not read");
    for row in rows {
        let [attack, _, proof] = row[..] else { panic!("a row has {} cells: {row:?}", row.len()) };
        assert!(
            proof.starts_with("the same") || quoted(proof).next().is_some_and(is_path),
            "{attack} has no proof"
        );
        assert_eq!(missing(proof), Vec::<String>::new(), "{attack}");
    }
}

#[test]
fn every_test_of_the_load_tests_exists() {
    let tests = read("docs/development/load-test-tests.md");
    let rows = rows(&tests);
    assert!(rows.len() > 20, "the table was not read");
    for row in rows {
        let [what, _, tests] = row[..] else { panic!("a row has {} cells: {row:?}", row.len()) };
        assert!(quoted(tests).count() > 1, "{what} names no test");
        assert_eq!(missing(tests), Vec::<String>::new(), "{what}");
    }
}

/// Numbers behind `RFC ` in a text.
fn rfcs(text: &str) -> impl Iterator<Item = &str> {
    text.split("RFC ")
        .skip(1)
        .filter_map(|rest| rest.get(..4))
        .filter(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "js" || end == "html") {
            found.push(path);
        }
    }
}

#[test]
fn every_rfc_that_code_cites_has_a_row() {
    let map = read("docs/spec-map.md");
    let known: BTreeSet<&str> = rows(&map).iter().flat_map(|row| rfcs(row[0]).collect::<Vec<_>>()).collect();
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 100, "the sources were not read");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for rfc in rfcs(&text) {
            assert!(
                known.contains(rfc),
                "{} cites RFC {rfc}, which has no row in docs/spec-map.md",
                file.display()
            );
        }
    }
}

#[test]
fn every_event_and_path_is_in_the_reference() {
    let events = read("docs/reference/events.md");
    for event in Event::ALL {
        let audited = if event.audited() { "yes" } else { "counted only" };
        let row = rows(&events).into_iter().find(|row| row[0] == format!("`{}`", event.name()));
        assert_eq!(row.map(|row| row[2]), Some(audited), "{}", event.name());
    }
    let endpoints = read("docs/reference/endpoints.md");
    let protocol = [
        path::AUTHORIZATION,
        path::TOKEN,
        path::USERINFO,
        path::INTROSPECTION,
        path::REVOCATION,
        path::REGISTRATION,
        path::END_SESSION,
        path::JWKS,
        path::OPENID_CONFIGURATION,
        path::OAUTH_AUTHORIZATION_SERVER,
    ];
    for path in protocol {
        assert!(endpoints.contains(&format!("`{path}`")), "{path}");
    }
    let admin: serde_json::Value = serde_json::from_str(&read("docs/reference/openapi.json")).unwrap();
    let of_an_issuer = |path: &&String| path.starts_with("/issuers/{issuer}/");
    for (path, operations) in
        admin["paths"].as_object().unwrap().iter().filter(|(path, _)| !of_an_issuer(path))
    {
        for method in operations.as_object().unwrap().keys().filter(|name| *name != "parameters") {
            let row = format!("| {} | `{path}`", method.to_uppercase());
            assert!(endpoints.contains(&row), "docs/reference/endpoints.md lacks {row}");
        }
    }
}

fn documents(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    let mut files: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
            .into_iter()
            .map(|name| root().join(name))
            .collect();
    documents(&root().join("docs"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || target.contains("://") {
                continue;
            }
            assert!(file.parent().unwrap().join(path).exists(), "{} links to {target}", file.display());
        }
    }
}
