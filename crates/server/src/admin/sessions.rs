//! Sessions: listed, shown and ended by their public name.

use serde_json::{Value, json};
use symbolon_protocol::id::{Sid, UserId};
use symbolon_protocol::session::AuthenticationMethod;
use symbolon_store::port::{ListedSession, PageRequest};

use super::call::{Call, done, ok};
use super::error::{AdminError, Answer};
use super::operation::{Operation, PAGE, Parameter, page_of, wrapped};
use super::{ending, paging};

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/sessions/{sid}";
    let user = Parameter { name: "user_id", kind: "string", about: "Only sessions of this user." };
    vec![
        Operation::get("/sessions", "Lists live sessions, newest first", list)
            .query(&PAGE)
            .query(&[user])
            .answers(200, page_of("sessions", "Session")),
        Operation::get(ONE, "Shows a live session", show).answers(200, wrapped("session", "Session")),
        Operation::delete(ONE, "Ends a session and the tokens bound to it", end).answers(204, Value::Null),
    ]
}

/// A session as JSON. Its secret is stored as a digest and cannot be shown.
fn view(listed: &ListedSession) -> Value {
    let session = &listed.session;
    json!({
        "sid": session.sid,
        "user_id": session.user,
        "auth_time": session.auth_time,
        "created_at": session.created_at,
        "expires_at": session.expires_at,
        "last_used_at": listed.last_used_at,
        "amr": session.amr.iter().map(AuthenticationMethod::as_str).collect::<Vec<_>>(),
        "clients": session.clients,
    })
}

/// A page of the live sessions, of one user or of all.
pub(super) async fn listed(call: &Call, user: Option<&UserId>) -> Answer {
    let page = paging::requested(call)?;
    let found = call.app.store.list_sessions(call.id(), user, &page, call.now()).await?;
    let sessions: Vec<Value> = found.items.iter().map(view).collect();
    Ok(ok(&json!({ "sessions": sessions, "pagination": paging::pagination(&page, found.total) })))
}

async fn list(call: Call) -> Answer {
    let user: Option<UserId> = call.query("user_id")?;
    listed(&call, user.as_ref()).await
}

fn unknown() -> AdminError {
    AdminError::not_found("there is no such live session")
}

async fn show(call: Call) -> Answer {
    let sid: Sid = call.path("sid")?;
    // The port has no look-up by `sid`: one listing of everything is cheaper than many pages.
    let all = PageRequest { page: 1, limit: u32::MAX, search: None };
    let found = call.app.store.list_sessions(call.id(), None, &all, call.now()).await?;
    let session = found.items.iter().find(|listed| listed.session.sid == sid).ok_or_else(unknown)?;
    Ok(ok(&json!({ "session": view(session) })))
}

async fn end(call: Call) -> Answer {
    let sid: Sid = call.path("sid")?;
    ending::session(&call, &sid).await?.ok_or_else(unknown)?;
    Ok(done())
}
