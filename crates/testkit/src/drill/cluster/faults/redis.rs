//! Primaries of Redis end, stand still, or have no memory left.

use std::time::Duration;

use super::super::{Cluster, Fault};
use crate::drill::Dice;

/// The nodes that are primaries at the moment.
pub(in super::super) fn primaries(cluster: &Cluster) -> Vec<usize> {
    let nodes = cluster.redis.nodes().into_iter();
    nodes.filter(|node| node.running && node.replicates.is_none()).map(|node| node.index).collect()
}

/// SIGKILL to primaries. A replica takes over from one; with two of three gone there is no majority that could decide
/// so. They are started again later: as replicas where somebody took over.
pub(in super::super) struct KillPrimaries {
    number: usize,
    victims: Vec<usize>,
}

impl KillPrimaries {
    pub(in super::super) fn new(number: usize) -> Self {
        Self { number, victims: Vec::new() }
    }
}

impl Fault for KillPrimaries {
    fn name(&self) -> &'static str {
        if self.number == 1 { "kill-redis-primary" } else { "kill-two-redis-primaries" }
    }

    fn lasts(&self) -> Duration {
        // The cluster's nodes wait for two seconds before they call one of them dead.
        Duration::from_secs(6)
    }

    fn loses_codes(&self) -> bool {
        true
    }

    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String> {
        let mut primaries = primaries(cluster);
        self.victims = (0..self.number).map(|_| primaries.swap_remove(dice.below(primaries.len()))).collect();
        self.victims.iter().for_each(|victim| cluster.redis.kill(*victim));
        Ok(())
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        self.victims.iter().for_each(|victim| cluster.redis.restart(*victim));
        cluster.redis.wait_until_in_order();
        Ok(())
    }
}

/// SIGSTOP to a primary for longer than the others wait for it: a replica takes over, and then the old one goes on where
/// it stood, with what had been sent to it.
#[derive(Default)]
pub(in super::super) struct PausePrimary {
    victim: usize,
}

impl Fault for PausePrimary {
    fn name(&self) -> &'static str {
        "pause-redis-primary"
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn loses_codes(&self) -> bool {
        true
    }

    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String> {
        self.victim = dice.pick(&primaries(cluster)).ok_or("no primary")?;
        cluster.redis.pause(self.victim);
        Ok(())
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        cluster.redis.resume(self.victim);
        cluster.redis.wait_until_in_order();
        Ok(())
    }
}

/// Every primary uses twice the memory that it may use, and so refuses what would need more. Exactly what it uses would
/// not do: a buffer that is given back makes room.
#[derive(Default)]
pub(in super::super) struct FullMemory {
    victims: Vec<usize>,
}

impl Fault for FullMemory {
    fn name(&self) -> &'static str {
        "full-redis"
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(4)
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        self.victims = primaries(cluster);
        for victim in &self.victims {
            let memory = cluster.redis.try_cli(*victim, &["INFO", "memory"])?;
            let used = memory.lines().find_map(|line| line.strip_prefix("used_memory:"));
            let used: u64 = used.and_then(|used| used.trim().parse().ok()).ok_or("no used_memory")?;
            let half = (used / 2).to_string();
            cluster.redis.try_cli(*victim, &["CONFIG", "SET", "maxmemory", &half])?;
        }
        Ok(())
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        for victim in &self.victims {
            cluster.redis.try_cli(*victim, &["CONFIG", "SET", "maxmemory", "0"])?;
        }
        Ok(())
    }
}
