//! The audit log, searched.

use std::net::IpAddr;

use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::AuditFilter;

use crate::call::{Call, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, PAGE, Parameter, page_of};
use crate::paging;

pub(super) fn operations() -> Vec<Operation> {
    let filters = [
        Parameter {
            name: "event",
            kind: "string",
            about: "Only this event, by its name (`client.created`).",
        },
        Parameter { name: "user_id", kind: "string", about: "Only events of this user." },
        Parameter { name: "client_id", kind: "string", about: "Only events of this client." },
        Parameter {
            name: "from",
            kind: "integer",
            about: "Not before this time, in milliseconds since 1970.",
        },
        Parameter { name: "to", kind: "integer", about: "Before this time, in milliseconds since 1970." },
        Parameter { name: "address", kind: "string", about: "Only requests from this IP address." },
        Parameter {
            name: "request_id",
            kind: "string",
            about: "Only this request: the id of the error page and of `X-Request-Id`.",
        },
        Parameter {
            name: "name",
            kind: "string",
            about: "Only refused sign-ins with this login name, exactly as it was typed but for its case.",
        },
    ];
    vec![
        Operation::get("/audit-logs", "Searches the audit log, newest first", search)
            .query(&PAGE)
            .query(&filters)
            .answers(200, page_of("audit_logs", "AuditRecord")),
    ]
}

fn event(name: &str) -> Result<Event, AdminError> {
    let found = Event::ALL.iter().find(|event| event.name() == name);
    found.copied().ok_or_else(|| AdminError::invalid("event is not the name of an event"))
}

async fn search(call: Call) -> Answer {
    let page = paging::requested(&call)?;
    let address: Option<IpAddr> = call.query("address")?;
    let name: Option<String> = call.query("name")?;
    let filter = AuditFilter {
        event: call.query::<String>("event")?.map(|name| event(&name)).transpose()?,
        user: call.query("user_id")?,
        client: call.query("client_id")?,
        refused: false,
        address: address.map(|address| address.to_canonical().to_string()),
        request: call.query("request_id")?,
        login_name_digest: name.map(|name| call.issuer.login_name_digest(&name)),
        from: call.query("from")?.map(Timestamp::from_millis),
        to: call.query("to")?.map(Timestamp::from_millis),
    };
    let found = call.app.store.search_audit(call.id(), &filter, &page).await?;
    let records: Vec<Value> = found.items.iter().map(|record| json!(record)).collect();
    Ok(ok(&json!({ "audit_logs": records, "pagination": paging::pagination(&page, found.total) })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_by_name() {
        for known in Event::ALL {
            assert_eq!(event(known.name()).ok(), Some(*known));
        }
        assert!(event("no.such").is_err());
    }
}
