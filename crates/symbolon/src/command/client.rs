//! `symbolon client`.

mod initial_access_token;
mod metadata;
mod paste;
mod preset;
pub(super) mod preview;
mod secrets;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};
use symbolon_protocol::json::merge_patch;

use super::api::{Api, segment};
use super::output::{Column, facts, line, members, note, print, table};
use super::{CommandError, branding, confirm, failure, given, named};
use crate::cli::{self, about_an_issuer};
use paste::Provider;
use preset::Preset;

/// What a command shows of a client with its secret.
const SHOWN: [Column; 6] = [
    ("client_id", "client_id"),
    ("client_secret", "client_secret"),
    ("client_name", "client_name"),
    ("redirect_uris", "redirect_uris"),
    ("grant_types", "grant_types"),
    ("scope", "scope"),
];

pub(super) fn command() -> Command {
    let search =
        Arg::new("search").long("search").value_name("TEXT").help("Only those whose id or name has it");
    let update = Command::new("update")
        .about("Change those metadata of a client that are named")
        .after_help("An option that may be given more than once replaces the whole list.")
        .arg(client());
    let delete = Command::new("delete")
        .about("Delete a client and end its tokens")
        .arg(client())
        .arg(confirm::argument());
    Command::new("client")
        .about("Register, list, change and delete clients")
        .subcommand_required(true)
        .subcommand(about_an_issuer(create_command()))
        .subcommand(about_an_issuer(Command::new("list").about("List clients").arg(search)))
        .subcommand(about_an_issuer(Command::new("show").about("Show a client").arg(client())))
        .subcommand(about_an_issuer(preview::command(client())))
        .subcommand(failure::why_command())
        .subcommand(about_an_issuer(metadata::arguments(update)))
        .subcommand(about_an_issuer(secrets::command()))
        .subcommand(about_an_issuer(initial_access_token::command()))
        .subcommand(about_an_issuer(delete))
        .subcommand(branding::logo::command(
            "Put or remove the logo that pages show of a client",
            Some(client()),
        ))
        .subcommand(branding::style::command(
            "Show, set or remove variables of the style sheet of a client's pages",
            Some(client()),
        ))
}

fn create_command() -> Command {
    let id = Arg::new("client-id").long("client-id").value_name("ID");
    let preset = Arg::new("preset")
        .long("preset")
        .value_name("NAME")
        .value_parser(PossibleValuesParser::new(preset::ALL.iter().map(|preset| preset.name)))
        .hide_possible_values(true)
        .help("Grants, scopes and redirect URIs for a kind of application; every other option wins over it");
    let url = Arg::new("url").long("url").value_name("URL").requires("preset");
    let presets = preset::ALL.iter().map(|preset| format!("\n  {:18}{}", preset.name, preset.about));
    let help = format!("Presets:{}", presets.collect::<String>());
    metadata::arguments(Command::new("create").about("Register a client"))
        .after_help(help)
        .arg(id.help("Its id; drawn where none is given"))
        .arg(preset)
        .arg(url.help("Where the application is, such as https://app.example.com; the preset adds its paths"))
}

/// The argument that names a client.
fn client() -> Arg {
    cli::drawn_id("client", "CLIENT").help("Its id or name")
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("list", matches)) => list(matches),
        Some(("show", matches)) => show(matches),
        Some(("preview", matches)) => preview::run(matches),
        Some(("why", matches)) => failure::why(matches),
        Some(("update", matches)) => update(matches),
        Some(("new-secret", matches)) => secrets::renew(matches),
        Some(("initial-access-token", matches)) => initial_access_token::run(matches),
        Some(("logo", matches)) => branding::logo::run(matches, logo_path),
        Some(("style", matches)) => branding::style::run(matches, style_owner),
        Some(("delete", matches)) => delete(matches),
        _ => Ok(()),
    }
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    let preset = matches.get_one::<String>("preset").and_then(|name| preset::find(name));
    let body = Value::Object(described(matches, preset)?);
    let api = Api::reach(matches)?;
    // Asked before the client is made: a failure afterwards would lose its secret, which is shown once.
    let provider = if preset.is_some() { Some(Provider::ask(&api)?) } else { None };
    let mut answer = api.ask(Method::POST, "/clients", Some(&body))?;
    api.close()?;
    say_warnings(&answer);
    let mut made = answer.get_mut("client").map(Value::take).unwrap_or_default();
    let (Some(preset), Some(provider)) = (preset, provider) else {
        return Ok(print(matches, &made, with_secret)?);
    };
    let text = paste::text(preset.form, &provider, &made);
    let told = format!("{}\n{}\n\n{text}", with_secret(&made), paste::heading(preset.form));
    if let Some(members) = made.as_object_mut() {
        members.insert("issuer".to_owned(), Value::from(provider.issuer));
        members.insert("configuration".to_owned(), Value::from(text));
    }
    Ok(print(matches, &made, |_| told)?)
}

/// The metadata of a new client: those of the preset, and over them what the options say.
fn described(matches: &ArgMatches, preset: Option<&Preset>) -> Result<Map<String, Value>, CommandError> {
    let mut explicit = metadata::given(matches)?;
    if let Some(id) = matches.get_one::<String>("client-id") {
        explicit.insert("client_id".to_owned(), Value::from(id.as_str()));
    }
    let Some(preset) = preset else { return Ok(explicit) };
    let mut document = preset.metadata(matches.get_one::<String>("url").map(String::as_str), &explicit)?;
    merge_patch(&mut document, explicit);
    Ok(document)
}

