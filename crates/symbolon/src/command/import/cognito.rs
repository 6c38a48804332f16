//! The users of a Cognito user pool: what `aws cognito-idp list-users` prints, or a table with the header of the pool.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use super::importer::Importer;
use super::json_stream::{self, Members, USER, Wanted};
use super::record::{Entry, Object, Origin, hand_on_active, set, take_text};
use super::table::{self, Column};
use super::{Reader, check_readable_again, open_text, unreadable};
use crate::command::CommandError;

/// What the report says once.
const NO_PASSWORDS: &str = "Cognito exports no passwords: users come in without one, and set one by a mail or by you \
                            (symbolon user set-password)";

/// Attributes that are true or false, as texts.
const FLAGS: [&str; 2] = ["email_verified", "phone_number_verified"];

/// Columns that say nothing that matters here.
const SILENT: [&str; 4] =
    ["cognito:mfa_enabled", "updated_at", "phone_number_mfa_enabled", "cognito:user_status"];

/// The users, of either kind of file.
pub(super) fn reader(path: &str) -> Result<Reader, CommandError> {
    let mut file = BufReader::new(open_text(path)?);
    if !is_json(&mut file, path)? {
        let entries = table::rows(file, path, columns)?;
        return Ok(Box::new(move |importer: &mut Importer<'_>| {
            importer.report.note(NO_PASSWORDS);
            for entry in entries {
                importer.user(without_alias(entry?))?;
            }
            Ok(())
        }));
    }
    check_readable_again(path)?;
    // Once to see that the file is whole, and has users.
    let mut head = Head::default();
    json_stream::read(path, &mut head)?;
    if !head.has_users {
        return Err(CommandError::Usage(format!("{path} is no export of Cognito: it has no list `Users`")));
    }
    let path = path.to_owned();
    Ok(Box::new(move |importer: &mut Importer<'_>| {
        importer.report.note(NO_PASSWORDS);
        json_stream::read(&path, &mut Users { importer })
    }))
}

/// Whether a file begins as JSON does.
fn is_json(file: &mut impl BufRead, path: &str) -> Result<bool, CommandError> {
    let head = file.fill_buf().map_err(|source| unreadable(path, source))?;
    Ok(matches!(head.trim_ascii_start().first(), Some(b'{' | b'[')))
}

/// What the columns of a pool's header are.
fn columns(names: &[&str]) -> Result<Vec<Column>, CommandError> {
    let column = |name: &&str| match *name {
        "cognito:username" => Column::Text("preferred_username"),
        "sub" => Column::Text("id"),
        "enabled" | "Enabled" => Column::Flag("active"),
        name if SILENT.contains(&name) => Column::LeftOut,
        // A user name that the person chose stands beside that of the pool: it is only taken where there is none.
        "preferred_username" => Column::LeftOut,
        name => Column::named(name)
            .filter(|column| *column != Column::Text("password_hash"))
            .unwrap_or_else(|| Column::Attribute { name: bare(name).to_owned(), called: name.to_owned() }),
    };
    let columns: Vec<Column> = names.iter().map(column).collect();
    if names.iter().any(|name| matches!(*name, "email" | "cognito:username" | "sub")) {
        return Ok(columns);
    }
    let why = "has neither the column email nor cognito:username, so it is no export of Cognito";
    Err(CommandError::Usage(format!("the file {why} (symbolon import csv takes other tables)")))
}

/// The name of an attribute without what the pool puts before those that it defines itself.
fn bare(name: &str) -> &str {
    name.strip_prefix("dev:").unwrap_or(name).strip_prefix("custom:").unwrap_or(name)
}

/// Whether the document has users.
#[derive(Default)]
struct Head {
    has_users: bool,
}

impl Members for Head {
    fn wanted(&self, name: &str) -> Wanted {
        if matches!(name, "Users" | "") { Wanted::List } else { Wanted::Nothing }
    }

    fn begun(&mut self, _: &str) {
        self.has_users = true;
    }
}

struct Users<'i, 'a> {
    importer: &'i mut Importer<'a>,
}

impl Members for Users<'_, '_> {
    fn wanted(&self, name: &str) -> Wanted {
        if matches!(name, "Users" | "") { Wanted::Elements(USER) } else { Wanted::Nothing }
    }

    fn element(&mut self, _: &str, number: u64, value: Value) -> Result<(), CommandError> {
        self.importer.user(entry(number, value))
    }
}

