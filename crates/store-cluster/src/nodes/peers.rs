//! Compares the messages that this node received from the others with the numbers in their leases.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Another node as its lease describes it.
pub(super) struct Lease {
    pub(super) node: String,
    pub(super) told: i64,
    pub(super) closed: bool,
    pub(super) live: bool,
}

#[derive(Default)]
struct Peer {
    received: i64,
    /// The number in its lease at the previous heartbeat. Its messages up to this number have arrived by now, or are
    /// lost.
    told_before: i64,
    was_live: bool,
}

/// What was received from every other node.
#[derive(Default)]
pub(super) struct Peers(Mutex<HashMap<String, Peer>>);

impl Peers {
    /// Records a message; returns whether every earlier one was received too.
    pub(super) fn received(&self, node: &str, number: i64) -> bool {
        let mut peers = self.0.lock();
        let peer = match peers.get_mut(node) {
            Some(peer) => peer,
            None => peers.entry(node.to_owned()).or_default(),
        };
        let complete = number <= peer.received + 1;
        peer.received = peer.received.max(number);
        complete
    }

    /// How many messages of another node were received, or are known to be lost.
    #[cfg(feature = "engines")]
    pub(super) fn heard(&self, node: &str) -> i64 {
        self.0.lock().get(node).map_or(0, |peer| peer.received)
    }

    /// Compares what was received with the leases; returns whether a message was missed. At the `start` no message
    /// counts as missed, because nothing is cached yet.
    pub(super) fn compare(&self, leases: &[Lease], start: bool) -> bool {
        let mut peers = self.0.lock();
        let mut missed = false;
        for lease in leases {
            let peer = peers.entry(lease.node.clone()).or_default();
            if start {
                peer.received = peer.received.max(lease.told);
            }
            // A node that crashed may have committed changes that it sent no message about.
            missed |= peer.was_live && !lease.live && !lease.closed;
            let behind = peer.received < peer.told_before;
            if behind {
                peer.received = peer.told_before;
            }
            missed |= behind;
            peer.told_before = lease.told;
            peer.was_live = lease.live && !lease.closed;
        }
        // A lease that was deleted between two heartbeats had run out long before: that node crashed too.
        peers.retain(|node, peer| {
            let listed = leases.iter().any(|lease| lease.node == *node);
            missed |= !listed && peer.was_live;
            listed
        });
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(node: &str, told: i64) -> Lease {
        Lease { node: node.to_owned(), told, closed: false, live: true }
    }

    #[test]
    fn a_message_that_was_lost_is_missed_by_the_next_one_or_by_the_lease() {
        let peers = Peers::default();
        assert!(!peers.compare(&[lease("a", 5)], true), "told before this node remembered anything");
        assert!(peers.received("a", 6) && !peers.received("a", 8));
        assert!(!peers.compare(&[lease("a", 9)], false), "the ninth may be on its way");
        assert!(peers.compare(&[lease("a", 9)], false), "it is not");
        assert!(!peers.compare(&[lease("a", 9)], false), "once is enough");
    }

    #[test]
    fn a_node_that_comes_later_is_followed_from_its_first_word() {
        let peers = Peers::default();
        assert!(!peers.compare(&[], true));
        assert!(peers.received("b", 1));
        assert!(!peers.compare(&[lease("b", 1)], false) && !peers.compare(&[lease("b", 1)], false));
        assert!(!peers.compare(&[lease("b", 1), lease("c", 2)], false));
        assert!(peers.compare(&[lease("b", 1), lease("c", 2)], false), "nothing was heard of c");
    }

    #[test]
    fn a_node_that_goes_down_may_have_changed_what_it_did_not_tell() {
        let peers = Peers::default();
        peers.compare(&[lease("a", 0), lease("b", 0)], true);
        let down = Lease { live: false, ..lease("a", 0) };
        assert!(peers.compare(&[down, lease("b", 0)], false));
        let closed = Lease { live: false, closed: true, ..lease("b", 0) };
        assert!(!peers.compare(&[closed], false), "it went in order");
        let peers = Peers::default();
        peers.compare(&[lease("a", 0)], true);
        assert!(peers.compare(&[], false) && !peers.compare(&[], false));
    }
}
