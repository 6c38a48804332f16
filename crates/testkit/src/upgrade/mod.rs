//! What an earlier build left: a store of its own making, and what people and applications held of it.
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

/// The stores that there is a fixture of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A data directory, as SIGKILL left it.
    Embedded,
    /// PostgreSQL and Redis.
    Cluster,
}

impl Kind {
    /// Where its fixture is.
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

/// What people and applications held of one issuer when the store was left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    /// The path of the issuer's URL, which begins its endpoints' paths; empty for the one at the root.
    pub path: String,
    /// What begins the issuer's paths in the admin API.
    pub admin: String,
    /// The name of the session cookie.
    pub cookie: String,
    /// Ann's session, which lives.
    pub session: String,
    /// Ann's id.
    pub ann: String,
    /// The secret of the client `app`.
    pub secret: String,
    /// What `app` has of Ann, with `offline_access`, refreshed once.
    pub offline: Pair,
    /// What `web` has of Ann's session.
    pub online: Pair,
    /// The same, signed with the key before the last.
    pub before_rotation: Pair,
    /// The same, signed with a key that was revoked.
    pub of_revoked_key: Pair,
    /// What `app` revoked, both tokens.
    pub revoked: Pair,
    /// What `web` had of a session that was ended.
    pub of_ended_session: Pair,
    /// A client assertion that was used.
    pub assertion: String,
}

/// All of one store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Left {
    /// When, in milliseconds since 1970-01-01T00:00:00Z.
    pub at: u64,
    /// By issuer.
    pub held: Vec<Held>,
}

impl Left {
    /// What was held of the fixture's store in `directory`.
    pub fn read(directory: &Path) -> Self {
        let text = std::fs::read_to_string(directory.join("held.json")).expect("held.json");
        serde_json::from_str(&text).expect("held.json")
    }

    /// Writes it there.
    pub fn write(&self, directory: &Path) {
        let text = serde_json::to_string_pretty(self).expect("JSON");
        std::fs::write(directory.join("held.json"), text + "\n").expect("held.json");
    }
}
