//! Bulk signing of access tokens, on all cores.

use std::num::NonZero;
use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::claim_definition::NO_CLAIMS;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::release::{RecordsNeeded, release_to_access_token};
use symbolon_protocol::token::{Context, refresh_token};
use tokio::runtime::Handle;

use super::super::admin_created;
use super::super::call::{Call, Concerns, Payload};
use super::super::error::{AdminError, Answer};
use super::super::signing_keys;
use super::super::test_endpoints::MAX_TOKEN_TTL;
use super::lines::Line;
use super::stream::{self, Batch, Done, Pace};
use super::{Known, scope};
use symbolon_app::audit::ChangedFields;
use symbolon_app::issuer::TokenType;

/// `POST /tokens/bulk`.
pub(super) async fn sign(call: Call, payload: Payload) -> Answer {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    // Small chunks, so that the last ones of a stream are spread over the cores too; twice as many as cores, so that
    // no core waits for lines to be read.
    let pace = Pace { chunk: 64, in_flight: 2 * cores, event: Some(Event::GrantBegun) };
    let known = Known::new(&call);
    stream::answer(call, payload, pace, move |chunk| chunk_of(Arc::clone(&known), chunk))
}

/// Claims, their type, and the algorithm to sign them with.
type Unsigned = (AccessToken, TokenType, Algorithm);

async fn chunk_of(known: Arc<Known>, chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    for line in chunk {
        batch.push(new(&known, line).await);
    }
    let (unsigned, call): (Vec<Unsigned>, _) = (batch.take(), known.call.clone());
    let made: Vec<_> = unsigned.iter().map(|(token, ..)| made(token)).collect();
    let runtime = Handle::current();
    let signed = tokio::task::spawn_blocking(move || {
        unsigned.into_iter().map(|token| runtime.block_on(signed(&call, token))).collect::<Vec<Done>>()
    });
    let signed = signed.await.map_err(AdminError::internal);
    for ((user, client, made), signed) in made.into_iter().zip(signed.iter().flatten()) {
        if signed.is_ok() {
            let concerns = Concerns { user: user.as_ref(), client: Some(&client), detail: Value::Null };
            known.call.audit(Event::GrantBegun, concerns, made);
        }
    }
    batch.settle(signed)
}

/// What the audit log says of a token.
fn made(token: &AccessToken) -> (Option<UserId>, ClientId, ChangedFields) {
    let AccessToken { sub, client_id, scope, jti, exp, .. } = token;
    let claims = json!({ "sub": sub, "client_id": client_id, "scope": scope, "jti": jti, "exp": exp });
    (token.user(), client_id.clone(), ChangedFields::made(&claims))
}

async fn new(known: &Known, line: Line) -> Result<Unsigned, AdminError> {
    let (mut fields, call) = (stream::fields(line)?, &known.call);
    let client = known.client(&mut fields).await?;
    let user = known.user(&mut fields).await?;
    let scope = scope(&mut fields, &client)?;
    let ttl = fields.bounded("ttl_seconds", 1..=MAX_TOKEN_TTL)?;
    fields.finish()?;
    let settings = call.issuer.settings.load_full();
    let claims = call.issuer.claims_for(&settings, &client);
    let context = Context {
        issuer: &call.issuer.record,
        settings: &settings,
        client: &client,
        claims: claims.as_deref().unwrap_or(&NO_CLAIMS),
        now: call.now(),
        pairwise_key: &call.issuer.pairwise_key,
        jkt: None,
        x5t_s256: None,
        random: &*call.app.random,
    };
    let of_issuer = call.issuer.keys.load().algorithm(&settings, context.now);
    let algorithm = client.signing_algorithm(client.access_token_signed_response_alg, of_issuer);
    // The access token that a refresh would yield, in a grant of its own.
    let family = admin_created::family_of(call, &client, user, scope.clone());
    let mut token = refresh_token::issue(&context, &family, scope, false).access;
    if let Some(ttl) = ttl {
        token.exp = token.iat.saturating_add(ttl);
    }
    let needed = RecordsNeeded::by_access_token(&context, &token);
    if let Some(user) = token.user().filter(|_| needed != RecordsNeeded::default()) {
        let records = call.app.user_records(call.id(), &user, needed).await?;
        let failures = release_to_access_token(&context, &mut token, &records);
        call.app.note_failed_claims(&call.issuer, &client.client_id, &failures);
    }
    signing_keys::ensure(call, std::iter::once(algorithm)).await?;
    let typ = client.settings.access_token_typ.unwrap_or_default();
    Ok((*token, typ.into(), algorithm))
}

async fn signed(call: &Call, (mut token, typ, algorithm): Unsigned) -> Done {
    let payload = call.issuer.access_token_payload(&mut token).map_err(AdminError::internal)?;
    let text = call.app.sign(&call.issuer, (algorithm, typ), &payload, call.now()).await;
    let text = text.map_err(AdminError::internal)?;
    Ok(json!({ "access_token": text, "jti": token.jti, "user_id": token.user(), "exp": token.exp }))
}
