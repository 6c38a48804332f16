//! The highest rate that a provider holds, what keeps it from more, and what to plan with.

mod bottleneck;
mod search;

use std::io::Write;
use std::time::Duration;

use crate::LoadtestError;
use crate::client::generator_lacks;
use crate::executor::Schedule;
use crate::results::{Bottleneck, Capacity, Results, Run};
use crate::run::{Group, Plan, Ready, Rule, RunOptions, Traffic, Work as _, cut_short, on_a_runtime};
use crate::scenario::Scenario;
use search::Search;

/// The last try is so many times as long as the others.
const CONFIRMED: u32 = 3;
/// So often a limit that does not last is lowered before the search gives up.
const CONFIRMATIONS: usize = 4;
/// A rate of which less was reached did not fail by accident.
const FAR_OFF: f64 = 0.9;
/// Twice the connections helped if they carried so many times as much.
const HELPED: f64 = 1.05;
/// No search opens more connections.
const MOST_CONNECTIONS: usize = 16_384;
/// What may come at the worst time of the year: a fifth of the limit is left for what nobody foresaw.
const PEAK: f64 = 0.8;
/// What may come every day: one of two nodes may fail, and the other one bears both parts.
const NORMAL: f64 = 0.5;

/// What is searched.
pub struct CapacityOptions {
    /// The provider, the algorithm, the seed; its groups are not looked at.
    pub run: RunOptions,
    /// What is asked, one after the other.
    pub scenarios: Vec<Scenario>,
    /// Shards of every kind of state, of a provider that is started; of several numbers each has a search and a provider of its
    /// own. The provider's own number where there is none.
    pub shards: Vec<u32>,
    /// Where the search begins, in requests per second.
    pub from: f64,
    /// How long each rate is tried; the limit three times as long.
    pub probe: Duration,
    /// How near the limit is told, as a share of it.
    pub precision: f64,
    /// What must hold besides the usual rules of a search, or instead of them.
    pub thresholds: Vec<Rule>,
    /// Whether the usual rules need not hold.
    pub only_thresholds: bool,
    /// Connections at most.
    pub connections: usize,
    /// Threads of the generator.
    pub threads: usize,
    /// How long a request may take. Short: what was asked of a provider too much must be over before the next try.
    pub timeout: Duration,
    /// What users do.
    pub pattern: Pattern,
}

/// What users do in a month, for the number of them.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Requests of the scenario's kind that a user makes on a day on which they are active; without, the scenario's own.
    pub requests_per_day: Option<f64>,
    /// The part of a month's users who are active on a day.
    pub daily_share: f64,
    /// The part of a day's requests that come in its busiest hour.
    pub busiest_hour: f64,
}

impl Pattern {
    fn requests_per_day(&self, scenario: Scenario) -> f64 {
        self.requests_per_day.unwrap_or(match scenario {
            // One login a day, and renewals each hour of a working day.
            Scenario::Login | Scenario::LoginEmailCode | Scenario::LoginPasskey | Scenario::Code => 1.0,
            Scenario::Silent | Scenario::Refresh | Scenario::Exchange | Scenario::Userinfo => 8.0,
            // Services ask more often than people.
            Scenario::Introspect => 100.0,
            Scenario::ClientCredentials | Scenario::Discovery => 1.0,
        })
    }
}

/// What must hold with these rules: no failure, the rate, and, where they name no latency, an answer that nobody waits
/// for. A login hashes a password, which takes tens of milliseconds on purpose.
fn usual_thresholds(scenario: Scenario, rules: &[Rule]) -> Vec<Rule> {
    let p99_ms = if scenario == Scenario::Login { 500.0 } else { 100.0 };
    let mut usual = vec![Rule::no_failure(), Rule::rate_reached()];
    if !rules.iter().any(Rule::is_of_latency) {
        usual.push(Rule::p99_below(p99_ms));
    }
    usual.extend_from_slice(rules);
    usual
}

/// Searches; blocks the calling thread, which must not be one of an asynchronous runtime. Every try is a run of the
/// results.
///
/// # Errors
/// [`LoadtestError`] when nothing could be run.
pub fn capacity(
    options: &CapacityOptions,
    progress: &mut (dyn Write + Send),
) -> Result<Results, LoadtestError> {
    for &scenario in &options.scenarios {
        options.plan(scenario, (options.from, options.probe), options.connections)?.check()?;
    }
    options.check_shares()?;
    options.check_shards()?;
    options.run.watch.plan(&options.run.title, Vec::new);
    on_a_runtime(async {
        let mut results = options.run.results();
        for search in options.searches() {
            let ended = search_scenario(options, search, (&mut results, &mut *progress)).await;
            if cut_short(&mut results, ended)? {
                break;
            }
        }
        Ok(results)
    })
}

