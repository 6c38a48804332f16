//! What a deployment costs in a month, where somebody gives prices. None are built in: they differ by seller, region and contract,
//! and change.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Deployment;
use super::describe::figure;
use crate::LoadtestError;

/// Hours of a month: 365.25 days in twelve parts.
const HOURS: f64 = 730.5;
/// Seconds of it.
const SECONDS: f64 = HOURS * 3_600.0;
/// A price above this is a slip of the pen.
const MOST: f64 = 1e9;
/// Memory of a server of Redis, as a multiple of what it holds: a rewrite of its log may copy all that changes meanwhile.
const REDIS_MEMORY: f64 = 2.0;
/// Disk of a server of Redis, as a multiple of what it holds: its log, and the new one while it is rewritten.
const REDIS_DISK: f64 = 2.0;
/// Log that is written with one operation of the disk: a page of 16 KiB. An assumption.
const BYTES_PER_WRITE: f64 = 16_384.0;

/// Prices, all in one currency. What is not given costs nothing here, and the plan says so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// As it is to be told: `EUR`.
    pub currency: String,
    /// Where these prices hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// A core of any machine, for an hour.
    pub core_hour: f64,
    /// A gigabyte of memory, for an hour.
    #[serde(default)]
    pub memory_gb_hour: f64,
    /// A gigabyte of disk, for a month.
    #[serde(default)]
    pub disk_gb_month: f64,
    /// One operation of a disk per second that is bought, for a month.
    #[serde(default)]
    pub disk_iops_month: f64,
    /// A gigabyte that goes to or from the users.
    #[serde(default)]
    pub traffic_gb: f64,
    /// Gigabytes of memory that a node has for each core.
    #[serde(default = "four")]
    pub node_gb_per_core: f64,
    /// Gigabytes of memory that a machine of the database has for each core.
    #[serde(default = "eight")]
    pub database_gb_per_core: f64,
}

const fn four() -> f64 {
    4.0
}

const fn eight() -> f64 {
    8.0
}

impl Prices {
    /// Reads a TOML file.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with the file, the key, its value and what it must be.
    pub fn read(path: &Path) -> Result<Self, LoadtestError> {
        let refused = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        Self::parse(&text).map_err(refused)
    }

    /// The same of its text; what is wrong with it.
    fn parse(text: &str) -> Result<Self, String> {
        let prices: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        prices.check()?;
        Ok(prices)
    }

    fn check(&self) -> Result<(), String> {
        let Self { core_hour, memory_gb_hour, disk_gb_month, disk_iops_month, traffic_gb, .. } = self;
        let prices = [
            ("core_hour", core_hour),
            ("memory_gb_hour", memory_gb_hour),
            ("disk_gb_month", disk_gb_month),
            ("disk_iops_month", disk_iops_month),
            ("traffic_gb", traffic_gb),
        ];
        for (name, price) in prices {
            if !(0.0..=MOST).contains(price) {
                return Err(format!("{name} = {price}: a price must be a number from 0 on"));
            }
        }
        for (name, gb) in
            [("node_gb_per_core", self.node_gb_per_core), ("database_gb_per_core", self.database_gb_per_core)]
        {
            if !(gb > 0.0 && gb <= 1_024.0) {
                return Err(format!("{name} = {gb}: it must be above 0 and not above 1024"));
            }
        }
        if self.currency.trim().is_empty() || self.currency.chars().count() > 8 {
            return Err(format!(
                "currency = {:?}: write its name in up to eight letters, as in \"EUR\"",
                self.currency
            ));
        }
        if *core_hour <= 0.0 {
            return Err(format!("core_hour = {core_hour}: it must be above 0, or nothing has a price"));
        }
        Ok(())
    }

    /// Prices that were left out, by name.
    fn missing(&self) -> Vec<&'static str> {
        let optional = [
            ("memory_gb_hour", self.memory_gb_hour),
            ("disk_gb_month", self.disk_gb_month),
            ("disk_iops_month", self.disk_iops_month),
            ("traffic_gb", self.traffic_gb),
        ];
        optional.into_iter().filter(|(_, price)| *price == 0.0).map(|(name, _)| name).collect()
    }
}

/// What one kind of machine costs in a month.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartCost {
    /// Which kind.
    pub name: &'static str,
    /// Its machines.
    pub machines: u32,
    /// Their cores.
    pub cores: f64,
    /// Their memory, in GB.
    pub memory_gb: f64,
    /// Their disks, in GB.
    pub disk_gb: f64,
    /// Operations of their disks per second.
    pub iops: f64,
    /// What goes to and from the users in a month, in GB.
    pub traffic_gb: f64,
    /// What all of that costs in a month.
    pub month: f64,
}

/// What a deployment costs in a month.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// The prices.
    pub prices: Prices,
    /// By kind of machine.
    pub parts: Vec<PartCost>,
    /// All of them.
    pub month: f64,
    /// For a million users.
    pub per_million_users: f64,
    /// For a million requests.
    pub per_million_requests: f64,
    /// Requests of a month, at the mean rate of a day.
    pub requests: f64,
    /// The same work without a spare and without anything in reserve: the cores that are busy at the mean, and what is kept
    /// once. No deployment runs on it; it says what rounding up, spares and the peak cost.
    pub bare: f64,
}

