//! The command line. Every key of the configuration is a flag of `serve` and `config`, made from the table of keys.

#[cfg(test)]
mod reference;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_config::{self as config, Key, ValueKind};

/// The whole command line.
pub(crate) fn command() -> Command {
    let command = Command::new("symbolon")
        .version(env!("CARGO_PKG_VERSION"))
        .about("OpenID Connect provider and OAuth 2 authorization server")
        .subcommand_required(false)
        .arg_required_else_help(false)
        // Each command has its own flags: a flag in front of the command would have no effect.
        .args_conflicts_with_subcommands(true);
    configured(command)
        .arg(accept_clock())
        .subcommand(
            configured(Command::new("serve").about("Start the provider (also what no command does)"))
                .arg(accept_clock()),
        )
        .subcommand(
            Command::new("config")
                .about("Look at the configuration")
                .subcommand_required(true)
                .subcommand(configured(
                    Command::new("check").about("Check the configuration and say every mistake"),
                ))
                .subcommand(configured(Command::new("show").about("Show each value and where it comes from")))
                .subcommand(Command::new("schema").about("Print the JSON schema of the configuration file")),
        )
        .subcommands(crate::command::commands())
}

fn accept_clock() -> Arg {
    Arg::new("accept-clock")
        .long("accept-clock")
        .action(ArgAction::SetTrue)
        .help("Start though the clock is far behind the last time that the data directory saw")
}

/// The key of the issuer's URL. Administration commands use `--issuer` for the id of an issuer instead.
const ISSUER: &str = "issuer";

/// The configuration's flags that say where the data and the server are; only these are shown in the help.
const WHEREABOUTS: [&str; 7] = [
    "store",
    "data_dir",
    "postgres.url_file",
    "redis.urls_file",
    "management_listen",
    "admin_secret_file",
    "master_key_file",
];

/// The heading of the shared flags in a command's help.
const SHARED: &str = "Where the server or its data is";

/// Adds the arguments of a command about one issuer.
pub(crate) fn about_an_issuer(command: Command) -> Command {
    let issuer = Arg::new("issuer-id").long("issuer").value_name("ID").default_value("default");
    administration(command.arg(issuer.help("Which issuer it is about")))
}

/// Adds the arguments of every administration command: how to find the server or the data, and the form of the output.
pub(crate) fn administration(command: Command) -> Command {
    let server = Arg::new("server").long("server").env("SYMBOLON_MANAGEMENT_URL").value_name("URL");
    let server = server.hide_env_values(true).help_heading(SHARED);
    let ca = Arg::new("ca").long("ca").value_name("FILE").help_heading(SHARED);
    at_home(command)
        .arg(server.help("Ask the server at this URL, whatever data directory there is"))
        .arg(ca.help("PEM file with the server's certificate, or its CA's, where the server speaks https"))
}

/// Adds the arguments of a command that works on this machine's data directory.
pub(crate) fn at_home(command: Command) -> Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON");
    config::keys()
        .filter(|key| key.path != ISSUER)
        .fold(command.arg(json).arg(config_file().help_heading(SHARED)), |command, key| {
            command.arg(flag(key).hide(!WHEREABOUTS.contains(&key.path)).help_heading(SHARED))
        })
}

/// A required argument that is an id drawn by the server. One such id in 64 begins with a hyphen.
pub(crate) fn drawn_id(name: &'static str, value_name: &'static str) -> Arg {
    Arg::new(name).required(true).value_name(value_name).allow_hyphen_values(true)
}

fn config_file() -> Arg {
    Arg::new("config").long("config").value_name("FILE").help("Configuration file (TOML)")
}

/// Adds `--config` and a flag for each key.
fn configured(command: Command) -> Command {
    config::keys()
        .fold(command.arg(config_file()), |command, key| command.arg(flag(key).hide_short_help(true)))
}
fn flag(key: &'static Key) -> Arg {
    let arg = Arg::new(key.path).long(key.flag.trim_start_matches('-')).help(key.doc).value_name("VALUE");
    match key.kind {
        // A bare switch means true.
        ValueKind::Switch => arg.num_args(0..=1).default_missing_value("true").require_equals(false),
        _ => arg.value_parser(value_parser!(String)).allow_hyphen_values(true),
    }
}

/// The flags that were given, as `(name, value)`.
pub(crate) fn flags(matches: &ArgMatches) -> Vec<(String, String)> {
    let given = |path: &str| matches.try_get_one::<String>(path).ok().flatten().cloned();
    let keys = config::keys().filter_map(|key| Some((key.flag.to_owned(), given(key.path)?)));
    given("config").map(|file| ("--config".to_owned(), file)).into_iter().chain(keys).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn an_id_may_begin_with_a_hyphen() {
        for kid in ["-3x_y", "--3x", "-h3x", "plain"] {
            let matches =
                command().get_matches_from(["symbolon", "keys", "revoke", kid, "--reason", "leaked"]);
            let (_, keys) = matches.subcommand().unwrap();
            let (_, revoke) = keys.subcommand().unwrap();
            assert_eq!(revoke.get_one::<String>("kid").unwrap(), kid);
            assert_eq!(revoke.get_one::<String>("reason").unwrap(), "leaked");
        }
    }

    #[test]
    fn the_issuer_of_a_command_is_not_the_issuers_url() {
        let matches =
            command().get_matches_from(["symbolon", "keys", "list", "--issuer", "acme", "--data-dir", "/d"]);
        let (_, keys) = matches.subcommand().unwrap();
        let (_, list) = keys.subcommand().unwrap();
        assert_eq!(flags(list), [("--data-dir".to_owned(), "/d".to_owned())]);
        assert_eq!(list.get_one::<String>("issuer-id").unwrap(), "acme");
        let matches = command().get_matches_from(["symbolon", "serve", "--issuer", "https://x.example"]);
        let (_, serve) = matches.subcommand().unwrap();
        assert_eq!(flags(serve), [("--issuer".to_owned(), "https://x.example".to_owned())]);
    }
}
