//! `symbolon client new-secret`, and the secrets of a client as people read them.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::client_secret::LONGEST_KEPT;

use super::{client, id, who, with_secret};
use crate::command::api::{Api, segment};
use crate::command::moment::dated;
use crate::command::output::{line, print};
use crate::command::{CommandError, confirm, given, named};

pub(super) fn command() -> Command {
    let keep = Arg::new("keep-old").long("keep-old").value_name("DURATION").value_parser(keep_old);
    Command::new("new-secret")
        .about("Draw a new secret for a client; the old one ends at once, or after a time")
        .arg(client())
        .arg(
            keep.help(
                "How long the old secret is accepted beside the new one, such as 24h or 7d; 30d at most",
            ),
        )
        .arg(confirm::argument())
}

/// Reads a time in whole seconds: `24h`, or a number of seconds.
///
/// # Errors
/// What is accepted.
fn keep_old(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().map(Duration::from_secs);
    let time = number.or_else(|| humantime::parse_duration(text).ok());
    match time.filter(|time| time.subsec_nanos() == 0) {
        Some(time) if time <= LONGEST_KEPT => Ok(time),
        Some(_) => Err(format!("{text} is too long: an old secret is kept for 30d at most")),
        None => Err(format!("{text} is no time in whole seconds: give one such as 24h or 7d")),
    }
}

pub(super) fn renew(matches: &ArgMatches) -> Result<(), CommandError> {
    let keep = matches.get_one::<Duration>("keep-old").copied().unwrap_or_default();
    let api = Api::reach(matches)?;
    let client = named::client(&api, given(matches, "client"))?;
    let end = match keep.is_zero() {
        true => "ends at once".to_owned(),
        false => format!("is accepted for {}", humantime::format_duration(keep)),
    };
    confirm::ask(matches, &format!("Draw a new secret for {}? The old one {end}.", who(&client)))?;
    let body = (!keep.is_zero()).then(|| json!({ "keep_old_seconds": keep.as_secs() }));
    let path = format!("/clients/{}/regenerate-secret", segment(id(&client)));
    let answer = api.ask(Method::POST, &path, body.as_ref())?;
    api.close()?;
    let changed = answer.get("client").unwrap_or(&Value::Null);
    Ok(print(matches, changed, |changed| format!("{}{}", with_secret(changed), old_secret(changed)))?)
}

/// What became of the old secret. It may end earlier than was asked for, because a secret never gets a later end.
fn old_secret(changed: &Value) -> String {
    let old = changed.pointer("/client_secrets/1").map(dated);
    match old.as_ref().and_then(|old| old.get("expires_at")).and_then(Value::as_str) {
        Some(end) => format!("The old secret is accepted until {}.\n", line(end)),
        None => "The old secret ends at once.\n".to_owned(),
    }
}

/// A client with a text for each of its secrets, instead of an object.
pub(super) fn told(client: &Value) -> Value {
    let mut told = client.clone();
    if let Some(Value::Array(secrets)) = told.get_mut("client_secrets") {
        for secret in secrets {
            *secret = Value::from(one(secret));
        }
    }
    told
}

/// A secret's id, and in brackets what is known of it: `sTz0… (created 2026-11-28T09:30:00Z, last used …)`.
fn one(secret: &Value) -> String {
    let secret = dated(secret);
    let text = |name: &str| secret.get(name).and_then(Value::as_str);
    let known = [("created", "created_at"), ("ends", "expires_at"), ("last used", "last_used_at")];
    let known = known.iter().filter_map(|(word, name)| text(name).map(|at| format!("{word} {at}")));
    let known = known.collect::<Vec<_>>().join(", ");
    let id = text("id").unwrap_or_default();
    if known.is_empty() { id.to_owned() } else { format!("{id} ({known})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_secret_is_kept_for_whole_seconds_and_thirty_days_at_most() {
        for (text, seconds) in [("24h", 86_400), ("1h 30m", 5_400), ("7d", 604_800), ("90", 90), ("0", 0)] {
            assert_eq!(keep_old(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(keep_old("30d"), Ok(LONGEST_KEPT));
        for bad in ["", "soon", "-1h", "1500ms", "1.5", "h"] {
            assert!(keep_old(bad).is_err_and(|why| why.contains("such as 24h")), "{bad}");
        }
        for long in ["31d", "2592001", "100years"] {
            assert!(keep_old(long).is_err_and(|why| why.contains("30d at most")), "{long}");
        }
    }

    #[test]
    fn secrets_are_told_with_their_times() {
        let client = json!({ "client_id": "app", "client_secrets": [
            { "id": "s2", "created_at": 1_000, "expires_at": null, "last_used_at": null },
            { "id": "s1", "created_at": null, "expires_at": 3_000, "last_used_at": 2_000 },
            { "id": "s0" },
        ] });
        let wanted = json!([
            "s2 (created 1970-01-01T00:00:01Z)",
            "s1 (ends 1970-01-01T00:00:03Z, last used 1970-01-01T00:00:02Z)",
            "s0",
        ]);
        assert_eq!(told(&client)["client_secrets"], wanted);
        assert_eq!(told(&json!({ "client_id": "app" })), json!({ "client_id": "app" }));
        assert_eq!(old_secret(&client), "The old secret is accepted until 1970-01-01T00:00:03Z.\n");
        assert_eq!(
            old_secret(&json!({ "client_secrets": [{ "id": "s2" }] })),
            "The old secret ends at once.\n"
        );
    }
}
