//! `symbolon claim`: the claims that an issuer or a client defines. They are a part of its settings.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::{Api, segment};
use super::client::preview;
use super::output::{Column, line, print, table};
use super::{CommandError, given, named};
use crate::cli::about_an_issuer;

const COLUMNS: [Column; 4] =
    [("NAME", "name"), ("FROM", "from"), ("SCOPE", "scope"), ("DESTINATIONS", "destinations")];

const DESTINATIONS: [&str; 4] = ["id_token", "access_token", "userinfo", "introspection"];

const FORMS: [&str; 6] = ["list", "paths", "space_separated", "comma_separated", "first", "keycloak"];

pub(super) fn command() -> Command {
    let list = Command::new("list").about("List the claims that are defined").arg(client());
    let remove = Command::new("remove").about("Remove a definition").arg(name()).arg(client());
    Command::new("claim")
        .about("Define which claims tokens carry, what they are made from and where they go")
        .subcommand_required(true)
        .subcommand(about_an_issuer(list))
        .subcommand(about_an_issuer(set_command()))
        .subcommand(about_an_issuer(remove))
        .subcommand(about_an_issuer(test_command()))
}

/// The claim that the command line names.
fn name() -> Arg {
    Arg::new("name").required(true).value_name("NAME").help("The claim, as in the token")
}

fn client() -> Arg {
    let client = Arg::new("client").long("client").value_name("CLIENT").allow_hyphen_values(true);
    client.help("The client whose own definitions it is about, by id or name; without it, the issuer's")
}

fn set_command() -> Command {
    let text = |name: &'static str, value: &'static str| Arg::new(name).long(name).value_name(value);
    let destination = text("destination", "PLACE")
        .value_parser(PossibleValuesParser::new(DESTINATIONS))
        .action(ArgAction::Append)
        .help("Where it goes; may be given more than once; without it, to ID tokens and UserInfo");
    let off = Arg::new("off").long("off").action(ArgAction::SetTrue);
    let form = text("form", "FORM").value_parser(PossibleValuesParser::new(FORMS)).conflicts_with_all([
        "expression",
        "value",
        "off",
    ]);
    Command::new("set")
        .about("Define a claim, or define it anew")
        .after_help(
            "Sources: groups, roles, issuer_roles, client_roles, client_roles:CLIENT, attribute:NAME, sub, auth_time, acr, \
             amr, and the standard claims, such as email.",
        )
        .arg(name())
        .arg(client())
        .arg(text("source", "SOURCE").help("What it is made from"))
        .arg(text("expression", "CEL").help("An expression in the Common Expression Language, over user, groups, roles, client and scope"))
        .arg(text("value", "JSON").value_parser(constant).help("The same value for everybody: JSON, or a text where it is none"))
        .arg(off.help("Switch the claim of this name off: a standard one, or for a client one of the issuer"))
        .group(ArgGroup::new("origin").args(["source", "expression", "value", "off"]).required(true))
        .arg(form.help("How names are written"))
        .arg(text("prefix", "TEXT").conflicts_with_all(["expression", "value", "off"]).help("What is put before every text"))
        .arg(text("scope", "SCOPE").conflicts_with("off").help("The scope that releases it; without it, any"))
        .arg(destination.conflicts_with("off"))
}

fn test_command() -> Command {
    let text = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).allow_hyphen_values(true)
    };
    Command::new("test")
        .about("Show what a claim is for a user, in every token and answer that a client would get")
        .arg(name())
        .arg(text("client", "CLIENT").required(true).help("The client, by id or name"))
        .arg(text("user", "USER").required(true).help("The user, by id, e-mail address or user name"))
        .arg(
            text("scope", "SCOPE")
                .help("The scope that is granted; without it, all that the client registered"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("list", matches)) => list(matches),
        Some(("set", matches)) => set(matches),
        Some(("remove", matches)) => remove(matches),
        Some(("test", matches)) => test(matches),
        _ => Ok(()),
    }
}

/// Whose definitions a command is about: where they stand in the admin API.
struct Owner {
    path: String,
    /// The member of the answer that holds the definitions, or the object around them.
    within: &'static [&'static str],
}

