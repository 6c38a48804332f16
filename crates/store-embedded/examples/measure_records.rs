//! Prints how many users per second are created in bulk, and what reading a cached record costs.
//!
//! `cargo run --profile dist -p symbolon-store-embedded --example measure_records [users]`

use std::sync::Arc;
use std::time::Instant;

use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{Profile, User};
use symbolon_store::port::Users;
use symbolon_store::shard::FirstShards;
use symbolon_store_embedded::database::DatabaseOptions;
use symbolon_store_embedded::journal::JournalOptions;
use symbolon_store_embedded::{EmbeddedOptions, EmbeddedStore};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const PER_CALL: usize = 10_000;
const HITS: u32 = 1_000_000;

/// Ids in no order, as drawn ones are.
fn user(n: usize) -> User {
    let scattered = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    User {
        id: UserId::trusted(format!("{scattered:016x}{n:016x}")),
        email: Some(format!("user{scattered:016x}@example.com")),
        email_verified: true,
        profile: Profile { name: Some(format!("User {n}")), ..Profile::default() }.into(),
        active: true,
        created_at: NOW,
        updated_at: NOW,
    }
}

#[allow(clippy::disallowed_methods, reason = "measuring")]
#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let users: usize = std::env::args().nth(1).map_or(Ok(100_000), |users| users.parse())?;
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
    let issuer = IssuerId::default_issuer();
    let started = Instant::now();
    for first in (0..users).step_by(PER_CALL) {
        let some = (first..(first + PER_CALL).min(users)).map(|n| (user(n), None)).collect();
        store.create_users(&issuer, some).await?;
    }
    let took = started.elapsed();
    println!("{users} users created in {took:.2?}: {:.0} per second", users as f64 / took.as_secs_f64());

    let id = user(0).id;
    store.user(&issuer, &id).await?;
    let started = Instant::now();
    for _ in 0..HITS {
        std::hint::black_box(store.user(&issuer, &id).await?);
    }
    println!("a cached user is read in {:.0} ns", started.elapsed().as_nanos() as f64 / f64::from(HITS));
    drop(store);
    std::fs::remove_dir_all(path)?;
    Ok(())
}