impl Bill {
    /// Of a deployment.
    pub fn of(deployment: &Deployment, prices: &Prices) -> Self {
        let parts = vec![nodes(deployment, prices), redis(deployment, prices), database(deployment, prices)];
        let month: f64 = parts.iter().map(|part| part.month).sum();
        let peak: f64 = deployment.rates.values().sum();
        let requests = peak / deployment.workload.peak_factor * SECONDS;
        Self {
            month,
            per_million_users: month / deployment.workload.users * 1e6,
            per_million_requests: month / requests.max(f64::MIN_POSITIVE) * 1e6,
            requests,
            bare: bare(deployment, prices),
            prices: prices.clone(),
            parts,
        }
    }

    /// What it does not count, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "A month has {HOURS} hours. Machines are counted whole, at the peak, with what may be lost; without spares, rounding and the \
             distance from the mean to the peak the same would cost {} {}.",
            figure(self.bare),
            self.prices.currency
        )];
        let missing = self.prices.missing();
        if !missing.is_empty() {
            notes.push(format!("no price was given for {}: it counts as nothing", missing.join(", ")));
        }
        notes.push(
            "balancers, back-ups, addresses, support and people are not counted; nor is what is paid within a region for traffic \
             between zones"
                .to_owned(),
        );
        notes
    }
}

/// Puts the price to what there is.
fn priced(mut part: PartCost, prices: &Prices) -> PartCost {
    part.month = HOURS * (part.cores * prices.core_hour + part.memory_gb * prices.memory_gb_hour)
        + part.disk_gb * prices.disk_gb_month
        + part.iops * prices.disk_iops_month
        + part.traffic_gb * prices.traffic_gb;
    part
}

fn nodes(deployment: &Deployment, prices: &Prices) -> PartCost {
    let count = deployment.nodes.count;
    let cores = f64::from(count) * deployment.hardware.node_cores;
    let part = PartCost {
        name: "nodes",
        machines: count,
        cores,
        memory_gb: cores * prices.node_gb_per_core,
        // They keep nothing.
        disk_gb: 0.0,
        iops: 0.0,
        traffic_gb: deployment.traffic_gb_per_second() / deployment.workload.peak_factor * SECONDS,
        month: 0.0,
    };
    priced(part, prices)
}

fn redis(deployment: &Deployment, prices: &Prices) -> PartCost {
    let redis = &deployment.redis;
    let machines = redis.primaries.saturating_add(redis.replicas);
    // A server works on one core, and its log is written by another.
    let part = PartCost {
        name: "Redis",
        machines,
        cores: 2.0 * f64::from(machines),
        memory_gb: f64::from(machines) * deployment.hardware.redis_gb * REDIS_MEMORY,
        disk_gb: f64::from(machines) * deployment.hardware.redis_gb * REDIS_DISK,
        iops: 0.0,
        traffic_gb: 0.0,
        month: 0.0,
    };
    priced(part, prices)
}

fn database(deployment: &Deployment, prices: &Prices) -> PartCost {
    let database = &deployment.database;
    let machines = f64::from(database.machines);
    // Each standby has all of it; a distributed database has everything three times, spread over its machines.
    let copies = if database.distributed { 3.0 } else { machines };
    let writes = database.wal_mb_per_second * 1e6 / BYTES_PER_WRITE;
    let part = PartCost {
        name: if database.distributed { "distributed database" } else { "PostgreSQL" },
        machines: database.machines,
        cores: machines * database.cores,
        memory_gb: machines * database.cores * prices.database_gb_per_core,
        disk_gb: copies * database.tb * 1_000.0 / deployment.hardware.utilisation,
        iops: copies * writes,
        traffic_gb: 0.0,
        month: 0.0,
    };
    priced(part, prices)
}

/// What is busy at the mean, and kept once.
fn bare(deployment: &Deployment, prices: &Prices) -> f64 {
    let peak = deployment.nodes.busy_cores + deployment.redis.busy_cores + deployment.database.busy_cores;
    let factor = deployment.workload.peak_factor;
    let part = PartCost {
        name: "",
        machines: 0,
        cores: peak / factor,
        memory_gb: deployment.redis.gb,
        disk_gb: deployment.database.tb * 1_000.0,
        iops: deployment.database.wal_mb_per_second * 1e6 / BYTES_PER_WRITE / factor,
        traffic_gb: deployment.traffic_gb_per_second() / factor * SECONDS,
        month: 0.0,
    };
    priced(part, prices).month
}