fn with_secret(client: &Value) -> String {
    let is_new = client.get("client_secret").is_some();
    let once = if is_new { "The secret is shown this once: it is stored as a digest.\n" } else { "" };
    format!("{}{once}", facts(&SHOWN, client))
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

fn show(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let client = named::client(&api, given(matches, "client"))?;
    api.close()?;
    Ok(print(matches, &client, shown)?)
}

fn shown(client: &Value) -> String {
    let first = [
        "client_id",
        "client_secret",
        "client_name",
        "redirect_uris",
        "post_logout_redirect_uris",
        "grant_types",
    ];
    members(&secrets::told(client), &first)
}

/// Says on standard error what the server accepted although it is weaker than it should be. What is printed stays the client.
fn say_warnings(answer: &Value) {
    let warnings = answer.get("warnings").and_then(Value::as_array);
    for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
        note(&format!("warning: {}", line(warning)));
    }
}

fn update(matches: &ArgMatches) -> Result<(), CommandError> {
    let body = metadata::given(matches)?;
    if body.is_empty() {
        return Err(CommandError::Usage("nothing to change: give an option, or --set MEMBER=VALUE".into()));
    }
    let api = Api::reach(matches)?;
    let id = named::client_id(&api, given(matches, "client"))?;
    let path = format!("/clients/{}", segment(&id));
    let answer = api.ask(Method::PATCH, &path, Some(&Value::Object(body)))?;
    api.close()?;
    say_warnings(&answer);
    let changed = answer.get("client").unwrap_or(&Value::Null);
    Ok(print(matches, changed, shown)?)
}

/// The path of the logo of the client that the command names.
fn logo_path((api, matches): (&Api, &ArgMatches)) -> Result<String, CommandError> {
    let id = named::client_id(api, given(matches, "client"))?;
    Ok(format!("/clients/{}/logo", segment(&id)))
}

/// The client that the command names, as the owner of variables.
fn style_owner((api, matches): (&Api, &ArgMatches)) -> Result<branding::style::Owner, CommandError> {
    let id = named::client_id(api, given(matches, "client"))?;
    Ok((format!("/clients/{}", segment(&id)), "client"))
}

fn delete(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let client = named::client(&api, given(matches, "client"))?;
    confirm::ask(matches, &format!("Delete {} and end its tokens?", who(&client)))?;
    api.ask(Method::DELETE, &format!("/clients/{}", segment(id(&client))), None)?;
    api.close()?;
    Ok(print(matches, &json!({ "client_id": id(&client) }), |_| format!("{} is deleted\n", who(&client)))?)
}

fn id(client: &Value) -> &str {
    client.get("client_id").and_then(Value::as_str).unwrap_or_default()
}

/// A client's id, and in brackets its name.
fn who(client: &Value) -> String {
    match client.get("client_name").and_then(Value::as_str) {
        Some(name) if name != id(client) => format!("{} ({})", line(id(client)), line(name)),
        _ => line(id(client)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Result<Value, CommandError> {
        let all = ["client", "create"].iter().chain(arguments);
        let matches = command().try_get_matches_from(all).unwrap();
        let matches = matches.subcommand_matches("create").unwrap();
        let preset = matches.get_one::<String>("preset").and_then(|name| preset::find(name));
        described(matches, preset).map(Value::Object)
    }

    #[test]
    fn options_win_over_the_preset_and_over_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("client.json");
        std::fs::write(&file, r#"{"scope":"openid","settings":{"code_lifetime":30},"client_name":"File"}"#)
            .unwrap();
        let preset = ["--preset", "oauth2-proxy", "--url", "https://app.example.com"];
        let more = [
            "--metadata",
            file.to_str().unwrap(),
            "--name",
            "Mine",
            "--set",
            "settings.id_token_lifetime=60",
        ];
        let made = of(&[&preset[..], &more].concat()).unwrap();
        assert_eq!(made["client_name"], "Mine");
        assert_eq!(made["scope"], "openid");
        assert_eq!(made["settings"], json!({ "code_lifetime": 30, "id_token_lifetime": 60 }));
        assert_eq!(made["redirect_uris"], json!(["https://app.example.com/oauth2/callback"]));
        let own = ["--redirect-uri", "https://other.example/cb", "--client-id", "proxy"];
        let made = of(&[&preset[..2], &own].concat()).unwrap();
        assert_eq!(made["redirect_uris"], json!(["https://other.example/cb"]));
        assert_eq!(made["client_id"], "proxy");
    }

    #[test]
    fn a_preset_needs_to_know_where_the_application_is() {
        let refused = of(&["--preset", "django"]).unwrap_err();
        assert!(matches!(&refused, CommandError::Usage(why) if why.contains("--url")), "{refused}");
        let arguments = ["client", "create", "--url", "https://app.example.com"];
        assert!(command().try_get_matches_from(arguments).is_err(), "--url without a preset has no effect");
    }

    #[test]
    fn a_client_is_told_by_id_and_name() {
        assert_eq!(who(&json!({ "client_id": "c1", "client_name": "App\n" })), "c1 (App\u{fffd})");
        assert_eq!(who(&json!({ "client_id": "app", "client_name": "app" })), "app");
    }
}