impl Owner {
    fn of(api: &Api, matches: &ArgMatches) -> Result<Self, CommandError> {
        match matches.get_one::<String>("client") {
            Some(client) => {
                let path = format!("/clients/{}", segment(&named::client_id(api, client)?));
                Ok(Self { path, within: &["client", "settings"] })
            }
            None => Ok(Self { path: "/settings".to_owned(), within: &["settings"] }),
        }
    }

    fn read(&self, answer: &Value) -> Vec<Value> {
        let found = self.within.iter().try_fold(answer, |value, member| value.get(member));
        let claims = found.and_then(|settings| settings.get("claims")).and_then(Value::as_array);
        claims.cloned().unwrap_or_default()
    }

    fn definitions(&self, api: &Api) -> Result<Vec<Value>, CommandError> {
        Ok(self.read(&api.ask(Method::GET, &self.path, None)?))
    }

    /// Saves all definitions, and returns them as they are in force.
    fn save(&self, api: &Api, claims: Vec<Value>) -> Result<Vec<Value>, CommandError> {
        let claims = json!({ "claims": claims });
        let body = if self.within.len() > 1 { json!({ "settings": claims }) } else { claims };
        Ok(self.read(&api.ask(Method::PATCH, &self.path, Some(&body))?))
    }
}

fn is_named(definition: &Value, name: &str) -> bool {
    definition.get("name").and_then(Value::as_str) == Some(name)
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let claims = Owner::of(&api, matches)?.definitions(&api)?;
    api.close()?;
    let rows: Vec<Value> = claims.iter().map(row).collect();
    Ok(print(matches, &Value::from(claims), |_| table(&COLUMNS, &rows))?)
}

/// A definition as a line of the table.
fn row(definition: &Value) -> Value {
    let text = |member: &str| definition.get(member).and_then(Value::as_str);
    let of = match (text("source"), text("expression"), definition.get("value")) {
        (Some(source), ..) => {
            [text("prefix"), Some(source), text("form")].into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
        (_, Some(expression), _) => format!("= {expression}"),
        (.., Some(value)) => value.to_string(),
        _ => "(off)".to_owned(),
    };
    json!({
        "name": definition.get("name"),
        "from": of,
        "scope": definition.get("scope"),
        "destinations": definition.get("destinations"),
    })
}

/// A constant: JSON, or a text where it is none.
fn constant(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(Value::Null) => Err("null is no value of a claim: --off switches one off".to_owned()),
        Ok(value) => Ok(value),
        Err(_) => Ok(Value::from(text)),
    }
}

/// The definition that the options describe.
fn described(matches: &ArgMatches) -> Value {
    let mut definition = Map::new();
    for member in ["name", "source", "expression", "form", "prefix", "scope"] {
        if let Some(text) = matches.get_one::<String>(member) {
            definition.insert(member.to_owned(), Value::from(text.as_str()));
        }
    }
    if let Some(value) = matches.get_one::<Value>("value") {
        definition.insert("value".to_owned(), value.clone());
    }
    if let Some(places) = matches.get_many::<String>("destination") {
        let places: Vec<&str> = places.map(String::as_str).collect();
        definition.insert("destinations".to_owned(), json!(places));
    }
    if matches.get_flag("off") {
        definition.insert("enabled".to_owned(), Value::Bool(false));
    }
    Value::Object(definition)
}

fn set(matches: &ArgMatches) -> Result<(), CommandError> {
    let (definition, name) = (described(matches), given(matches, "name"));
    let api = Api::reach(matches)?;
    let owner = Owner::of(&api, matches)?;
    let mut claims = owner.definitions(&api)?;
    match claims.iter_mut().find(|known| is_named(known, name)) {
        Some(known) => *known = definition,
        None => claims.push(definition),
    }
    let saved = owner.save(&api, claims)?;
    api.close()?;
    let now = saved.into_iter().find(|known| is_named(known, name)).unwrap_or_default();
    let told = table(&COLUMNS, &[row(&now)]);
    Ok(print(matches, &now, |_| told)?)
}

