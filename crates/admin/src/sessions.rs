//! Sessions: listed, shown and ended by their `sid`.

use serde_json::{Value, json};
use symbolon_protocol::id::{Sid, UserId};
use symbolon_protocol::session::AuthenticationMethod;
use symbolon_store::port::{ListedSession, SessionCursor};

use crate::call::{Call, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, PAGE, Parameter, reference, wrapped};
use crate::{ending, paging};

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/sessions/{sid}";
    let query = [
        Parameter { name: "cursor", kind: "string", about: "`next_cursor` of the answer before." },
        Parameter {
            name: "user_id",
            kind: "string",
            about: "Only sessions of this user, by pages, newest first.",
        },
    ];
    let listed = json!({
        "type": "object",
        "required": ["sessions"],
        "properties": {
            "sessions": { "type": "array", "items": reference("Session") },
            "next_cursor": {
                "type": ["string", "null"],
                "description": "Where the rest begins, null at the end. There may be fewer sessions than asked for, or none, \
                                although more follow.",
            },
            "pagination": reference("Pagination"),
        },
    });
    vec![
        Operation::get("/sessions", "Lists live sessions, a piece at a time", list)
            .query(&query)
            .query(&PAGE)
            .answers(200, listed),
        Operation::get(ONE, "Shows a live session", show).answers(200, wrapped("session", "Session")),
        Operation::delete(ONE, "Ends a session and the tokens bound to it", end).answers(204, Value::Null),
    ]
}

/// A session as JSON. Its secret id is stored only as a digest, so it is not shown.
fn view(listed: &ListedSession) -> Value {
    let session = &listed.session;
    let origin = listed.origin.clone().unwrap_or_default();
    json!({
        "sid": session.sid,
        "user_id": session.user,
        "auth_time": session.auth_time,
        "created_at": session.created_at,
        "expires_at": session.expires_at,
        "last_used_at": listed.last_used_at,
        "amr": session.amr.iter().map(AuthenticationMethod::as_str).collect::<Vec<_>>(),
        "clients": session.clients,
        "device": origin.device,
        "system": origin.system(),
        "address": origin.address,
    })
}

/// A page of the live sessions of a user, newest first.
pub(super) async fn of_user(call: &Call, user: &UserId) -> Answer {
    let page = paging::requested(call)?;
    let found = call.app.store.list_sessions(call.id(), user, &page, call.now()).await?;
    let sessions: Vec<Value> = found.items.iter().map(view).collect();
    Ok(ok(&json!({ "sessions": sessions, "pagination": paging::pagination(&page, found.total) })))
}

async fn list(call: Call) -> Answer {
    if let Some(user) = call.query::<UserId>("user_id")? {
        return of_user(&call, &user).await;
    }
    if call.query::<u32>("page")?.is_some() {
        return Err(AdminError::invalid("page needs user_id: all sessions are read on by cursor"));
    }
    let limit = paging::limit(&call)?;
    let after: Option<SessionCursor> = call.query("cursor")?;
    let found = call.app.store.next_sessions(call.id(), after, limit, call.now()).await?;
    let sessions: Vec<Value> = found.items.iter().map(view).collect();
    Ok(ok(&json!({ "sessions": sessions, "next_cursor": found.next.map(|next| next.to_string()) })))
}

fn unknown() -> AdminError {
    AdminError::not_found("there is no such live session")
}

async fn show(call: Call) -> Answer {
    let sid: Sid = call.path("sid")?;
    let found = call.app.store.session_by_sid(call.id(), sid.as_str(), call.now()).await?.told().await?;
    let found = found.ok_or_else(unknown)?;
    let origin = call.app.store.session_origin(call.id(), &found.session).await?;
    Ok(ok(&json!({ "session": view(&ListedSession { origin, ..found }) })))
}

async fn end(call: Call) -> Answer {
    let sid: Sid = call.path("sid")?;
    ending::session(&call, &sid).await?.ok_or_else(unknown)?;
    Ok(done())
}