impl CapacityOptions {
    /// Each scenario at each number of shards.
    fn searches(&self) -> Vec<(Scenario, Option<u32>)> {
        let mut numbers: Vec<_> = self.shards.iter().copied().map(Some).collect();
        if numbers.is_empty() {
            numbers.push(None);
        }
        let of = |scenario: &Scenario| numbers.iter().map(|shards| (*scenario, *shards)).collect::<Vec<_>>();
        self.scenarios.iter().flat_map(of).collect()
    }

    /// Several numbers of shards are compared only where they make a difference.
    fn check_shards(&self) -> Result<(), LoadtestError> {
        let without = |scenario: &&Scenario| scenario.shards().is_none();
        match self.scenarios.iter().find(without) {
            Some(scenario) if self.shards.len() > 1 => {
                let name = scenario.name();
                let reason =
                    format!("scenario {name} uses no shards: it has one limit, whatever their number");
                Err(LoadtestError::Options(reason))
            }
            _ => Ok(()),
        }
    }

    /// What is a share lies above 0, and not above 1.
    fn check_shares(&self) -> Result<(), LoadtestError> {
        let Pattern { requests_per_day, daily_share, busiest_hour } = self.pattern;
        let shares =
            [("precision", self.precision), ("daily share", daily_share), ("busiest hour", busiest_hour)];
        for (name, share) in shares {
            if !(share > 0.0 && share <= 1.0) {
                let reason = format!("{name} {share}: it must be a share above 0 and not above 1");
                return Err(LoadtestError::Options(reason));
            }
        }
        match requests_per_day {
            Some(requests) if !(requests > 0.0 && requests.is_finite()) => {
                Err(LoadtestError::Options(format!("{requests} requests per day: it must be above 0")))
            }
            _ => Ok(()),
        }
    }

    /// A load of the search, with so many connections at most.
    fn plan(
        &self,
        scenario: Scenario,
        (rate, duration): (f64, Duration),
        connections: usize,
    ) -> Result<Plan, LoadtestError> {
        let traffic = Traffic::Open(Schedule::constant(rate, duration)?);
        Ok(Plan {
            warm_up: self.probe.min(Duration::from_secs(1)),
            connections,
            threads: self.threads,
            thresholds: match self.only_thresholds {
                true => self.thresholds.clone(),
                false => usual_thresholds(scenario, &self.thresholds),
            },
            timeout: self.timeout,
            ..Plan::new(scenario, traffic)
        })
    }

    /// The longest that tokens are needed: more tries than a search takes.
    fn group(&self, (scenario, shards): (Scenario, Option<u32>)) -> Result<Group, LoadtestError> {
        let plan = self.plan(scenario, (self.from, self.probe * 60), self.connections)?;
        Ok(Group { shards, plans: vec![plan] })
    }
}

/// One scenario at one number of shards. Whether a signal ended it early.
async fn search_scenario(
    options: &CapacityOptions,
    search: (Scenario, Option<u32>),
    (results, progress): (&mut Results, &mut (dyn Write + Send)),
) -> Result<bool, LoadtestError> {
    let scenario = search.0;
    let mut ready = options.run.ready(&options.group(search)?, progress).await?;
    let first = results.runs.len();
    let searching = async {
        results.provider = ready.description().await?;
        results.environment = ready.environment().await;
        let connections = options.connections;
        let mut probing = Probing { options, scenario, connections, ready: &mut ready, results, progress };
        probing.find().await
    };
    let searched = searching.await;
    let stopped = ready.is_stopped();
    ready.end(progress).await;
    let failed = searched?;
    if !stopped {
        let found = conclude(options, scenario, (results, first), failed);
        results.capacities.push(found);
    }
    Ok(stopped)
}

/// A search under way.
struct Probing<'a> {
    options: &'a CapacityOptions,
    scenario: Scenario,
    /// Requests in flight at most, of the tries to come.
    connections: usize,
    ready: &'a mut Ready,
    results: &'a mut Results,
    progress: &'a mut (dyn Write + Send),
}