fn entry(place: u64, user: Value) -> Entry {
    let Value::Object(mut exported) = user else { return Entry::unreadable(place, "not an object") };
    let mut entry = Entry::new(place, Object::new());
    let mut user = Object::new();
    set(&mut user, "preferred_username", exported.remove("Username"));
    hand_on_active(&mut user, "enabled", exported.remove("Enabled"));
    // `admin-get-user` calls them otherwise.
    let attributes = exported.remove("Attributes").or_else(|| exported.remove("UserAttributes"));
    for attribute in attributes.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let text = |member: &str| attribute.get(member).and_then(Value::as_str).unwrap_or_default();
        let (name, value) = (text("Name"), text("Value"));
        match name {
            "sub" => set(&mut user, "id", Some(json!(value))),
            name if FLAGS.contains(&name) => set(&mut user, name, Some(json!(value == "true"))),
            "address" => set(&mut user, "address", Some(json!({ "formatted": value }))),
            "preferred_username" if user.contains_key("preferred_username") => {}
            "updated_at" => {}
            name => match Column::named(name) {
                Some(Column::Text(member)) if member != "password_hash" => {
                    set(&mut user, member, Some(json!(value)))
                }
                _ => entry.attribute(bare(name), name, json!(value)),
            },
        }
    }
    for (member, value) in exported {
        if matches!(&*member, "UserMFASettingList" | "MFAOptions") && !super::record::is_empty(&value) {
            entry.left_out.push(member);
        }
    }
    entry.origin = Origin::of_user(place, &user);
    entry.user = Ok(user);
    without_alias(entry)
}

/// Takes away a user name that nobody types: pools whose users sign in by e-mail address draw one, which is the id.
fn without_alias(mut entry: Entry) -> Entry {
    if let Ok(user) = &mut entry.user
        && user
            .get("preferred_username")
            .is_some_and(|name| Some(name) == user.get("id") || Some(name) == user.get("email"))
        && user.contains_key("email")
    {
        drop(take_text(user, "preferred_username"));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::import::testing::{Noted, file};

    fn import(text: &str) -> (Vec<Value>, Value) {
        let (_file, path) = file(text);
        let server = Noted::default();
        let read = reader(&path).unwrap();
        let (done, report) = server.import(false, |importer| read(importer));
        assert_eq!(done, Ok(()));
        (server.to("/users/bulk"), report)
    }

    #[test]
    fn what_list_users_prints_is_read() {
        let attributes = json!([
            { "Name": "sub", "Value": "0f1e" }, { "Name": "email", "Value": "ann@example.com" },
            { "Name": "email_verified", "Value": "true" }, { "Name": "custom:tenant", "Value": "x" },
            { "Name": "address", "Value": "Vienna" }, { "Name": "given_name", "Value": "Ann" },
        ]);
        let document = json!({ "Users": [
            { "Username": "0f1e", "Attributes": attributes, "Enabled": false, "UserStatus": "CONFIRMED", "UserCreateDate": 1.5 },
            { "Username": "bob", "Attributes": [{ "Name": "sub", "Value": "2" }, { "Name": "preferred_username", "Value": "bobby" }] },
            7,
        ] });
        let (users, report) = import(&document.to_string());
        let ann = json!({
            "id": "0f1e", "email": "ann@example.com", "email_verified": true, "address": { "formatted": "Vienna" },
            "given_name": "Ann", "enabled": false,
        });
        assert_eq!(users, [ann, json!({ "id": "2", "preferred_username": "bob" })]);
        assert_eq!(report["left_out"], json!({ "attribute custom:tenant": 1 }));
        assert!(report["notes"][0].as_str().unwrap().contains("no passwords"));
        assert_eq!(report["not_taken"][0]["reason"], "not an object");
    }

    #[test]
    fn a_table_with_the_header_of_the_pool_is_read() {
        let text = "cognito:username,email,email_verified,custom:tenant,cognito:mfa_enabled,sub,updated_at,name\n\
                    ann,ann@example.com,TRUE,x,false,0f1e,1600000000,Ann\n0f2e,bob@example.com,,,,0f2e,,\n";
        let (users, report) = import(text);
        let ann = json!({
            "id": "0f1e", "email": "ann@example.com", "email_verified": true, "preferred_username": "ann", "name": "Ann",
        });
        assert_eq!(users, [ann, json!({ "id": "0f2e", "email": "bob@example.com" })]);
        assert_eq!(report["left_out"], json!({ "attribute custom:tenant": 1 }));
    }

    #[test]
    fn another_file_is_refused_before_anything_is_sent() {
        let told = |text: &str| {
            let (_file, path) = file(text);
            reader(&path).err().map(|error| error.to_string()).unwrap()
        };
        assert!(told("a,b\n1,2\n").contains("no export of Cognito"));
        assert!(told("{\"Users\": [").contains("cut off"));
        for other in ["{}", "{\"users\":[]}", "{\"UserPools\":[{}]}"] {
            assert!(told(other).contains("it has no list `Users`"), "{other}");
        }
        assert!(import("{\"Users\":[]}").0.is_empty());
        assert_eq!(import("[{\"Username\":\"ann\"}]").0.len(), 1, "the list alone");
    }
}
