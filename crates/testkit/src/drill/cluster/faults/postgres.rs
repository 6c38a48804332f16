//! PostgreSQL ends, or is paused.

use std::time::Duration;

use super::super::{Cluster, Fault};
use crate::drill::Dice;

/// SIGKILL to all its processes; it recovers at its next start.
pub(in super::super) struct KillPostgres;

impl Fault for KillPostgres {
    fn name(&self) -> &'static str {
        "kill-postgres"
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        cluster.postgres.kill();
        Ok(())
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        cluster.postgres.restart();
        Ok(())
    }
}

/// SIGSTOP to all its processes, like a disk that answers late.
pub(in super::super) struct PausePostgres;

impl Fault for PausePostgres {
    fn name(&self) -> &'static str {
        "pause-postgres"
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        cluster.postgres.pause();
        Ok(())
    }

    fn heal(&mut self, cluster: &mut Cluster) -> Result<(), String> {
        cluster.postgres.resume();
        Ok(())
    }
}
