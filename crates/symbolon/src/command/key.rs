//! `symbolon keys`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};
use symbolon_crypto::seal::SealError;

use super::api::{Api, segment};
use super::output::{Column, facts, print, table};
use super::{CommandError, confirm, given};
use crate::cli::{self, about_an_issuer, administration};
use crate::process::secrets;

const COLUMNS: [Column; 5] = [
    ("KID", "kid"),
    ("ALGORITHM", "algorithm"),
    ("STATE", "state"),
    ("SIGNS FROM", "signs_from"),
    ("REASON", "reason"),
];

pub(super) fn command() -> Command {
    let algorithm = Arg::new("algorithm")
        .long("algorithm")
        .value_name("ALGORITHM")
        .help("RS256, PS256, ES256 or EdDSA; the issuer's own where none is given");
    let rotate = Command::new("rotate")
        .about("Sign with the next key as soon as relying parties know it; the old one still verifies")
        .arg(algorithm);
    let revoke = Command::new("revoke")
        .about("Revoke a key at once: nothing that it signed is good any more")
        .arg(cli::drawn_id("kid", "KID").help("The key, as `keys list` names it"))
        .arg(Arg::new("reason").long("reason").value_name("TEXT").help("Why, for the record"))
        .arg(confirm::argument());
    let file = Arg::new("new-master-key-file").long("new-master-key-file").required(true).value_name("FILE");
    let rewrap = Command::new("rewrap")
        .about("Seal the secrets and keys of every issuer under another master key")
        .arg(file.help("File with the new key: 32 random bytes as base64 or hexadecimal; the server must be able to read it"));
    Command::new("keys")
        .about("List, rotate and revoke signing keys, and change the master key")
        .subcommand_required(true)
        .subcommand(about_an_issuer(Command::new("list").about("List the signing keys in every state")))
        .subcommand(about_an_issuer(rotate))
        .subcommand(about_an_issuer(revoke))
        .subcommand(administration(rewrap))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("list", matches)) => shown(matches, Method::GET, "/signing-keys", None),
        Some(("rotate", matches)) => {
            let body = named(matches, "algorithm");
            shown(matches, Method::POST, "/signing-keys/rotate", Some(&body))
        }
        Some(("revoke", matches)) => {
            let kid = given(matches, "kid");
            confirm::ask(matches, &format!("Revoke the key {kid}, and with it all that it signed?"))?;
            let path = format!("/signing-keys/{}/revoke", segment(kid));
            shown(matches, Method::POST, &path, Some(&named(matches, "reason")))
        }
        Some(("rewrap", matches)) => rewrap(matches),
        _ => Ok(()),
    }
}

/// A JSON object with one member, or with none if the argument was not given.
fn named(matches: &ArgMatches, name: &str) -> Value {
    let given = matches.get_one::<String>(name).map(|value| (name.to_owned(), Value::from(value.as_str())));
    Value::Object(given.into_iter().collect::<Map<_, _>>())
}

/// Sends a request, and shows the keys in its answer.
fn shown(matches: &ArgMatches, method: Method, path: &str, body: Option<&Value>) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let answer = api.ask(method, path, body)?;
    api.close()?;
    let keys = answer.get("keys").unwrap_or(&Value::Null);
    Ok(print(matches, keys, |keys| table(&COLUMNS, keys.as_array().map_or(&[], Vec::as_slice)))?)
}

fn rewrap(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 3] = [("master key", "master_key"), ("issuers", "issuers"), ("keys", "keys")];
    let named = given(matches, "new-master-key-file");
    let file_error = |source| CommandError::File { path: named.to_owned(), source };
    let path = fs::canonicalize(named).map_err(file_error)?;
    let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
        // The file holds raw bytes: an error that names the expected form helps more than "not UTF-8".
        ErrorKind::InvalidData => file_error(io::Error::other(SealError::MasterKey)),
        _ => file_error(error),
    })?;
    let api = Api::reach(matches)?;
    let kept = api.config.storage.data_dir.join(secrets::MASTER_KEY_FILE);
    let beside_the_data =
        api.config.security.master_key.is_none() && !Api::is_named(matches) && kept.exists();
    let aside = beside_the_data.then(|| secrets::write_aside(&kept, &text)).transpose()?;
    let asked =
        api.ask_all(Method::POST, "/signing-keys/rewrap", Some(&json!({ "new_master_key_file": path })));
    let answer = match asked {
        Ok(answer) => answer,
        Err(error) => {
            discard(aside.as_deref());
            return Err(error);
        }
    };
    if let Some(aside) = &aside {
        secrets::take_over(aside, &kept)?;
    }
    let is_cluster = api.config.storage.cluster.is_some();
    api.close()?;
    let next = if aside.is_some() {
        format!("{} holds the new key.\n", kept.display())
    } else if is_cluster {
        "Give the new key to every node and start it anew: until then it answers 503.\n".to_owned()
    } else {
        "Give the new key to the server's configuration before its next start.\n".to_owned()
    };
    Ok(print(matches, &answer, |answer| format!("{}{next}", facts(&SHOWN, answer)))?)
}

/// Removes the copy of the new key, because nothing was sealed under it.
fn discard(aside: Option<&Path>) {
    if let Some(path) = aside {
        drop(fs::remove_file(path));
    }
}
