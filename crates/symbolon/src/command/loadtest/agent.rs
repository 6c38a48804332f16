//! `symbolon loadtest agent`, and the options by which a load test is run by agents.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_crypto::secret::SecretString;
use symbolon_loadtest::agents::{Agent, AgentOptions, AgentsOptions, AgentsSecret};
use tokio::signal::unix::{SignalKind, signal};

use crate::command::CommandError;
use crate::command::api::trust;

/// Where the secret may stand besides a file.
const SECRET_VARIABLE: &str = "SYMBOLON_LOADTEST_AGENTS_SECRET";

pub(super) fn command() -> Command {
    Command::new("agent")
        .about("Send a part of the load that a coordinator on another machine deals out")
        .long_about(
            "Waits for a coordinator, which is `loadtest run` or `loadtest suite` with --agents, runs its part of the load and \
             waits for the next one. Both must know the same secret of 16 bytes or more. Ends with SIGTERM or Ctrl-C.",
        )
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("IP:PORT")
                .default_value("127.0.0.1:7400")
                .value_parser(value_parser!(SocketAddr))
                .help("Where coordinators come to"),
        )
        .arg(secret_file("secret-file"))
        .arg(
            Arg::new("ca")
                .long("ca")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("The target's certificate, or its CA's, in PEM, where it speaks https; the machine's CAs without"),
        )
}

fn secret_file(name: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf)).help(
        "The file with the secret of coordinator and agents; without, it is read from SYMBOLON_LOADTEST_AGENTS_SECRET",
    )
}

/// The agents of a load.
pub(super) fn arguments() -> [Arg; 2] {
    [
        Arg::new("agents")
            .long("agents")
            .value_name("HOST:PORT")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .conflicts_with("beside")
            .help("Let these send the requests, each its share: `symbolon loadtest agent` runs there"),
        secret_file("agents-secret-file").requires("agents"),
    ]
}

/// The agents that the arguments name, if they do.
pub(super) fn options(matches: &ArgMatches) -> Result<Option<Arc<AgentsOptions>>, CommandError> {
    // A sweep over shards has no such argument.
    let agents = matches.try_get_many::<String>("agents").ok().flatten();
    let Some(agents) = agents else { return Ok(None) };
    let secret = secret(matches.get_one("agents-secret-file").map(PathBuf::as_path), "--agents-secret-file")?;
    Ok(Some(Arc::new(AgentsOptions::new(agents.cloned().collect(), secret)?)))
}

/// The secret from a file, or from the environment.
fn secret(path: Option<&Path>, option: &str) -> Result<AgentsSecret, CommandError> {
    let secret = match path {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| CommandError::Usage(format!("{option} {}: {error}", path.display())))?,
        None => std::env::var(SECRET_VARIABLE).map_err(|_| {
            CommandError::Usage(format!(
                "agents need a secret that coordinator and agents know: {option} FILE, or {SECRET_VARIABLE}"
            ))
        })?,
    };
    Ok(AgentsSecret::new(&SecretString::new(secret))?)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let secret = secret(matches.get_one("secret-file").map(PathBuf::as_path), "--secret-file")?;
    let trust = match matches.get_one::<PathBuf>("ca") {
        Some(path) => trust::of_file(path)?,
        None => trust::of_machine()?,
    };
    let listen = matches.get_one::<SocketAddr>("listen").copied();
    let listen = listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 7_400)));
    let agent = Agent::bind(AgentOptions { listen, secret, trust: Some(trust) })?;
    writeln!(std::io::stdout(), "listening on {}", agent.address()?)?;
    let ended = async {
        let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        let (Ok(mut interrupted), Ok(mut terminated)) = signals else {
            // Without them the signals end the process as they end any other.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    };
    Ok(agent.serve(&mut std::io::stderr(), ended)?)
}
