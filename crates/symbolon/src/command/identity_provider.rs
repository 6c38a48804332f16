//! `symbolon identity-provider`: the other providers by which people sign in.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::{Api, segment};
use super::output::{Column, line, members, print, table};
use super::{CommandError, assignment, confirm, given, secret_input};
use crate::cli::about_an_issuer;

const PATH: &str = "/identity-providers";

const COLUMNS: [Column; 6] = [
    ("ID", "id"),
    ("NAME", "name"),
    ("KIND", "kind"),
    ("ISSUER", "issuer"),
    ("ENABLED", "enabled"),
    ("SIGN-UP", "sign_up"),
];

/// What is said first of a provider. Its callback is what is registered there.
const FIRST: [&str; 7] = ["id", "name", "kind", "issuer", "client_id", "has_client_secret", "callback"];

const PRESETS: [&str; 4] = ["google", "microsoft", "apple", "github"];

/// Options that set one text member.
const TEXTS: [(&str, &str, &str, &str); 5] = [
    ("name", "name", "NAME", "Its name on the button"),
    ("issuer-url", "issuer", "URL", "Its issuer, exactly as its metadata have it; of GitHub its address"),
    ("client-id", "client_id", "ID", "The client_id that it gave to this issuer"),
    ("response-mode", "response_mode", "MODE", "How its answer comes: query or form_post"),
    ("logout", "logout", "WHERE", "Where a logout ends the session: here, or passed_on to it as well"),
];

/// Options that are true, or what is behind `=`.
const SWITCHES: [(&str, &str, &str); 3] = [
    ("sign-up", "sign_up", "Whether somebody without an account gets one"),
    (
        "link-by-verified-email",
        "link_by_verified_email",
        "Whether an account is connected by its address, where both sides have verified it",
    ),
    ("enabled", "enabled", "Whether people may sign in by it"),
];

const SECRET_FILE: &str = "client-secret-file";

pub(super) fn command() -> Command {
    let list = Command::new("list").about("List the providers in the order of their buttons");
    let show = Command::new("show").about("Show a provider").arg(id());
    let none = Arg::new("no-client-secret").long("no-client-secret").action(ArgAction::SetTrue);
    let none =
        none.conflicts_with(SECRET_FILE).help("Forget the secret: this issuer is a public client there");
    let update = Command::new("update").about("Change the members of a provider that are named").arg(id());
    let delete = Command::new("delete")
        .about("Delete a provider, and disconnect everybody from it")
        .arg(id())
        .arg(confirm::argument());
    Command::new("identity-provider")
        .about("Manage the other providers by which people sign in")
        .subcommand_required(true)
        .subcommand(about_an_issuer(create_command()))
        .subcommand(about_an_issuer(list))
        .subcommand(about_an_issuer(show))
        .subcommand(about_an_issuer(with_members(update).arg(none)))
        .subcommand(about_an_issuer(delete))
}

fn id() -> Arg {
    Arg::new("id").required(true).value_name("ID").help("Its id, which the address of its callback has")
}

fn create_command() -> Command {
    let preset = Arg::new("preset")
        .long("preset")
        .value_name("NAME")
        .value_parser(PossibleValuesParser::new(PRESETS))
        .help("Fills in name, kind, issuer, scopes and response mode of a well-known provider");
    let tenant = Arg::new("tenant").long("tenant").value_name("ID").requires("preset");
    let kind = Arg::new("kind").long("kind").value_name("KIND");
    let kind = kind.value_parser(PossibleValuesParser::new(["openid", "github"]));
    with_members(Command::new("create").about("Add a provider"))
        .after_help(
            "Register this issuer there first, with the redirect URI ISSUER/login/callback/ID: it gives a client id and a \
             secret.",
        )
        .arg(id())
        .arg(preset)
        .arg(tenant.help("Microsoft's directory (tenant) id, or consumers"))
        .arg(kind.help("What it speaks; without it, openid"))
}

/// Adds the options that a new provider and a changed one have.
fn with_members(mut command: Command) -> Command {
    for (flag, _, value, help) in TEXTS {
        command = command.arg(Arg::new(flag).long(flag).value_name(value).help(help));
    }
    let secret = Arg::new(SECRET_FILE).long(SECRET_FILE).value_name("FILE");
    let scope = Arg::new("scope").long("scope").value_name("SCOPES");
    let domain = Arg::new("email-domain").long("email-domain").value_name("DOMAIN").action(ArgAction::Append);
    command = command
        .arg(secret.help("Read the secret that it gave from the first line of a file, or of standard input where it is -"))
        .arg(scope.help("The scopes to ask for, separated by spaces"))
        .arg(domain.help(
            "A domain whose people are led to it; it is believed for addresses of such domains alone; may be given more \
             than once",
        ));
    for (flag, _, help) in SWITCHES {
        let switch = Arg::new(flag)
            .long(flag)
            .value_name("true|false")
            .num_args(0..=1)
            .default_missing_value("true")
            .require_equals(true)
            .value_parser(value_parser!(bool));
        command = command.arg(switch.help(help));
    }
    command.arg(assignment::argument())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("list", matches)) => list(matches),
        Some(("show", matches)) => show(matches),
        Some(("update", matches)) => update(matches),
        Some(("delete", matches)) => delete(matches),
        _ => Ok(()),
    }
}

