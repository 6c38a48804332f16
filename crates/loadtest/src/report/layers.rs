//! Which layer of the system is how near to its limit, by load.

use crate::results::{Run, Waited};

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
        "CPU and connections: the share in use of what there is, of the generator's CPU that which its threads can use. Shards and \
         commits: the part of the requests' time that is spent waiting for them, by P99 where every request waits, else by the mean. \
         Which request waited for a commit is not known: each counts with one at most, and all together with no more than were \
         made durable. Headroom below {} %, at its limit from {} % on; the state of a run is that of its busiest layer, and at its limit \
         where the generator had one of its own.",
        figure(100.0 * HEADROOM),
        figure(100.0 * LIMIT)
    );
    table.text_columns = 4;
    for run in &group.runs {
        let layers = of(run, cores);
        let Some((share, why)) = busiest(&layers, run.generator_limit.as_deref()) else { continue };
        let (state, tone) = state(share);
        let mut row: Vec<Cell> =
            vec![label(run).into(), rate(offered(run)).into(), Cell { text: state.into(), tone }, why.into()];
        row.extend(layers.iter().map(|layer| cell(layer.share)));
        table.rows.push(row);
    }
    table.finished()
}

/// The share of the busiest layer and why it is so. A limit of the generator's that no share shows, such as arrivals that it
/// sent late, is named first, with what else was at its limit.
fn busiest(layers: &[Layer], generator_limit: Option<&str>) -> Option<(f64, String)> {
    let known = layers.iter().filter_map(|layer| Some((layer.share?, layer)));
    let busiest = known
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(share, layer)| (share, format!("{}: {}", layer.name, layer.reason)));
    let Some(limit) = generator_limit else { return busiest };
    let own = format!("generator: {limit}");
    Some(match busiest {
        Some((share, why)) if share >= LIMIT => (share, format!("{own}; {why}")),
        _ => (1.0, own),
    })
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
    let used = run.connection_use.as_ref().filter(|used| used.bound > 0 && run.executor != "closed");
    let cores = cores.max(1);
    let of_cores = |name, busy: Option<f64>| Layer {
        name,
        share: busy.map(|busy| busy / cores as f64),
        reason: busy
            .map(|busy| format!("{} of {} cores busy", figure(busy), figure(cores as f64)))
            .unwrap_or_default(),
    };
    let shards = run.shard_wait();
    [
        generator(run, cores),
        Layer {
            name: "connections",
            share: used.map(|used| used.most_in_use as f64 / used.bound as f64),
            reason: used
                .map(|used| format!("{} of {} in use at once", used.most_in_use, used.bound))
                .unwrap_or_default(),
        },
        of_cores("server CPU", run.server_cores()),
        of_cores("machine", run.machine_cores()),
        Layer {
            name: "shards",
            share: shards.map(|(_, waited)| waited.part()),
            reason: shards.map(|(kind, waited)| format!("{kind}: {}", told(&waited))).unwrap_or_default(),
        },
        Layer {
            name: "commits",
            share: run.commit_wait().map(|waited| waited.part()),
            reason: run.commit_wait().map(|waited| told(&waited)).unwrap_or_default(),
        },
    ]
}

/// The share of what its threads can use: they have no more than a core each, and here no more cores than there are. Where
/// their number is not told, of the machine's cores.
fn generator(run: &Run, cores: usize) -> Layer {
    let busy = run.generator_cores();
    let (of, what) = match (run.threads, run.agents.is_empty()) {
        (0, _) => (cores, "cores"),
        (threads, true) if threads > cores => (cores, "cores"),
        (1, _) => (1, "thread"),
        (threads, _) => (threads, "threads"),
    };
    // Agents have cores of their own.
    let busy = busy.filter(|_| run.threads > 0 || run.agents.is_empty());
    Layer {
        name: "generator CPU",
        share: busy.map(|busy| busy / of as f64),
        reason: busy.map(|busy| format!("{} of {of} {what} busy", figure(busy))).unwrap_or_default(),
    }
}

fn told(waited: &Waited) -> String {
    let Waited { figure: of, wait_ms, whole_ms, per_request } = waited;
    let few = if *per_request < 1.0 {
        format!(", {} % of the requests at most", figure(100.0 * per_request))
    } else {
        String::new()
    };
    format!("{of} of the wait {} ms of {} ms{few}", figure(*wait_ms), figure(*whole_ms))
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

    /// Silent authentication as it was measured at 500/s: 508 commits, of the sessions that were planted before, in the time
    /// of 22,375 requests.
    #[test]
    fn commits_for_which_hardly_a_request_waits_are_no_limit() {
        let mut run = sample::small().runs.remove(0);
        (run.latency.mean_ms, run.latency.p99_ms) = (Some(0.28), Some(0.75));
        let server = run.server.as_mut().unwrap();
        server.request_duration.count = 22_375;
        (server.commits, server.commit_operations) = (508, 508);
        (server.commit_duration.mean_ms, server.commit_duration.p99_ms) = (Some(0.5), Some(2.0));
        let told = row(run);
        assert_eq!(told[0], "headroom");
        assert_eq!(told[1], "commits: mean of the wait 0.011 ms of 0.280 ms, 2.27 % of the requests at most");
    }

    #[test]
    fn a_generator_without_time_left_is_at_its_limit_on_many_cores_and_where_requests_fail() {
        let of = |threads: usize, failures: u64| {
            let mut run = Run { server: None, ..sample::small().runs.remove(0) };
            (run.threads, run.failures, run.achieved_rate) = (threads, failures, 250.0);
            run.generator_cpu_us_per_request = 1_900.0;
            row(run)
        };
        // Half of the requests fail, and cost as much.
        assert_eq!(of(1, 45_000)[..2], ["at limit", "generator CPU: 0.950 of 1 thread busy"]);
        assert_eq!(of(2, 45_000)[..2], ["headroom", "generator CPU: 0.950 of 2 threads busy"]);
        assert_eq!(of(4, 45_000)[1], "generator CPU: 0.950 of 2 cores busy", "there are no more");
    }

    #[test]
    fn a_limit_of_the_generator_s_is_the_state_of_the_run() {
        let late = Some("it sent 400 ms late at worst".to_owned());
        let run = Run { generator_limit: late, server: None, ..sample::small().runs.remove(0) };
        assert_eq!(row(run.clone())[..2], ["at limit", "generator: it sent 400 ms late at worst"]);
        let busy = Run { server_cpu_us_per_request: Some(3_600.0), ..run };
        let both = "generator: it sent 400 ms late at worst; server CPU: 1.80 of 2.00 cores busy";
        assert_eq!(row(busy)[..2], ["at limit", both]);
    }

    #[test]
    fn the_machine_is_as_busy_as_its_parts_at_least() {
        let mut run = Run { machine_busy_cores: Some(0.05), ..sample::small().runs.remove(0) };
        (run.server_cpu_us_per_request, run.generator_cpu_us_per_request) = (Some(400.0), 100.0);
        let shares = of(&run, 2).map(|layer| layer.share);
        assert_eq!((shares[0], shares[2], shares[3]), (Some(0.025), Some(0.1), Some(0.125)));
    }

    #[test]
    fn a_run_of_which_nothing_is_known_has_no_row() {
        let mut results = sample::small();
        results.runs = vec![Run::default()];
        assert_eq!(layers(&group::by_scenario(&results.runs)[0], 2), None);
    }
}
