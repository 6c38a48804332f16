//! Why requests failed: the refused requests of the audit log, with cause and mend.

use std::time::Duration;

use serde_json::{Map, Value, json};
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::refusal::Refusal;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::AuditFilter;

use crate::call::{Call, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, Parameter, reference};
use crate::paging;

/// How far back a listing looks, unless it is asked to look further.
const LOOKED_BACK: Duration = Duration::from_secs(7 * 86_400);
/// How far back a request is looked for, step by step, before all of the log is searched: an id says nothing about its
/// time, and a failure that somebody asks about has mostly just happened.
const STEPS: [Duration; 3] = [Duration::from_secs(3_600), Duration::from_secs(86_400), LOOKED_BACK];
/// The most failures of one request id: a client may send the same id with many requests.
const MOST_OF_ONE: u32 = 20;
/// How long a search waits for what this process has not written yet, which a slow store takes seconds for.
const WRITTEN_WITHIN: Duration = Duration::from_secs(10);
/// How long after a search that found nothing another one follows: another node may not have written it yet.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(1_500);
/// How far back that other search goes: what is older, the first one has seen.
const LOOKED_AT_AGAIN: Duration = Duration::from_secs(60);

pub(super) fn operations() -> Vec<Operation> {
    let query = [
        Parameter { name: "limit", kind: "integer", about: "The most failures, 1 to 100; 20 without." },
        Parameter {
            name: "from",
            kind: "integer",
            about: "Not before this time, in milliseconds since 1970; 7 days ago without.",
        },
    ];
    let failures = || {
        json!({
            "type": "object",
            "required": ["failures"],
            "properties": { "failures": { "type": "array", "items": reference("Failure") } },
        })
    };
    vec![
        Operation::get("/failures", "Lists refused requests and why, newest first", list)
            .query(&query)
            .answers(200, failures()),
        Operation::get(
            "/failures/{request_id}",
            "Says why a request was refused, and what mends it",
            explain,
        )
        .answers(200, failures()),
        Operation::get(
            "/clients/{client_id}/failures",
            "Lists refused requests of a client and why, newest first",
            of_client,
        )
        .query(&query)
        .answers(200, failures()),
    ]
}

async fn list(call: Call) -> Answer {
    let filter = AuditFilter { refused: true, ..AuditFilter::default() };
    let found = newest(&call, filter).await?;
    Ok(answer(&found))
}

async fn of_client(call: Call) -> Answer {
    let client: ClientId = call.path("client_id")?;
    let filter = AuditFilter { refused: true, client: Some(client.clone()), ..AuditFilter::default() };
    let found = newest(&call, filter).await?;
    // A name that is no client's is found too: that it is none is the failure.
    if found.is_empty() && !call.app.client_exists(&call.issuer, &client).await? {
        return Err(AdminError::not_found("there is no such client"));
    }
    Ok(answer(&found))
}

async fn explain(call: Call) -> Answer {
    let id = request_id(&call)?;
    let filter = AuditFilter { refused: true, request: Some(id), ..AuditFilter::default() };
    written(&call).await?;
    let mut found = of_request(&call, &filter).await?;
    if found.is_empty() {
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        let lately = AuditFilter { from: Some(call.now() - LOOKED_AT_AGAIN), ..filter };
        found = call.app.store.newest_audit(call.id(), &lately, MOST_OF_ONE).await?;
    }
    if found.is_empty() {
        return Err(AdminError::not_found(
            "no refused request of this id is in the audit log of this issuer: it was answered, or came in a flood, or is \
             too old; the request log has a line for every error",
        ));
    }
    Ok(answer(&found))
}

/// The refused requests that match a filter, as many and as far back as the call asks for.
async fn newest(call: &Call, filter: AuditFilter) -> Result<Vec<AuditRecord>, AdminError> {
    let most = paging::limit(call)?;
    let from = call.query("from")?.map(Timestamp::from_millis).unwrap_or(call.now() - LOOKED_BACK);
    written(call).await?;
    let filter = AuditFilter { from: Some(from), ..filter };
    Ok(call.app.store.newest_audit(call.id(), &filter, most).await?)
}