/// The members that the options set, but for the secret.
fn described(matches: &ArgMatches) -> Result<Map<String, Value>, CommandError> {
    let mut document = Map::new();
    for (flag, member, ..) in TEXTS {
        if let Some(text) = matches.get_one::<String>(flag) {
            document.insert(member.to_owned(), Value::from(text.as_str()));
        }
    }
    if let Some(scopes) = matches.get_one::<String>("scope") {
        document.insert("scopes".to_owned(), scopes.split_whitespace().collect());
    }
    if let Some(domains) = matches.get_many::<String>("email-domain") {
        document.insert("email_domains".to_owned(), domains.map(String::as_str).collect());
    }
    for (flag, member, _) in SWITCHES {
        if let Some(value) = matches.get_one::<bool>(flag) {
            document.insert(member.to_owned(), Value::Bool(*value));
        }
    }
    assignment::apply(matches, &mut document)?;
    Ok(document)
}

/// Reads the secret, where an option says from what.
fn add_secret(matches: &ArgMatches, document: &mut Map<String, Value>) -> Result<(), CommandError> {
    if let Some(path) = matches.get_one::<String>(SECRET_FILE) {
        let secret = secret_input::from_file((SECRET_FILE, path), "client secret")?;
        document.insert("client_secret".to_owned(), Value::from(secret.expose()));
    }
    Ok(())
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut body = described(matches)?;
    for member in ["id", "preset", "tenant", "kind"] {
        if let Some(text) = matches.get_one::<String>(member) {
            body.insert(member.to_owned(), Value::from(text.as_str()));
        }
    }
    add_secret(matches, &mut body)?;
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::POST, PATH, Some(&Value::Object(body)))?;
    api.close()?;
    told(matches, &answer)
}

/// Prints the provider of an answer.
fn told(matches: &ArgMatches, answer: &Value) -> Result<(), CommandError> {
    let provider = answer.get("identity_provider").unwrap_or(&Value::Null);
    Ok(print(matches, provider, |provider| members(provider, &FIRST))?)
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::GET, PATH, None)?;
    api.close()?;
    let providers = answer.get("identity_providers").unwrap_or(&Value::Null);
    Ok(print(matches, providers, |all| table(&COLUMNS, all.as_array().map_or(&[], Vec::as_slice)))?)
}

fn path(id: &str) -> Result<String, CommandError> {
    // Without an id the path would be that of the list.
    match id.trim() {
        "" => Err(CommandError::Usage("the id of the provider is empty".into())),
        id => Ok(format!("{PATH}/{}", segment(id))),
    }
}

fn show(matches: &ArgMatches) -> Result<(), CommandError> {
    let path = path(given(matches, "id"))?;
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::GET, &path, None)?;
    api.close()?;
    told(matches, &answer)
}

fn update(matches: &ArgMatches) -> Result<(), CommandError> {
    let path = path(given(matches, "id"))?;
    let mut body = described(matches)?;
    if matches.get_flag("no-client-secret") {
        body.insert("client_secret".to_owned(), Value::Null);
    }
    add_secret(matches, &mut body)?;
    if body.is_empty() {
        return Err(CommandError::Usage("nothing to change: give an option, or --set MEMBER=VALUE".into()));
    }
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::PATCH, &path, Some(&Value::Object(body)))?;
    api.close()?;
    told(matches, &answer)
}

fn delete(matches: &ArgMatches) -> Result<(), CommandError> {
    let id = given(matches, "id");
    let path = path(id)?;
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::GET, &path, None)?;
    let name = answer.get("identity_provider").and_then(|provider| provider.get("name")?.as_str());
    let who = format!("{} ({})", line(id), line(name.unwrap_or_default()));
    confirm::ask(matches, &format!("Delete {who}, and disconnect everybody from it?"))?;
    api.ask(Method::DELETE, &path, None)?;
    api.close()?;
    Ok(print(matches, &json!({ "id": id }), |_| format!("{who} is deleted\n"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Result<Value, CommandError> {
        let all = ["identity-provider", "update", "acme"].iter().chain(arguments);
        let matches = command().try_get_matches_from(all).unwrap();
        described(matches.subcommand_matches("update").unwrap()).map(Value::Object)
    }

    #[test]
    fn options_become_members() {
        let arguments = [
            "--issuer-url",
            "https://login.acme.example",
            "--scope",
            "openid  email",
            "--email-domain",
            "acme.example",
            "--email-domain",
            "acme.test",
            "--sign-up",
            "--enabled=false",
            "--set",
            "claims={\"nickname\":\"login\"}",
        ];
        assert_eq!(
            of(&arguments).unwrap(),
            json!({
                "issuer": "https://login.acme.example",
                "scopes": ["openid", "email"],
                "email_domains": ["acme.example", "acme.test"],
                "sign_up": true,
                "enabled": false,
                "claims": { "nickname": "login" },
            })
        );
        let refused = of(&["--set", "client_secret=hunter2"]).unwrap_err().to_string();
        assert!(refused.contains("never given on the command line") && !refused.contains("hunter2"));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let update = ["update", "acme", "--no-client-secret", "--client-secret-file", "-"];
        for bad in [&update[..], &["create", "a", "--tenant", "t"], &["create", "a", "--preset", "yahoo"]] {
            let all = std::iter::once(&"identity-provider").chain(bad);
            assert!(command().try_get_matches_from(all).is_err(), "{bad:?}");
        }
        assert!(path(" ").is_err());
    }
}
