//! The measuring commands, on the real binary and real engines, for a moment: nothing is judged by its time.

use std::path::PathBuf;
use std::time::Duration;

use symbolon_crypto::algorithm::Algorithm;
use symbolon_loadtest::plan::{Costs, Deployment, Hardware, Preset};
use symbolon_loadtest::scenario::Scenario;
use symbolon_store_cluster::engines;
use symbolon_testkit::cost::{
    CostOptions, CostReport, PlanningOptions, RotationOptions, measure, measure_costs, measure_rotation,
};

fn options(name: &str) -> CostOptions {
    let mut options = CostOptions::new(PathBuf::from(env!("CARGO_BIN_EXE_symbolon")), name);
    options.algorithm = Algorithm::EdDsa;
    options.rounds = 1;
    options.slice = Duration::from_millis(200);
    options.connections = 4;
    (options.seed.users, options.seed.tokens, options.seed.families) = (10, 20, 40);
    options
}

#[test]
fn a_request_on_the_cluster_has_its_cost_on_every_engine() {
    let mut options = options("cost");
    options.nodes = vec![1, 2];
    options.scenarios = vec![Scenario::Silent, Scenario::Userinfo, Scenario::Refresh, Scenario::Code];
    let report = measure(engines::shared(), &options, &mut Vec::new()).unwrap();
    assert_eq!((report.errors, report.first_error.as_deref()), (0, None), "{report}");
    assert_eq!(report.cells.len(), options.scenarios.len() * 3, "embedded, one node, two nodes");
    for cell in &report.cells {
        let figures = &cell.figures;
        assert!(cell.requests > 0 && figures.rate > 0.0 && figures.node_us > 0.0, "{cell:?}");
        assert_eq!(cell.above_embedded_us.is_some(), cell.nodes.is_some());
        assert_eq!(figures.redis_primary_us > 0.0, cell.nodes.is_some(), "{cell:?}");
        assert_eq!(figures.commands.is_empty(), cell.nodes.is_none(), "{cell:?}");
        let durable = matches!(cell.scenario, Scenario::Refresh) && cell.nodes.is_some();
        assert!(!durable || (figures.rows_written >= 1.0 && figures.wal_bytes > 0.0), "{cell:?}");
    }
    let json = serde_json::to_string(&report).unwrap();
    let read: CostReport = serde_json::from_str(&json).unwrap();
    assert_eq!(read.to_string(), report.to_string());
}

#[test]
fn a_rate_is_kept_on_both_stores() {
    let mut options = options("cost_at_a_rate");
    (options.rate, options.scenarios) = (Some(50.0), vec![Scenario::Userinfo]);
    let report = measure(engines::shared(), &options, &mut Vec::new()).unwrap();
    assert_eq!(report.errors, 0, "{report}");
    // However slow the machine is, no more than this is sent.
    assert!(report.cells.iter().all(|cell| (1..=10).contains(&cell.requests)), "{report}");
}

#[test]
fn rotations_are_counted_on_both_sides() {
    let mut options = RotationOptions::new("cost_of_rotations");
    (options.in_flight, options.families, options.connections) = (32, 2, 4);
    (options.rounds, options.slice) = (1, Duration::from_millis(200));
    let report = measure_rotation(engines::shared(), &options).unwrap();
    for side in [report.batched, report.one_by_one] {
        assert!(side.per_second > 0.0 && side.postgres_us > 0.0 && side.wal_bytes > 0.0, "{report}");
    }
    assert!(report.ratio > 0.0 && report.to_string().contains("| batched |"), "{report}");
}

