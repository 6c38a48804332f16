//! Prints what a live session costs in resident memory, beyond what the store takes when it is idle.
//!
//! `cargo run -p symbolon-store-embedded --example measure_sessions [sessions] [clients per session]`

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Instant;

use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::session::{Amr, AuthenticationMethod, Session, SessionId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::{Sessions, Shards as _};
use symbolon_store::shard::FirstShards;
use symbolon_store::shard::{ShardKind, sid_of};
use symbolon_store_embedded::database::DatabaseOptions;
use symbolon_store_embedded::journal::JournalOptions;
use symbolon_store_embedded::{EmbeddedOptions, EmbeddedStore};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);
const PER_CALL: usize = 500;

/// Bytes of memory that the process holds.
fn resident() -> Result<u64, Box<dyn std::error::Error>> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).unwrap_or_default().parse()?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// A session of a user of its own, whose id is as long as those that the server draws.
fn session(issuer: &IssuerId, id: &SessionId, n: usize) -> Session {
    Session {
        user: UserId::trusted(format!("u{n:022}")),
        sid: sid_of(issuer, id),
        auth_time: NOW,
        created_at: NOW,
        expires_at: NOW + DAY,
        amr: Amr::of(AuthenticationMethod::Pwd),
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: Default::default(),
    }
}

#[allow(clippy::disallowed_methods, reason = "measuring")]
#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let sessions: usize = arguments.next().map_or(Ok(200_000), |sessions| sessions.parse())?;
    let clients: usize = arguments.next().map_or(Ok(1), |clients| clients.parse())?;
    let path = std::env::temp_dir().join(format!("symbolon-measure-{}", std::process::id()));
    let options = EmbeddedOptions {
        path: path.clone(),
        shards: FirstShards::default(),
        journal: JournalOptions::default(),
        database: DatabaseOptions::default(),
        now: Arc::new(|| NOW.millis()),
        accept_clock: false,
    };
    let store = tokio::task::spawn_blocking(|| EmbeddedStore::open(options)).await??;
    let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(7));
    let idle = resident()?;
    let started = Instant::now();
    for first in (0..sessions).step_by(PER_CALL) {
        let numbers = first..(first + PER_CALL).min(sessions);
        let some: Vec<_> = numbers
            .map(|n| {
                let id =
                    SessionId::new(store.place(ShardKind::Session).draw::<16>(ShardKind::Session, &random));
                let session = session(&issuer, &id, n);
                (id, session)
            })
            .collect();
        let ids: Vec<SessionId> = some.iter().map(|(id, _)| id.clone()).collect();
        store.open_sessions(&issuer, some).await?.told().await?;
        for n in 0..clients {
            let client = ClientId::trusted(format!("client-{n}"));
            for id in &ids {
                drop(store.note_client(&issuer, id, &client, false).await?);
            }
        }
    }
    let took = started.elapsed();
    let full = resident()?;
    let each = NonZeroU64::new(sessions as u64).map_or(0, |sessions| full.saturating_sub(idle) / sessions);
    println!("{sessions} sessions of as many users, {clients} clients each, opened in {took:.2?}");
    println!("idle {idle} bytes, with them {full} bytes: {each} bytes per session");
    drop(store);
    std::fs::remove_dir_all(path)?;
    Ok(())
}
