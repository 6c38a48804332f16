//! What administrators ask of sessions and grants.

use symbolon_protocol::id::IssuerId;
use symbolon_protocol::session::SessionId;
use symbolon_store::shard::sid_of;
use symbolon_testkit::{ADMIN_SECRET, Browser, decode_jwt};

use super::{Asked, Ending};

pub(super) fn asked(ending: &Ending) -> Vec<Asked> {
    let sid = sid_of(&IssuerId::default_issuer(), &SessionId::new(ending.session()));
    let user = decode_jwt(ending.tokens.id_token.as_deref().unwrap()).1["sub"].as_str().unwrap().to_owned();
    let session = format!("/sessions/{sid}");
    vec![
        ask(ending, "GET", "/sessions", &[200]),
        ask(ending, "GET", &session, &[404]),
        ask(ending, "DELETE", &session, &[404]),
        ask(ending, "GET", &format!("/users/{user}/sessions"), &[200]),
        ask(ending, "GET", &format!("/users/{user}/grants"), &[200]),
    ]
}

fn ask(ending: &Ending, method: &'static str, path: &str, statuses: &[u16]) -> Asked {
    let (base, what) = (ending.scene.server.management.clone(), format!("{method} /api/admin{path}"));
    let path = format!("/api/admin{path}");
    let send = move || {
        let secret = format!("Bearer {ADMIN_SECRET}");
        Browser::new(&base).send(method, &path, &[("authorization", &secret)], b"")
    };
    Asked { row: None, what, statuses: statuses.to_vec(), send: Box::new(send) }
}