fn remove(matches: &ArgMatches) -> Result<(), CommandError> {
    let name = given(matches, "name");
    let api = Api::reach(matches)?;
    let owner = Owner::of(&api, matches)?;
    let mut claims = owner.definitions(&api)?;
    let before = claims.len();
    claims.retain(|known| !is_named(known, name));
    if claims.len() == before {
        return Err(CommandError::NotFound(format!("no claim {} is defined", line(name))));
    }
    owner.save(&api, claims)?;
    api.close()?;
    Ok(print(matches, &json!({ "name": name }), |_| format!("{} is no longer defined\n", line(name)))?)
}

fn test(matches: &ArgMatches) -> Result<(), CommandError> {
    let name = given(matches, "name");
    let api = Api::reach(matches)?;
    let preview = preview::ask(&api, matches)?;
    api.close()?;
    let failures: Vec<Value> = preview
        .get("failures")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|failure| is_named(failure, name))
        .cloned()
        .collect();
    let mut values: Map<String, Value> = DESTINATIONS
        .into_iter()
        .map(|place| {
            let value = preview.get(place).and_then(|claims| claims.get(name));
            (place.to_owned(), value.cloned().unwrap_or_default())
        })
        .collect();
    let mut shown: String =
        values.iter().map(|(place, value)| format!("{place:14}{}\n", line(&value.to_string()))).collect();
    for failure in &failures {
        let text = |member| failure.get(member).and_then(Value::as_str).unwrap_or("every token");
        shown.push_str(&format!("left out of {}: {}\n", line(text("destination")), line(text("why"))));
    }
    values.insert("failures".to_owned(), Value::Array(failures));
    Ok(print(matches, &Value::Object(values), |_| shown)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(arguments: &[&str]) -> Option<Value> {
        let all = ["claim", "set"].into_iter().chain(arguments.iter().copied());
        let matches = command().try_get_matches_from(all).ok()?;
        matches.subcommand_matches("set").map(described)
    }

    #[test]
    fn options_describe_a_definition() {
        for (arguments, expected) in [
            (
                &[
                    "policy",
                    "--source",
                    "client_roles:minio",
                    "--form",
                    "comma_separated",
                    "--scope",
                    "minio",
                ][..],
                json!({ "name": "policy", "source": "client_roles:minio", "form": "comma_separated", "scope": "minio" }),
            ),
            (
                &[
                    "g",
                    "--expression",
                    "groups.map(g, 'x:' + g)",
                    "--destination",
                    "id_token",
                    "--destination",
                    "userinfo",
                ],
                json!({ "name": "g", "expression": "groups.map(g, 'x:' + g)", "destinations": ["id_token", "userinfo"] }),
            ),
            (&["t", "--value", "acme"], json!({ "name": "t", "value": "acme" })),
            (&["t", "--value", "[1]"], json!({ "name": "t", "value": [1] })),
            (&["groups", "--off"], json!({ "name": "groups", "enabled": false })),
        ] {
            assert_eq!(definition(arguments), Some(expected), "{arguments:?}");
        }
        for bad in [
            &["a"][..],
            &["a", "--source", "groups", "--value", "1"],
            &["a", "--value", "1", "--form", "list"],
            &["a", "--value", "null"],
            &["a", "--off", "--scope", "x"],
            &["a", "--source", "groups", "--destination", "cookie"],
            &["a", "--source", "groups", "--form", "xml"],
        ] {
            assert_eq!(definition(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_row_says_what_a_claim_is_made_from() {
        let from = |definition: Value| row(&definition)["from"].clone();
        assert_eq!(from(json!({ "source": "groups", "form": "paths", "prefix": "x:" })), "x: groups paths");
        assert_eq!(from(json!({ "expression": "size(groups)" })), "= size(groups)");
        assert_eq!(from(json!({ "value": { "a": 1 } })), r#"{"a":1}"#);
        assert_eq!(from(json!({ "name": "groups", "enabled": false })), "(off)");
    }
}
