//! What a load ran against.

use crate::results::{Bottleneck, Run, Waited};

/// A thread or a core that is busier has nothing left.
const BUSY: f64 = 0.9;
/// Generator and provider together on the same cores: the system and other processes take something too.
const BUSY_TOGETHER: f64 = 0.85;
/// A wait explains a latency of which it is so large a part.
const EXPLAINS: f64 = 0.5;

/// Names what kept a run from holding, from the figures of that run; `cores` are the machine's.
pub(super) fn bottleneck(run: &Run, threads: usize, cores: usize) -> (Bottleneck, String) {
    let cores = cores.max(1) as f64;
    let (generator, server) = (run.generator_cores().unwrap_or(0.0), run.server_cores());
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
        let all = run.machine_cores().unwrap_or(0.0);
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

/// The longest wait inside of the provider that requests had, where it explains their latency.
fn waits(run: &Run) -> Option<(Bottleneck, String)> {
    let explains = |waited: &Waited| waited.part() > EXPLAINS;
    if let Some((kind, waited)) = run.shard_wait().filter(|(_, waited)| explains(waited)) {
        return Some((
            Bottleneck::ShardQueue,
            format!("the wait for a shard of kind {kind}: {}", told(&waited)),
        ));
    }
    if let Some(waited) = run.commit_wait().filter(explains) {
        return Some((Bottleneck::Disk, format!("the wait for a durable commit: {}", told(&waited))));
    }
    let server = run.server.as_ref()?;
    let queries = (server.read_queries + server.write_queries) as f64 / run.requests.max(1) as f64;
    (queries >= 1.0)
        .then(|| (Bottleneck::Database, format!("{queries:.1} database queries for each request")))
}

fn told(waited: &Waited) -> String {
    let Waited { figure, wait_ms, whole_ms, .. } = waited;
    format!("{figure} {wait_ms:.1} ms of the {whole_ms:.1} ms of a request")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Latency, Percentiles, ServerFigures, StoreFigures};

    fn run(server_us: f64, generator_us: f64) -> Run {
        Run {
            achieved_rate: 10_000.0,
            requests: 100_000,
            latency: Latency { mean_ms: Some(30.0), p99_ms: Some(200.0), ..Latency::default() },
            seconds: 10.0,
            server_cpu_us_per_request: Some(server_us),
            generator_cpu_us_per_request: generator_us,
            server: Some(ServerFigures::default()),
            ..Run::default()
        }
    }

    /// A wait of the provider's that so many requests of 100,000 had.
    fn wait(count: u64, mean_ms: f64, p99_ms: f64) -> Percentiles {
        Percentiles { count, mean_ms: Some(mean_ms), p99_ms: Some(p99_ms), ..Percentiles::default() }
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
    fn a_generator_is_as_busy_where_its_requests_fail_or_come_late() {
        let failing = Run { failures: 60_000, achieved_rate: 4_000.0, ..run(20.0, 95.0) };
        assert_eq!(of(&failing), Bottleneck::GeneratorCpu);
        let late = Run { achieved_rate: 2_000.0, ..run(20.0, 95.0) };
        assert_eq!(of(&late), Bottleneck::GeneratorCpu);
    }

    #[test]
    fn with_idle_cores_the_longest_wait_is() {
        let mut waiting = run(20.0, 5.0);
        let server = waiting.server.as_mut().unwrap();
        server.read_queries = 250_000;
        assert_eq!(of(&waiting), Bottleneck::Database);
        let server = waiting.server.as_mut().unwrap();
        (server.commits, server.commit_operations) = (60_000, 100_000);
        server.commit_duration = wait(60_000, 18.0, 90.0);
        assert_eq!(of(&waiting), Bottleneck::Disk);
        let (_, told) = bottleneck(&waiting, 1, 2);
        assert_eq!(told, "the wait for a durable commit: mean 18.0 ms of the 30.0 ms of a request");
        let queue_wait = wait(100_000, 3.0, 150.0);
        let store = StoreFigures { kind: "code".into(), queue_wait, ..StoreFigures::default() };
        waiting.server.as_mut().unwrap().stores.push(store);
        let (what, told) = bottleneck(&waiting, 1, 2);
        assert_eq!(what, Bottleneck::ShardQueue);
        assert!(told.contains("kind code: P99 150.0 ms of the 200.0 ms"), "{told}");
    }

    #[test]
    fn a_wait_that_few_requests_have_or_none_can_have_explains_nothing() {
        let mut waiting = run(20.0, 5.0);
        let server = waiting.server.as_mut().unwrap();
        // As many commits as of the audit log, each of them slow.
        (server.commits, server.commit_operations) = (500, 500);
        server.commit_duration = wait(500, 25.0, 190.0);
        let queue_wait = wait(27, 25.0, 190.0);
        server.stores.push(StoreFigures { kind: "audit".into(), queue_wait, ..StoreFigures::default() });
        assert_eq!(of(&waiting), Bottleneck::Unknown);
        // One for each request, but longer than the requests took.
        let server = waiting.server.as_mut().unwrap();
        (server.commit_operations, server.commit_duration) = (100_000, wait(500, 40.0, 400.0));
        assert_eq!(of(&waiting), Bottleneck::Unknown);
    }
}
