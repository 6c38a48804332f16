//! What came of the lines of a log that was replayed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A log, and what was sent for its lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// The file.
    pub file: String,
    /// How many times as fast as the log.
    pub speed: f64,
    /// Lines that are not empty.
    pub lines: u64,
    /// For how many lines something was sent, by kind of request.
    pub sent_as: BTreeMap<String, u64>,
    /// For how many lines nothing was sent, by what they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
    /// Lines that could not be read.
    #[serde(default)]
    pub unreadable: u64,
    /// Lines of the log that are no requests.
    #[serde(default)]
    pub not_requests: u64,
    /// Whether its times are whole seconds, whose requests were spread evenly over them.
    #[serde(default)]
    pub spread: bool,
}
