//! Sessions and refresh-token families that the admin API creates for a user without a login.

use std::time::Duration;

use symbolon_protocol::client::Client;
use symbolon_protocol::family::Family;
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod, EndByTime, Session, SessionId};
use symbolon_store::shard::{ShardKind, sid_of};

use crate::call::Call;

/// The lifetimes of a family.
#[derive(Clone, Copy)]
pub(super) struct Lives {
    /// While unused.
    pub(super) idle: Duration,
    /// In total.
    pub(super) absolute: Duration,
}

/// A new session and its secret id.
pub(super) fn session(call: &Call, user: UserId, lives: Duration) -> (SessionId, Session) {
    let now = call.now();
    let id = SessionId::new(
        call.app.store.place(ShardKind::Session).draw::<16>(ShardKind::Session, &*call.app.random),
    );
    let session = Session {
        user,
        sid: sid_of(call.id(), &id),
        auth_time: now,
        created_at: now,
        expires_at: now + lives,
        amr: Amr::of(AuthenticationMethod::AdminApi),
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: EndByTime::after_idle(call.issuer.settings.load().lifetimes.session_idle),
    };
    (id, session)
}

/// A family with the client's configured lifetimes.
pub(super) fn family_of(call: &Call, client: &Client, user: UserId, scope: Scope) -> Family {
    let lifetimes = call.issuer.settings.load().lifetimes_for(&client.settings);
    let lives = Lives { idle: lifetimes.refresh_token_idle, absolute: lifetimes.refresh_token_absolute };
    family(call, client.client_id.clone(), user, scope, lives)
}

/// A new family, as if the user had signed in and consented to `offline_access`.
pub(super) fn family(call: &Call, client: ClientId, user: UserId, scope: Scope, lives: Lives) -> Family {
    let now = call.now();
    Family {
        grant: GrantId::draw(call.id(), user.as_str(), now, &*call.app.random),
        client,
        user,
        sid: None,
        scope,
        auth_time: now,
        amr: Amr::of(AuthenticationMethod::AdminApi),
        version: 1,
        created_at: now,
        rotated_at: now,
        idle_expires_at: now + lives.idle,
        expires_at: now + lives.absolute,
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    }
}
