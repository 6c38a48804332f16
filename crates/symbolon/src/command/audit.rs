//! `symbolon audit`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use serde_json::Value;
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_protocol::event::Event;

use super::api::{Api, segment};
use super::moment::{self, dated};
use super::output::{self, Column, line, print, table};
use super::{CommandError, named};
use crate::cli::about_an_issuer;

const COLUMNS: [Column; 7] = [
    ("AT", "at"),
    ("EVENT", "event"),
    ("USER", "user"),
    ("CLIENT", "client"),
    ("ACTOR", "actor"),
    ("ADDRESS", "address"),
    ("DETAIL", "detail"),
];

pub(super) fn command() -> Command {
    let option = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).allow_hyphen_values(true)
    };
    let events = Event::ALL.iter().filter(|event| event.audited()).map(|event| event.name());
    let search = Command::new("search")
        .about("Search the audit log, newest first")
        .after_help(
            "TIME is 2026-11-28T09:30:00Z or 2026-11-28, both in UTC, or an age such as 2h or 7d. With --json, times \
             are milliseconds since 1970.",
        )
        .arg(option("user", "USER").help("Only what concerns this user: id, e-mail address or user name"))
        .arg(option("client", "CLIENT").help("Only what concerns this client: id or name"))
        .arg(
            option("event", "EVENT")
                .value_parser(PossibleValuesParser::new(events))
                .hide_possible_values(true)
                .help("Only this event (docs/reference/events.md)"),
        )
        .arg(option("address", "ADDRESS").help("Only requests from this IP address"))
        .arg(
            option("request", "REQUEST-ID")
                .help("Only this request: the id on the error page or in the header X-Request-Id"),
        )
        .arg(option("name", "NAME").help("Only refused sign-ins with this login name, as it was typed"))
        .arg(option("from", "TIME").help("Not before this time"))
        .arg(option("to", "TIME").help("Before this time"))
        .arg(output::limit());
    Command::new("audit")
        .about("Search the audit log")
        .subcommand_required(true)
        .subcommand(about_an_issuer(search))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("search", matches)) => search(matches),
        _ => Ok(()),
    }
}

fn search(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut query = times(matches, SystemClock::start().now().millis())?;
    let api = Api::reach(matches)?;
    if let Some(name) = matches.get_one::<String>("user") {
        let id = even_if_gone(named::user_id(&api, name), name)?;
        query.push_str(&format!("&user_id={}", segment(&id)));
    }
    if let Some(name) = matches.get_one::<String>("client") {
        let id = even_if_gone(named::client_id(&api, name), name)?;
        query.push_str(&format!("&client_id={}", segment(&id)));
    }
    for (option, parameter) in
        [("event", "event"), ("address", "address"), ("request", "request_id"), ("name", "name")]
    {
        if let Some(value) = matches.get_one::<String>(option) {
            query.push_str(&format!("&{parameter}={}", segment(value)));
        }
    }
    let (records, is_cut) = api.first("/audit-logs", "audit_logs", &query, output::most(matches))?;
    api.close()?;
    let count = records.len();
    let shown = |records: &Value| {
        let rows: Vec<Value> = records.as_array().into_iter().flatten().map(dated).collect();
        table(&COLUMNS, &rows)
    };
    print(matches, &Value::Array(records), shown)?;
    if is_cut {
        output::say_cut(count);
    }
    Ok(())
}

/// The part of the query that names the time.
fn times(matches: &ArgMatches, now: u64) -> Result<String, CommandError> {
    let mut query = String::new();
    for name in ["from", "to"] {
        if let Some(text) = matches.get_one::<String>(name) {
            let at =
                moment::parse(text, now).map_err(|why| CommandError::Usage(format!("--{name}: {why}")))?;
            query.push_str(&format!("&{name}={at}"));
        }
    }
    Ok(query)
}

/// The id of a user or client. What was deleted is in the log by its id alone, so what is not found is taken for one.
fn even_if_gone(found: Result<String, CommandError>, name: &str) -> Result<String, CommandError> {
    match found {
        Err(CommandError::NotFound(_)) => {
            output::note(&format!("nothing is called \"{}\" today: it is searched for as an id", line(name)));
            Ok(name.to_owned())
        }
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_milliseconds_and_mistakes_name_their_option() {
        let of = |arguments: &[&str]| {
            let matches = command().try_get_matches_from([&["audit", "search"], arguments].concat()).unwrap();
            times(matches.subcommand_matches("search").unwrap(), 86_400_000)
        };
        assert_eq!(of(&["--from", "1h", "--to", "1970-01-03"]).unwrap(), "&from=82800000&to=172800000");
        assert_eq!(of(&[]).unwrap(), "");
        let refused = of(&["--to", "tomorrow"]).unwrap_err();
        assert!(refused.to_string().starts_with("--to: tomorrow"), "{refused}");
        assert!(matches!(refused, CommandError::Usage(_)));
    }

    #[test]
    fn only_events_that_are_written_can_be_searched_for() {
        let of = |event| command().try_get_matches_from(["audit", "search", "--event", event]);
        assert!(of("client.created").is_ok());
        for not in ["token.exchanged", "client.crated"] {
            assert!(of(not).is_err(), "{not}");
        }
    }
}
