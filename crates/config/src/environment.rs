//! The environment and the command line as sources of values, and the `SYMBOLON_*` variables that are not keys.

use super::error::ConfigError;
use super::file::{Given, Written};
use super::source::Source;

/// `SYMBOLON_*` variables that are not configuration keys and are ignored, with the reason. A trailing `*` matches
/// any rest.
///
/// Also ignored are the variables that Kubernetes sets in every pod for a service whose name begins with `symbolon`:
/// `SYMBOLON_SERVICE_HOST`, `SYMBOLON_PORT=tcp://...`, `SYMBOLON_PORT_8080_TCP_ADDR` and so on.
pub const IGNORED_ENV: [(&str, &str); 3] = [
    ("SYMBOLON_CONFIG", "names the configuration file"),
    ("SYMBOLON_MANAGEMENT_URL", "where commands find a running server"),
    ("SYMBOLON_LOADTEST_*", "belongs to the load generator"),
];

/// Whether an environment variable is not meant as a configuration key.
fn ignored(name: &str, value: &str) -> bool {
    let listed = IGNORED_ENV.iter().any(|(pattern, _)| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    });
    listed || of_a_service(name, value)
}

/// Whether Kubernetes set the variable for a service. `SYMBOLON_PORT=8080` is not such a variable, but a mistaken
/// key, and is reported.
fn of_a_service(name: &str, value: &str) -> bool {
    name.contains("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || (name.contains("_PORT") && ["tcp://", "udp://", "sctp://"].iter().any(|s| value.starts_with(s)))
        || ["_TCP", "_UDP", "_SCTP"].iter().any(|protocol| {
            let Some((start, rest)) = name.split_once(protocol) else { return false };
            let port = start.rsplit_once("_PORT_").map(|(_, port)| port);
            port.is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()))
                && matches!(rest, "" | "_ADDR" | "_PORT" | "_PROTO")
        })
}

/// The variables that are meant as keys, and the value of `SYMBOLON_CONFIG`.
pub(super) fn environment(env: impl Iterator<Item = (String, String)>) -> (Vec<Given>, Option<String>) {
    let mut config = None;
    let mut given = Vec::new();
    for (name, value) in env {
        if name == "SYMBOLON_CONFIG" {
            config = Some(value);
        } else if name.starts_with("SYMBOLON_") && !ignored(&name, &value) {
            let source = Source::Env(name.clone());
            given.push(Given { name, written: Written::Text(value), source });
        }
    }
    // The environment has no order; sorted for reproducible reports.
    given.sort_by(|a, b| a.name.cmp(&b.name));
    (given, config)
}

/// The flags of the command line, and the value of `--config`. A repeated flag is refused.
pub(super) fn flags(
    flags: Vec<(String, String)>,
    errors: &mut Vec<ConfigError>,
) -> (Vec<Given>, Option<String>) {
    let mut config = None;
    let mut given: Vec<Given> = Vec::new();
    for (name, value) in flags {
        let name = format!("--{}", name.trim_start_matches('-'));
        if name == "--config" {
            config = Some(value);
        } else if given.iter().any(|earlier| earlier.name == name) {
            errors.push(ConfigError {
                key: name.clone(),
                value: None,
                source: Some(Source::Flag(name)),
                problem: "is given twice".to_owned(),
                mend: "give it once".to_owned(),
            });
        } else {
            let source = Source::Flag(name.clone());
            given.push(Given { name, written: Written::Text(value), source });
        }
    }
    (given, config)
}
