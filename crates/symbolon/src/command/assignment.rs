//! `--set`: any member of a record, also one that has no option of its own.

use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Map, Value};

use super::CommandError;
use super::output::line;

/// Members whose values others could read from the list of processes.
const SECRETS: [&str; 3] = ["password", "password_hash", "client_secret"];

/// `--set`.
pub(super) fn argument() -> Arg {
    Arg::new("set").long("set").value_name("MEMBER=VALUE").action(ArgAction::Append).help(
        "Any member by its name in the admin API, such as settings.access_token_lifetime=600; VALUE is JSON, or a text \
         where it is none; null resets it; may be given more than once",
    )
}

/// Sets the members of every `--set` in a document.
///
/// # Errors
/// [`CommandError::Usage`]
pub(super) fn apply(matches: &ArgMatches, document: &mut Map<String, Value>) -> Result<(), CommandError> {
    for given in matches.get_many::<String>("set").into_iter().flatten() {
        let parsed =
            given.split_once('=').filter(|(member, _)| member.split('.').all(|part| !part.is_empty()));
        let Some((member, value)) = parsed else {
            return Err(CommandError::Usage(format!("--set {}: it must be MEMBER=VALUE", line(given))));
        };
        if SECRETS.contains(&member) {
            return Err(CommandError::Usage(format!(
                "--set {member}: a secret is never given on the command line, which other users of the machine can see"
            )));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        set(document, member, value);
    }
    Ok(())
}

/// Sets a member of a document, or a member of a member (`settings.pkce`).
fn set(document: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            document.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = document.entry(first).or_insert(Value::Null);
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                set(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;
    use serde_json::json;

    fn of(given: &[&str]) -> Result<Value, CommandError> {
        let arguments = given.iter().flat_map(|one| ["--set", *one]);
        let matches =
            Command::new("x").arg(argument()).try_get_matches_from(std::iter::once("x").chain(arguments));
        let mut document = Map::new();
        apply(&matches.unwrap(), &mut document).map(|()| Value::Object(document))
    }

    #[test]
    fn values_are_json_or_text_and_paths_lead_inwards() {
        let given = ["a=1", "b.c=true", "b.d=x=y", "e=null", "f=[\"g\"]", "locale=de-AT", "empty="];
        let wanted = json!({
            "a": 1, "b": { "c": true, "d": "x=y" }, "e": null, "f": ["g"], "locale": "de-AT", "empty": "",
        });
        assert_eq!(of(&given).unwrap(), wanted);
        assert_eq!(of(&["a=1", "a.b=2"]).unwrap(), json!({ "a": { "b": 2 } }), "the last one counts");
    }

    #[test]
    fn nonsense_and_secrets_are_refused() {
        for bad in ["a", "=1", "a..b=1", ".a=1", "a.=1", "password=hunter2 hunter2", "client_secret=x"] {
            let refused = of(&[bad]).unwrap_err();
            assert!(matches!(refused, CommandError::Usage(_)), "{bad}");
            assert!(!refused.to_string().contains("hunter2"), "{refused}");
        }
    }
}
