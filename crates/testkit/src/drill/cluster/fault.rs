//! What a fault is, and the list of faults.

use std::time::Duration;

use super::Cluster;
use super::faults::{clock, disk, network, node, postgres, redis};
use crate::drill::Dice;

/// A fault that begins and is later healed.
pub trait Fault {
    /// The name on the command line and in the table.
    fn name(&self) -> &'static str;

    /// Why it cannot happen on this machine; `None` if it can.
    fn left_out(&self, _cluster: &Cluster) -> Option<String> {
        None
    }

    /// How long it lasts once it has begun.
    fn lasts(&self) -> Duration;

    /// How many requests must have been sent before it begins.
    fn not_before(&self) -> usize {
        0
    }

    /// How many requests at most may go unanswered while it lasts, because their connection was closed. `None`: any
    /// number, for any reason.
    fn hang_ups_at_most(&self) -> Option<usize> {
        None
    }

    /// Whether it ends a primary of Redis. Codes that no replica had yet are then lost (they are used at most once, but
    /// they are not durable), and with them the means to notice a replay.
    fn loses_codes(&self) -> bool {
        false
    }

    /// Begins the fault.
    ///
    /// # Errors
    /// What went wrong that must not go wrong.
    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String>;

    /// Heals the fault.
    ///
    /// # Errors
    /// What went wrong that must not go wrong.
    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String>;
}

/// One fault of each kind.
pub fn all_faults() -> Vec<Box<dyn Fault>> {
    vec![
        Box::new(node::KillNode::default()),
        Box::new(node::RollingRestart),
        Box::new(node::RollingUpgrade),
        Box::new(redis::KillPrimaries::new(1)),
        Box::new(redis::KillPrimaries::new(2)),
        Box::new(redis::PausePrimary::default()),
        Box::new(redis::FullMemory::default()),
        Box::new(postgres::KillPostgres),
        Box::new(postgres::PausePostgres),
        Box::new(disk::SlowDisk::default()),
        Box::new(network::Partition::from_postgres()),
        Box::new(network::Partition::from_redis()),
        Box::new(network::LosesPackets::default()),
        Box::new(network::Slow::default()),
        Box::new(clock::ClockJump::new(300)),
        Box::new(clock::ClockJump::new(-300)),
    ]
}
