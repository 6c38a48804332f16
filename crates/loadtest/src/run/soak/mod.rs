//! A soak: hours of load in windows, with what the provider holds in each, and the trends over them.

mod leaks;
mod tolerance;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use tolerance::Tolerance;

use crate::LoadtestError;
use crate::client::Way;
use crate::gate::rank::median;
use crate::latency::{LatenciesOfASecond, millis};
use crate::provider::Provider;
use crate::results::{Soak, Window};
use crate::scrape::Page;
use crate::tally::Lately;
use crate::vitals::Vitals;

/// Windows at most.
const WINDOWS: u32 = 1_000;
/// Without another word the plateau has so many windows.
const USUALLY: u32 = 96;
/// The shortest window.
const SHORTEST: Duration = Duration::from_secs(1);
/// What a provider holds is looked at so often in a window, and not more often than every second.
const SAMPLES: u32 = 30;
/// A provider that does not give its figures within this time has none in this window.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a run is watched for leaks.
#[derive(Clone, Debug)]
pub struct SoakOptions {
    /// How long a window is; without, the plateau has 96 of them.
    pub window: Option<Duration>,
    /// The part of the plateau in which the provider settles: its windows are told, but no trend counts them.
    pub settle: f64,
    /// By how much what may grow, in this order: the last one of a quantity counts.
    pub tolerances: Vec<Tolerance>,
    /// Where the data of a running provider are, on this machine.
    pub data: Option<PathBuf>,
}

impl Default for SoakOptions {
    fn default() -> Self {
        Self { window: None, settle: 0.1, tolerances: Tolerance::usual(), data: None }
    }
}

impl SoakOptions {
    /// How long a window of such a plateau is.
    pub(super) fn window(&self, plateau: Duration) -> Duration {
        self.window.unwrap_or(plateau / USUALLY).max(SHORTEST)
    }

    /// Whether the figures make sense for such a plateau.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] says what does not, and its mend.
    pub(super) fn check(&self, plateau: Duration) -> Result<(), LoadtestError> {
        let refused = |reason: String| Err(LoadtestError::Options(reason));
        let window = self.window(plateau);
        if let Some(short) = self.window.filter(|window| *window < SHORTEST) {
            return refused(format!("--window {short:?}: a window is a second at least"));
        }
        if window > plateau {
            let (window, plateau) = (window.as_secs_f64(), plateau.as_secs_f64());
            return refused(format!("--window {window} s is longer than the whole plateau of {plateau} s"));
        }
        let windows = plateau.as_secs_f64() / window.as_secs_f64();
        if windows > f64::from(WINDOWS) {
            let least = plateau.as_secs_f64() / f64::from(WINDOWS);
            return refused(format!(
                "that makes {windows:.0} windows, and {WINDOWS} are told at most: --window {least:.0}s"
            ));
        }
        if !(0.0..=0.9).contains(&self.settle) {
            return refused(format!(
                "--settle {}: it must be a share from 0 to 0.9 of the plateau",
                self.settle
            ));
        }
        Ok(())
    }
}

/// Whom it looks at.
struct Provided {
    pid: Option<u32>,
    data: Option<PathBuf>,
    metrics: Option<String>,
    way: Way,
}

/// Fills windows while the load goes on.
pub(super) struct Recorder {
    options: SoakOptions,
    provided: Provided,
    window: Duration,
    /// Where the plateau begins and ends, after the start of the load.
    plateau: (Duration, Duration),
    open: Option<OpenWindow>,
    windows: Vec<Window>,
    /// CPU time of the provider by its own figures, at the end of the last window.
    own_cpu: Option<f64>,
}

/// A window that is not over.
struct OpenWindow {
    since: Duration,
    answered: u64,
    errors: u64,
    latencies: LatenciesOfASecond,
    cpu: Option<Duration>,
    vitals: Vec<Vitals>,
    sampled: Duration,
}

impl OpenWindow {
    fn new(since: Duration) -> Result<Self, LoadtestError> {
        let latencies =
            LatenciesOfASecond::new().map_err(|error| LoadtestError::Options(error.to_string()))?;
        let (cpu, vitals) = (Some(Duration::ZERO), Vec::new());
        Ok(Self { since, answered: 0, errors: 0, latencies, cpu, vitals, sampled: since })
    }
}

