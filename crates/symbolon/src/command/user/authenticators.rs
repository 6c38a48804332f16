//! What a user has enrolled to prove who they are, besides the password: listed and removed.

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};

use crate::cli::about_an_issuer;
use crate::command::api::{Api, segment};
use crate::command::moment::dated;
use crate::command::output::{Column, line, print, table};
use crate::command::{CommandError, confirm, given, named};

pub(super) fn command() -> Command {
    let remove = Arg::new("remove")
        .long("remove")
        .value_name("WHAT")
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
        .help("Remove a passkey by its id, `totp`, `recovery-codes` or `all`; may be repeated");
    about_an_issuer(
        Command::new("authenticators")
            .about("List or remove a user's passkeys and second factors")
            .arg(super::user())
            .arg(remove)
            .arg(confirm::argument()),
    )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = named::user_id(&api, given(matches, "user"))?;
    let path = format!("/users/{}/authenticators", segment(&id));
    let wanted: Vec<&String> = matches.get_many("remove").into_iter().flatten().collect();
    if wanted.is_empty() {
        let answer = api.ask(Method::GET, &path, None)?;
        api.close()?;
        let found = answer.get("authenticators").cloned().unwrap_or_default();
        return Ok(print(matches, &found, shown)?);
    }
    let what = wanted.iter().map(|one| line(one).to_string()).collect::<Vec<_>>().join(", ");
    confirm::ask(matches, &format!("Remove {what} from the authenticators of {id}?"))?;
    for one in &wanted {
        let one = match one.as_str() {
            "all" => path.clone(),
            "totp" | "recovery-codes" => format!("{path}/{one}"),
            passkey => format!("{path}/passkeys/{}", segment(passkey)),
        };
        api.ask(Method::DELETE, &one, None)?;
    }
    api.close()?;
    let told = |_: &Value| format!("removed from the authenticators of {}: {what}\n", line(&id));
    Ok(print(matches, &json!({ "id": id, "removed": wanted }), told)?)
}

/// A line for each passkey, then what else there is.
fn shown(found: &Value) -> String {
    const COLUMNS: [Column; 5] = [
        ("PASSKEY", "id"),
        ("NAME", "name"),
        ("SYNCED", "is_synced"),
        ("CREATED", "created_at"),
        ("LAST USED", "last_used_at"),
    ];
    let passkeys: Vec<Value> =
        found.get("passkeys").and_then(Value::as_array).into_iter().flatten().map(dated).collect();
    let totp = match found.get("totp") {
        Some(totp) if !totp.is_null() => {
            let totp = dated(totp);
            format!("since {}", totp.get("added_at").and_then(Value::as_str).unwrap_or("?"))
        }
        _ => "none".to_owned(),
    };
    let codes = found.get("recovery_codes").and_then(Value::as_u64).unwrap_or_default();
    let passkeys = if passkeys.is_empty() { "no passkeys\n".to_owned() } else { table(&COLUMNS, &passkeys) };
    format!("{passkeys}one-time passwords: {totp}\nrecovery codes: {codes}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_what_there_is_and_what_there_is_not() {
        let none = shown(&json!({ "passkeys": [], "totp": null, "recovery_codes": 0 }));
        assert_eq!(none, "no passkeys\none-time passwords: none\nrecovery codes: 0\n");
        let passkey =
            json!({ "id": "k", "name": "Phone", "is_synced": true, "created_at": 1_795_521_600_000_u64 });
        let totp = json!({ "added_at": 1_795_521_600_000_u64 });
        let all = shown(&json!({ "passkeys": [passkey], "totp": totp, "recovery_codes": 7 }));
        assert!(all.starts_with("PASSKEY") && all.contains("Phone"), "{all}");
        assert!(
            all.contains("one-time passwords: since 2026-11-24T") && all.ends_with("codes: 7\n"),
            "{all}"
        );
    }
}
