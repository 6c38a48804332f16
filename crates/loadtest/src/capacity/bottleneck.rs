//! What a load ran against.

use crate::results::{Bottleneck, Run, StoreFigures};

/// A thread or a core that is busier has nothing left.
const BUSY: f64 = 0.9;
/// Generator and provider together on the same cores: the system and other processes take something too.
const BUSY_TOGETHER: f64 = 0.85;
/// A wait explains a latency of which it is so large a part.
const EXPLAINS: f64 = 0.5;

/// Names what kept a run from holding, from the figures of that run; `cores` are the machine's.
pub(super) fn bottleneck(run: &Run, threads: usize, cores: usize) -> (Bottleneck, String) {
    let cores = cores.max(1) as f64;
    let busy = |us: f64| us * run.achieved_rate / 1e6;
    let generator = busy(run.generator_cpu_us_per_request);
    let server = run.server_cpu_us_per_request.map(busy);
    let threads = threads.max(1) as f64;
    if generator > BUSY * threads {
        return (
            Bottleneck::GeneratorCpu,
            format!("its {threads} threads were busy {:.0} % of the time", 100.0 * generator / threads),
        );
    }
    if let Some(server) = server {
        let told = format!(
            "the provider kept {server:.2} of {cores} cores busy, the generator {generator:.2} of the same ones"
        );
        if server > BUSY * cores || (server + generator > BUSY_TOGETHER * cores && server >= generator) {
            return (Bottleneck::ServerCpu, told);
        }
        if server + generator > BUSY_TOGETHER * cores {
            return (Bottleneck::GeneratorCpu, told);
        }
        if let Some(limit) = &run.generator_limit {
            return (Bottleneck::Generator, limit.clone());
        }
        let all = run.machine_busy_cores.unwrap_or(0.0);
        if all > BUSY * cores {
            return (Bottleneck::OtherProcesses, format!("{told}, and everything together {all:.2}"));
        }
    }
    if let Some(limit) = &run.generator_limit {
        return (Bottleneck::Generator, limit.clone());
    }
    waits(run).unwrap_or_else(|| {
        (Bottleneck::Unknown, "cores were idle, and no wait that was measured explains the latency".into())
    })
}

/// The longest wait inside of the provider, where it explains the latency.
fn waits(run: &Run) -> Option<(Bottleneck, String)> {
    let server = run.server.as_ref()?;
    let wait = |store: &StoreFigures| store.queue_wait.p99_ms.unwrap_or(0.0);
    let queue = server.stores.iter().max_by(|one, other| wait(one).total_cmp(&wait(other)));
    let explains = |part: Option<f64>, whole: Option<f64>| {
        part.zip(whole).is_some_and(|(part, whole)| part > EXPLAINS * whole)
    };
    if let Some(store) = queue.filter(|store| explains(store.queue_wait.p99_ms, run.latency.p99_ms)) {
        let told = format!(
            "P99 of the wait for a shard of kind {} was {} ms of {} ms",
            store.kind,
            ms(store.queue_wait.p99_ms),
            ms(run.latency.p99_ms)
        );
        return Some((Bottleneck::ShardQueue, told));
    }
    let commit = &server.commit_duration;
    if server.commits > 0
        && (explains(commit.p99_ms, run.latency.p99_ms) || explains(commit.p50_ms, run.latency.p50_ms))
    {
        let told = format!(
            "a durable commit took P50 {} ms, P99 {} ms; a request P50 {} ms, P99 {} ms",
            ms(commit.p50_ms),
            ms(commit.p99_ms),
            ms(run.latency.p50_ms),
            ms(run.latency.p99_ms)
        );
        return Some((Bottleneck::Disk, told));
    }
    let queries = (server.read_queries + server.write_queries) as f64 / run.requests.max(1) as f64;
    (queries >= 1.0)
        .then(|| (Bottleneck::Database, format!("{queries:.1} database queries for each request")))
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".into(), |value| format!("{value:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Latency, Percentiles, ServerFigures};

    fn run(server_us: f64, generator_us: f64) -> Run {
        Run {
            achieved_rate: 10_000.0,
            requests: 100_000,
            latency: Latency { p50_ms: Some(20.0), p99_ms: Some(200.0), ..Latency::default() },
            server_cpu_us_per_request: Some(server_us),
            generator_cpu_us_per_request: generator_us,
            server: Some(ServerFigures::default()),
            ..Run::default()
        }
    }

    fn of(run: &Run) -> Bottleneck {
        bottleneck(run, 1, 2).0
    }

    #[test]
    fn whoever_is_busy_is_named() {
        assert_eq!(of(&run(190.0, 5.0)), Bottleneck::ServerCpu);
        assert_eq!(of(&run(100.0, 80.0)), Bottleneck::ServerCpu, "they share the cores");
        assert_eq!(of(&run(50.0, 95.0)), Bottleneck::GeneratorCpu);
        assert_eq!(bottleneck(&run(80.0, 100.0), 2, 2).0, Bottleneck::GeneratorCpu);
        assert_eq!(of(&run(20.0, 5.0)), Bottleneck::Unknown);
        let without = Run { generator_limit: Some("all 64 ...".into()), ..run(20.0, 5.0) };
        assert_eq!(bottleneck(&without, 1, 2), (Bottleneck::Generator, "all 64 ...".into()));
        let without = Run { machine_busy_cores: Some(1.95), ..without };
        assert_eq!(of(&without), Bottleneck::Generator, "that is why others had so much time");
        let full = Run { generator_limit: Some("all 64 ...".into()), ..run(190.0, 5.0) };
        assert_eq!(of(&full), Bottleneck::ServerCpu, "more connections would carry no more");
        let disturbed = Run { machine_busy_cores: Some(1.95), ..run(20.0, 5.0) };
        assert_eq!(of(&disturbed), Bottleneck::OtherProcesses);
        assert_eq!(
            of(&Run { server_cpu_us_per_request: None, server: None, ..run(0.0, 5.0) }),
            Bottleneck::Unknown
        );
    }

    #[test]
    fn with_idle_cores_the_longest_wait_is() {
        let mut waiting = run(20.0, 5.0);
        let server = waiting.server.as_mut().unwrap();
        server.read_queries = 250_000;
        assert_eq!(of(&waiting), Bottleneck::Database);
        let server = waiting.server.as_mut().unwrap();
        server.commits = 100;
        server.commit_duration =
            Percentiles { p50_ms: Some(12.0), p99_ms: Some(40.0), ..Percentiles::default() };
        assert_eq!(of(&waiting), Bottleneck::Disk);
        let wait = Percentiles { p99_ms: Some(150.0), ..Percentiles::default() };
        let store = StoreFigures { kind: "code".into(), queue_wait: wait, ..StoreFigures::default() };
        waiting.server.as_mut().unwrap().stores.push(store);
        let (what, told) = bottleneck(&waiting, 1, 2);
        assert_eq!(what, Bottleneck::ShardQueue);
        assert!(told.contains("kind code was 150.0 ms of 200.0 ms"), "{told}");
    }
}