impl Recorder {
    /// The plateau begins and ends so long after the start of the load.
    pub(super) fn new(
        options: &SoakOptions,
        provider: &Provider,
        plateau: (Duration, Duration),
    ) -> Result<Self, LoadtestError> {
        let provided = Provided {
            pid: provider.pid,
            data: provider.data_directory().or_else(|| options.data.clone()),
            metrics: provider.metrics.clone(),
            way: provider.way.clone(),
        };
        let window = options.window(plateau.1.saturating_sub(plateau.0));
        let options = options.clone();
        let open = plateau.0.is_zero().then(|| OpenWindow::new(Duration::ZERO)).transpose()?;
        Ok(Self { options, provided, window, plateau, open, windows: Vec::new(), own_cpu: None })
    }

    /// Counts a second that reaches to `now`, in which the provider used so much CPU time.
    pub(super) async fn second(
        &mut self,
        now: Duration,
        lately: &Lately,
        cpu: Option<Duration>,
    ) -> Result<(), LoadtestError> {
        // Seconds are told a little after they are over.
        let slack = (self.window / 10).min(Duration::from_millis(500));
        if now > self.plateau.1 + slack + self.window / 2 {
            return Ok(());
        }
        let Some(mut open) = self.open.take() else {
            if now + slack >= self.plateau.0 {
                self.open = Some(OpenWindow::new(now)?);
                self.own_cpu = self.page().await.and_then(|page| page.gauge("process_cpu_seconds_total"));
            }
            return Ok(());
        };
        open.answered += lately.answered;
        open.errors += lately.errors;
        open.latencies.take(&mut lately.latencies.clone());
        open.cpu = open.cpu.zip(cpu).map(|(sum, cpu)| sum + cpu);
        if open.vitals.is_empty() || now.saturating_sub(open.sampled) >= self.window / SAMPLES {
            open.vitals.push(Vitals::of(self.provided.pid, self.provided.data.as_deref()));
            open.sampled = now;
        }
        let ends = self.plateau.0 + self.window * (u32::try_from(self.windows.len()).unwrap_or(WINDOWS) + 1);
        if now + slack < ends {
            self.open = Some(open);
            return Ok(());
        }
        let page = self.page().await;
        let window = self.closed(open, now, page.as_ref());
        self.windows.push(window);
        if now + self.window / 2 < self.plateau.1 {
            self.open = Some(OpenWindow::new(now)?);
        }
        Ok(())
    }

    fn closed(&mut self, open: OpenWindow, now: Duration, page: Option<&Page>) -> Window {
        let middle =
            |of: fn(&Vitals) -> Option<f64>| median(&open.vitals.iter().filter_map(of).collect::<Vec<_>>());
        let gauge = |name: &str| page.and_then(|page| page.gauge(name));
        let own_cpu = gauge("process_cpu_seconds_total");
        let told =
            self.own_cpu.zip(own_cpu).map(|(before, now)| Duration::from_secs_f64((now - before).max(0.0)));
        self.own_cpu = own_cpu;
        let cpu = open.cpu.filter(|_| self.provided.pid.is_some()).or(told);
        let latency = |percentile| open.latencies.percentile(percentile).map(millis);
        Window {
            at: now.as_secs_f64(),
            seconds: now.saturating_sub(open.since).as_secs_f64(),
            answered: open.answered,
            errors: open.errors,
            p50_ms: latency(50.0),
            p99_ms: latency(99.0),
            max_ms: latency(100.0),
            cpu_us_per_request: cpu
                .filter(|_| open.answered > 0)
                .map(|cpu| cpu.as_secs_f64() * 1e6 / open.answered as f64),
            memory_mib: middle(|vitals| vitals.memory)
                .or_else(|| gauge("process_resident_memory_bytes").map(|bytes| bytes / f64::from(1 << 20))),
            descriptors: middle(|vitals| vitals.descriptors).or_else(|| gauge("process_open_fds")),
            threads: middle(|vitals| vitals.threads),
            disk_mib: middle(|vitals| vitals.disk),
            store_mib: page.map_or_else(BTreeMap::new, Page::stores),
        }
    }

    /// The provider's own figures, where it gives them in time.
    async fn page(&self) -> Option<Page> {
        let url = self.provided.metrics.as_ref()?;
        tokio::time::timeout(PATIENCE, Page::fetch(url, &self.provided.way)).await.ok()?.ok()
    }

    /// What came of it.
    pub(super) fn end(self) -> Soak {
        let limits = Vitals::limits(self.provided.pid, self.provided.data.as_deref());
        let settling = (self.options.settle * self.windows.len() as f64).ceil() as usize;
        let leaks = leaks::of((&self.windows, settling), &self.options.tolerances, &limits);
        Soak { window_seconds: self.window.as_secs_f64(), settling, windows: self.windows, leaks }
    }
}
