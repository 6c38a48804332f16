//! The network between nodes and an engine breaks, or is bad.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::{Cluster, Fault, NODES, Network, Switch};
use crate::drill::Dice;

fn left_out(cluster: &Cluster) -> Option<String> {
    cluster.network.as_ref().err().map(|why| format!("no network namespaces: {why}"))
}

fn network(cluster: &Cluster) -> Result<&Network, String> {
    cluster.network.as_ref().map_err(Clone::clone)
}

/// Nothing passes between one node and one engine; the other nodes reach both.
pub(in super::super) struct Partition {
    name: &'static str,
    switch: Switch,
    victim: usize,
}

impl Partition {
    pub(in super::super) fn from_postgres() -> Self {
        Self { name: "partition-postgres", switch: Switch::Postgres, victim: 0 }
    }

    pub(in super::super) fn from_redis() -> Self {
        Self { name: "partition-redis", switch: Switch::Redis, victim: 0 }
    }
}

impl Fault for Partition {
    fn name(&self) -> &'static str {
        self.name
    }

    fn left_out(&self, cluster: &Cluster) -> Option<String> {
        left_out(cluster)
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(6)
    }

    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String> {
        self.victim = dice.below(NODES);
        network(cluster)?;
        Network::cut(self.victim, self.switch)?;
        cluster.wait_until_unready(self.victim).map(drop)
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        network(cluster)?;
        Network::mend(self.victim, self.switch)
    }
}

/// The network between all nodes and an engine breaks for moments, so that packets are lost or arrive late.
#[derive(Default)]
pub(in super::super) struct LosesPackets {
    over: Arc<AtomicBool>,
    shaking: Option<JoinHandle<()>>,
    switch: Option<Switch>,
}

/// How long the network is broken, and how long it works, in turn.
const BROKEN: Duration = Duration::from_millis(60);
const WHOLE: Duration = Duration::from_millis(240);

impl Fault for LosesPackets {
    fn name(&self) -> &'static str {
        "lossy-network"
    }

    fn left_out(&self, cluster: &Cluster) -> Option<String> {
        left_out(cluster)
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String> {
        network(cluster)?;
        let switch = if dice.once_in(2) { Switch::Postgres } else { Switch::Redis };
        self.over.store(false, Ordering::SeqCst);
        let over = Arc::clone(&self.over);
        let shake = move || {
            while !over.load(Ordering::SeqCst) {
                for (change, pause) in [(Network::cut as fn(_, _) -> _, BROKEN), (Network::mend, WHOLE)] {
                    // A failure here happens again at the final repair, and is reported then.
                    (0..NODES).for_each(|node| drop(change(node, switch)));
                    std::thread::sleep(pause);
                }
            }
        };
        self.switch = Some(switch);
        self.shaking = Some(std::thread::spawn(shake));
        Ok(())
    }

    fn heal(&mut self, _cluster: &mut Cluster) -> Result<(), String> {
        self.over.store(true, Ordering::SeqCst);
        if let Some(shaking) = self.shaking.take() {
            shaking.join().map_err(|_| "the thread that breaks the network panicked")?;
        }
        let Some(switch) = self.switch.take() else { return Ok(()) };
        (0..NODES).try_for_each(|node| Network::mend(node, switch))
    }
}

/// The network between all nodes and an engine is slow: delayed if the kernel has `netem`, else of low bandwidth, so
/// that packets queue.
#[derive(Default)]
pub(in super::super) struct Slow {
    switch: Option<Switch>,
}

const DELAY: &[&str] = &["netem", "delay", "80ms", "40ms"];
const NARROW: &[&str] = &["tbf", "rate", "400kbit", "burst", "8kb", "latency", "300ms"];

impl Fault for Slow {
    fn name(&self) -> &'static str {
        "slow-network"
    }

    fn left_out(&self, cluster: &Cluster) -> Option<String> {
        left_out(cluster).or_else(|| {
            let network = network(cluster).ok()?;
            let tried = shape(network, Switch::Redis);
            (0..NODES).for_each(|node| drop(network.unshape(node, Switch::Redis)));
            tried.err()
        })
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn begin(&mut self, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String> {
        let switch = if dice.once_in(2) { Switch::Postgres } else { Switch::Redis };
        self.switch = Some(switch);
        shape(network(cluster)?, switch)
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        let Some(switch) = self.switch.take() else { return Ok(()) };
        let network = network(cluster)?;
        (0..NODES).try_for_each(|node| network.unshape(node, switch))
    }
}

fn shape(network: &Network, switch: Switch) -> Result<(), String> {
    let all = |discipline| (0..NODES).try_for_each(|node| network.shape(node, switch, discipline));
    all(DELAY).or_else(|_| all(NARROW))
}
