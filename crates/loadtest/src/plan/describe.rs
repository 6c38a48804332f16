//! A deployment in words.

use std::fmt;

use super::{Database, Deployment, Limit, Nodes, RedisCluster};

/// More primaries than this share too few hash tags each to be loaded evenly.
const MANY_PRIMARIES: u32 = 100;

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Minimum => "nothing: the fewest that may be",
            Self::Cpu => "processors",
            Self::Memory => "memory",
            Self::Network => "network",
            Self::Disk => "space on disk",
            Self::Log => "what the disk can write",
        })
    }
}

/// Markdown: what is asked, what there must be, and why.
impl fmt::Display for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates: Vec<String> =
            self.rates.iter().map(|(scenario, rate)| format!("{scenario} {}", figure(*rate))).collect();
        let users = figure(self.workload.users);
        writeln!(f, "{users} users; requests per second at the peak: {}\n", rates.join(", "))?;
        writeln!(f, "| | how many | used at the peak | runs out first |\n|---|---|---|---|")?;
        let Nodes { needed, count, busy_cores, gbit, limit } = &self.nodes;
        let cores = self.hardware.node_cores;
        writeln!(
            f,
            "| nodes of {cores} cores | {count} ({needed} carry the peak) | {} cores, {} Gbit/s | {limit} |",
            figure(*busy_cores),
            figure(*gbit)
        )?;
        let RedisCluster { primaries, replicas, busy_cores, gb, gbit, limit, .. } = &self.redis;
        writeln!(
            f,
            "| Redis | {primaries} primaries, {replicas} replicas | {} cores, {} GB, {} Gbit/s | {limit} |",
            figure(*busy_cores),
            figure(*gb),
            figure(*gbit)
        )?;
        self.write_database(f)?;
        self.notes().iter().try_for_each(|note| write!(f, "\n- {note}"))?;
        writeln!(f)
    }
}

impl Deployment {
    fn write_database(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Database {
            machines, cores, busy_cores, tb, wal_mb_per_second, durable_per_second, limit, ..
        } = &self.database;
        let (name, machines) = match (self.database.distributed, machines - 1) {
            (true, _) => ("CockroachDB or YugabyteDB", format!("{machines} machines")),
            (false, 1) => ("PostgreSQL", "1 and a standby".to_owned()),
            (false, standbys) => ("PostgreSQL", format!("1 and {standbys} standbys")),
        };
        writeln!(
            f,
            "| {name} | {machines} of {cores} cores | {} cores, {} TB, {} MB/s of log, {} durable operations/s | {limit} |",
            figure(*busy_cores),
            figure(*tb),
            figure(*wal_mb_per_second),
            figure(*durable_per_second)
        )
    }

    /// What to set, and what the model does not know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let connections = self.database.connections_per_node;
        if connections < 16 {
            notes.push(format!("set `SYMBOLON_POSTGRES_CONNECTIONS={connections}` on every node"));
        }
        if f64::from(connections) * f64::from(self.nodes.count) > 1_000.0 {
            notes.push("more connections than one PostgreSQL serves well: several deployments".to_owned());
        }
        if self.redis.primaries > 8 {
            notes.push(
                "1,024 shards of sessions and codes (`shards.session`, `shards.code`), or some primaries get none".into(),
            );
        }
        if self.redis.primaries > MANY_PRIMARIES {
            let skew = self.redis.skew;
            notes.push(format!(
                "the fullest primary has {skew:.1} times the mean: move slots between primaries, or share the users out \
                 over several deployments, by issuer"
            ));
        }
        if self.hardware.survive_zone && self.hardware.redis_replicas < 2 {
            notes.push("with one replica a lost zone stops new sessions (`redis.replicas = \"local\"` lets them go on)".into());
        }
        if self.database.distributed {
            notes.push(
                "no distributed database was measured: its machines are an assumption, see scaling.md".into(),
            );
        }
        notes
    }
}

/// Three digits, and k, M or G.
pub(super) fn figure(number: f64) -> String {
    let (scaled, unit) = match number {
        large if large >= 1e9 => (large / 1e9, "G"),
        large if large >= 1e6 => (large / 1e6, "M"),
        large if large >= 1e4 => (large / 1e3, "k"),
        small => (small, ""),
    };
    match scaled {
        small if small > 0.0 && small < 0.01 => "<0.01".to_owned(),
        small if small < 10.0 && small.fract() != 0.0 => format!("{small:.2}{unit}"),
        middle if middle < 100.0 && middle.fract() != 0.0 => format!("{middle:.1}{unit}"),
        large => format!("{large:.0}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Costs, Hardware, Preset};

    #[test]
    fn figures_have_three_digits() {
        let figures = [0.0, 0.001, 0.25, 12.34, 512.6, 9_999.0, 12_345.0, 1e6, 1e9];
        let told = figures.map(figure);
        assert_eq!(told, ["0", "<0.01", "0.25", "12.3", "513", "9999", "12.3k", "1M", "1G"]);
    }

    #[test]
    fn a_plan_says_how_many_of_what_and_why() {
        let costs = Costs::built_in().unwrap();
        let small = Deployment::of(&costs, &Preset::Consumer.workload(1e4), &Hardware::default()).unwrap();
        let told = small.to_string();
        assert!(told.contains("| nodes of 4 cores | 3 (1 carry the peak) |"), "{told}");
        assert!(
            told.contains("| Redis | 3 primaries, 6 replicas |") && told.contains("1 and 2 standbys"),
            "{told}"
        );
        assert!(small.notes().is_empty(), "{told}");
        let one_replica = Hardware { redis_replicas: 1, ..Hardware::default() };
        let large = Deployment::of(&costs, &Preset::ApiHeavy.workload(1e9), &one_replica).unwrap();
        let told = large.to_string();
        for needle in ["SYMBOLON_POSTGRES_CONNECTIONS=", "1,024 shards", "times the mean", "redis.replicas"] {
            assert!(told.contains(needle), "{needle} in\n{told}");
        }
    }
}
