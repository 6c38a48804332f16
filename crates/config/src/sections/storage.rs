//! Where state is stored, and how hot state is sharded.

use std::path::PathBuf;
use std::time::Duration;

use super::Section;
use super::cluster::{self, Cluster};
use super::listen::is_off;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::value::Value;

const SHARDS: ValueKind = ValueKind::Count { min: 1, max: 1024 };

/// A key for the number of shards of one kind of state.
const fn shards(path: &'static str, env: &'static str, flag: &'static str, doc: &'static str) -> Key {
    Key::new(path, env, flag, SHARDS).default("64").first_start().doc(doc)
}

pub(crate) const SECTION: Section = Section {
    title: "Storage",
    intro: "The numbers of shards are those of the first start; afterwards the admin API changes them while the \
            server runs, and the stored number wins.",
    keys: &[
        Key::new("store", "SYMBOLON_STORE", "--store", ValueKind::Choice(&["embedded", "cluster"]))
            .default("embedded")
            .doc(
                "Storage back-end. `embedded` keeps everything in `data_dir`; with `cluster` any number of nodes share \
                 PostgreSQL and Redis, and none has a data directory.",
            ),
        Key::new("data_dir", "SYMBOLON_DATA_DIR", "--data-dir", ValueKind::Path)
            .default("./symbolon-data")
            .doc(
                "Directory of the embedded store, created at the first start. One process at a time may hold it. The \
                 cluster store has none.",
            ),
        Key::new("backup_dir", "SYMBOLON_BACKUP_DIR", "--backup-dir", ValueKind::Path)
            .unset("the admin API makes no backups")
            .live()
            .doc(
                "Directory below which `POST /api/admin/backup` may write. `symbolon backup` on the same machine does without: \
                 the server copies beside its data directory, and the command moves the copy to its place.",
            ),
        Key::new(
            "storage.commit_hold",
            "SYMBOLON_STORAGE_COMMIT_HOLD",
            "--storage-commit-hold",
            ValueKind::Duration { min: Duration::ZERO, max: Duration::from_millis(50) },
        )
        .default("1ms")
        .doc(
            "Longest time that the group commit waits for more writes while requests are in flight. Longer saves \
             CPU, shorter saves latency; 0 never waits.",
        ),
        Key::new("storage.sync", "SYMBOLON_STORAGE_SYNC", "--storage-sync", ValueKind::Switch)
            .default("true")
            .doc("Waits for the disk (fsync) before a write is acknowledged.")
            .weakens(is_off, "Without fsync a power cut can bring back used refresh tokens and revoked tokens."),
        Key::new(
            "storage.reserve",
            "SYMBOLON_STORAGE_RESERVE",
            "--storage-reserve",
            ValueKind::Size { min: 64 << 20, max: 1 << 40 },
        )
        .default("256MiB")
        .doc(
            "Free space of the data directory's disk below which writes are refused with 503. What was acknowledged is \
             still written out of it, and so are the files that the store makes from time to time.",
        ),
        Key::new(
            "storage.issuer_share",
            "SYMBOLON_STORAGE_ISSUER_SHARE",
            "--storage-issuer-share",
            ValueKind::Count { min: 1, max: 100 },
        )
        .default("50")
        .live()
        .doc(
            "The most that one issuer may take of the room for authorization codes, of that for marks of what may happen once, \
             and of that for codes by e-mail, in percent. A single issuer may take all, and so may each where rate limits are \
             off.",
        )
        .weakens(
            |value| matches!(value, Value::Count(100)),
            "One issuer may take the room for codes and marks of all others.",
        ),
        shards("shards.code", "SYMBOLON_SHARDS_CODE", "--shards-code", "Shards of authorization codes."),
        shards("shards.session", "SYMBOLON_SHARDS_SESSION", "--shards-session", "Shards of sessions."),
        shards(
            "shards.challenge",
            "SYMBOLON_SHARDS_CHALLENGE",
            "--shards-challenge",
            "Shards of pending logins and consents.",
        ),
        shards("shards.refresh", "SYMBOLON_SHARDS_REFRESH", "--shards-refresh", "Shards of refresh-token families."),
        shards(
            "shards.revocation",
            "SYMBOLON_SHARDS_REVOCATION",
            "--shards-revocation",
            "Shards of revocation tombstones, which stay empty: tombstones are found by hash.",
        ),
        shards(
            "shards.assertion",
            "SYMBOLON_SHARDS_ASSERTION",
            "--shards-assertion",
            "Shards of the replay marks of client assertions, which stay empty: marks are found by hash.",
        ),
    ],
};

/// Where state is stored.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The databases that many nodes share; without them the embedded store is used.
    pub cluster: Option<Cluster>,
    /// Directory of the embedded store.
    pub data_dir: PathBuf,
    /// The directory below which backups may be written.
    pub backup_dir: Option<PathBuf>,
    /// The longest time for which group commit waits for more writes; zero to never wait.
    pub commit_hold: Duration,
    /// Whether writes are flushed to disk before they are acknowledged.
    pub sync: bool,
    /// Free disk space in bytes below which writes are refused.
    pub reserve: u64,
    /// The most that one of several issuers may take of a room, in percent.
    pub issuer_share: u64,
    /// Shards per kind of state at the first start.
    pub shards: ShardCounts,
}

/// The number of shards per kind of hot state, 1 to 1,024 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCounts {
    /// Authorization codes.
    pub code: u32,
    /// Sessions.
    pub session: u32,
    /// Pending sign-ins and consents.
    pub challenge: u32,
    /// Refresh-token families.
    pub refresh: u32,
    /// Revocation tombstones.
    pub revocation: u32,
    /// Marks of used client assertions.
    pub assertion: u32,
}

pub(crate) fn build(reader: &mut Reader) -> Storage {
    Storage {
        cluster: cluster::build(reader),
        data_dir: reader.path("data_dir"),
        backup_dir: reader.optional_path("backup_dir"),
        commit_hold: reader.duration("storage.commit_hold"),
        sync: reader.switch("storage.sync"),
        reserve: reader.size("storage.reserve"),
        issuer_share: u64::from(reader.small_count::<u32>("storage.issuer_share")),
        shards: ShardCounts {
            code: reader.small_count("shards.code"),
            session: reader.small_count("shards.session"),
            challenge: reader.small_count("shards.challenge"),
            refresh: reader.small_count("shards.refresh"),
            revocation: reader.small_count("shards.revocation"),
            assertion: reader.small_count("shards.assertion"),
        },
    }
}