/// Waits until this process has written the refused requests of before: somebody who asks about a request asks in the moment
/// after it.
///
/// # Errors
/// 503 if the store takes longer: an answer without them would say that nothing failed.
async fn written(call: &Call) -> Result<(), AdminError> {
    if call.app.audit.settle(WRITTEN_WITHIN).await { Ok(()) } else { Err(AdminError::not_written_yet()) }
}

async fn of_request(call: &Call, filter: &AuditFilter) -> Result<Vec<AuditRecord>, AdminError> {
    let now = call.now();
    let mut to = None;
    for from in STEPS.iter().map(|step| Some(now - *step)).chain([None]) {
        let filter = AuditFilter { from, to, ..filter.clone() };
        to = from;
        let found = call.app.store.newest_audit(call.id(), &filter, MOST_OF_ONE).await?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The id of the path, in the form that request ids have.
fn request_id(call: &Call) -> Result<String, AdminError> {
    let found = call.path.iter().find(|(name, _)| name == "request_id").map(|(_, id)| id.as_str());
    let is_id = |id: &&str| {
        (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    let found = found.filter(is_id).map(str::to_owned);
    found.ok_or_else(|| AdminError::not_found("this is not the form of a request id"))
}

fn answer(found: &[AuditRecord]) -> axum::response::Response {
    let failures: Vec<Value> = found.iter().filter_map(view).collect();
    ok(&json!({ "failures": failures }))
}

/// A failure; `None` for a reason that this program does not know, which a newer node has written.
fn view(record: &AuditRecord) -> Option<Value> {
    let refusal = Refusal::of_members(&record.detail)?;
    let mut failure = match &record.detail {
        Value::Object(members) => members.clone(),
        _ => Map::new(),
    };
    failure.remove("login_name_digest");
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            failure.insert(name.to_owned(), value);
        }
    };
    set("at", json!(record.at));
    set("event", json!(record.event));
    set("request_id", json!(record.request));
    set("address", json!(record.address));
    set("client_id", json!(record.client));
    set("user_id", json!(record.user));
    set("cause", refusal.reason.cause().into());
    set("explanation", refusal.explanation().into());
    set("mend", refusal.reason.mend().into());
    Some(Value::Object(failure))
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::event::Event;
    use symbolon_protocol::refusal::{Details, Reason};

    use super::*;

    #[test]
    fn a_failure_shows_cause_values_and_mend() {
        let details =
            Details::of("redirect_uri").sent("https://a.example/x/").registered(["https://a.example/x"]);
        let details = details.login_name("ann@example.com", "the-digest");
        let refusal = Refusal::about(Reason::RedirectUriNotRegistered, details);
        let record = AuditRecord {
            at: Timestamp::from_millis(7),
            event: Event::RequestRefused,
            user: None,
            client: Some(ClientId::trusted("app")),
            actor: "anonymous".into(),
            address: Some("192.0.2.1".into()),
            request: Some("request-1".to_owned()),
            detail: Value::Object(refusal.to_members()),
        };
        let shown = view(&record).unwrap();
        for (member, value) in [
            ("reason", json!("redirect_uri_not_registered")),
            ("request_id", json!("request-1")),
            ("at", json!(7)),
            ("client_id", json!("app")),
            ("address", json!("192.0.2.1")),
            ("sent", json!("https://a.example/x/")),
            ("registered", json!(["https://a.example/x"])),
            ("login_name", json!("ann@example.com")),
            ("mend", json!(Reason::RedirectUriNotRegistered.mend())),
        ] {
            assert_eq!(shown[member], value, "{member}");
        }
        assert!(shown["explanation"].as_str().unwrap().contains("registered is https://a.example/x"));
        assert!(shown.get("user_id").is_none() && !shown.to_string().contains("the-digest"), "{shown}");
        let of_a_newer_node = AuditRecord { detail: json!({ "reason": "of_tomorrow" }), ..record };
        assert_eq!(view(&of_a_newer_node), None);
    }
}
