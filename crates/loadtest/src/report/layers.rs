//! Which layer of the system is how near to its limit, by load.

use crate::results::Run;

use super::group::{Group, label, offered};
use super::number::{figure, rate};
use super::table::{Cell, Table, Tone};

/// Below this share of what it can do a layer has headroom; above the other one it is at its limit.
const HEADROOM: f64 = 0.6;
const LIMIT: f64 = 0.85;

/// A layer and how much of what it can do it did.
struct Layer {
    name: &'static str,
    share: Option<f64>,
    /// What the share is of.
    reason: String,
}

/// One row per run, one column per layer.
pub(super) fn layers(group: &Group<'_>, cores: usize) -> Option<Table> {
    let head = [
        "Run",
        "Load /s",
        "State",
        "Why",
        "Generator CPU",
        "Connections",
        "Server CPU",
        "Machine",
        "Shards",
        "Commits",
    ];
    let mut table = Table::new("Layers by load", &head);
    table.note = format!(
        "CPU and connections: the share in use of what there is. Shards and commits: the part of the requests' P99 that is spent \
         waiting for them. Headroom below {} %, at its limit from {} % on; the state of a run is that of its busiest layer.",
        figure(100.0 * HEADROOM),
        figure(100.0 * LIMIT)
    );
    table.text_columns = 4;
    for run in &group.runs {
        let layers = of(run, cores);
        let busiest = layers
            .iter()
            .filter(|layer| layer.share.is_some())
            .max_by(|one, other| one.share.unwrap_or(0.0).total_cmp(&other.share.unwrap_or(0.0)));
        let Some(busiest) = busiest else { continue };
        let (state, tone) = state(busiest.share.unwrap_or(0.0));
        let why = format!("{}: {}", busiest.name, busiest.reason);
        let mut row: Vec<Cell> =
            vec![label(run).into(), rate(offered(run)).into(), Cell { text: state.into(), tone }, why.into()];
        row.extend(layers.iter().map(|layer| cell(layer.share)));
        table.rows.push(row);
    }
    table.finished()
}

fn state(share: f64) -> (&'static str, Tone) {
    match share {
        share if share >= LIMIT => ("at limit", Tone::Bad),
        share if share >= HEADROOM => ("under load", Tone::Plain),
        _ => ("headroom", Tone::Good),
    }
}

fn cell(share: Option<f64>) -> Cell {
    share.map_or_else(
        || super::number::NONE.into(),
        |share| Cell { text: format!("{} %", figure(100.0 * share)), tone: state(share).1 },
    )
}

fn of(run: &Run, cores: usize) -> [Layer; 6] {
    let cores = cores.max(1) as f64;
    let busy = |us: f64| us * run.achieved_rate / 1e6;
    let generator = busy(run.generator_cpu_us_per_request);
    let server = run.server_cpu_us_per_request.map(busy);
    let used = run.connection_use.as_ref().filter(|used| used.bound > 0 && run.executor != "closed");
    let p99 = run.latency.p99_ms.filter(|ms| *ms > 0.0);
    let part = |wait: Option<f64>| wait.zip(p99).map(|(wait, whole)| (wait / whole).min(1.0));
    let figures = run.server.as_ref();
    let queue = figures.and_then(|server| {
        server
            .stores
            .iter()
            .filter_map(|store| Some((store.queue_wait.p99_ms?, store.kind.as_str())))
            .max_by(|one, other| one.0.total_cmp(&other.0))
    });
    let commit = figures.filter(|server| server.commits > 0).and_then(|server| server.commit_duration.p99_ms);
    let of_cores = |busy: f64| format!("{} of {} cores busy", figure(busy), figure(cores));
    let of_p99 =
        |wait: f64| format!("P99 of the wait {} ms of {} ms", figure(wait), figure(p99.unwrap_or(0.0)));
    [
        Layer {
            name: "generator CPU",
            share: (generator > 0.0).then_some(generator / cores),
            reason: of_cores(generator),
        },
        Layer {
            name: "connections",
            share: used.map(|used| used.most_in_use as f64 / used.bound as f64),
            reason: used
                .map(|used| format!("{} of {} in use at once", used.most_in_use, used.bound))
                .unwrap_or_default(),
        },
        Layer {
            name: "server CPU",
            share: server.map(|server| server / cores),
            reason: server.map(of_cores).unwrap_or_default(),
        },
        Layer {
            name: "machine",
            share: run.machine_busy_cores.map(|all| all / cores),
            reason: run.machine_busy_cores.map(of_cores).unwrap_or_default(),
        },
        Layer {
            name: "shards",
            share: part(queue.map(|(wait, _)| wait)),
            reason: queue.map(|(wait, kind)| format!("{kind}: {}", of_p99(wait))).unwrap_or_default(),
        },
        Layer { name: "commits", share: part(commit), reason: commit.map(of_p99).unwrap_or_default() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{group, sample};

    fn row(run: Run) -> Vec<String> {
        let mut results = sample::small();
        results.runs = vec![run];
        let table = layers(&group::by_scenario(&results.runs)[0], 2).unwrap();
        let told = |name: &str| table.head.iter().position(|head| head == name);
        ["State", "Why", "Server CPU"]
            .map(|name| told(name).map_or_else(String::new, |at| table.rows[0][at].text.clone()))
            .to_vec()
    }

    #[test]
    fn the_busiest_layer_is_the_state_of_the_run() {
        let quiet = || Run { server: None, machine_busy_cores: None, ..sample::small().runs.remove(0) };
        let busy = |us| row(Run { server_cpu_us_per_request: Some(us), ..quiet() });
        assert_eq!(busy(100.0), ["headroom", "server CPU: 0.050 of 2.00 cores busy", "2.50 %"]);
        assert_eq!(busy(2_800.0)[0], "under load");
        assert_eq!(busy(3_600.0), ["at limit", "server CPU: 1.80 of 2.00 cores busy", "90.0 %"]);
        let mut waiting = Run { server_cpu_us_per_request: Some(100.0), ..sample::small().runs.remove(0) };
        waiting.latency.p99_ms = Some(3.2);
        assert_eq!(row(waiting)[1], "commits: P99 of the wait 3.10 ms of 3.20 ms");
    }

    #[test]
    fn a_run_of_which_nothing_is_known_has_no_row() {
        let mut results = sample::small();
        results.runs = vec![Run::default()];
        assert_eq!(layers(&group::by_scenario(&results.runs)[0], 2), None);
    }
}
