//! Initial access tokens: with one an application may register itself, where the issuer asks for one (RFC 7591 3).
//!
//! None is kept, so there is no list. They end by their time or uses, and all at once by the setting
//! `client_registration_tokens_from`.

use std::time::Duration;

use http::Method;
use serde_json::json;
use symbolon_protocol::client_registration::{InitialAccessToken, LIVES, LONGEST_LIFE, MOST_USES};
use symbolon_protocol::event::Event;

use crate::call::{Call, Concerns, Payload, created};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use symbolon_app::audit::ChangedFields;
use symbolon_app::client_registration::seal_initial_access_token;

/// The shortest life of a token, in seconds.
const SHORTEST: u64 = 60;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::taking(
            Method::POST,
            "/initial-access-tokens",
            "NewInitialAccessToken",
            "Makes a token with which an application may register itself as a client",
            create,
        )
        .answers(201, reference("InitialAccessToken")),
    ]
}

async fn create(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.optional_fields().await?;
    let seconds = fields.bounded("expires_in", SHORTEST..=LONGEST_LIFE.as_secs())?;
    let uses = fields.bounded("uses", 1..=u64::from(MOST_USES))?;
    fields.finish()?;
    let life = seconds.map_or(LIVES, Duration::from_secs);
    let uses = uses.and_then(|uses| u8::try_from(uses).ok());
    let token = InitialAccessToken::new(life, uses, call.now(), &*call.app.random);
    let text = seal_initial_access_token(&call.issuer, &token).map_err(AdminError::internal)?;
    let made = json!({ "id": token.id, "expires_at": token.expires_at, "uses": token.uses });
    let concerns = Concerns { detail: json!({ "initial_access_token": token.id }), ..Concerns::default() };
    call.audit(Event::InitialAccessTokenMade, concerns, ChangedFields::made(&made));
    let (id, expires_at, uses) = (token.id, token.expires_at, token.uses);
    let answer = json!({ "id": id, "expires_at": expires_at, "uses": uses, "initial_access_token": text });
    Ok(created(&answer))
}
