//! What an earlier build left: a store, and what users and clients held from it.
//!
//! The stores are in `crates/testkit/tests/fixtures/upgrade`; the example `make_upgrade_fixture` makes them.

mod holder;
mod stored;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use holder::{CALLBACK, Holder};
pub use stored::{copied_redis, load_redis, pack, unpack};

/// The host of every issuer of the fixtures.
pub const HOST: &str = "issuer.test";

/// The master key of the fixtures, in hexadecimal: that of every test server.
pub const MASTER_KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// The prefix of the fixture's keys in Redis.
pub const REDIS_PREFIX: &str = "upgrade";

/// The stores for which there is a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixtureStore {
    /// A data directory, as SIGKILL left it.
    Embedded,
    /// PostgreSQL and Redis.
    Cluster,
}

impl FixtureStore {
    /// The directory of its fixture.
    pub fn directory(self) -> PathBuf {
        let name = match self {
            Self::Embedded => "embedded",
            Self::Cluster => "cluster",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/upgrade").join(name)
    }
}

/// An access token and a refresh token of one grant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// `access_token`.
    pub access: String,
    /// `refresh_token`.
    pub refresh: String,
}

/// What users and clients held from one issuer when the store was left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IssuedCredentials {
    /// The path of the issuer's URL, with which its endpoints' paths begin; empty for the issuer at the root.
    pub path: String,
    /// The beginning of the issuer's paths in the admin API.
    pub admin: String,
    /// The name of the session cookie.
    pub cookie: String,
    /// Ann's session, which is live.
    pub session: String,
    /// Ann's id.
    pub ann: String,
    /// The secret of the client `app`.
    pub secret: String,
    /// The tokens of `app` for Ann, with `offline_access`, refreshed once.
    pub offline: Pair,
    /// The tokens of `web` from Ann's session.
    pub online: Pair,
    /// The same, signed with the key before the last.
    pub before_rotation: Pair,
    /// The same, signed with a key that was revoked.
    pub of_revoked_key: Pair,
    /// Tokens of `app` that it revoked, both.
    pub revoked: Pair,
    /// The tokens of `web` from a session that was ended.
    pub of_ended_session: Pair,
    /// A client assertion that was used.
    pub assertion: String,
}

/// Everything held from one store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FixtureContents {
    /// When the store was left, in milliseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    /// By issuer.
    pub held: Vec<IssuedCredentials>,
}

impl FixtureContents {
    /// Reads what was held from the fixture's store in `directory`.
    pub fn read(directory: &Path) -> Self {
        let text = std::fs::read_to_string(directory.join("held.json")).expect("held.json");
        serde_json::from_str(&text).expect("held.json")
    }

    /// Writes it to `directory`.
    pub fn write(&self, directory: &Path) {
        let text = serde_json::to_string_pretty(self).expect("JSON");
        std::fs::write(directory.join("held.json"), text + "\n").expect("held.json");
    }
}
