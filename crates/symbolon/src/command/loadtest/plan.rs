//! `symbolon loadtest plan`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use serde_json::json;
use symbolon_loadtest::plan::{
    Bill, Costs, Deployment, Hardware, Loss, Outlook, Preset, Prices, SimulationOptions, Workload, simulate,
};

use crate::command::CommandError;

/// An option that is a number: its name, its help, and the field that it sets.
type Number<T> = (&'static str, &'static str, fn(&mut T) -> &mut f64);

const WORKLOAD: [Number<Workload>; 12] = [
    ("daily-active", "The part of the users that is active on a day", |of| &mut of.daily_active),
    ("active-hours", "Hours that an active user is there", |of| &mut of.active_hours),
    ("logins-per-day", "Logins of an active user, per day", |of| &mut of.logins_per_day),
    ("silent-per-hour", "Silent authentications of an active user, per active hour", |of| {
        &mut of.silent_per_hour
    }),
    ("refresh-per-hour", "Refresh rotations of an active user, per active hour", |of| {
        &mut of.refresh_per_hour
    }),
    ("userinfo-per-day", "UserInfo requests for an active user, per day", |of| &mut of.userinfo_per_day),
    ("introspections-per-day", "API calls of an active user that introspect, per day", |of| {
        &mut of.introspections_per_day
    }),
    ("revocations-per-day", "Logouts and other revocations of an active user, per day", |of| {
        &mut of.revocations_per_day
    }),
    ("session-days", "Days that a session lives", |of| &mut of.session_days),
    ("tombstone-hours", "Hours that an access token lives at most", |of| &mut of.tombstone_hours),
    ("families-per-user", "Live refresh tokens per user", |of| &mut of.families_per_user),
    ("peak-factor", "The busiest minute's rate over the day's mean", |of| &mut of.peak_factor),
];

const HARDWARE: [Number<Hardware>; 9] = [
    ("node-cores", "Cores of a node", |of| &mut of.node_cores),
    ("utilisation", "The part of a processor that may be busy with what may be lost already lost", |of| {
        &mut of.utilisation
    }),
    ("redis-gb", "Gigabytes that a primary of Redis may hold", |of| &mut of.redis_gb),
    ("postgres-cores", "Cores of the largest PostgreSQL", |of| &mut of.postgres_cores),
    ("postgres-tb", "Terabytes of the largest PostgreSQL", |of| &mut of.postgres_tb),
    ("wal-mb-per-second", "Megabytes of log that it may write in a second", |of| &mut of.wal_mb_per_second),
    ("network-gbit", "Gigabits per second of a machine", |of| &mut of.network_gbit),
    ("commit-ms", "Milliseconds until a write is durable", |of| &mut of.commit_ms),
    ("round-trip-ms", "Milliseconds to an engine and back", |of| &mut of.round_trip_ms),
];

