//! The `nodes.conf` with which the nodes of a cluster start, and what a node reports about itself.

use std::net::IpAddr;
use std::ops::RangeInclusive;

/// The slots of a Redis Cluster, shared out among three primaries.
const SLOTS: [RangeInclusive<u16>; 3] = [0..=5_460, 5_461..=10_922, 10_923..=16_383];

/// How many slots those are.
pub(super) const SLOT_COUNT: usize = 16_384;

/// A node of a new cluster. The first three are primaries; the others replicate them, in their order.
pub(super) struct Member {
    /// 40 hexadecimal digits.
    pub(super) id: String,
    pub(super) port: u16,
    pub(super) bus: u16,
}

/// The `nodes.conf` with which node `own` starts: it knows all the others, which are at the same address, and the slots
/// from the first moment, so the nodes need not meet first. A line has the form that CLUSTER NODES documents.
pub(super) fn nodes_conf(members: &[Member], own: usize, address: IpAddr) -> String {
    let line = |(index, member): (usize, &Member)| {
        let myself = if index == own { "myself," } else { "" };
        let place = format!("{} {address}:{}@{}", member.id, member.port, member.bus);
        match (SLOTS.get(index), members.get(index % SLOTS.len())) {
            (Some(slots), _) => {
                let (epoch, first, last) = (index + 1, slots.start(), slots.end());
                format!("{place} {myself}master - 0 0 {epoch} connected {first}-{last}\n")
            }
            (None, primary) => {
                let primary = primary.map_or("-", |primary| primary.id.as_str());
                format!("{place} {myself}slave {primary} 0 0 0 connected\n")
            }
        }
    };
    let lines: String = members.iter().enumerate().map(line).collect();
    format!("{lines}vars currentEpoch {} lastVoteEpoch 0\n", SLOTS.len())
}

/// What a node reports about itself.
pub(super) struct Itself {
    pub(super) id: String,
    /// The id of its primary; `None` for a primary.
    pub(super) replicates: Option<String>,
    /// The configuration epoch of its slots: of two nodes that claim a slot, the one with the greater epoch owns it.
    pub(super) epoch: u64,
    slots: Vec<RangeInclusive<u16>>,
}

impl Itself {
    /// From an answer to CLUSTER NODES; `None` if the answer is not one.
    pub(super) fn parse(nodes: &str) -> Option<Self> {
        let own = nodes.lines().find(|line| line.contains("myself"))?;
        let fields: Vec<&str> = own.split_whitespace().collect();
        let [id, _, _, primary, _, _, epoch, _, slots @ ..] = fields.as_slice() else { return None };
        Some(Self {
            id: (*id).to_owned(),
            replicates: (*primary != "-").then(|| (*primary).to_owned()),
            epoch: epoch.parse().ok()?,
            slots: slots.iter().filter_map(|range| slot_range(range)).collect(),
        })
    }

    /// How many slots it claims to be the primary of.
    pub(super) fn slots_held(&self) -> usize {
        if self.replicates.is_none() { self.slots.iter().map(ExactSizeIterator::len).sum() } else { 0 }
    }

    /// Whether it claims to be the primary of `slot`.
    pub(super) fn claims(&self, slot: u16) -> bool {
        self.replicates.is_none() && self.slots.iter().any(|range| range.contains(&slot))
    }
}

/// Parses `7` or `7-9`. A slot that is being moved stands in brackets and is not parsed.
fn slot_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}
