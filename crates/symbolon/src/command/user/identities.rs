//! Who a user is to other providers: listed and disconnected.

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};

use crate::cli::about_an_issuer;
use crate::command::api::{Api, segment};
use crate::command::moment::dated;
use crate::command::output::{Column, line, print, table};
use crate::command::{CommandError, confirm, given, named};

const COLUMNS: [Column; 5] = [
    ("ID", "id"),
    ("PROVIDER", "identity_provider"),
    ("SUBJECT", "subject"),
    ("LABEL", "label"),
    ("CONNECTED", "linked_at"),
];

pub(super) fn command() -> Command {
    let remove = Arg::new("remove")
        .long("remove")
        .value_name("ID")
        .action(ArgAction::Append)
        .help("Disconnect from a provider by its id, or by the identity's; may be repeated");
    about_an_issuer(
        Command::new("identities")
            .about("List who a user is to other providers, or disconnect the user from them")
            .arg(super::user())
            .arg(remove)
            .arg(confirm::argument()),
    )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let user = named::user_id(&api, given(matches, "user"))?;
    let path = format!("/users/{}/identities", segment(&user));
    let answer = api.ask(Method::GET, &path, None)?;
    let found = answer.get("identities").and_then(Value::as_array).cloned().unwrap_or_default();
    let wanted: Vec<&String> = matches.get_many("remove").into_iter().flatten().collect();
    if wanted.is_empty() {
        api.close()?;
        return Ok(print(matches, &Value::Array(found), |all| {
            let rows: Vec<Value> = all.as_array().into_iter().flatten().map(dated).collect();
            table(&COLUMNS, &rows)
        })?);
    }
    // All of them are looked for first, so that a misspelt one leaves everything as it was.
    let ids: Vec<&str> = wanted.iter().map(|name| find(&found, name)).collect::<Result<_, _>>()?;
    let what = wanted.iter().map(|one| line(one)).collect::<Vec<_>>().join(", ");
    confirm::ask(matches, &format!("Disconnect {user} from {what}?"))?;
    for id in ids {
        api.ask(Method::DELETE, &format!("{path}/{}", segment(id)), None)?;
    }
    api.close()?;
    let told = |_: &Value| format!("{} is disconnected from {what}\n", line(&user));
    Ok(print(matches, &json!({ "id": user, "removed": wanted }), told)?)
}

/// The id of the identity that has this id, or this provider.
fn find<'a>(identities: &'a [Value], name: &str) -> Result<&'a str, CommandError> {
    let is = |identity: &&Value, member: &str| identity.get(member).and_then(Value::as_str) == Some(name);
    let found = identities.iter().find(|identity| is(identity, "id") || is(identity, "identity_provider"));
    let id = found.and_then(|identity| identity.get("id")?.as_str());
    id.ok_or_else(|| CommandError::NotFound(format!("the user has no identity \"{}\"", line(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_named_by_its_id_or_its_provider() {
        let all = [
            json!({ "id": "k1", "identity_provider": "google" }),
            json!({ "id": "k2", "identity_provider": null }),
        ];
        assert_eq!(find(&all, "google").unwrap(), "k1");
        assert_eq!(find(&all, "k2").unwrap(), "k2");
        assert!(matches!(find(&all, "acme"), Err(CommandError::NotFound(told)) if told.contains("acme")));
    }
}
