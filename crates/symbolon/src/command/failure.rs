//! `symbolon client why`, `symbolon issuer why` and `symbolon explain`: why requests were refused, and what mends it.

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::Value;

use super::api::{Api, segment};
use super::moment::dated;
use super::output::{self, line, print};
use super::{CommandError, given, named};
use crate::cli::{about_an_issuer, drawn_id};

/// The most failures that one request answers.
const MOST: usize = 100;

/// `symbolon client why`.
pub(super) fn why_command() -> Command {
    let client = drawn_id("client", "CLIENT")
        .help("Its id or name; also an id that an application sends though no such client is registered");
    about_an_issuer(
        Command::new("why")
            .about("Say why requests of a client were refused lately, newest first, and what mends it")
            .arg(client)
            .arg(limit()),
    )
}

/// `symbolon issuer why`.
pub(super) fn issuer_why_command() -> Command {
    let about = "Say why requests at an issuer were refused lately, newest first, and what mends it";
    about_an_issuer(Command::new("why").about(about).arg(limit()))
}

fn limit() -> Arg {
    let help = "The most failures that are printed: 100 at most, and 0 for as many";
    output::limit().default_value("10").help(help)
}

/// `symbolon explain`.
pub(super) fn explain_command() -> Command {
    let request = drawn_id("request", "REQUEST-ID")
        .help("The id on the error page, in the header X-Request-Id of the answer, or in the request log");
    about_an_issuer(
        Command::new("explain").about("Say why a request was refused, and what mends it").arg(request),
    )
}

pub(super) fn why(matches: &ArgMatches) -> Result<(), CommandError> {
    let client = given(matches, "client");
    let api = Api::reach(matches)?;
    let id = match named::client_id(&api, client) {
        // Not registered, which may be why its requests are refused.
        Err(CommandError::NotFound(_)) => client.to_owned(),
        found => found?,
    };
    let path = format!("/clients/{}/failures", segment(&id));
    newest(api, matches, &path, &format!("of {} ", line(client)))
}

/// `symbolon issuer why`.
pub(super) fn issuer_why(matches: &ArgMatches) -> Result<(), CommandError> {
    newest(Api::reach(matches)?, matches, "/failures", "")
}

/// Prints the newest failures of a listing, and says on standard error if there are more. `of` says whose they are, with a
/// blank behind.
fn newest(api: Api, matches: &ArgMatches, path: &str, of: &str) -> Result<(), CommandError> {
    let most = output::most(matches);
    // One more than is printed, to know whether there are more.
    let asked = most.saturating_add(1).min(MOST);
    let mut failures = failures_of(api.ask(Method::GET, &format!("{path}?limit={asked}"), None)?);
    api.close()?;
    let cut = keep(&mut failures, most);
    print(matches, &failures, |failures| match failures.as_array() {
        Some(failures) if !failures.is_empty() => told(failures),
        _ => format!("No request {of}was refused in the last 7 days at this issuer.\n"),
    })?;
    if let Some(cut) = cut {
        output::note(&cut);
    }
    Ok(())
}

/// Keeps the first `most`; what to say if there are, or may be, more.
fn keep(failures: &mut Value, most: usize) -> Option<String> {
    let failures = failures.as_array_mut()?;
    if failures.len() > most {
        failures.truncate(most);
        return Some(format!("there are more than these {most}: --limit N shows more, up to {MOST}"));
    }
    (failures.len() >= MOST).then(|| {
        format!("these are the newest {MOST}: symbolon audit search --event request.refused shows all")
    })
}

pub(super) fn explain(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let path = format!("/failures/{}", segment(given(matches, "request")));
    let failures = failures_of(api.ask(Method::GET, &path, None)?);
    api.close()?;
    Ok(print(matches, &failures, |failures| told(failures.as_array().map_or(&[], Vec::as_slice)))?)
}

fn failures_of(mut answer: Value) -> Value {
    answer.get_mut("failures").map(Value::take).unwrap_or_default()
}

/// A paragraph for each failure.
fn told(failures: &[Value]) -> String {
    failures.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

fn paragraph(failure: &Value) -> String {
    let failure = dated(failure);
    let text = |member: &str| failure.get(member).and_then(Value::as_str).map(line);
    let known = |member: &str| text(member).unwrap_or_default();
    let about = [
        ("client", "client_id"),
        ("user", "user_id"),
        ("login name", "login_name"),
        ("address", "address"),
        ("endpoint", "endpoint"),
        ("request", "request_id"),
    ];
    let about: Vec<String> =
        about.iter().filter_map(|(title, member)| Some(format!("{title} {}", text(member)?))).collect();
    let mut lines = vec![
        format!("{}  {}", known("at"), known("reason")),
        format!("  {}", known("explanation")),
        format!("  Mend: {}", known("mend")),
        format!("  {}", about.join(", ")),
    ];
    if let Some(error) = text("error") {
        lines.push(format!("  It was told {error}: {}", known("error_description")));
    }
    if let Some(unrecorded) = failure.get("unrecorded") {
        lines.push(format!("  {unrecorded} refused requests before it were not kept"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_failure_is_a_paragraph() {
        let failure = json!({
            "at": 1_800_000_000_000_u64, "reason": "code_used", "explanation": "The code\u{1b} was redeemed before.",
            "mend": "Redeem a code once.", "client_id": "app", "address": "192.0.2.1", "request_id": "r-1",
            "error": "invalid_grant", "error_description": "no", "unrecorded": 7,
        });
        let text = "2027-01-15T08:00:00Z  code_used\n  The code\u{fffd} was redeemed before.\n  Mend: Redeem a code once.\n  \
                    client app, address 192.0.2.1, request r-1\n  It was told invalid_grant: no\n  \
                    7 refused requests before it were not kept\n";
        assert_eq!(told(std::slice::from_ref(&failure)), text);
        assert_eq!(told(&[failure.clone(), failure]), format!("{text}\n{text}"));
    }

    #[test]
    fn whoever_sees_a_part_of_the_failures_is_told_so() {
        let kept = |answered: usize, most: usize| {
            let mut failures = Value::Array(vec![json!({}); answered]);
            let told = keep(&mut failures, most);
            (failures.as_array().unwrap().len(), told)
        };
        let (left, told) = kept(11, 10);
        assert!(left == 10 && told.is_some_and(|told| told.contains("more than these 10")));
        assert_eq!(kept(10, 10), (10, None));
        for most in [MOST, usize::MAX] {
            let (left, told) = kept(MOST, most);
            assert!(left == MOST && told.is_some_and(|told| told.contains("audit search")), "{most}");
            assert_eq!(kept(MOST - 1, most), (MOST - 1, None));
        }
        let (left, told) = kept(MOST, MOST - 1);
        assert!(left == MOST - 1 && told.is_some_and(|told| told.contains("more than these 99")));
    }
}
