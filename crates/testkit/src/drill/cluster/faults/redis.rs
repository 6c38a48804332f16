//! Primaries of Redis end, are paused, or run out of memory.

use std::time::Duration;

use super::super::{Cluster, Fault};
use crate::drill::Dice;

/// The nodes that are primaries now.
pub(in super::super) fn primaries(cluster: &Cluster) -> Vec<usize> {
    let nodes = cluster.redis.nodes().into_iter();
    nodes.filter(|node| node.running && node.replicates.is_none()).map(|node| node.index).collect()
}

/// SIGKILL to primaries. After one, its replica takes over; with two of three gone, there is no majority to decide
/// that. They are started again later, as replicas if a replica took over.
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
        // The cluster's nodes wait for two seconds before they consider one of them failed.
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

/// SIGSTOP to a primary for longer than the others wait for it: a replica takes over. When the old primary resumes, it
/// first handles the commands that were sent to it meanwhile.
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

/// The memory limit of every primary becomes half of what it uses, so it refuses commands that need more. A limit at
/// exactly the used memory would not do, because a freed buffer makes room.
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
