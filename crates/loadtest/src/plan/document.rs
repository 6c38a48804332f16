//! The tables of `docs/topics/scaling.md` are what the built-in costs give. `UPDATE_GENERATED=1` writes them anew.

use std::fmt::Write;
use std::path::Path;

use super::{
    Costs, Deployment, Footprint, Hardware, Latency, Loss, OPERATIONS, Preset, SimulationOptions, at_point,
    simulate,
};

const EXAMPLES: [(Preset, f64); 6] = [
    (Preset::Consumer, 1e4),
    (Preset::Consumer, 1e6),
    (Preset::Consumer, 1e8),
    (Preset::Consumer, 1e9),
    (Preset::Workforce, 1e6),
    (Preset::ApiHeavy, 1e8),
];

fn costs_table(costs: &Costs) -> String {
    let mut out = format!("Measured on: {}.\n\n", costs.measured);
    out += "| | node | Redis primaries | replicas | PostgreSQL | answers of Redis | Redis bytes | HTTP bytes | log bytes |\n";
    out += "|---|---|---|---|---|---|---|---|---|\n";
    for scenario in OPERATIONS {
        let cost = costs.of(scenario).unwrap();
        let figures = [
            cost.node_us,
            cost.redis_primary_us,
            cost.redis_replica_us,
            cost.postgres_us,
            cost.redis_trips,
            cost.redis_bytes,
            cost.http_bytes,
            cost.wal_bytes,
        ];
        let figures = figures.map(|figure| format!("{figure:.0}")).join(" | ");
        writeln!(out, "| `{scenario}` | {figures} |").unwrap();
    }
    let Footprint { session, code, tombstone, tombstone_row, user, family } = costs.footprint;
    out += "\n| session | code | tombstone | in PostgreSQL: tombstone | user | refresh-token family |\n";
    out += "|---|---|---|---|---|---|\n";
    let sizes = [session, code, tombstone, tombstone_row, user, family].map(|bytes| format!("{bytes:.0}"));
    writeln!(out, "| {} |", sizes.join(" | ")).unwrap();
    let rotation = costs.rotation;
    writeln!(
        out,
        "\nAn idle node takes {:.0} µs of its own CPU a second and {:.0} of PostgreSQL's. Refresh rotations a second on one \
         PostgreSQL: {:.0} in batches, {:.0} with a statement for each.",
        costs.background.node_us,
        costs.background.postgres_us,
        rotation.batched_per_second,
        rotation.single_per_second
    )
    .unwrap();
    out
}

fn examples(costs: &Costs) -> String {
    let mut out = String::new();
    for (preset, users) in EXAMPLES {
        let planned = Deployment::of(costs, &preset.workload(users), &Hardware::default()).unwrap();
        let title = format!("{} users", super::describe::figure(users));
        writeln!(out, "### {title}, `{}`\n\n{}\n", preset.name(), planned.to_string().trim()).unwrap();
    }
    out
}

fn check(costs: &Costs) -> String {
    let mut out =
        "| | requests/s | measured P50 | simulated P50 | measured P99 | simulated P99 |\n".to_owned();
    out += "|---|---|---|---|---|---|\n";
    for point in &costs.points {
        let Latency { p50_ms, p99_ms } = at_point(costs, point).unwrap();
        writeln!(
            out,
            "| `{}` | {:.0} | {:.2} | {p50_ms:.2} | {:.2} | {p99_ms:.2} |",
            point.scenario, point.rate, point.p50_ms, point.p99_ms
        )
        .unwrap();
    }
    out
}

fn simulation(costs: &Costs) -> String {
    let planned = Deployment::of(costs, &Preset::Consumer.workload(1e9), &Hardware::default()).unwrap();
    let outlook = |loss| {
        simulate(&planned, costs, &SimulationOptions { seed: 1, requests: 100_000, loss })
            .unwrap()
            .to_string()
    };
    [Loss::Nothing, Loss::Node, Loss::Zone].map(outlook).join("\n")
}

/// The page with what is between the marks of `name` replaced.
fn replaced(page: &str, name: &str, content: &str) -> String {
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once("<!-- end -->").unwrap();
    format!("{before}{begin}\n{}\n\n<!-- end -->{after}", content.trim())
}

#[test]
fn scaling_has_the_tables_of_the_built_in_costs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/topics/scaling.md");
    let committed = std::fs::read_to_string(&path).unwrap();
    let costs = Costs::built_in().unwrap();
    let page = replaced(&committed, "costs", &costs_table(&costs));
    let page = replaced(&page, "examples", &examples(&costs));
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        // Not compared: a processor that rounds a logarithm otherwise simulates other requests.
        let page = replaced(&page, "check", &check(&costs));
        let page = replaced(&page, "simulation", &simulation(&costs));
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(committed == page, "stale: UPDATE_GENERATED=1 cargo test -p symbolon-loadtest scaling");
}
