//! The clock of a node jumps.

use std::time::Duration;

use super::super::{Cluster, Fault, NODES, WrongClock};
use crate::drill::Dice;

/// Sets the clock of the last node to another time while it runs. A clock set forward takes effect at once: the node
/// must refuse requests and say why. A clock set back has no effect on the running node; but when the node is started
/// again, it must refuse to start and say why. It is started when the clock is right.
pub(in super::super) struct ClockJump {
    by: i32,
}

impl ClockJump {
    /// By how many seconds: positive for forward, negative for back.
    pub(in super::super) fn new(by: i32) -> Self {
        Self { by }
    }
}

/// How long a node runs with a clock that was set back.
const BEFORE_RESTART: Duration = Duration::from_secs(2);

fn clock(cluster: &Cluster) -> Result<&WrongClock, String> {
    cluster.clock.as_ref().map_err(Clone::clone)
}

impl Fault for ClockJump {
    fn name(&self) -> &'static str {
        if self.by > 0 { "clock-ahead" } else { "clock-behind" }
    }

    fn left_out(&self, cluster: &Cluster) -> Option<String> {
        cluster.clock.as_ref().err().cloned()
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        clock(cluster)?.set(self.by)?;
        let said = if self.by > 0 {
            cluster.wait_until_unready(NODES - 1)?
        } else {
            std::thread::sleep(BEFORE_RESTART);
            cluster.stop_node(NODES - 1);
            cluster.start_node(NODES - 1).err().ok_or("a node with a wrong clock starts")?
        };
        if said.contains("the clock of this node is") {
            return Ok(());
        }
        Err(format!("a wrong clock is reported as {said}"))
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        clock(cluster)?.set(0)?;
        cluster.stop_node(NODES - 1);
        cluster.start_node(NODES - 1)
    }
}
