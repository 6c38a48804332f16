//! The number of shards per kind of state, and metrics of each shard.
//!
//! Shards belong to the store, not to an issuer: a change under any issuer applies to all.

use http::Method;
use serde_json::{Value, json};
use symbolon_figures::ShardSnapshot;
use symbolon_protocol::event::Event;
use symbolon_store::shard::{Generation, ShardKind};

use crate::call::{Call, Concerns, Payload, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, Parameter, reference};
use crate::script_members;
use symbolon_app::audit::ChangedFields;

/// The most shards of a generation.
const MAX_SHARDS: u64 = 1024;

const PATHS: [(ShardKind, &str); 6] = [
    (ShardKind::Code, "/settings/code-shards"),
    (ShardKind::Session, "/settings/session-shards"),
    (ShardKind::Challenge, "/settings/challenge-shards"),
    (ShardKind::Refresh, "/settings/refresh-shards"),
    (ShardKind::Revocation, "/settings/revocation-shards"),
    (ShardKind::Assertion, "/settings/assertion-shards"),
];

pub(super) fn operations() -> Vec<Operation> {
    const REFRESH: &str = "/settings/refresh-token-sharding";
    let client = Parameter {
        name: "clientId",
        kind: "string",
        about: "Repeated in the answer; shards are no client's.",
    };
    let mut operations = vec![
        Operation::get(REFRESH, "Shows the generations of refresh-token shards", refresh_token_sharding)
            .query(&[client])
            .answers(200, reference("RefreshTokenSharding")),
        Operation::taking(
            Method::PUT,
            REFRESH,
            "NewRefreshTokenSharding",
            "Opens a generation of refresh-token shards",
            set_refresh_token_sharding,
        )
        .answers(200, reference("RefreshTokenSharding")),
        Operation::get("/shards", "Counts operations, waits and errors per kind and shard", statistics)
            .answers(200, reference("ShardStatistics")),
    ];
    for (kind, path) in PATHS {
        let show = move |call: Call| async move { show(&call, kind) };
        let set = move |call: Call, payload: Payload| async move { set(&call, payload, kind).await };
        operations.push(
            Operation::get(path, "Shows the shards of a kind and its generations", show)
                .answers(200, reference("Shards")),
        );
        operations.push(
            Operation::taking(Method::PUT, path, "NewShards", "Opens a generation with so many shards", set)
                .answers(200, reference("Shards")),
        );
    }
    operations
}

/// The current generation, and the older ones that are still in use.
fn generations(call: &Call, kind: ShardKind) -> Result<(Generation, Vec<Generation>), AdminError> {
    let mut all = call.app.store.generations(kind);
    let current = all.pop().ok_or_else(|| AdminError::internal("a kind of state has no generation"))?;
    Ok((current, all))
}

fn show(call: &Call, kind: ShardKind) -> Answer {
    let (current, previous) = generations(call, kind)?;
    let view = |generation: &Generation| {
        json!({
            "generation": generation.generation,
            "shards": generation.shards,
            "opened_at": generation.opened_at,
            "closed_at": generation.closed_at,
        })
    };
    Ok(ok(&json!({
        "kind": kind.as_str(),
        "shards": current.shards,
        "generation": current.generation,
        "opened_at": current.opened_at,
        "previous": previous.iter().map(view).collect::<Vec<_>>(),
    })))
}

async fn set(call: &Call, payload: Payload, kind: ShardKind) -> Answer {
    let mut fields = payload.fields().await?;
    let shards = fields.bounded("shards", 1..=MAX_SHARDS)?;
    fields.finish()?;
    open(call, kind, shards.ok_or_else(|| AdminError::invalid("shards is required"))?).await?;
    show(call, kind)
}

/// Opens a generation, unless the current one already has this number of shards.
async fn open(call: &Call, kind: ShardKind, shards: u64) -> Result<(), AdminError> {
    let shards = u32::try_from(shards).map_err(AdminError::internal)?;
    let (before, _) = generations(call, kind)?;
    if before.shards == shards {
        return Ok(());
    }
    let opened = call.app.store.set_shards(kind, shards, call.now()).await?;
    let detail = json!({ "kind": kind.as_str(), "shards": shards, "generation": opened.generation });
    let changed = ChangedFields::between(
        &json!({ "shards": before.shards, "generation": before.generation }),
        &json!({ "shards": shards, "generation": opened.generation }),
    );
    call.audit(Event::ShardsChanged, Concerns { detail, ..Concerns::default() }, changed);
    Ok(())
}

fn sharding(call: &Call, client: Option<&str>) -> Answer {
    let (current, previous) = generations(call, ShardKind::Refresh)?;
    let view = |generation: &Generation| {
        json!({
            "generation": generation.generation,
            "shardCount": generation.shards,
            "deprecatedAt": generation.closed_at,
        })
    };
    Ok(ok(&json!({
        "clientId": client,
        "config": {
            "currentGeneration": current.generation,
            "currentShardCount": current.shards,
            "previousGenerations": previous.iter().map(view).collect::<Vec<_>>(),
            "updatedAt": current.opened_at,
        },
    })))
}

async fn refresh_token_sharding(call: Call) -> Answer {
    let client: Option<String> = call.query("clientId")?;
    sharding(&call, client.as_deref())
}

async fn set_refresh_token_sharding(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.fields().await?;
    let client = fields.text("clientId")?;
    // This parameter has its own, lower bound; `refresh-shards` allows as many as the store does.
    let shards = fields.bounded("shardCount", 1..=256)?;
    fields.ignore(&script_members::REFRESH_TOKEN_SHARDING);
    fields.finish()?;
    open(&call, ShardKind::Refresh, shards.ok_or_else(|| AdminError::invalid("shardCount is required"))?)
        .await?;
    sharding(&call, client.as_deref())
}

async fn statistics(call: Call) -> Answer {
    let snapshot = call.app.store.figures().snapshot();
    let shard = |shard: &ShardSnapshot| {
        json!({
            "shard": shard.shard,
            "operations": shard.operations,
            "errors": shard.errors,
            "queue_wait_ns": shard.queue_wait_ns,
            "wall_ns": shard.wall_ns,
        })
    };
    let kinds: Vec<Value> = snapshot
        .kinds
        .iter()
        .map(|kind| {
            let current =
                ShardKind::parse(kind.kind.name()).and_then(|own| call.app.store.generations(own).pop());
            json!({
                "kind": kind.kind.name(),
                "generation": current.map(|current| current.generation),
                "shards": kind.shards.iter().map(shard).collect::<Vec<_>>(),
            })
        })
        .collect();
    Ok(ok(&json!({ "kinds": kinds })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_path() {
        for kind in ShardKind::ALL {
            assert!(
                PATHS.contains(&(kind, format!("/settings/{}-shards", kind.as_str()).leak())),
                "{}",
                kind.as_str()
            );
        }
    }
}
