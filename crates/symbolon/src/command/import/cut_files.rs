//! Files that are cut off, altered or hostile: whatever a file holds, an import ends with a report, and every record that
//! it sends is one of the file.

use serde_json::Value;

use super::samples;
use super::testing::{Noted, file, opened};

/// What an import of a file sends; `None` where the file is refused as a whole.
fn sent(kind: &str, bytes: &[u8]) -> Option<Vec<(String, Value)>> {
    let (place, path) = file("");
    std::fs::write(place.path(), bytes).unwrap();
    let read = opened(&[kind, &path]).ok()?;
    let server = Noted::default();
    // The report is read as JSON there, so it is whole.
    let (_, report) = server.import(false, |importer| read(importer));
    assert!(report["records"].is_object());
    Some(server.sent.into_inner())
}

#[test]
fn a_file_that_is_whole_is_read_to_its_end() {
    for (kind, text) in samples::ALL {
        let sent = sent(kind, text.as_bytes()).unwrap_or_else(|| panic!("{kind}"));
        assert!(sent.iter().any(|(path, _)| path == "/users/bulk"), "{kind}");
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_sends_nothing_that_it_does_not_have() {
    for (kind, text) in samples::ALL {
        let whole = sent(kind, text.as_bytes()).unwrap();
        let is_by_lines = matches!(kind, "auth0" | "csv") || text == samples::COGNITO_TABLE;
        for end in 0..text.len() {
            let Some(part) = sent(kind, text.get(..end).unwrap().as_bytes()) else { continue };
            assert!(part.iter().all(|record| whole.contains(record)), "{kind} cut at {end}");
            // JSON is read to its end before anything is sent.
            assert!(
                is_by_lines || text.get(end..).unwrap().trim().is_empty(),
                "{kind} cut at {end} was taken"
            );
        }
    }
}

#[test]
fn whatever_stands_in_a_file_no_reader_fails_inside() {
    const BYTES: [&[u8]; 8] = [b"\"", b"{", b"]", b",", b"\0", b"\xff", b"5", b"\xe2\x80\x8b"];
    for (kind, text) in samples::ALL {
        for (at, byte) in (0..text.len()).step_by(7).zip(BYTES.iter().cycle()) {
            let bytes = text.as_bytes();
            let altered = [&bytes[..at], byte, &bytes[at + 1..]].concat();
            drop(sent(kind, &altered));
        }
    }
}

/// Every value of a document replaced by one of another type.
#[test]
fn a_value_of_another_type_is_no_failure() {
    fn places(value: &Value, at: &str, found: &mut Vec<String>) {
        found.push(at.to_owned());
        match value {
            Value::Array(items) => {
                (0..)
                    .zip(items)
                    .for_each(|(place, item): (usize, _)| places(item, &format!("{at}/{place}"), found));
            }
            Value::Object(members) => {
                for (name, member) in members {
                    places(member, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
                }
            }
            _ => {}
        }
    }
    for (kind, text) in
        samples::ALL.into_iter().filter(|(_, text)| serde_json::from_str::<Value>(text).is_ok())
    {
        let document: Value = serde_json::from_str(text).unwrap();
        let mut all = Vec::new();
        places(&document, "", &mut all);
        for (at, other) in
            all.iter().zip([Value::Null, 5.into(), "x".into(), vec![1].into(), true.into()].iter().cycle())
        {
            let mut altered = document.clone();
            *altered.pointer_mut(at).unwrap() = other.clone();
            drop(sent(kind, altered.to_string().as_bytes()));
        }
    }
}

#[test]
fn a_file_that_is_nested_without_end_or_has_one_endless_record_is_refused() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
    for kind in ["keycloak", "authentik", "firebase", "cognito"] {
        for hostile in [
            format!(
                "{{\"users\":[{}],\"Users\":[{}],\"entries\":[{}]}}",
                deep("[", "]"),
                deep("[", "]"),
                deep("[", "]")
            ),
            format!("{{\"users\":[{}", deep("{\"a\":", "}")),
            format!("{{\"users\":[\"{}\"", "x".repeat(3 << 20)),
        ] {
            assert!(sent(kind, hostile.as_bytes()).is_none_or(|sent| sent.is_empty()), "{kind}");
        }
    }
    let endless = format!("email,name\nann@example.com,\"{}", "x".repeat(3 << 20));
    assert_eq!(sent("csv", endless.as_bytes()), Some(Vec::new()));
}
