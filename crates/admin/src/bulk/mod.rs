//! Bulk creation and export: NDJSON is streamed in and out, and answers come in the order of the lines.
//!
//! A line is at most 64 KiB. Lines are processed in chunks, and answers are sent per chunk. So a client that waits
//! for one answer before it sends the next line waits for ever. A client that reads no answers until it has sent
//! everything should send at most 100,000 lines (10,000 for tokens): beyond that, unread answers block the reading of
//! lines.

mod consents;
mod export;
mod families;
mod groups;
mod identities;
mod identity_providers;
pub(super) mod lines;
mod logos;
mod records;
mod roles;
mod sessions;
mod stream;
mod tokens;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::scope::Scope;

use crate::call::Call;
use crate::error::AdminError;
use crate::fields::Fields;
use crate::operation::{Operation, reference};
use crate::users::VERIFIED;

pub(super) fn operations() -> Vec<Operation> {
    [of_users_and_clients(), of_groups_and_roles(), of_providers_consents_and_logos()].concat()
}

fn of_users_and_clients() -> Vec<Operation> {
    vec![
        Operation::bulk("/users/bulk", ["NewUser", "BulkUser"], "Creates users, a line each", records::users)
            .query(&[records::DRY_RUN]),
        Operation::bulk(
            "/clients/bulk",
            ["ClientMetadata", "BulkClient"],
            "Registers clients, a line each",
            records::clients,
        )
        .query(&[records::DRY_RUN]),
        Operation::bulk(
            "/sessions/bulk",
            ["BulkNewSession", "BulkSession"],
            "Opens sessions, a line each",
            sessions::open,
        ),
        Operation::bulk(
            "/tokens/bulk",
            ["BulkNewToken", "BulkToken"],
            "Signs access tokens, a line each",
            tokens::sign,
        ),
        Operation::bulk(
            "/refresh-tokens/bulk",
            ["BulkNewRefreshToken", "BulkRefreshToken"],
            "Begins refresh-token families, a line each",
            families::begin,
        ),
        Operation::get("/users/export", "Lists every user, a line each", export::users)
            .query(&[VERIFIED, export::PASSWORD_HASHES])
            .answers(200, reference("ExportedUser"))
            .streamed(),
        Operation::get("/clients/export", "Lists every client, a line each", export::clients)
            .query(&[export::SECRET_DIGESTS])
            .answers(200, reference("ExportedClient"))
            .streamed(),
    ]
}

fn of_groups_and_roles() -> Vec<Operation> {
    const MEMBERSHIP: [&str; 2] = ["Membership", "BulkMembership"];
    const GIVEN_ROLE: [&str; 2] = ["GivenRole", "BulkGivenRole"];
    vec![
        Operation::bulk(
            "/groups/bulk",
            ["NewGroup", "BulkGroup"],
            "Creates groups, a line each; one may be below one of an earlier line",
            groups::create,
        )
        .query(&[records::DRY_RUN]),
        Operation::get(
            "/groups/export",
            "Lists every group, a line each, after the one above it",
            groups::export,
        )
        .answers(200, reference("Group"))
        .streamed(),
        Operation::bulk("/memberships/bulk", MEMBERSHIP, "Puts users into groups, a line each", groups::add),
        Operation::bulk(
            "/memberships/bulk-removal",
            MEMBERSHIP,
            "Takes users out of groups, a line each",
            groups::remove,
        ),
        Operation::get(
            "/memberships/export",
            "Lists who is in which group directly, a line each",
            groups::export_memberships,
        )
        .answers(200, reference("Membership"))
        .streamed(),
        Operation::bulk("/roles/bulk", ["NewRole", "BulkRole"], "Creates roles, a line each", roles::create)
            .query(&[records::DRY_RUN]),
        Operation::get("/roles/export", "Lists every role, a line each", roles::export)
            .answers(200, reference("Role"))
            .streamed(),
        Operation::bulk(
            "/given-roles/bulk",
            GIVEN_ROLE,
            "Gives roles to users and groups, a line each",
            roles::give,
        ),
        Operation::bulk(
            "/given-roles/bulk-removal",
            GIVEN_ROLE,
            "Takes roles from users and groups, a line each",
            roles::take,
        ),
        Operation::get(
            "/given-roles/export",
            "Lists who was given which role directly, a line each",
            roles::export_given,
        )
        .answers(200, reference("GivenRole"))
        .streamed(),
    ]
}

