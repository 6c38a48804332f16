//! `symbolon client preview`: what tokens would carry.

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::Value;

use crate::command::api::{Api, segment};
use crate::command::output::{members, print};
use crate::command::{CommandError, given, named};

pub(super) fn command(client: Arg) -> Command {
    let text = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).allow_hyphen_values(true)
    };
    Command::new("preview")
        .about("Show the claims that a client would get for a user, without issuing a token")
        .arg(client)
        .arg(text("user", "USER").required(true).help("The user, by id, e-mail address or user name"))
        .arg(
            text("scope", "SCOPE")
                .help("The scope that the client asks for; without it, all that it registered"),
        )
        .arg(text("resource", "URI").help("The resource that the access token is for"))
}

/// The preview for the client and the user that the command line names, with the scope and resource if it has them.
///
/// # Errors
/// Those of the API.
pub(in crate::command) fn ask(api: &Api, matches: &ArgMatches) -> Result<Value, CommandError> {
    let client = named::client_id(api, given(matches, "client"))?;
    let user = named::user_id(api, given(matches, "user"))?;
    let mut path = format!("/clients/{}/preview-tokens?user={}", segment(&client), segment(&user));
    for name in ["scope", "resource"] {
        // Not every command that asks for a preview has both.
        if let Ok(Some(value)) = matches.try_get_one::<String>(name) {
            path.push_str(&format!("&{name}={}", segment(value)));
        }
    }
    let mut answer = api.ask(Method::GET, &path, None)?;
    Ok(answer.get_mut("preview").map(Value::take).unwrap_or_default())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let preview = ask(&api, matches)?;
    api.close()?;
    Ok(print(matches, &preview, |preview| members(preview, &[]))?)
}
