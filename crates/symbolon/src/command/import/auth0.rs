//! Auth0's NDJSON: the export with password hashes, and the lines of its export and import jobs.

use std::io::BufReader;

use serde_json::{Value, json};

use super::importer::Importer;
use super::lines::lines;
use super::record::{Entry, Object, hand_on_active, set};
use super::{Reader, open_text};
use crate::command::CommandError;

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
/// Members that hold attributes that the tenant defined. What users may not write themselves goes before.
const METADATA: [&str; 2] = ["app_metadata", "user_metadata"];

/// The users, a line each.
pub(super) fn reader(path: &str) -> Result<Reader, CommandError> {
    let (file, path) = (BufReader::new(open_text(path)?), path.to_owned());
    Ok(Box::new(move |importer: &mut Importer<'_>| {
        for line in lines(file, &path, LONGEST_LINE) {
            let (number, line) = line?;
            importer.user(
                line.map_or_else(|fault| Entry::unreadable(number, fault), |line| entry(number, &line)),
            )?;
        }
        Ok(())
    }))
}

fn entry(number: u64, line: &[u8]) -> Entry {
    match serde_json::from_slice::<Object>(line) {
        Ok(exported) => converted(number, exported),
        // Nothing of serde's message: it can repeat the line, which has a hash.
        Err(error) => {
            Entry::unreadable(number, format!("not a JSON object (column {} of the line)", error.column()))
        }
    }
}

fn converted(place: u64, mut exported: Object) -> Entry {
    let mut user = Object::new();
    for (theirs, ours) in SAME.map(|name| (name, name)).into_iter().chain(RENAMED) {
        set(&mut user, ours, exported.remove(theirs));
    }
    let own_id = exported.remove("user_id").filter(|id| !id.is_null());
    let database_id = exported.remove("_id");
    set(&mut user, "id", own_id.or_else(|| database_id.as_ref().and_then(of_database)));
    hand_on_active(&mut user, "blocked", exported.remove("blocked"));
    let mut entry = Entry::new(place, user);
    if exported.contains_key("custom_password_hash") {
        entry.user =
            Err("custom_password_hash is not read: write the hash in its own form as password_hash".into());
    }
    for member in METADATA {
        if let Some(Value::Object(attributes)) = exported.remove(member) {
            for (name, value) in attributes {
                entry.attribute(&name, &format!("{member}.{name}"), value);
            }
        }
    }
    entry.left_out.extend(exported.into_iter().map(|(member, _)| member));
    entry
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
        let read = lines(text.as_bytes(), "users.ndjson", LONGEST_LINE).map(|line| line.unwrap());
        read.map(|(number, line)| match line {
            Ok(line) => entry(number, &line),
            Err(fault) => Entry::unreadable(number, fault),
        })
        .collect()
    }

    /// As Auth0's documentation shows it.
    const EXPORT: &str = r#"{"_id":{"$oid":"60425dc43519d90068f82973"},"email_verified":false,"email":"test2@example.com","passwordHash":"$2b$10$Z6hUTEEeoJXN5/AmSm/4.eZ75RYgFVriQM9LPhNEC7kbAbS/VAaJ2","password_set_date":{"$date":"2021-03-05T16:35:16.775Z"},"tenant":"dev-rwsbs6ym","connection":"Username-Password-Authentication","_tmp_is_unique":true}"#;

    #[test]
    fn the_export_with_hashes_is_read() {
        let entry = read(EXPORT).remove(0);
        assert_eq!((entry.origin.place, &*entry.origin.name), (1, "test2@example.com"));
        assert_eq!(entry.left_out, ["_tmp_is_unique", "connection", "password_set_date", "tenant"]);
        let wanted = json!({
            "id": "auth0|60425dc43519d90068f82973", "email": "test2@example.com", "email_verified": false,
            "password_hash": "$2b$10$Z6hUTEEeoJXN5/AmSm/4.eZ75RYgFVriQM9LPhNEC7kbAbS/VAaJ2",
        });
        assert_eq!(Value::Object(entry.user.unwrap()), wanted);
    }

    #[test]
    fn lines_of_jobs_are_read() {
        let line = r#"{"user_id":"auth0|7","email":"a@b.example","username":"ann","blocked":true,"nickname":"","picture":null,"user_metadata":{"y":"z","w":""},"app_metadata":{"x":1}}"#;
        let entry = read(&format!("\n{line}\r\n\n")).remove(0);
        assert_eq!(entry.origin.place, 2);
        let wanted =
            json!({ "id": "auth0|7", "email": "a@b.example", "preferred_username": "ann", "blocked": true });
        assert_eq!(Value::Object(entry.user.unwrap()), wanted);
        let [x, y] = &*entry.attributes else { panic!("{:?}", entry.attributes) };
        assert_eq!((&*x.name, &*x.called, &x.value), ("x", "app_metadata.x", &json!(1)));
        assert_eq!((&*y.name, &*y.called, entry.left_out.is_empty()), ("y", "user_metadata.y", true));
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_rest_goes_on() {
        let long = format!(r#"{{"email":"{}"}}"#, "x".repeat(200_000));
        let cut = EXPORT.get(..200).unwrap();
        let custom = r#"{"email":"c@b.example","custom_password_hash":{"algorithm":"md4"}}"#;
        let all = read(&[cut, &long, "[1]", custom, EXPORT].join("\n"));
        let told: Vec<_> =
            all.iter().map(|entry| entry.user.as_ref().err().map(|fault| fault.why.clone())).collect();
        assert!(told[0].as_ref().unwrap().contains("not a JSON object"));
        assert!(told[1].as_ref().unwrap().contains("64 KiB"));
        assert!(told[2].is_some() && told[3].as_ref().unwrap().contains("custom_password_hash"));
        assert_eq!((all.len(), all[4].origin.place, told[4].is_none()), (5, 5, true));
        assert!(!told.iter().flatten().any(|why| why.contains("$2b$")), "no hash is repeated");
    }
}
