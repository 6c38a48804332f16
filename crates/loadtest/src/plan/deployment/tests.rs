use super::*;
use crate::plan::Preset;

fn costs() -> Costs {
    Costs::built_in().unwrap()
}

fn planned(workload: &Workload) -> Deployment {
    Deployment::of(&costs(), workload, &Hardware::default()).unwrap()
}

/// Numbers of users from one to ten billion, close together.
fn growing() -> impl Iterator<Item = f64> {
    (0..=400).map(|step| 10_f64.powf(f64::from(step) / 40.0))
}

#[test]
fn more_users_never_take_fewer_machines() {
    for preset in Preset::ALL {
        for hardware in [Hardware::default(), Hardware { survive_zone: false, ..Hardware::default() }] {
            let mut before: Option<Deployment> = None;
            for users in growing() {
                let now = Deployment::of(&costs(), &preset.workload(users), &hardware).unwrap();
                if let Some(before) = before {
                    assert!(now.nodes.count >= before.nodes.count, "{users} {preset:?}");
                    assert!(now.redis.primaries >= before.redis.primaries, "{users} {preset:?}");
                    assert!(now.database.distributed >= before.database.distributed, "{users} {preset:?}");
                    let cores = |database: &Database| f64::from(database.machines) * database.cores;
                    assert!(cores(&now.database) >= cores(&before.database), "{users} {preset:?}");
                }
                before = Some(now);
            }
        }
    }
}

#[test]
fn what_may_be_lost_is_there_beyond_what_is_needed() {
    for users in growing() {
        for (zones, survive_zone) in [(1, false), (2, true), (3, true), (4, true), (3, false)] {
            let hardware = Hardware { zones, survive_zone, ..Hardware::default() };
            let planned = Deployment::of(&costs(), &Preset::ApiHeavy.workload(users), &hardware).unwrap();
            let Nodes { needed, count, .. } = planned.nodes;
            assert!(count > needed, "{users}: {count} of {needed}");
            assert!(planned.nodes_left() >= needed, "{users}, {zones} zones: {count} of {needed}");
            assert!(planned.database.machines > 1 && planned.redis.replicas >= planned.redis.primaries);
            let each = planned.nodes.busy_cores / f64::from(planned.nodes_left());
            assert!(each <= hardware.node_cores * hardware.utilisation, "{users}: {each} cores of a node");
        }
    }
}

#[test]
fn what_is_used_is_proportional_to_users_and_to_costs() {
    let figures = |planned: &Deployment| {
        let redis = [planned.redis.busy_cores, planned.redis.gb, planned.redis.gbit];
        let database = [planned.database.tb, planned.database.wal_mb_per_second];
        [planned.nodes.busy_cores, planned.nodes.gbit].into_iter().chain(redis).chain(database)
    };
    for preset in Preset::ALL {
        let (one, ten) = (planned(&preset.workload(1e6)), planned(&preset.workload(1e7)));
        for (one, ten) in figures(&one).zip(figures(&ten)) {
            assert!((ten - 10.0 * one).abs() <= 1e-9 * ten, "{preset:?}: {one} and {ten}");
        }
    }
    let mut dearer = costs();
    dearer.operations.values_mut().for_each(|cost| cost.node_us *= 3.0);
    let workload = Preset::Workforce.workload(1e6);
    let dear = Deployment::of(&dearer, &workload, &Hardware::default()).unwrap().nodes.busy_cores;
    assert!((dear / planned(&workload).nodes.busy_cores - 3.0).abs() < 1e-9);
}

#[test]
fn the_fullest_primary_carries_its_share() {
    let hardware = Hardware::default();
    for users in growing() {
        let redis = planned(&Preset::ApiHeavy.workload(users)).redis;
        let fullest = redis.skew / f64::from(redis.primaries);
        assert!(redis.busy_cores * fullest <= hardware.utilisation * (1.0 + 1e-9), "{users}: {redis:?}");
        assert!(redis.gb * fullest <= hardware.redis_gb * (1.0 + 1e-9), "{users}: {redis:?}");
    }
    assert_eq!(primaries(f64::INFINITY), 3);
    // One less would not do.
    let many = primaries(0.01);
    assert!(many > 100 && skew(many - 1) / f64::from(many - 1) > 0.01);
}

#[test]
fn what_runs_out_first_is_named() {
    let quiet = Workload { silent_per_hour: 0.0, refresh_per_hour: 0.0, ..Preset::Consumer.workload(1e9) };
    let slept = planned(&Workload { logins_per_day: 0.1, session_days: 365.0, ..quiet });
    assert_eq!(slept.redis.limit, Limit::Memory);
    let asked = planned(&Workload { introspections_per_day: 5_000.0, session_days: 0.1, ..quiet });
    assert_eq!((asked.nodes.limit, asked.redis.limit), (Limit::Cpu, Limit::Cpu));
    let few = planned(&Preset::Consumer.workload(1_000.0));
    assert_eq!([few.nodes.limit, few.redis.limit, few.database.limit], [Limit::Minimum; 3]);
    let slow = Hardware { network_gbit: 0.01, ..Hardware::default() };
    let narrow = Deployment::of(&costs(), &Preset::ApiHeavy.workload(1e7), &slow).unwrap();
    assert_eq!((narrow.nodes.limit, narrow.redis.limit), (Limit::Network, Limit::Network));
    let small = Hardware { postgres_tb: 0.1, ..Hardware::default() };
    let full = Deployment::of(&costs(), &Preset::Consumer.workload(1e9), &small).unwrap().database;
    assert!(full.distributed && full.limit == Limit::Disk, "{full:?}");
}
