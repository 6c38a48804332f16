//! What a fault is, and which there are.

use std::time::Duration;

use super::Cluster;
use super::faults::{clock, disk, network, node, postgres, redis};
use crate::drill::Dice;

/// Something that breaks and is mended again.
pub trait Fault {
    /// By which the command line and the table name it.
    fn name(&self) -> &'static str;

    /// Why it cannot happen here.
    fn left_out(&self, _cluster: &Cluster) -> Option<String> {
        None
    }

    /// How long it lasts once it has begun.
    fn lasts(&self) -> Duration;

    /// How many requests must have been sent before it begins.
    fn not_before(&self) -> usize {
        0
    }

    /// How many requests may go without an answer while it lasts, and these because the connection was closed. Nothing:
    /// any number, for whatever reason.
    fn hang_ups_at_most(&self) -> Option<usize> {
        None
    }

    /// Whether a primary of Redis ends by it. Codes that no replica had yet go with it (they are used once, never
    /// twice, but not durable), and so does what they would have told of a replay.
    fn loses_codes(&self) -> bool {
        false
    }

    /// Breaks something.
    ///
    /// # Errors
    /// What went wrong that must not.
    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String>;

    /// Mends it.
    ///
    /// # Errors
    /// What went wrong that must not.
    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String>;
}

/// One of each.
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