/// Markdown: a table by kind of machine, and what it comes to.
impl fmt::Display for Bill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Prices { currency, region, .. } = &self.prices;
        let region = region.as_ref().map_or_else(String::new, |region| format!(", prices of {region}"));
        writeln!(f, "A month costs {} {currency}{region}:\n", figure(self.month))?;
        writeln!(
            f,
            "| | machines | cores | GB of memory | GB of disk | disk operations/s | GB to and from users | {currency} a month |\n\
             |---|---|---|---|---|---|---|---|"
        )?;
        for part in &self.parts {
            let figures = [part.cores, part.memory_gb, part.disk_gb, part.iops, part.traffic_gb, part.month]
                .map(figure);
            writeln!(f, "| {} | {} | {} |", part.name, part.machines, figures.join(" | "))?;
        }
        writeln!(
            f,
            "\n{} {currency} for a million users, {} {currency} for a million requests ({} a month, at the mean rate).",
            figure(self.per_million_users),
            figure(self.per_million_requests),
            figure(self.requests)
        )?;
        self.notes().iter().try_for_each(|note| write!(f, "\n- {note}"))?;
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Costs, Hardware, Preset};

    const EXAMPLE: &str = "currency = \"EUR\"\nregion = \"example\"\ncore_hour = 0.04\nmemory_gb_hour = 0.005\n\
                           disk_gb_month = 0.1\ndisk_iops_month = 0.006\ntraffic_gb = 0.08\n";

    fn deployment(users: f64) -> Deployment {
        Deployment::of(&Costs::built_in().unwrap(), &Preset::Consumer.workload(users), &Hardware::default())
            .unwrap()
    }

    #[test]
    fn a_bill_is_the_sum_of_its_parts() {
        let prices = Prices::parse(EXAMPLE).unwrap();
        let deployment = deployment(1e6);
        let bill = Bill::of(&deployment, &prices);
        assert!((bill.month - bill.parts.iter().map(|part| part.month).sum::<f64>()).abs() < 1e-9);
        // By hand: nodes of four cores with 16 GB each, and what they send.
        let nodes = &bill.parts[0];
        let count = f64::from(deployment.nodes.count);
        let expected = 730.5 * count * (4.0 * 0.04 + 16.0 * 0.005) + nodes.traffic_gb * 0.08;
        assert!((nodes.month - expected).abs() < 1e-6 && nodes.traffic_gb > 0.0, "{nodes:?} {expected}");
        assert!((bill.per_million_users - bill.month).abs() < 1e-9);
        assert!((bill.per_million_requests * bill.requests / 1e6 - bill.month).abs() < 1e-6);
        // The mean of the day, over a month.
        let peak: f64 = deployment.rates.values().sum();
        assert!((bill.requests - peak / 3.0 * 730.5 * 3_600.0).abs() < 1.0, "{}", bill.requests);
        assert!(bill.bare > 0.0 && bill.bare < bill.month, "{bill:?}");
    }

    #[test]
    fn more_users_cost_more_and_less_for_each() {
        let prices = Prices::parse(EXAMPLE).unwrap();
        let [few, many, most] = [1e4, 1e7, 1e9].map(|users| Bill::of(&deployment(users), &prices));
        assert!(few.month < many.month && many.month < most.month);
        assert!(few.per_million_users > many.per_million_users);
        assert_eq!(most.parts[2].name, "PostgreSQL");
        let dear = Prices { core_hour: 0.08, ..prices };
        assert!(Bill::of(&deployment(1e7), &dear).month > many.month);
    }

    #[test]
    fn what_is_not_priced_is_told() {
        let bill =
            Bill::of(&deployment(1e6), &Prices::parse("currency = \"EUR\"\ncore_hour = 0.04").unwrap());
        let told = bill.to_string();
        for part in [
            "A month costs ",
            " EUR:\n",
            "| PostgreSQL | 3 |",
            "no price was given for memory_gb_hour, disk_gb_month, disk_iops_month, traffic_gb",
            "A month has 730.5 hours",
            "for a million requests",
        ] {
            assert!(told.contains(part), "{part} in\n{told}");
        }
        let columns: Vec<usize> =
            told.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [9; 5], "{told}");
        assert!(
            !Bill::of(&deployment(1e6), &Prices::parse(EXAMPLE).unwrap()).to_string().contains("no price")
        );
    }

    #[test]
    fn what_is_no_price_is_refused_with_its_key() {
        let with = |line: &str| format!("currency = \"EUR\"\ncore_hour = 0.04\n{line}\n");
        for (text, why) in [
            (with("traffic_gb = -0.01"), "traffic_gb = -0.01: a price must be a number from 0 on"),
            (with("memory_gb_hour = nan"), "memory_gb_hour = NaN"),
            (with("disk_gb_month = inf"), "disk_gb_month = inf"),
            (with("node_gb_per_core = 0"), "node_gb_per_core = 0: it must be above 0"),
            (with("disc_gb_month = 1"), "unknown field `disc_gb_month`"),
            (with("traffic_gb = \"cheap\""), "traffic_gb"),
            ("core_hour = 1".into(), "missing field `currency`"),
            ("currency = \"EUR\"".into(), "missing field `core_hour`"),
            ("currency = \"EUR\"\ncore_hour = 0".into(), "or nothing has a price"),
            ("currency = \" \"\ncore_hour = 1".into(), "as in \"EUR\""),
        ] {
            let told = Prices::parse(&text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
        let told = Prices::read(Path::new("/nowhere/prices.toml")).unwrap_err().to_string();
        assert!(told.contains("/nowhere/prices.toml"), "{told}");
    }
}
