//! The provider's own request log (`docs/reference/request-log.md`): JSON lines.

use std::borrow::Cow;
use std::time::UNIX_EPOCH;

use serde::Deserialize;

use super::Line;
use super::mapping::Logged;

/// What is read of a line.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    target: Option<Cow<'a, str>>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    endpoint: Option<Cow<'a, str>>,
    #[serde(borrow)]
    route: Option<Cow<'a, str>>,
    status: Option<u16>,
    duration_us: Option<u64>,
}

/// Reads a line. A request came before its line was made, by as long as it took.
pub(super) fn read(line: &str) -> Line {
    let Ok(fields) = serde_json::from_str::<Fields<'_>>(line) else { return Line::Unreadable };
    if fields.target.as_deref() != Some("symbolon::request") {
        return Line::Other;
    }
    let (Some(timestamp), Some(method), Some(endpoint)) = (fields.timestamp, fields.method, fields.endpoint)
    else {
        return Line::Unreadable;
    };
    let made = humantime::parse_rfc3339(&timestamp).ok();
    let made = made.and_then(|made| u64::try_from(made.duration_since(UNIX_EPOCH).ok()?.as_micros()).ok());
    let Some(made) = made else { return Line::Unreadable };
    let came = made.saturating_sub(fields.duration_us.unwrap_or(0));
    let logged = Logged::Endpoint {
        method: method.into_owned(),
        endpoint: endpoint.into_owned(),
        route: fields.route.map(Cow::into_owned),
        status: fields.status,
    };
    Line::Request(came, logged)
}
