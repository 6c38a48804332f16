//! Nodes end: by a kill, or in order.

use std::time::Duration;

use super::super::{Cluster, Fault, NODES};
use crate::drill::Dice;

/// SIGKILL to a node.
#[derive(Default)]
pub(in super::super) struct KillNode {
    victim: usize,
}

impl Fault for KillNode {
    fn name(&self) -> &'static str {
        "kill-node"
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String> {
        self.victim = dice.below(NODES);
        cluster.kill_node(self.victim);
        Ok(())
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        cluster.start_node(self.victim)
    }
}

/// SIGTERM to one node after the other; each is ready again before the next one is stopped. Every request is answered,
/// or its connection is refused.
pub(in super::super) struct RollingRestart;

impl Fault for RollingRestart {
    fn name(&self) -> &'static str {
        "rolling-restart"
    }

    fn lasts(&self) -> Duration {
        Duration::ZERO
    }

    fn hang_ups_at_most(&self) -> Option<usize> {
        // A connection that the kernel accepts at the very moment when the listener closes is reset by the kernel.
        Some(NODES)
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        for node in 0..NODES {
            cluster.stop_node(node);
            cluster.start_node(node)?;
            cluster.wait_until_ready(node)?;
        }
        Ok(())
    }

    fn heal(&mut self, _cluster: &mut Cluster) -> Result<(), String> {
        Ok(())
    }
}

/// As [`RollingRestart`], but each node restarts as the other of two neighbouring versions: upgraded and, the next
/// time, downgraded. In between, both versions serve side by side.
pub(in super::super) struct RollingUpgrade;

/// How long each mixture of versions serves.
const SIDE_BY_SIDE: Duration = Duration::from_secs(1);

impl Fault for RollingUpgrade {
    fn name(&self) -> &'static str {
        "rolling-upgrade"
    }

    fn left_out(&self, cluster: &Cluster) -> Option<String> {
        (!cluster.has_neighbour()).then(|| "no neighbouring version was given".to_owned())
    }

    fn lasts(&self) -> Duration {
        Duration::ZERO
    }

    fn hang_ups_at_most(&self) -> Option<usize> {
        RollingRestart.hang_ups_at_most()
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        for node in 0..NODES {
            cluster.stop_node(node);
            cluster.change_version(node)?;
            cluster.start_node(node)?;
            cluster.wait_until_ready(node)?;
            std::thread::sleep(SIDE_BY_SIDE);
        }
        Ok(())
    }

    fn heal(&mut self, _cluster: &mut Cluster) -> Result<(), String> {
        Ok(())
    }
}