#[test]
fn a_plan_is_made_of_costs_and_of_what_users_do() {
    let place = crate::place::Place::new();
    let plan = |more: &[&str]| {
        let arguments = [&["loadtest", "plan", "--users", "10k", "--json"], more].concat();
        place.run(&arguments)
    };
    let small = plan(&[]).json();
    assert_eq!(
        (&small["deployment"]["nodes"]["count"], &small["notes"]),
        (&3.into(), &serde_json::json!([]))
    );
    let busy = ["--workload", "api-heavy", "--introspections-per-day", "10000000", "--zones", "4"];
    let busy = plan(&[&busy[..], &["--simulate", "--requests", "2000"]].concat()).json();
    assert_eq!(busy["deployment"]["nodes"]["limit"], "cpu");
    assert_eq!(busy["deployment"]["nodes"]["count"].as_u64().unwrap() % 4, 0);
    let simulated = busy["simulated"].as_array().unwrap();
    let losses: Vec<_> = simulated.iter().map(|outlook| outlook["loss"].as_str().unwrap()).collect();
    assert_eq!(losses, ["nothing", "node", "zone"]);
    assert!(
        simulated.iter().all(|outlook| outlook["latencies"]["introspect"]["p99_ms"].as_f64() > Some(0.0))
    );
    let told = place.run(&["loadtest", "plan", "--users", "1G", "--simulate", "--requests", "2000"]).good();
    assert!(told.contains("| Redis |") && told.contains("one zone lost"), "{told}");
    assert!(plan(&["--daily-active", "7"]).bad(2).contains("--daily-active"));
    assert!(plan(&["--costs", "none.json"]).bad(1).contains("none.json"));
    std::fs::write(place.path("costs.json"), "{}").unwrap();
    assert!(plan(&["--costs", "costs.json"]).bad(2).contains("missing field"));
}

#[test]
fn a_plan_says_what_it_costs_where_prices_are_given() {
    let place = crate::place::Place::new();
    let arguments = ["loadtest", "plan", "--users", "1M", "--prices", "prices.toml"];
    let prices = |more: &str| {
        let text = format!("currency = \"EUR\"\ncore_hour = 0.04\n{more}\n");
        std::fs::write(place.path("prices.toml"), text).unwrap();
    };
    prices("traffic_gb = 0.08");
    let told = place.run(&arguments).good();
    assert!(told.contains("A month costs ") && told.contains(" EUR for a million users"), "{told}");
    let bill = place.run(&[&arguments[..], &["--json"]].concat()).json()["bill"].take();
    let parts: f64 =
        bill["parts"].as_array().unwrap().iter().map(|part| part["month"].as_f64().unwrap()).sum();
    assert!((bill["month"].as_f64().unwrap() - parts).abs() < 1e-6, "{bill}");
    prices("traffic_gb = -1");
    assert!(place.run(&arguments).bad(2).contains("traffic_gb = -1"));
    prices("speed = 1");
    assert!(place.run(&arguments).bad(2).contains("unknown field `speed`"));
    assert!(!place.run(&arguments[..4]).good().contains("A month costs"), "no prices are built in");
}

#[test]
fn all_that_a_plan_needs_is_measured() {
    let mut options = options("cost_of_all");
    (options.rounds, options.connections) = (1, 2);
    let mut options = PlanningOptions::new(options);
    // Fewer would weigh little beside what Redis takes and gives back by itself.
    (options.kept, options.rate) = (1_500, 50.0);
    (options.rotation.in_flight, options.rotation.families, options.rotation.connections) = (8, 2, 2);
    let (costs, reports) = measure_costs(engines::shared(), options, &mut Vec::new()).unwrap();
    let costs = Costs::parse(&serde_json::to_string(&costs).unwrap()).unwrap();
    for preset in Preset::ALL {
        let planned = Deployment::of(&costs, &preset.workload(1e6), &Hardware::default()).unwrap();
        assert!(planned.nodes.busy_cores > 0.0 && planned.redis.gb > 0.0 && planned.database.tb > 0.0);
    }
    let kept = costs.footprint;
    let each = [kept.session, kept.code, kept.tombstone, kept.user, kept.family];
    assert!(each.iter().all(|bytes| *bytes > 0.0), "{each:?}");
    assert!(costs.points.len() == 3 && costs.points.iter().all(|point| point.p50_ms > 0.0));
    assert!(
        costs.operations.values().all(|cost| cost.http_bytes > 300.0 && cost.redis_trips >= 1.0),
        "{costs:?}"
    );
    assert!(reports[0].to_string().contains("| login | 1 nodes |"));
}
