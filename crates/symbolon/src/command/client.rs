//! `symbolon client`.

use std::fs;
use std::io::Read;

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value};

use super::api::{Api, segment};
use super::output::{Column, facts, print, table};
use super::{CommandError, failure, given};
use crate::cli::about_an_issuer;

/// Flags that set one text member of the metadata (RFC 7591 2).
const TEXTS: [(&str, &str, &str, &str); 4] = [
    ("name", "client_name", "NAME", "Name that people are shown"),
    ("client-id", "client_id", "ID", "Its id; drawn where none is given"),
    ("scope", "scope", "SCOPES", "Scopes that it may ask for, separated by spaces"),
    (
        "auth-method",
        "token_endpoint_auth_method",
        "METHOD",
        "client_secret_basic, client_secret_post, private_key_jwt or none",
    ),
];

/// Flags that may be given more than once.
const LISTS: [(&str, &str, &str, &str); 4] = [
    ("redirect-uri", "redirect_uris", "URI", "Where codes may go; may be given more than once"),
    (
        "post-logout-redirect-uri",
        "post_logout_redirect_uris",
        "URI",
        "Where a logout may end; may be given more than once",
    ),
    (
        "grant-type",
        "grant_types",
        "TYPE",
        "What it may use at the token endpoint; may be given more than once",
    ),
    (
        "audience",
        "audiences",
        "AUDIENCE",
        "An audience that it stands for at introspection; may be given more than once",
    ),
];

const SWITCHES: [(&str, &str, &str); 2] = [
    ("skip-consent", "skip_consent", "Do not ask users for their consent"),
    ("token-exchange", "token_exchange_allowed", "It may exchange tokens"),
];

pub(super) fn command() -> Command {
    let metadata = Arg::new("metadata")
        .long("metadata")
        .value_name("FILE")
        .help("JSON object of metadata by the names of RFC 7591, - for standard input; flags win over it");
    let mut create = Command::new("create").about("Register a client").arg(metadata);
    for (flag, _, value, help) in TEXTS {
        create = create.arg(Arg::new(flag).long(flag).value_name(value).help(help));
    }
    for (flag, _, value, help) in LISTS {
        create = create.arg(Arg::new(flag).long(flag).value_name(value).help(help).action(ArgAction::Append));
    }
    for (flag, _, help) in SWITCHES {
        create = create.arg(Arg::new(flag).long(flag).help(help).action(ArgAction::SetTrue));
    }
    let search =
        Arg::new("search").long("search").value_name("TEXT").help("Only those whose id or name has it");
    Command::new("client")
        .about("Register and list clients")
        .subcommand_required(true)
        .subcommand(about_an_issuer(create))
        .subcommand(about_an_issuer(Command::new("list").about("List clients").arg(search)))
        .subcommand(failure::why_command())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("list", matches)) => list(matches),
        Some(("why", matches)) => failure::why(matches),
        _ => Ok(()),
    }
}

/// The metadata from the file and the flags.
fn metadata(matches: &ArgMatches) -> Result<Value, CommandError> {
    let mut metadata = match matches.get_one::<String>("metadata") {
        Some(path) => from_file(path)?,
        None => Map::new(),
    };
    for (flag, member, ..) in TEXTS {
        if let Some(text) = matches.get_one::<String>(flag) {
            metadata.insert(member.to_owned(), Value::from(text.as_str()));
        }
    }
    for (flag, member, ..) in LISTS {
        if let Some(texts) = matches.get_many::<String>(flag) {
            metadata.insert(member.to_owned(), texts.map(String::as_str).collect());
        }
    }
    for (flag, member, _) in SWITCHES {
        if matches.get_flag(flag) {
            metadata.insert(member.to_owned(), Value::Bool(true));
        }
    }
    Ok(Value::Object(metadata))
}

fn from_file(path: &str) -> Result<Map<String, Value>, CommandError> {
    let mut text = String::new();
    let read = if path == "-" {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        fs::read_to_string(path).map(|whole| text = whole)
    };
    read.map_err(|source| CommandError::File { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|error| CommandError::Usage(format!("{path}: {error}")))
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 6] = [
        ("client_id", "client_id"),
        ("client_secret", "client_secret"),
        ("client_name", "client_name"),
        ("redirect_uris", "redirect_uris"),
        ("grant_types", "grant_types"),
        ("scope", "scope"),
    ];
    let body = metadata(matches)?;
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::POST, "/clients", Some(&body))?;
    api.close()?;
    let client = answer.get("client").unwrap_or(&Value::Null);
    let told = |client: &Value| {
        let secret = client.get("client_secret").is_some();
        let once = if secret { "The secret is shown this once: it is stored as a digest.\n" } else { "" };
        format!("{}{once}", facts(&SHOWN, client))
    };
    Ok(print(matches, client, told)?)
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    const COLUMNS: [Column; 4] = [
        ("CLIENT_ID", "client_id"),
        ("NAME", "client_name"),
        ("AUTHENTICATION", "token_endpoint_auth_method"),
        ("GRANT_TYPES", "grant_types"),
    ];
    let search = given(matches, "search");
    let query = if search.is_empty() { String::new() } else { format!("&search={}", segment(search)) };
    let api = Api::reach(matches)?;
    let clients = api.list("/clients", "clients", &query)?;
    api.close()?;
    Ok(print(matches, &Value::Array(clients), |all| {
        table(&COLUMNS, all.as_array().map_or(&[], Vec::as_slice))
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(arguments: &[&str]) -> Result<Value, CommandError> {
        let all = ["client", "create"].iter().chain(arguments);
        let matches = command().try_get_matches_from(all).unwrap();
        metadata(matches.subcommand_matches("create").unwrap())
    }

    #[test]
    fn flags_become_metadata_and_win_over_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("client.json");
        fs::write(&file, r#"{"client_name":"Old","software_id":"x","skip_consent":false}"#).unwrap();
        let arguments = [
            "--metadata",
            file.to_str().unwrap(),
            "--name",
            "New",
            "--redirect-uri",
            "https://a.example/cb",
            "--redirect-uri",
            "https://b.example/cb",
            "--skip-consent",
        ];
        assert_eq!(
            of(&arguments).unwrap(),
            json!({
                "client_name": "New",
                "software_id": "x",
                "skip_consent": true,
                "redirect_uris": ["https://a.example/cb", "https://b.example/cb"],
            })
        );
    }

    #[test]
    fn what_is_not_an_object_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("client.json");
        for text in ["[]", "{", "\"x\""] {
            fs::write(&file, text).unwrap();
            let error = of(&["--metadata", file.to_str().unwrap()]).unwrap_err();
            assert!(matches!(&error, CommandError::Usage(why) if why.contains("client.json")), "{error}");
        }
        assert!(matches!(of(&["--metadata", "/nonexistent"]), Err(CommandError::File { .. })));
    }
}