fn of_providers_consents_and_logos() -> Vec<Operation> {
    vec![
        Operation::bulk(
            "/identity-providers/bulk",
            ["NewIdentityProvider", "BulkIdentityProvider"],
            "Adds providers, a line each",
            identity_providers::create,
        )
        .query(&[records::DRY_RUN]),
        Operation::get(
            "/identity-providers/export",
            "Lists every provider without its secret, a line each",
            identity_providers::export,
        )
        .answers(200, reference("IdentityProvider"))
        .streamed(),
        Operation::bulk(
            "/identities/bulk",
            ["UserIdentity", "BulkUserIdentity"],
            "Connects users with who they are to other providers, a line each",
            identities::link,
        ),
        Operation::get(
            "/identities/export",
            "Lists who users are to other providers, a line each",
            identities::export,
        )
        .answers(200, reference("UserIdentity"))
        .streamed(),
        Operation::bulk(
            "/consents/bulk",
            ["UserConsent", "BulkUserConsent"],
            "Remembers what users allowed clients, a line each; a consent that is there stays as it is",
            consents::allow,
        ),
        Operation::get("/consents/export", "Lists what users allowed clients, a line each", consents::export)
            .answers(200, reference("UserConsent"))
            .streamed(),
        Operation::get(
            "/logos/export",
            "Lists the logos of the issuer and of its clients, a line each",
            logos::export,
        )
        .answers(200, reference("ExportedLogo"))
        .streamed(),
    ]
}

/// The most clients that one stream caches.
const REMEMBERED: usize = 1024;

/// The user and client lookups of one stream. Clients are cached, because many lines name few clients.
struct Known {
    call: Call,
    clients: Mutex<HashMap<ClientId, Arc<Client>>>,
}

impl Known {
    fn new(call: &Call) -> Arc<Self> {
        Arc::new(Self { call: call.clone(), clients: Mutex::default() })
    }

    /// The client that a line names.
    async fn client(&self, fields: &mut Fields) -> Result<Arc<Client>, AdminError> {
        let id: ClientId = fields.require_either(["client_id", "clientId"])?;
        if let Some(client) = self.clients.lock().get(&id) {
            return Ok(Arc::clone(client));
        }
        let found = self.call.app.store.client(self.call.id(), &id).await?;
        let client = found.ok_or_else(|| AdminError::not_found("there is no such client"))?;
        let mut clients = self.clients.lock();
        if clients.len() < REMEMBERED {
            clients.insert(id, Arc::clone(&client));
        }
        Ok(client)
    }

    /// The user that a line names, who must be active.
    async fn user(&self, fields: &mut Fields) -> Result<UserId, AdminError> {
        let id: UserId = fields.require_either(["user_id", "userId"])?;
        let found = self.call.app.store.user(self.call.id(), &id).await?;
        match found.filter(|user| user.may_sign_in()) {
            Some(_) => Ok(id),
            None => Err(AdminError::not_found("there is no such active user")),
        }
    }
}

/// The scope of a line: the client's whole scope, or a part of it.
fn scope(fields: &mut Fields, client: &Client) -> Result<Scope, AdminError> {
    let asked: Option<Scope> = fields.take("scope")?;
    let scope = asked.unwrap_or_else(|| client.scope.clone());
    if client.scope.covers(&scope) {
        return Ok(scope);
    }
    let registered = &client.scope;
    Err(AdminError::invalid(format!("scope goes beyond what the client registered: {registered}")))
}

/// A JSON object as the only member of another.
fn wrapped(member: &str, object: serde_json::Map<String, Value>) -> Value {
    serde_json::json!({ member: object })
}
