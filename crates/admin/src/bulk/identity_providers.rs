//! Bulk creation and export of other providers by which people sign in.

use std::sync::Arc;

use serde_json::{Map, Value};
use symbolon_protocol::event::Event;
use tokio::sync::mpsc;

use super::super::call::{Call, Payload};
use super::super::error::{AdminError, Answer};
use super::super::identity_providers;
use super::export::send;
use super::lines::Line;
use super::records::{dry_pace, is_dry, pace};
use super::stream::{self, Done};
use super::wrapped;

/// `POST /identity-providers/bulk`.
pub(super) async fn create(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    let is_dry = is_dry(&call)?;
    let pace = if is_dry { dry_pace } else { pace };
    stream::answer(call, payload, pace(Event::IdentityProviderCreated), move |chunk| {
        create_chunk(Arc::clone(&shared), chunk, is_dry)
    })
}

/// One after the other: each changes the settings.
async fn create_chunk(call: Arc<Call>, chunk: Vec<Line>, is_dry: bool) -> Vec<Done> {
    let mut done = Vec::with_capacity(chunk.len());
    for line in chunk {
        done.push(create_one(&call, line, is_dry).await.map(|view| wrapped("identity_provider", view)));
    }
    done
}

async fn create_one(call: &Call, line: Line, is_dry: bool) -> Result<Map<String, Value>, AdminError> {
    let fields = stream::fields(line)?;
    match is_dry {
        true => identity_providers::try_add(call, fields).await,
        false => identity_providers::add(call, fields).await,
    }
}

/// `GET /identity-providers/export`: without their secrets, which are never shown.
pub(super) async fn export(call: Call) -> Answer {
    let all = identity_providers::views(&call).await?;
    let (sender, receiver) = mpsc::channel(1);
    // They are few: one chunk, which waits for its reader.
    send(&sender, all.into_iter().map(Value::Object).collect()).await;
    Ok(stream::response(receiver))
}
