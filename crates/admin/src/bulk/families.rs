//! Bulk creation of refresh-token families.

use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_protocol::client::GrantType;
use symbolon_protocol::event::Event;
use symbolon_protocol::family::{Family, FamilyId};
use symbolon_protocol::token::refresh_token;
use symbolon_store::shard::ShardKind;

use super::super::admin_created;
use super::super::call::{Call, Concerns, Payload};
use super::super::error::{AdminError, Answer};
use super::lines::Line;
use super::stream::{self, Batch, Done, Pace};
use super::{Known, scope};
use symbolon_app::audit::ChangedFields;

const PACE: Pace = Pace { chunk: 500, in_flight: 4, event: Some(Event::FamilyBegun) };

/// `POST /refresh-tokens/bulk`.
pub(super) async fn begin(call: Call, payload: Payload) -> Answer {
    let known = Known::new(&call);
    stream::answer(call, payload, PACE, move |chunk| chunk_of(Arc::clone(&known), chunk))
}

async fn chunk_of(known: Arc<Known>, chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    for line in chunk {
        batch.push(new(&known, line).await);
    }
    let call = &known.call;
    let families: Vec<(FamilyId, Family)> = batch.take();
    let told: Vec<_> = families
        .iter()
        .map(|(id, family)| {
            let token = refresh_token::mint(call.id(), id, family.version, &call.issuer.refresh_token_key);
            Ok(json!({
                "refresh_token": token.expose(),
                "user_id": family.user,
                "client_id": family.client,
                "expires_at": family.expires_at,
            }))
        })
        .collect();
    let made: Vec<_> = families
        .iter()
        .map(|(_, family)| (family.user.clone(), family.client.clone(), ChangedFields::made(family)))
        .collect();
    let begun = begun(call, families).await;
    if begun.is_ok() {
        for (user, client, made) in made {
            let concerns = Concerns { user: Some(&user), client: Some(&client), detail: Value::Null };
            call.audit(Event::FamilyBegun, concerns, made);
        }
    }
    batch.settle(begun.map(|()| told))
}

/// Begins the families; they are durable on return.
async fn begun(call: &Call, families: Vec<(FamilyId, Family)>) -> Result<(), AdminError> {
    if !families.is_empty() {
        call.app.store.begin_families(call.id(), families).await?.told().await?;
    }
    Ok(())
}

async fn new(known: &Known, line: Line) -> Result<(FamilyId, Family), AdminError> {
    let mut fields = stream::fields(line)?;
    let client = known.client(&mut fields).await?;
    if !client.may_use(GrantType::RefreshToken) {
        return Err(AdminError::invalid("client_id names a client without the grant type refresh_token"));
    }
    let user = known.user(&mut fields).await?;
    let scope = scope(&mut fields, &client)?;
    fields.finish()?;
    let id =
        known.call.app.store.place(ShardKind::Refresh).draw_family(known.call.now(), &*known.call.app.random);
    Ok((id, admin_created::family_of(&known.call, &client, user, scope)))
}