pub(super) fn command() -> Command {
    let presets = Preset::ALL.map(Preset::name).join(", ");
    Command::new("plan")
        .about("Say how many nodes, Redis servers and PostgreSQL cores a number of users takes")
        .long_about(
            "Multiplies what operations cost, as `measure_costs` measured it, with what users do, and says how many \
             machines that takes, and what each kind runs out of first. docs/topics/scaling.md has the model.",
        )
        .arg(
            Arg::new("users")
                .long("users")
                .value_name("NUMBER")
                .required(true)
                .value_parser(users)
                .help("Accounts; 10k, 1M and 1G are understood"),
        )
        .arg(
            Arg::new("workload")
                .long("workload")
                .value_name("NAME")
                .default_value(Preset::Consumer.name())
                .value_parser(value_parser!(Preset))
                .help(format!("What users do, to begin with: {presets}")),
        )
        .next_help_heading("What users do")
        .args(WORKLOAD.map(|(name, help, _)| number(name, help)))
        .next_help_heading("The machines")
        .args(HARDWARE.map(|(name, help, _)| number(name, help)))
        .arg(count("redis-replicas", "Replicas of each primary"))
        .arg(count("zones", "Zones that the machines are in"))
        .arg(
            Arg::new("survive")
                .long("survive")
                .value_name("WHAT")
                .default_value("zone")
                .value_parser(["zone", "machine"])
                .help("What may be lost at the peak"),
        )
        .next_help_heading("Figures")
        .arg(
            Arg::new("costs")
                .long("costs")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Costs that `measure_costs` wrote; the documented ones without"),
        )
        .arg(
            Arg::new("prices")
                .long("prices")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("A TOML file with prices: says what a month costs, too"),
        )
        .arg(
            Arg::new("simulate")
                .long("simulate")
                .action(ArgAction::SetTrue)
                .help("Simulate the latencies at the peak too, with nothing, a node and a zone lost"),
        )
        .arg(count("seed", "The same seed simulates the same").requires("simulate"))
        .arg(count("requests", "Requests to simulate").requires("simulate"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON"))
}

fn number(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("NUMBER").value_parser(value_parser!(f64)).help(help)
}

fn count(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("NUMBER").value_parser(value_parser!(u32)).help(help)
}

/// `500`, `10k`, `1M`, `1.5G`.
fn users(text: &str) -> Result<f64, String> {
    let units = [("k", 1e3), ("M", 1e6), ("G", 1e9)];
    let unit = units.iter().find_map(|(unit, times)| Some((text.strip_suffix(unit)?, *times)));
    let (digits, times) = unit.unwrap_or((text, 1.0));
    digits.parse::<f64>().map(|number| number * times).map_err(|error| error.to_string())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let (workload, hardware, costs) = (workload(matches), hardware(matches), costs(matches)?);
    let deployment = Deployment::of(&costs, &workload, &hardware)?;
    let outlooks = match matches.get_flag("simulate") {
        true => outlooks(&deployment, &costs, matches)?,
        false => Vec::new(),
    };
    let prices = matches.get_one::<PathBuf>("prices").map(|path| Prices::read(path)).transpose()?;
    let bill = prices.map(|prices| Bill::of(&deployment, &prices));
    let mut out = std::io::stdout().lock();
    if matches.get_flag("json") {
        let mut all = json!({ "deployment": deployment, "notes": deployment.notes(), "simulated": outlooks });
        if let (Some(bill), Some(members)) = (&bill, all.as_object_mut()) {
            members.insert("bill".into(), json!(bill));
            members.insert("bill_notes".into(), json!(bill.notes()));
        }
        writeln!(out, "{}", serde_json::to_string_pretty(&all).map_err(std::io::Error::from)?)?;
    } else {
        write!(out, "{deployment}")?;
        bill.iter().try_for_each(|bill| write!(out, "\n{bill}"))?;
        outlooks.iter().try_for_each(|outlook| write!(out, "\n{outlook}"))?;
    }
    Ok(())
}

fn workload(matches: &ArgMatches) -> Workload {
    let users = matches.get_one::<f64>("users").copied().unwrap_or_default();
    let preset = matches.get_one::<Preset>("workload").copied().unwrap_or(Preset::Consumer);
    let mut workload = preset.workload(users);
    for (name, _, field) in WORKLOAD {
        if let Some(number) = matches.get_one::<f64>(name) {
            *field(&mut workload) = *number;
        }
    }
    workload
}

fn hardware(matches: &ArgMatches) -> Hardware {
    let mut hardware = Hardware::default();
    for (name, _, field) in HARDWARE {
        if let Some(number) = matches.get_one::<f64>(name) {
            *field(&mut hardware) = *number;
        }
    }
    for (name, field) in [("redis-replicas", &mut hardware.redis_replicas), ("zones", &mut hardware.zones)] {
        if let Some(number) = matches.get_one::<u32>(name) {
            *field = *number;
        }
    }
    hardware.survive_zone = matches.get_one::<String>("survive").is_none_or(|what| what == "zone");
    hardware
}

fn costs(matches: &ArgMatches) -> Result<Costs, CommandError> {
    let Some(path) = matches.get_one::<PathBuf>("costs") else { return Ok(Costs::built_in()?) };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| CommandError::File { path: path.display().to_string(), source })?;
    Ok(Costs::parse(&text)?)
}

fn outlooks(
    deployment: &Deployment,
    costs: &Costs,
    matches: &ArgMatches,
) -> Result<Vec<Outlook>, CommandError> {
    let of = |name: &str, default: u32| matches.get_one::<u32>(name).copied().unwrap_or(default) as usize;
    let mut losses = vec![Loss::Nothing, Loss::Node];
    losses.extend(deployment.hardware.survive_zone.then_some(Loss::Zone));
    let simulated = losses.into_iter().map(|loss| {
        let options = SimulationOptions { seed: of("seed", 1), requests: of("requests", 200_000), loss };
        simulate(deployment, costs, &options)
    });
    Ok(simulated.collect::<Result<_, _>>()?)
}
