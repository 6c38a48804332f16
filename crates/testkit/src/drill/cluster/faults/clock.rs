//! The clock of a node jumps.

use std::time::Duration;

use super::super::{Cluster, Fault, NODES, WrongClock};
use crate::drill::Dice;

/// The clock of the last node is set to another time while it runs. Forward it is followed, and the node must refuse and
/// say why. Back it is not; but the node, when it is started again, must say why it does not. It is started when the clock
/// is right.
pub(in super::super) struct ClockJump {
    by: i32,
}

impl ClockJump {
    /// Seconds, forward or backward.
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
