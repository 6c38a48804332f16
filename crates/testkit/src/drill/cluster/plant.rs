//! Plants violations: does behind the nodes' backs what they must never do. A drill that does not find these is
//! useless.

use std::time::Duration;

use super::faults::redis::primaries;
use super::{Cluster, DATABASE, Fault};
use crate::drill::Dice;

/// A violation that is planted.
pub struct Plant {
    name: &'static str,
    /// Texts in the reports of violations, by any of which it is found.
    pub found_as: &'static [&'static str],
    work: fn(&Cluster) -> Result<(), String>,
}

/// One violation of each kind.
pub fn all_plants() -> Vec<Plant> {
    let plant = |name, found_as, work| Plant { name, found_as, work };
    vec![
        plant("codes-redeemed-twice", &["code that gives tokens once at most"], |cluster| {
            // The first byte of a stored code says whether it was used.
            each_key(cluster, "{*}c:*", |key| ["SETRANGE", key, "0", "F"].map(str::to_owned).to_vec())
        }),
        plant("revocations-forgotten", &["revoked access token"], |cluster| {
            cluster.postgres.psql(DATABASE, "DELETE FROM tombstones");
            for kind in ["t", "g", "s"] {
                each_key(cluster, &format!("{{*}}{kind}:*"), delete)?;
            }
            Ok(())
        }),
        plant("sessions-lost", &["live session"], |cluster| each_key(cluster, "{*}r:*", delete)),
        plant("families-lost", &["rotation:", "rotation, raced:", "newest refresh token:"], |cluster| {
            cluster.postgres.psql(DATABASE, "DELETE FROM families");
            Ok(())
        }),
    ]
}

impl Fault for Plant {
    fn name(&self) -> &'static str {
        self.name
    }

    fn lasts(&self) -> Duration {
        Duration::ZERO
    }

    fn not_before(&self) -> usize {
        // By then there are records of each kind, however slow the machine is.
        1_500
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        (self.work)(cluster)
    }

    fn heal(&mut self, _cluster: &mut Cluster) -> Result<(), String> {
        Ok(())
    }
}

fn delete(key: &str) -> Vec<String> {
    ["DEL", key].map(str::to_owned).to_vec()
}

/// Sends a command for every key that matches `pattern`, to the primary that holds it.
fn each_key(cluster: &Cluster, pattern: &str, command: fn(&str) -> Vec<String>) -> Result<(), String> {
    let mut changed = 0;
    for primary in primaries(cluster) {
        for key in cluster.redis.try_cli(primary, &["KEYS", pattern])?.lines() {
            let command = command(key);
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            cluster.redis.try_cli(primary, &words)?;
            changed += 1;
        }
    }
    if changed == 0 { Err(format!("no key is like {pattern}")) } else { Ok(()) }
}
