//! The JSON of `firebase auth:export`, and the project's parameters of the hash.

use std::io::Read;

use clap::ArgMatches;
use serde_json::{Map, Value, json};

use super::importer::Importer;
use super::json_stream::{self, Members, USER, Wanted};
use super::record::{Entry, Fault, Object, hand_on_active, is_empty, number, set, take_text};
use super::{Reader, check_readable_again, open_text, unreadable};
use crate::command::{CommandError, given};

/// Members that are a user's here, under another name.
const RENAMED: [(&str, &str); 6] = [
    ("localId", "id"),
    ("email", "email"),
    ("emailVerified", "email_verified"),
    ("displayName", "name"),
    ("photoUrl", "picture"),
    ("phoneNumber", "phone_number"),
];

/// The member that has the custom claims.
const CLAIMS: &str = "customAttributes";

/// The parameters that a hash is made with, beside the user's own salt.
struct HashConfig {
    mem_cost: u64,
    rounds: u64,
    salt_separator: String,
    signer_key: String,
}

/// The users, in order.
pub(super) fn reader(matches: &ArgMatches) -> Result<Reader, CommandError> {
    let path = given(matches, "file").to_owned();
    let config = match matches.get_one::<String>("hash-config") {
        Some(path) => {
            let mut text = String::new();
            open_text(path)?.read_to_string(&mut text).map_err(|source| unreadable(path, source))?;
            Some(shown(&text).ok_or_else(|| wrong_config(path))?)
        }
        None => None,
    };
    check_readable_again(&path)?;
    // Read once for the parameters, which may stand behind the users, and to see that the file is whole.
    let mut head = Head::default();
    json_stream::read(&path, &mut head).map_err(|error| no_export(&path, error))?;
    let config = checked(&path, head, config)?;
    Ok(Box::new(move |importer: &mut Importer<'_>| json_stream::read(&path, &mut Users { importer, config })))
}

fn no_export(path: &str, error: CommandError) -> CommandError {
    match error {
        CommandError::Usage(why) => CommandError::Usage(format!("{path} is no export of Firebase: {why}")),
        error => error,
    }
}

fn checked(path: &str, head: Head, config: Option<HashConfig>) -> Result<Option<HashConfig>, CommandError> {
    if !head.has_users {
        let why = CommandError::Usage("it has no list `users`".to_owned());
        return Err(no_export(path, why));
    }
    match (config, head.hash_config) {
        (None, Some(own)) => Ok(Some(of_json(&own).ok_or_else(|| wrong_config(path))?)),
        (config, _) => Ok(config),
    }
}

/// What stands beside the users.
#[derive(Default)]
struct Head {
    hash_config: Option<Value>,
    has_users: bool,
}

impl Members for Head {
    fn wanted(&self, name: &str) -> Wanted {
        match name {
            "hash_config" => Wanted::Whole(USER),
            "users" => Wanted::List,
            _ => Wanted::Nothing,
        }
    }

    fn whole(&mut self, _: &str, value: Value) -> Result<(), CommandError> {
        self.hash_config = Some(value);
        Ok(())
    }

    fn begun(&mut self, _: &str) {
        self.has_users = true;
    }
}

struct Users<'i, 'a> {
    importer: &'i mut Importer<'a>,
    config: Option<HashConfig>,
}

impl Members for Users<'_, '_> {
    fn wanted(&self, name: &str) -> Wanted {
        if name == "users" { Wanted::Elements(USER) } else { Wanted::Nothing }
    }

    fn element(&mut self, _: &str, number: u64, user: Value) -> Result<(), CommandError> {
        self.importer.user(entry(number, user, self.config.as_ref()))
    }
}

fn wrong_config(path: &str) -> CommandError {
    CommandError::Usage(format!(
        "{path} has no whole password hash parameters: base64_signer_key, base64_salt_separator, rounds and mem_cost"
    ))
}

/// The parameters as the console shows them: `name: value` in lines, with commas or without.
fn shown(text: &str) -> Option<HashConfig> {
    if let Ok(document) = serde_json::from_str::<Value>(text) {
        return of_json(document.get("hash_config").unwrap_or(&document));
    }
    let mut members = Map::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim().trim_end_matches(',').trim_matches('"');
        members.insert(name.trim().trim_matches('"').to_owned(), json!(value));
    }
    of_json(&Value::Object(members))
}

fn of_json(members: &Value) -> Option<HashConfig> {
    let text = |name: &str| members.get(name)?.as_str().map(str::to_owned);
    let count = |name: &str| members.get(name).and_then(number);
    Some(HashConfig {
        mem_cost: count("mem_cost")?,
        rounds: count("rounds")?,
        salt_separator: text("base64_salt_separator")?,
        signer_key: text("base64_signer_key")?,
    })
}

fn entry(place: u64, user: Value, config: Option<&HashConfig>) -> Entry {
    let Value::Object(mut exported) = user else { return Entry::unreadable(place, "not an object") };
    let mut user = Object::new();
    for (theirs, ours) in RENAMED {
        set(&mut user, ours, exported.remove(theirs));
    }
    hand_on_active(&mut user, "disabled", exported.remove("disabled"));
    let hash = match (take_text(&mut exported, "passwordHash"), take_text(&mut exported, "salt"), config) {
        (None, _, _) => Ok(None),
        (Some(_), None, _) => Err(Fault::from("passwordHash has no salt beside it")),
        (Some(_), Some(_), None) => {
            Err(Fault::new("the project's password hash parameters are needed", "name them by --hash-config"))
        }
        (Some(hash), Some(salt), Some(config)) => Ok(Some(json!(own_form(config, &salt, &hash)))),
    };
    let mut entry = Entry::new(place, user);
    match (hash, &mut entry.user) {
        (Ok(hash), Ok(user)) => set(user, "password_hash", hash),
        (Err(fault), user) => *user = Err(fault),
        (Ok(_), Err(_)) => {}
    }
    claims(&mut exported, &mut entry);
    let left_out = exported.into_iter().filter(|(_, value)| !is_empty(value)).map(|(member, _)| member);
    entry.left_out.extend(left_out);
    entry
}

/// Reads the custom claims, which are a JSON text. One that is no object stays what it is.
fn claims(exported: &mut Object, entry: &mut Entry) {
    let text = exported.get(CLAIMS).and_then(Value::as_str).unwrap_or_default();
    let Ok(claims) = serde_json::from_str::<Object>(text) else { return };
    exported.remove(CLAIMS);
    for (name, value) in claims {
        entry.attribute(&name, &format!("{CLAIMS}.{name}"), value);
    }
}

/// The hash with all that its verification needs (docs/reference/password-hashes.md).
fn own_form(config: &HashConfig, salt: &str, hash: &str) -> String {
    let HashConfig { mem_cost, rounds, salt_separator, signer_key } = config;
    format!(
        "$firebase-scrypt$mem_cost={mem_cost},rounds={rounds},salt_separator={salt_separator},signer_key={signer_key}\
         ${salt}${hash}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the console shows it.
    const SHOWN: &str = "hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: jxspr8Ki==,\n  \
                         base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 14,\n}\n";

    fn config_in(text: &str, config: Option<HashConfig>) -> Result<Option<HashConfig>, CommandError> {
        let mut head = Head::default();
        json_stream::read_from(text.as_bytes(), "x.json", &mut head)
            .map_err(|error| no_export("x.json", error))?;
        checked("x.json", head, config)
    }

    fn read(document: &Value, config: Option<HashConfig>) -> Vec<Entry> {
        let config = config_in(&document.to_string(), config).unwrap();
        let users = document["users"].as_array().unwrap().iter().cloned();
        (1..).zip(users).map(|(number, user)| entry(number, user, config.as_ref())).collect()
    }

    fn exported() -> Value {
        json!({
            "localId": "uid1", "email": "a@b.example", "emailVerified": true, "passwordHash": "lSrf+/==",
            "salt": "42xEC+ixf3L2lw==", "displayName": "Ann", "disabled": true, "createdAt": "1609459200000",
            "providerUserInfo": [], "phoneNumber": "",
        })
    }

    #[test]
    fn a_user_is_read_with_the_projects_parameters() {
        let entry = read(&json!({ "users": [exported()] }), shown(SHOWN)).remove(0);
        assert_eq!(
            (entry.origin.place, &*entry.origin.name, &*entry.left_out),
            (1, "a@b.example", &["createdAt".to_owned()][..])
        );
        let wanted = json!({
            "id": "uid1", "email": "a@b.example", "email_verified": true, "name": "Ann", "disabled": true,
            "password_hash": "$firebase-scrypt$mem_cost=14,rounds=8,salt_separator=Bw==,signer_key=jxspr8Ki==$42xEC+ixf3L2lw==$lSrf+/==",
        });
        assert_eq!(Value::Object(entry.user.unwrap()), wanted);
    }

    #[test]
    fn custom_claims_are_attributes() {
        let entry_of = |claims: &str| {
            let user = json!({ "localId": "1", "customAttributes": claims });
            read(&json!({ "users": [user] }), None).remove(0)
        };
        let entry = entry_of(r#"{"role":"editor","level":5,"none":null}"#);
        let named: Vec<_> = entry.attributes.iter().map(|own| (&*own.name, &*own.called)).collect();
        assert_eq!(named, [("level", "customAttributes.level"), ("role", "customAttributes.role")]);
        assert!(entry.left_out.is_empty());
        for other in ["{", "[1]", "5"] {
            let entry = entry_of(other);
            assert!(entry.attributes.is_empty() && entry.left_out == ["customAttributes"], "{other}");
        }
    }

    #[test]
    fn the_parameters_may_stand_in_the_file() {
        let config = json!({
            "base64_signer_key": "a", "base64_salt_separator": "b", "rounds": 8, "mem_cost": 14,
        });
        let hash_of = |document: &Value, config| {
            let user = read(document, config).remove(0).user.unwrap();
            user["password_hash"].as_str().unwrap().to_owned()
        };
        let document = json!({ "users": [exported()], "hash_config": config });
        assert!(hash_of(&document, None).contains("signer_key=a$"));
        assert!(hash_of(&document, shown(SHOWN)).contains("jxspr8Ki"), "the option goes before");
        assert!(shown(&config.to_string()).is_some() && shown("rounds: 8").is_none() && shown("").is_none());
    }

    #[test]
    fn who_cannot_be_read_is_told_apart() {
        let mut no_salt = exported();
        no_salt.as_object_mut().unwrap().remove("salt");
        let bare = json!({ "localId": "uid2", "email": "b@b.example" });
        let all = read(&json!({ "users": [exported(), no_salt, bare, 7] }), None);
        let told = |number: usize| {
            all[number]
                .user
                .as_ref()
                .err()
                .map(|fault| format!("{}; {}", fault.why, fault.mend))
                .unwrap_or_default()
        };
        assert!(told(0).contains("--hash-config") && told(1).contains("salt"), "{}", told(1));
        assert_eq!((told(2), &*told(3)), (String::new(), "not an object; "));
        for text in ["", "{", "[]", "{}", r#"{"users":{}}"#] {
            let refused = config_in(text, None).err().unwrap();
            assert!(refused.to_string().contains("x.json is no export of Firebase"), "{refused}");
        }
    }
}
