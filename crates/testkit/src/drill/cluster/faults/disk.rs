//! The disk of the engines is slow.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::super::{Cluster, Fault, eventually};
use crate::drill::Dice;

/// How much longer every sync of PostgreSQL and of the Redis servers takes, in microseconds.
const LATE: u32 = 300_000;

/// `strace` delays every sync at its entry into the kernel.
#[derive(Default)]
pub(in super::super) struct SlowDisk {
    tracer: Option<Tracer>,
}

impl Fault for SlowDisk {
    fn name(&self) -> &'static str {
        "slow-disk"
    }

    fn left_out(&self, cluster: &Cluster) -> Option<String> {
        Tracer::of(processes(cluster)).err()
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs(5)
    }

    fn begin(&mut self, cluster: &mut Cluster, _dice: &mut Dice) -> Result<(), String> {
        self.tracer = Some(Tracer::of(processes(cluster))?);
        Ok(())
    }

    fn heal(&mut self, _cluster: &mut Cluster) -> Result<(), String> {
        self.tracer = None;
        Ok(())
    }
}

/// All processes of the engines.
fn processes(cluster: &Cluster) -> Vec<u32> {
    let of_redis = cluster.redis.nodes().into_iter().filter_map(|node| {
        let info = cluster.redis.try_cli(node.index, &["INFO", "server"]).ok()?;
        info.lines().find_map(|line| line.strip_prefix("process_id:"))?.trim().parse().ok()
    });
    cluster.postgres.processes().into_iter().chain(of_redis).collect()
}

/// A `strace` that detaches from all processes when this is dropped.
struct Tracer(Child);

impl Tracer {
    /// Delays the syncs of processes, and of those that they start from now on.
    fn of(processes: Vec<u32>) -> Result<Self, String> {
        let mut strace = Command::new("setpriv");
        strace.args(["--pdeathsig", "TERM", "--", "strace", "-f", "-o", "/dev/null"]);
        strace.args(["-e", "trace=fsync,fdatasync", "-e"]);
        strace.arg(format!("inject=fsync,fdatasync:delay_enter={LATE}"));
        processes.iter().for_each(|process| {
            strace.args(["-p", &process.to_string()]);
        });
        let strace = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut tracer = Self(strace.map_err(|error| format!("strace: {error}"))?);
        let said = tracer.0.stderr.take().map(BufReader::new);
        // strace reports every process that starts or ends: its output has to be read, or it would block.
        let listener = std::thread::spawn(move || said.map(|said| said.lines().map_while(Result::ok).last()));
        let first = processes.first().copied().ok_or("no process")?;
        eventually(|| match tracer.0.try_wait() {
            // An error here is tried again. If strace has ended, that would not help: the end is reported below.
            Ok(None) if !is_traced(first) => Err("strace does not hold the processes".to_owned()),
            _ => Ok(()),
        })?;
        if matches!(tracer.0.try_wait(), Ok(None)) {
            return Ok(tracer);
        }
        let last = listener.join().ok().flatten().flatten();
        Err(format!("strace ends: {}", last.unwrap_or_default()))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // SIGTERM, because after SIGKILL strace could not release processes that it holds in the middle of a call.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.0.wait();
    }
}

/// Whether a process is traced (proc_pid_status(5)).
fn is_traced(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}
