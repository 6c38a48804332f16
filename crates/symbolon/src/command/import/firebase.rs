//! The JSON of `firebase auth:export`, and the project's parameters of the hash.

use std::io::Read;

use clap::ArgMatches;
use serde_json::{Map, Value, json};

use super::{Entries, Entry, open, set, unreadable};
use crate::command::CommandError;

/// Members that are a user's here, under another name.
const RENAMED: [(&str, &str); 6] = [
    ("localId", "id"),
    ("email", "email"),
    ("emailVerified", "email_verified"),
    ("displayName", "name"),
    ("photoUrl", "picture"),
    ("phoneNumber", "phone_number"),
];

/// The parameters that a hash is made with, beside the user's own salt.
struct HashConfig {
    mem_cost: u64,
    rounds: u64,
    salt_separator: String,
    signer_key: String,
}

/// The users, in order.
pub(super) fn entries(file: impl Read, path: &str, matches: &ArgMatches) -> Result<Entries, CommandError> {
    let config = match matches.get_one::<String>("hash-config") {
        Some(path) => {
            let mut text = String::new();
            open(path)?.read_to_string(&mut text).map_err(|source| unreadable(path, source))?;
            Some(shown(&text).ok_or_else(|| wrong_config(path))?)
        }
        None => None,
    };
    users(file, path, config)
}

fn users(file: impl Read, path: &str, config: Option<HashConfig>) -> Result<Entries, CommandError> {
    let wrong = |why: &str| CommandError::Usage(format!("{path} is no export of Firebase: {why}"));
    let document: Value = serde_json::from_reader(file).map_err(|error| {
        if error.is_io() {
            return unreadable(path, error.into());
        }
        wrong(&format!("it is not JSON at line {}, column {}", error.line(), error.column()))
    })?;
    let Value::Object(mut document) = document else { return Err(wrong("it is not an object")) };
    let config = match (config, document.remove("hash_config")) {
        (None, Some(own)) => Some(of_json(&own).ok_or_else(|| wrong_config(path))?),
        (config, _) => config,
    };
    let Some(Value::Array(users)) = document.remove("users") else {
        return Err(wrong("it has no list `users`"));
    };
    Ok(Box::new((1..).zip(users).map(move |(number, user)| Ok(entry(number, user, config.as_ref())))))
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
    let number = |name: &str| {
        let value = members.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    };
    Some(HashConfig {
        mem_cost: number("mem_cost")?,
        rounds: number("rounds")?,
        salt_separator: text("base64_salt_separator")?,
        signer_key: text("base64_signer_key")?,
    })
}

fn entry(place: u64, user: Value, config: Option<&HashConfig>) -> Entry {
    let Value::Object(mut exported) = user else { return Entry::unreadable(place, "not an object") };
    let mut user = Map::new();
    for (theirs, ours) in RENAMED {
        set(&mut user, ours, exported.remove(theirs));
    }
    if exported.remove("disabled") == Some(json!(true)) {
        user.insert("active".to_owned(), json!(false));
    }
    let name = ["email", "phone_number", "id"].iter().find_map(|member| user.get(*member)?.as_str());
    let name = name.unwrap_or_default().to_owned();
    let mut part = |member: &str| match exported.remove(member) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    let hash = match (part("passwordHash"), part("salt"), config) {
        (None, _, _) => Ok(None),
        (Some(_), None, _) => Err("passwordHash has no salt beside it".to_owned()),
        (Some(_), Some(_), None) => {
            Err("the project's password hash parameters are needed: name them by --hash-config".to_owned())
        }
        (Some(hash), Some(salt), Some(config)) => Ok(Some(json!(own_form(config, &salt, &hash)))),
    };
    let left_out =
        exported.into_iter().filter(|(_, value)| !is_empty(value)).map(|(member, _)| member).collect();
    let user = hash.map(|hash| {
        set(&mut user, "password_hash", hash);
        user
    });
    Entry { place, name, user, left_out }
}

/// The hash with all that its verification needs (docs/reference/password-hashes.md).
fn own_form(config: &HashConfig, salt: &str, hash: &str) -> String {
    let HashConfig { mem_cost, rounds, salt_separator, signer_key } = config;
    format!(
        "$firebase-scrypt$mem_cost={mem_cost},rounds={rounds},salt_separator={salt_separator},signer_key={signer_key}\
         ${salt}${hash}"
    )
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty) || value.as_str() == Some("")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the console shows it.
    const SHOWN: &str = "hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: jxspr8Ki==,\n  \
                         base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 14,\n}\n";

    fn read(document: &Value, config: Option<HashConfig>) -> Vec<Entry> {
        let text = document.to_string();
        let read = users(text.as_bytes(), "users.json", config).unwrap_or_else(|error| panic!("{error}"));
        read.map(|entry| entry.unwrap_or_else(|error| panic!("{error}"))).collect()
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
            (entry.place, &*entry.name, &*entry.left_out),
            (1, "a@b.example", &["createdAt".to_owned()][..])
        );
        let wanted = json!({
            "id": "uid1", "email": "a@b.example", "email_verified": true, "name": "Ann", "active": false,
            "password_hash": "$firebase-scrypt$mem_cost=14,rounds=8,salt_separator=Bw==,signer_key=jxspr8Ki==$42xEC+ixf3L2lw==$lSrf+/==",
        });
        assert_eq!(Value::Object(entry.user.unwrap()), wanted);
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
        let told = |number: usize| all[number].user.as_ref().err().cloned().unwrap_or_default();
        assert!(told(0).contains("--hash-config") && told(1).contains("salt"), "{}", told(1));
        assert_eq!((told(2), &*told(3)), (String::new(), "not an object"));
        for text in ["", "{", "[]", "{}", r#"{"users":{}}"#] {
            let refused = users(text.as_bytes(), "x.json", None).err().unwrap();
            assert!(refused.to_string().contains("x.json is no export of Firebase"), "{refused}");
        }
    }
}
