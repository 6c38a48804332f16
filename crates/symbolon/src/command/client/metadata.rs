//! The metadata of a client on the command line, by the names of RFC 7591: from a file, from options, and from `--set`.

use std::fs;
use std::io::Read;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use crate::command::{CommandError, assignment};

/// Options that set one text member of the metadata (RFC 7591 2).
const TEXTS: [(&str, &str, &str, &str); 8] = [
    ("name", "client_name", "NAME", "Name that people are shown"),
    ("scope", "scope", "SCOPES", "Scopes that it may ask for, separated by spaces"),
    (
        "auth-method",
        "token_endpoint_auth_method",
        "METHOD",
        "client_secret_basic, client_secret_post, private_key_jwt, tls_client_auth, \
         self_signed_tls_client_auth or none",
    ),
    (
        "jwks-uri",
        "jwks_uri",
        "URI",
        "Where it publishes the keys by which it signs assertions and request objects",
    ),
    (
        "tls-client-auth-subject-dn",
        "tls_client_auth_subject_dn",
        "NAME",
        "The subject of its TLS certificate, such as CN=bank,O=Acme (tls_client_auth)",
    ),
    (
        "backchannel-logout-uri",
        "backchannel_logout_uri",
        "URI",
        "Where the server tells it of the end of a session (Back-Channel Logout)",
    ),
    (
        "frontchannel-logout-uri",
        "frontchannel_logout_uri",
        "URI",
        "What the signed-out page loads in a frame (Front-Channel Logout)",
    ),
    (
        "initiate-login-uri",
        "initiate_login_uri",
        "URI",
        "Where a sign-in begins that the server's pages link to (third-party initiated login)",
    ),
];

/// Options that may be given more than once.
const LISTS: [(&str, &str, &str, &str); 6] = [
    ("redirect-uri", "redirect_uris", "URI", "Where codes may go; may be given more than once"),
    (
        "redirect-uri-form",
        "redirect_uri_forms",
        "FORM",
        "A weaker form of redirect URIs that it may have: private_use_scheme_without_dot, http_private_host, \
         any_localhost_port or wildcard_host; may be given more than once",
    ),
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
        "response-type",
        "response_types",
        "TYPE",
        "What its authorization requests may ask for, such as 'code id_token': where it is left out, code; may be given more than once",
    ),
    (
        "audience",
        "audiences",
        "AUDIENCE",
        "An audience that it stands for at introspection; may be given more than once",
    ),
];

const SWITCHES: [(&str, &str, &str); 6] = [
    ("skip-consent", "skip_consent", "Do not ask users for their consent"),
    ("token-exchange", "token_exchange_allowed", "It may exchange tokens"),
    (
        "dpop-bound-access-tokens",
        "dpop_bound_access_tokens",
        "It gets only access tokens that are bound to a key by DPoP",
    ),
    (
        "tls-client-certificate-bound-access-tokens",
        "tls_client_certificate_bound_access_tokens",
        "It gets only access tokens that are bound to its TLS certificate",
    ),
    (
        "backchannel-logout-session-required",
        "backchannel_logout_session_required",
        "It needs `sid` in logout tokens",
    ),
    (
        "frontchannel-logout-session-required",
        "frontchannel_logout_session_required",
        "It needs `iss` and `sid` in the address of its frame",
    ),
];

/// The option of the setting that has a client keep to a profile of FAPI 2.0.
const PROFILE: &str = "profile";

/// Adds the options.
pub(super) fn arguments(command: Command) -> Command {
    let metadata = Arg::new("metadata")
        .long("metadata")
        .value_name("FILE")
        .help("JSON object of metadata by the names of RFC 7591, - for standard input; options win over it");
    let mut command = command.arg(metadata);
    for (flag, _, value, help) in TEXTS {
        command = command.arg(Arg::new(flag).long(flag).value_name(value).help(help));
    }
    for (flag, _, value, help) in LISTS {
        command =
            command.arg(Arg::new(flag).long(flag).value_name(value).help(help).action(ArgAction::Append));
    }
    for (flag, _, help) in SWITCHES {
        command = command.arg(Arg::new(flag).long(flag).help(help).action(ArgAction::SetTrue));
    }
    let profile = Arg::new(PROFILE)
        .long(PROFILE)
        .value_name("PROFILE")
        .help("Has it keep to FAPI: fapi2_security, fapi2_message_signing or fapi1_advanced");
    command.arg(profile).arg(assignment::argument())
}

/// The metadata that the file and the options give.
///
/// # Errors
/// [`CommandError::File`], [`CommandError::Usage`]
pub(super) fn given(matches: &ArgMatches) -> Result<Map<String, Value>, CommandError> {
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
    if let Some(profile) = matches.get_one::<String>(PROFILE) {
        let settings = metadata.entry("settings").or_insert_with(|| Value::Object(Map::new()));
        // What is no object in the file is for the server to refuse.
        if let Value::Object(settings) = settings {
            settings.insert(PROFILE.to_owned(), Value::from(profile.as_str()));
        }
    }
    assignment::apply(matches, &mut metadata)?;
    Ok(metadata)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use symbolon_protocol::redirect_uri::RedirectUriForm;

    fn of(arguments: &[&str]) -> Result<Value, CommandError> {
        let all = std::iter::once(&"create").chain(arguments);
        let matches = super::arguments(Command::new("create")).try_get_matches_from(all).unwrap();
        given(&matches).map(Value::Object)
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
            "--set",
            "settings.access_token_lifetime=600",
        ];
        assert_eq!(
            of(&arguments).unwrap(),
            json!({
                "client_name": "New",
                "software_id": "x",
                "skip_consent": true,
                "redirect_uris": ["https://a.example/cb", "https://b.example/cb"],
                "settings": { "access_token_lifetime": 600 },
            })
        );
    }

    #[test]
    fn a_profile_is_a_setting_beside_those_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("client.json");
        fs::write(&file, r#"{"settings":{"access_token_lifetime":600}}"#).unwrap();
        let given = of(&["--metadata", file.to_str().unwrap(), "--profile", "fapi2_security"]).unwrap();
        let settings = json!({ "access_token_lifetime": 600, "profile": "fapi2_security" });
        assert_eq!(given, json!({ "settings": settings }));
        let given = of(&["--profile", "fapi2_message_signing", "--dpop-bound-access-tokens"]).unwrap();
        let expected = json!({ "profile": "fapi2_message_signing" });
        assert_eq!(given, json!({ "settings": expected, "dpop_bound_access_tokens": true }));
    }

    #[test]
    fn the_help_names_every_form_of_redirect_uris() {
        let help = LISTS.iter().find(|(_, member, ..)| *member == "redirect_uri_forms").map(|list| list.3);
        for form in RedirectUriForm::ALL {
            assert!(help.is_some_and(|help| help.contains(form.as_str())), "{}", form.as_str());
        }
        let forms = of(&["--redirect-uri-form", "http_private_host"]).unwrap();
        assert_eq!(forms, json!({ "redirect_uri_forms": ["http_private_host"] }));
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
