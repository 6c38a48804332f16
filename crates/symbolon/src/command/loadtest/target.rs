//! The provider under load: an existing one, or one that is started for the test.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::secret::SecretString;
use symbolon_loadtest::client::{Protocol, Way};
use symbolon_loadtest::run::Group;
use symbolon_loadtest::{ProviderOptions, RunOptions, RunningTarget};

use super::output::Output;
use crate::command::CommandError;
use crate::command::api::trust;

/// The arguments for the provider under load; `algorithm` is the default.
pub(super) fn arguments(algorithm: &'static str) -> Vec<Arg> {
    let [algorithm, data_parent, http2, streams] = own_arguments(algorithm);
    let mut arguments = vec![algorithm, data_parent.conflicts_with("target"), http2, streams];
    arguments.extend(target_arguments());
    arguments
}

/// The same for commands that always start a provider.
pub(super) fn own_arguments(algorithm: &'static str) -> [Arg; 4] {
    [
        Arg::new("algorithm")
            .long("algorithm")
            .value_name("ALGORITHM")
            .default_value(algorithm)
            .value_parser(value_parser!(Algorithm))
            .help("What the provider signs with"),
        Arg::new("data-parent")
            .long("data-parent")
            .value_name("DIR")
            .default_value("/var/tmp")
            .value_parser(value_parser!(PathBuf))
            .help("Where the data of the provider goes that is started: a disk, not memory"),
        Arg::new("http2")
            .long("http2")
            .action(ArgAction::SetTrue)
            .help("Ask the provider by HTTP/2 instead of HTTP/1.1"),
        Arg::new("streams")
            .long("streams")
            .value_name("NUMBER")
            .requires("http2")
            .default_value("32")
            .value_parser(value_parser!(u32).range(1..=100_000))
            .help("Requests in flight at most on one connection of HTTP/2"),
    ]
}

/// A provider that runs already, and how it is reached.
pub(super) fn target_arguments() -> [Arg; 7] {
    [
        Arg::new("target")
            .long("target")
            .value_name("URL")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help("A provider that runs already; several nodes of one by several URLs, which share the load"),
        Arg::new("admin-secret")
            .long("admin-secret")
            .value_name("SECRET")
            .requires("target")
            .env("SYMBOLON_LOADTEST_ADMIN_SECRET")
            .hide_env_values(true)
            .help("The secret of its admin API"),
        Arg::new("admin-url")
            .long("admin-url")
            .value_name("URL")
            .requires("target")
            .help(
                "Where that API is, if not on the same listener: http://127.0.0.1:9090/api/admin; for one of several issuers \
                 .../api/admin/issuers/ID",
            ),
        Arg::new("admin-secret-file")
            .long("admin-secret-file")
            .value_name("FILE")
            .requires("target")
            .conflicts_with("admin-secret")
            .value_parser(value_parser!(PathBuf))
            .help("A file that holds it"),
        Arg::new("pid")
            .long("pid")
            .value_name("PID")
            .requires("target")
            .value_parser(value_parser!(u32))
            .help("Its process, where it runs on this machine: for its CPU time"),
        Arg::new("metrics")
            .long("metrics")
            .value_name("URL")
            .requires("target")
            .help("Where its figures are; of several nodes it is only read there what they run with"),
        Arg::new("ca")
            .long("ca")
            .value_name("FILE")
            .requires("target")
            .value_parser(value_parser!(PathBuf))
            .help("Its certificate, or its CA's, in PEM, where it speaks https; the machine's CAs without"),
    ]
}

/// The argument for a seed that was planted before.
pub(super) fn seed_argument() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("FILE")
        .requires("target")
        .value_parser(value_parser!(PathBuf))
        .help("A seed that was planted in the target before; without, one is planted through its admin API")
}

