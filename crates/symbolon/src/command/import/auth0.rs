//! Auth0's NDJSON: the export with password hashes, and the lines of its export and import jobs.

use std::io::{BufRead, Read};

use serde_json::{Map, Value, json};

use super::{Entries, Entry, set, unreadable};

/// The longest line that is read. The admin API takes no longer one either.
const LONGEST_LINE: u64 = 64 << 10;

/// Members that are a user's here, by the same name.
const SAME: [&str; 7] =
    ["email", "email_verified", "name", "given_name", "family_name", "nickname", "phone_number"];
/// Members of other names.
const RENAMED: [(&str, &str); 4] = [
    ("picture", "picture"),
    ("username", "preferred_username"),
    ("passwordHash", "password_hash"),
    ("password_hash", "password_hash"),
];

/// The users, a line each.
pub(super) fn entries(mut file: impl BufRead + 'static, path: &str) -> Entries {
    let path = path.to_owned();
    let mut number = 0;
    Box::new(std::iter::from_fn(move || {
        loop {
            let mut line = Vec::new();
            match file.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Ok(_) => number += 1,
                Err(source) => return Some(Err(unreadable(&path, source))),
            }
            if line.len() as u64 > LONGEST_LINE && !line.ends_with(b"\n") {
                return Some(match skip_line(&mut file) {
                    Ok(()) => Ok(Entry::unreadable(number, "the line is longer than 64 KiB")),
                    Err(source) => Err(unreadable(&path, source)),
                });
            }
            if !line.trim_ascii().is_empty() {
                return Some(Ok(entry(number, &line)));
            }
        }
    }))
}

/// Reads to the end of the line, in pieces that are not kept.
fn skip_line(file: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let piece = file.fill_buf()?;
        let (length, is_end) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        file.consume(length);
        if is_end {
            return Ok(());
        }
    }
}

fn entry(number: u64, line: &[u8]) -> Entry {
    match serde_json::from_slice::<Map<String, Value>>(line) {
        Ok(exported) => converted(number, exported),
        // Nothing of serde's message: it can repeat the line, which has a hash.
        Err(error) => {
            Entry::unreadable(number, format!("not a JSON object (column {} of the line)", error.column()))
        }
    }
}

fn converted(place: u64, mut exported: Map<String, Value>) -> Entry {
    let mut user = Map::new();
    for (theirs, ours) in SAME.map(|name| (name, name)).into_iter().chain(RENAMED) {
        set(&mut user, ours, exported.remove(theirs));
    }
    let own_id = exported.remove("user_id").filter(|id| !id.is_null());
    let database_id = exported.remove("_id");
    set(&mut user, "id", own_id.or_else(|| database_id.as_ref().and_then(of_database)));
    if exported.remove("blocked") == Some(Value::Bool(true)) {
        user.insert("active".to_owned(), json!(false));
    }
    let name = ["email", "preferred_username", "id"].iter().find_map(|member| user.get(*member)?.as_str());
    let name = name.unwrap_or_default().to_owned();
    let user = if exported.contains_key("custom_password_hash") {
        Err("custom_password_hash is not read: write the hash in its own form as password_hash".to_owned())
    } else {
        Ok(user)
    };
    Entry { place, name, user, left_out: exported.into_iter().map(|(member, _)| member).collect() }
}

/// The `sub` of a user of Auth0's own database: `auth0|` and the id in it.
fn of_database(id: &Value) -> Option<Value> {
    let text = id.as_str().or_else(|| id.get("$oid")?.as_str())?;
    Some(json!(format!("auth0|{text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Entry> {
        let file = std::io::Cursor::new(text.as_bytes().to_vec());
        entries(file, "users.ndjson").map(|entry| entry.unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    /// As Auth0's documentation shows it.
    const EXPORT: &str = r#"{"_id":{"$oid":"60425dc43519d90068f82973"},"email_verified":false,"email":"test2@example.com","passwordHash":"$2b$10$Z6hUTEEeoJXN5/AmSm/4.eZ75RYgFVriQM9LPhNEC7kbAbS/VAaJ2","password_set_date":{"$date":"2021-03-05T16:35:16.775Z"},"tenant":"dev-rwsbs6ym","connection":"Username-Password-Authentication","_tmp_is_unique":true}"#;

    #[test]
    fn the_export_with_hashes_is_read() {
        let entry = read(EXPORT).remove(0);
        assert_eq!((entry.place, &*entry.name), (1, "test2@example.com"));
        assert_eq!(entry.left_out, ["_tmp_is_unique", "connection", "password_set_date", "tenant"]);
        let wanted = json!({
            "id": "auth0|60425dc43519d90068f82973", "email": "test2@example.com", "email_verified": false,
            "password_hash": "$2b$10$Z6hUTEEeoJXN5/AmSm/4.eZ75RYgFVriQM9LPhNEC7kbAbS/VAaJ2",
        });
        assert_eq!(Value::Object(entry.user.unwrap()), wanted);
    }

    #[test]
    fn lines_of_jobs_are_read() {
        let line = r#"{"user_id":"auth0|7","email":"a@b.example","username":"ann","blocked":true,"nickname":"","picture":null,"app_metadata":{"x":1}}"#;
        let entry = read(&format!("\n{line}\r\n\n")).remove(0);
        assert_eq!(entry.place, 2);
        let wanted =
            json!({ "id": "auth0|7", "email": "a@b.example", "preferred_username": "ann", "active": false });
        assert_eq!(Value::Object(entry.user.unwrap()), wanted);
        assert_eq!(entry.left_out, ["app_metadata"]);
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_rest_goes_on() {
        let long = format!(r#"{{"email":"{}"}}"#, "x".repeat(200_000));
        let cut = EXPORT.get(..200).unwrap();
        let custom = r#"{"email":"c@b.example","custom_password_hash":{"algorithm":"md4"}}"#;
        let all = read(&[cut, &long, "[1]", custom, EXPORT].join("\n"));
        let told: Vec<_> = all.iter().map(|entry| entry.user.as_ref().err().cloned()).collect();
        assert!(told[0].as_ref().unwrap().contains("not a JSON object"));
        assert!(told[1].as_ref().unwrap().contains("64 KiB"));
        assert!(told[2].is_some() && told[3].as_ref().unwrap().contains("custom_password_hash"));
        assert_eq!((all.len(), all[4].place, told[4].is_none()), (5, 5, true));
        assert!(!told.iter().flatten().any(|why| why.contains("$2b$")), "no hash is repeated");
    }
}