impl Probing<'_> {
    /// Tries rates until one holds for longer, which is the last run then. The lowest that did not hold.
    async fn find(&mut self) -> Result<Option<f64>, LoadtestError> {
        let options = self.options;
        // Fewer than five requests prove nothing.
        let least = 5.0 / options.probe.as_secs_f64();
        let mut search = Search::new((options.from, least), options.precision);
        for _ in 0..CONFIRMATIONS {
            while let Some(rate) = search.next() {
                let held = self.probe(rate).await?;
                if self.ready.is_stopped() {
                    return Ok(None);
                }
                search.tried(rate, held);
            }
            let Some(limit) = search.limit() else { break };
            let mut run = self.run(limit, options.probe * CONFIRMED).await?;
            let held = run.passed();
            run.probe = !held;
            self.results.runs.push(run);
            if held || self.ready.is_stopped() {
                break;
            }
            search.tried(limit, false);
        }
        Ok(search.failed())
    }

    /// Tries a rate, once more where it failed barely: a neighbour on the machine is no limit of the provider. Where the
    /// generator's connections were the limit, it is tried with more of them.
    async fn probe(&mut self, rate: f64) -> Result<bool, LoadtestError> {
        for _ in 0..2 {
            let mut run = self.run(rate, self.options.probe).await?;
            while lacks_connections(&run) && self.connections < MOST_CONNECTIONS && !self.ready.is_stopped() {
                let before = run.achieved_rate;
                self.results.runs.push(run);
                self.connections *= 2;
                run = self.run(rate, self.options.probe).await?;
                if !run.passed() && run.achieved_rate < HELPED * before && !lacks_files_or_ports(&run) {
                    self.connections /= 2;
                    more_connections_do_not_help(&mut run);
                }
            }
            let (held, barely) = (run.passed(), run.achieved_rate > FAR_OFF * run.rate);
            self.results.runs.push(run);
            if held || !barely || self.ready.is_stopped() {
                return Ok(held);
            }
        }
        Ok(false)
    }

    async fn run(&mut self, rate: f64, duration: Duration) -> Result<Run, LoadtestError> {
        let plan = self.options.plan(self.scenario, (rate, duration), self.connections)?;
        let terminal = self.options.run.terminal;
        let mut run = self.ready.run(&plan, (&mut *self.progress, terminal)).await?;
        run.probe = true;
        Ok(run)
    }
}

/// Whether a rate did not hold, and for a part of the time all connections that the bound allows were in use. It is tried
/// with more of them then, whatever else the figures say.
fn lacks_connections(run: &Run) -> bool {
    let exhausted = run.connection_use.as_ref().is_some_and(|used| used.exhausted_seconds > 0.0);
    !run.passed() && exhausted && run.generator_limit.is_some() && !lacks_files_or_ports(run)
}

/// The bound of the connections was no limit then; whatever else the generator lacked still is.
fn more_connections_do_not_help(run: &mut Run) {
    run.generator_limit = run.limit_besides_connections.take();
}

/// Whether the generator could not open a connection for want of something of its own. That more of them would not help is
/// then not known.
fn lacks_files_or_ports(run: &Run) -> bool {
    run.connection_use.as_ref().is_some_and(|used| used.lacking)
        || run.failure_kinds.keys().any(|kind| generator_lacks(kind).is_some())
}

/// What the scenario's runs say, which begin at `first`.
fn conclude(
    options: &CapacityOptions,
    scenario: Scenario,
    (results, first): (&Results, usize),
    failed: Option<f64>,
) -> Capacity {
    let runs: &[Run] = results.runs.get(first..).unwrap_or_default();
    let confirmed = runs.last().filter(|run| !run.probe);
    let failing = failed.and_then(|rate| runs.iter().rfind(|run| run.rate == rate && !run.passed()));
    let limit = confirmed.map_or(0.0, |run| run.rate);
    let (bottleneck, evidence) = match failing {
        Some(run) => bottleneck::bottleneck(run, options.threads, results.machine.cores),
        None => (Bottleneck::Unknown, "every rate that was tried held".into()),
    };
    // The provider's limit is not known where the generator had its own first.
    let claimed = if bottleneck.is_the_generators() { 0.0 } else { limit };
    let peak = PEAK * claimed;
    let pattern = &options.pattern;
    let requests_per_day = pattern.requests_per_day(scenario);
    let per_hour = peak * 3_600.0;
    let per_month_user = requests_per_day * pattern.daily_share * pattern.busiest_hour;
    Capacity {
        scenario: scenario.name().into(),
        shards: confirmed.or(failing).and_then(|run| run.shards),
        limit,
        p99_ms: confirmed.and_then(|run| run.latency.p99_ms),
        failing: failing.map(|run| run.rate),
        bottleneck,
        evidence,
        peak,
        normal: NORMAL * claimed,
        per_core: confirmed.and_then(|run| run.server_cpu_us_per_request).map(|us| 1e6 / us),
        busiest_hour_requests: per_hour,
        requests_per_day,
        daily_share: pattern.daily_share,
        busiest_hour_share: pattern.busiest_hour,
        monthly_active_users: (per_hour / per_month_user.max(f64::MIN_POSITIVE)).floor(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ConnectionUse;

    /// A run whose connections were all in use, and whose generator had this limit besides.
    fn short_of_connections(besides: Option<&str>) -> Run {
        Run {
            rate: 100.0,
            errors_besides: 1,
            generator_limit: Some("all 64 requests that may be in flight were".into()),
            limit_besides_connections: besides.map(Into::into),
            connection_use: Some(ConnectionUse { exhausted_seconds: 1.0, ..ConnectionUse::default() }),
            ..Run::default()
        }
    }

    #[test]
    fn where_more_connections_do_not_help_another_limit_of_the_generator_stays() {
        for besides in [Some("it sent 400 ms late at worst"), Some("its seed was used up"), None] {
            let mut run = short_of_connections(besides);
            assert!(lacks_connections(&run));
            more_connections_do_not_help(&mut run);
            assert_eq!(run.generator_limit.as_deref(), besides);
        }
    }
}