/// The options of a run of these groups.
pub(super) fn options(
    matches: &ArgMatches,
    title: &str,
    groups: Vec<Group>,
    output: &Output,
) -> Result<RunOptions, CommandError> {
    let seed = given::<PathBuf>(matches, "seed").cloned();
    let mut provider = provider(matches)?;
    let needs_seed = groups.iter().any(Group::needs_seed);
    let has_secret = |target: &RunningTarget| target.admin_secret.is_some();
    if needs_seed && seed.is_none() && !provider.target.as_ref().is_none_or(has_secret) {
        return Err(CommandError::Usage(
            "--target needs --admin-secret, because users, sessions and tokens are made through the admin API, or \
             --seed with a file that has them"
                .into(),
        ));
    }
    if provider.target.is_none() {
        provider.log = Some(output.log()?);
    }
    let mut options = RunOptions::new(PathBuf::new(), title, groups);
    (options.provider, options.seed) = (provider, seed);
    if let Some(algorithm) = matches.get_one::<Algorithm>("algorithm") {
        options.algorithm = *algorithm;
    }
    options.terminal = std::io::stderr().is_terminal();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(SystemClock::start().now().millis());
    options.started = humantime::format_rfc3339_seconds(now).to_string();
    Ok(options)
}

/// The provider that the arguments describe.
pub(super) fn provider(matches: &ArgMatches) -> Result<ProviderOptions, CommandError> {
    let program = std::env::current_exe();
    let program = program.map_err(|source| CommandError::File { path: "this program".into(), source })?;
    let mut options = ProviderOptions::new(program.clone());
    options.guard = Some(program);
    if let Some(parent) = given::<PathBuf>(matches, "data-parent") {
        options.data_parent.clone_from(parent);
    }
    let mut urls = targets(matches);
    if let Some(url) = urls.next() {
        let others: Vec<String> = urls.cloned().collect();
        if !others.is_empty() && matches.contains_id("pid") {
            return Err(CommandError::Usage("--pid is that of one --target, not of several".into()));
        }
        options.target = Some(RunningTarget {
            url: url.clone(),
            others,
            admin_url: given::<String>(matches, "admin-url").cloned(),
            admin_secret: admin_secret(matches)?,
            pid: matches.get_one::<u32>("pid").copied(),
            metrics: matches.get_one::<String>("metrics").cloned(),
        });
    }
    options.way = way(matches)?;
    Ok(options)
}

/// The URLs of `--target`; none if the command has no such argument.
fn targets(matches: &ArgMatches) -> impl Iterator<Item = &String> {
    matches.try_get_many::<String>("target").ok().flatten().into_iter().flatten()
}

fn admin_secret(matches: &ArgMatches) -> Result<Option<SecretString>, CommandError> {
    let Some(path) = matches.get_one::<PathBuf>("admin-secret-file") else {
        return Ok(matches.get_one::<String>("admin-secret").cloned().map(SecretString::new));
    };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| CommandError::File { path: path.display().to_string(), source })?;
    Ok(Some(SecretString::new(text.trim().to_owned())))
}

/// An argument's value; also `None` if the command has no such argument.
fn given<'m, T: Clone + Send + Sync + 'static>(matches: &'m ArgMatches, name: &str) -> Option<&'m T> {
    matches.try_get_one(name).ok().flatten()
}

/// The protocol and the trusted certificates.
fn way(matches: &ArgMatches) -> Result<Way, CommandError> {
    let streams = given::<u32>(matches, "streams").copied().unwrap_or(1);
    let http2 = given::<bool>(matches, "http2").copied().unwrap_or(false);
    let protocol = match http2 {
        true => Protocol::Http2 { streams: usize::try_from(streams).unwrap_or(usize::MAX) },
        false => Protocol::Http1,
    };
    // The machine's authorities are read only if a URL is https, so that a machine without any can use http.
    let besides =
        ["metrics", "admin-url", "mix-from"].into_iter().filter_map(|name| given::<String>(matches, name));
    let mut urls = targets(matches).chain(besides);
    let https = urls.any(|url| url.starts_with("https:"));
    let trust = match given::<PathBuf>(matches, "ca") {
        Some(path) => Some(trust::of_file(path)?),
        None if https => Some(trust::of_machine()?),
        None => None,
    };
    Ok(Way { protocol, trust })
}
