//! The coordinator of a load: lets the agents begin together, adds up what they count, and goes on without those that it loses.

use std::time::{Duration, Instant};

use super::clocks::Comparison;
use super::course::JointCourse;
use super::deal::{Whereto, deal};
use super::link::{Agents, Event};
use super::message::{Done, Second, ToAgent, ToCoordinator, mixture};
use crate::executor::{
    Asked, Counted, CountedSecond, Edge, Load, OpenOutcome, Plateau, closed_outcome, open_outcome,
};
use crate::latency::millis;
use crate::results::AgentShare;
use crate::run::{Live, Plan, Traffic, Watchers};
use crate::seed::{Family, Seed};
use crate::{LoadtestError, clock};

/// How long agents may take until their first connections are open.
const PREPARING: Duration = Duration::from_secs(60);
/// How far ahead the beginning lies, besides what messages need.
const AHEAD: Duration = Duration::from_millis(500);
/// How much longer than its schedule and its last requests a load may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether somebody stopped the load.
const LOOK: Duration = Duration::from_millis(100);

/// A load that agents run.
pub(crate) struct Begun {
    parts: Vec<Part>,
    /// When it began, and the zero of the comparisons of clocks.
    at: Instant,
    origin: Instant,
}

/// What is known of an agent's part.
struct Part {
    address: String,
    /// Arrivals of the plateau that are its own.
    arrivals: u64,
    connections: usize,
    threads: usize,
    counted: Counted,
    /// Its clocks before the load, and how far they went apart meanwhile.
    clocks: Comparison,
    moved: Option<Duration>,
    done: Option<Ended>,
    /// After which time it was lost, and why.
    lost: Option<(Duration, String)>,
}

/// What an agent says at its end.
struct Ended {
    took: Duration,
    began_late: Duration,
    families: Vec<Family>,
}

/// What came of a load that agents ran.
pub(crate) struct Gathered {
    /// As of one generator.
    pub(crate) outcome: OpenOutcome,
    /// The refresh-token families of the agents that were not lost.
    pub(crate) families: Vec<Family>,
    /// Each agent's part.
    pub(crate) agents: Vec<AgentShare>,
    /// Threads of all of them.
    pub(crate) threads: usize,
    /// Why one of them was at its own limit, where one was.
    pub(crate) limit: Option<String>,
}

impl Agents {
    /// Prepares a load, and returns when it begins.
    ///
    /// # Errors
    /// [`LoadtestError::Agent`] where an agent cannot run its part or is lost before, [`LoadtestError::Options`] where the plan
    /// cannot be shared out, [`LoadtestError::Interrupted`] where it was stopped.
    pub(crate) async fn begin(
        &mut self,
        plan: &Plan,
        (seed, whereto): (&Seed, &Whereto),
        load: &Load,
        watchers: &mut Watchers<'_>,
    ) -> Result<Begun, LoadtestError> {
        let prepared = self.prepare(plan, (seed, whereto), load, watchers).await;
        if prepared.is_err() {
            self.say_to_all(|| ToAgent::Stop);
        }
        prepared
    }

    async fn prepare(
        &mut self,
        plan: &Plan,
        (seed, whereto): (&Seed, &Whereto),
        load: &Load,
        watchers: &mut Watchers<'_>,
    ) -> Result<Begun, LoadtestError> {
        let jobs = deal(plan, seed, whereto, self.links.len())?;
        let sizes: Vec<_> = jobs.iter().map(|job| (job.connections, job.threads)).collect();
        for (place, job) in jobs.into_iter().enumerate() {
            self.say(place, ToAgent::Prepare(Box::new(job)));
        }
        let preparing = tokio::time::timeout(PREPARING, self.all_ready(load));
        preparing.await.map_err(|_| {
            LoadtestError::Options(format!("agents: not all were ready within {} s", PREPARING.as_secs()))
        })??;
        let origin = clock::now();
        let (agents, mut parts) = (self.links.len(), Vec::new());
        for (place, (connections, threads)) in sizes.into_iter().enumerate() {
            let address = self.address(place);
            let Some(clocks) = self.compare_clocks(place, origin).await? else {
                return Err(self.lost(place));
            };
            watchers.live.tell(&format!("agent {address}: {}", told_clocks(&clocks)));
            let arrivals = match &plan.traffic {
                Traffic::Open(schedule) => schedule.after(plan.warm_up).share(place, agents).measured(),
                Traffic::Closed(_) => 0,
                Traffic::Mixture(_) => return Err(mixture()),
            };
            let counted = Counted::new()?;
            let (moved, done, lost) = (None, None, None);
            parts.push(Part { address, arrivals, connections, threads, counted, clocks, moved, done, lost });
        }
        let longest = parts.iter().map(|part| part.clocks.round_trip).max().unwrap_or_default();
        let at = clock::now() + AHEAD + 4 * longest;
        for (place, part) in parts.iter().enumerate() {
            self.say(place, ToAgent::Begin(part.clocks.at_agent(origin, at)));
        }
        tokio::time::sleep_until(at.into()).await;
        Ok(Begun { parts, at, origin })
    }

    /// Waits until all agents have opened their first connections.
    async fn all_ready(&mut self, load: &Load) -> Result<(), LoadtestError> {
        let mut ready = vec![false; self.links.len()];
        while ready.contains(&false) {
            let heard = tokio::select! {
                heard = self.heard() => heard?,
                () = tokio::time::sleep(LOOK) => {
                    if load.stop.is_stopped() {
                        return Err(LoadtestError::Interrupted);
                    }
                    continue;
                }
            };
            match heard {
                (place, Event::Lost(_)) => return Err(self.lost(place)),
                (place, Event::Said(message, _)) => match *message {
                    ToCoordinator::Ready => {
                        ready.iter_mut().skip(place).take(1).for_each(|ready| *ready = true)
                    }
                    ToCoordinator::Failed(reason) => {
                        return Err(LoadtestError::Agent { address: self.address(place), reason });
                    }
                    _ => {}
                },
            }
        }
        Ok(())
    }

    fn lost(&self, place: usize) -> LoadtestError {
        let reason = self.links.get(place).and_then(|link| link.lost.clone()).unwrap_or_default();
        LoadtestError::Agent { address: self.address(place), reason }
    }

    /// Adds up what the agents count until all have ended or are lost.
    ///
    /// # Errors
    /// The CPU time of the provider's process cannot be read.
    pub(crate) async fn gather(
        &mut self,
        mut begun: Begun,
        plan: &Plan,
        load: &Load,
        watchers: &mut Watchers<'_>,
    ) -> Result<Gathered, LoadtestError> {
        let mut edges = Edges::of(plan, begun.at);
        let mut course = JointCourse::new(begun.parts.len());
        let latest = begun.at + plan.whole() + 2 * plan.timeout + PATIENCE;
        let mut stopped = false;
        while begun.parts.iter().any(Part::is_running) {
            tokio::select! {
                heard = self.heard() => {
                    let (place, event) = heard?;
                    begun.note(place, event, &mut course, &mut watchers.live);
                }
                () = tokio::time::sleep(LOOK.min(edges.due_in())) => {}
            }
            edges.look(load.pid)?;
            if load.stop.is_stopped() && !std::mem::replace(&mut stopped, true) {
                self.say_to_all(|| ToAgent::Stop);
            }
            if clock::now() > latest {
                let running: Vec<_> = begun.parts.iter().map(Part::is_running).collect();
                for (place, _) in running.iter().enumerate().filter(|(_, running)| **running) {
                    begun.lose(place, "it did not end".into(), &mut course, &mut watchers.live);
                }
            }
            while let Some((at, lately)) = course.next()? {
                watchers.second(at, &lately).await?;
            }
        }
        if let Some((at, lately)) = course.rest()? {
            watchers.second(at, &lately).await?;
        }
        let plateau = edges.plateau(load.pid)?;
        self.compare_again(&mut begun).await?;
        begun.gathered(plan, load, &plateau)
    }

    /// Compares the clocks once more: what they went apart by adds to the doubt.
    async fn compare_again(&mut self, begun: &mut Begun) -> Result<(), LoadtestError> {
        for place in 0..begun.parts.len() {
            let after = self.compare_clocks(place, begun.origin).await?;
            if let (Some(part), Some(after)) = (begun.parts.get_mut(place), after) {
                let moved = after.monotonic.abs_diff(part.clocks.monotonic);
                part.moved = Some(Duration::from_nanos(u64::try_from(moved).unwrap_or(u64::MAX)));
            }
        }
        Ok(())
    }
}

/// An offset in words.
fn told_clocks(clocks: &Comparison) -> String {
    let ahead = clocks.wall as f64 / 1e6;
    let side = if ahead < 0.0 { "behind" } else { "ahead" };
    let (doubt, trip) = (millis(clocks.doubt()), millis(clocks.round_trip));
    format!("its clock is {:.2} ms {side}, ± {doubt:.2} ms; a round trip takes {trip:.2} ms", ahead.abs())
}

impl Begun {
    /// Notes what was heard of an agent.
    fn note(&mut self, place: usize, event: Event, course: &mut JointCourse, live: &mut Live<'_>) {
        let Some(part) = self.parts.get_mut(place).filter(|part| part.is_running()) else { return };
        let noted = match event {
            Event::Lost(reason) => return self.lose(place, reason, course, live),
            Event::Said(message, _) => match *message {
                ToCoordinator::Second(second) => part.note_second(*second, place, course),
                ToCoordinator::Done(done) => part.note_done(*done, place, course),
                ToCoordinator::Failed(reason) => return self.lose(place, reason, course, live),
                ToCoordinator::Alive | ToCoordinator::Ready | ToCoordinator::Clock { .. } => Ok(()),
            },
        };
        if let Err(error) = noted {
            self.lose(place, error.to_string(), course, live);
        }
    }

    /// An agent is lost: that is told at once, and the others go on.
    fn lose(&mut self, place: usize, reason: String, course: &mut JointCourse, live: &mut Live<'_>) {
        course.end(place);
        let after = clock::now().saturating_duration_since(self.at);
        let Some(part) = self.parts.get_mut(place) else { return };
        let (address, seconds) = (&part.address, after.as_secs_f64());
        let others = "the others go on, and the results will be partial";
        live.tell(&format!("agent {address} is lost after {seconds:.1} s: {reason}; {others}"));
        part.lost = Some((after, reason));
    }

    fn gathered(self, plan: &Plan, load: &Load, plateau: &Plateau) -> Result<Gathered, LoadtestError> {
        let (mut whole, mut families, mut agents) = (Counted::new()?, Vec::new(), Vec::new());
        let (mut threads, mut limit, mut known) = (0, None, 0);
        let stopped = load.stop.is_stopped();
        for mut part in self.parts {
            agents.push(part.share(stopped));
            limit = limit.or_else(|| part.limit());
            threads += part.threads;
            if let Some(done) = part.done {
                families.extend(done.families);
                known += part.counted.phases.iter().map(crate::Tally::requests).sum::<u64>();
            } else {
                part.counted.connections.bound = part.connections;
            }
            whole.add(part.counted);
        }
        // What a lost agent used is not known: each of its requests counts as much as one of the others.
        let all: u64 = whole.phases.iter().map(crate::Tally::requests).sum();
        whole.cpu = whole.cpu.mul_f64(if known > 0 { all as f64 / known as f64 } else { 1.0 });
        let outcome = match &plan.traffic {
            Traffic::Open(schedule) => {
                open_outcome(whole, Asked::by(schedule, load), plateau, load, Vec::new())?
            }
            Traffic::Mixture(_) => return Err(mixture()),
            Traffic::Closed(_) => {
                let (bound, open) = (whole.connections.bound, whole.connections.open);
                OpenOutcome::closed(closed_outcome(whole, plateau, Vec::new())?, (bound, open))?
            }
        };
        Ok(Gathered { outcome, families, agents, threads, limit })
    }
}

impl Part {
    const fn is_running(&self) -> bool {
        self.done.is_none() && self.lost.is_none()
    }

    fn note_second(
        &mut self,
        second: Second,
        place: usize,
        course: &mut JointCourse,
    ) -> Result<(), LoadtestError> {
        let second = CountedSecond::try_from(second)?;
        course.note(place, &second)?;
        self.counted.add_phases(second.phases);
        self.counted.late = second.late;
        Ok(())
    }

    fn note_done(
        &mut self,
        mut done: Done,
        place: usize,
        course: &mut JointCourse,
    ) -> Result<(), LoadtestError> {
        let (took, began_late) = (done.took, done.began_late);
        let families = std::mem::take(&mut done.families);
        let counted = done.counted()?;
        course.note_rest(place, took, &counted.phases, &counted.generator_at_the_end())?;
        course.end(place);
        // Those of the whole run are told at its end.
        self.counted.late = 0;
        self.counted.add(counted);
        self.done = Some(Ended { took, began_late, families });
        Ok(())
    }

    /// Why this agent was at its own limit: the mean over all of them would hide it.
    fn limit(&self) -> Option<String> {
        /// A thread that is busier has no time left to send when it should.
        const BUSY: f64 = 0.9;
        let took = self.done.as_ref()?.took.as_secs_f64().max(0.001);
        let busy = self.counted.cpu.as_secs_f64() / took / self.threads.max(1) as f64;
        (busy > BUSY).then(|| {
            let (address, percent) = (&self.address, busy * 100.0);
            format!(
                "the threads of agent {address} were busy {percent:.0} % of the time (--threads gives more)"
            )
        })
    }

    /// For the report. Where the load was stopped, what would have come later is not lost.
    fn share(&self, stopped: bool) -> AgentShare {
        let (mut answered, mut seen) = (0, 0);
        for tally in self.counted.measured() {
            answered += tally.right + tally.wrong_total();
            seen += tally.requests() + tally.missed;
        }
        let lost = if stopped { 0 } else { self.arrivals.saturating_sub(seen) };
        let moved = self.moved.unwrap_or_default();
        AgentShare {
            address: self.address.clone(),
            clock_offset_ms: self.clocks.wall as f64 / 1e6,
            clock_doubt_ms: millis(self.clocks.doubt() + moved),
            round_trip_ms: millis(self.clocks.round_trip),
            began_late_ms: self.done.as_ref().map(|done| millis(done.began_late)),
            arrivals: self.arrivals,
            answered,
            arrivals_lost: lost,
            cpu_seconds: self.done.as_ref().map(|_| self.counted.cpu.as_secs_f64()),
            worst_lag_ms: self.done.as_ref().map(|_| millis(self.counted.worst_lag)),
            lost_after_seconds: self.lost.as_ref().map(|(after, _)| after.as_secs_f64()),
            lost_because: self.lost.as_ref().map(|(_, reason)| reason.clone()).or_else(|| {
                // It ended by itself, and before its end.
                (lost > 0).then(|| "it ended before its part was sent".to_owned())
            }),
        }
    }
}

/// Where the plateau begins and ends: the CPU time of the provider is read there.
struct Edges {
    begins: Instant,
    /// None where nothing comes after it: it ends with the last answer then.
    ends: Option<Instant>,
    first: Option<Edge>,
    last: Option<Edge>,
}

impl Edges {
    fn of(plan: &Plan, at: Instant) -> Self {
        let starts = at + plan.warm_up;
        let (begins, ends) = match &plan.traffic {
            Traffic::Open(schedule) => {
                let (begins, ends) = schedule.plateau_edges();
                (begins, (ends < schedule.duration()).then_some(starts + ends))
            }
            Traffic::Closed(_) | Traffic::Mixture(_) => (Duration::ZERO, None),
        };
        Self { begins: starts + begins, ends, first: None, last: None }
    }

    /// How long it is until the next one.
    fn due_in(&self) -> Duration {
        let next =
            if self.first.is_none() { Some(self.begins) } else { self.ends.filter(|_| self.last.is_none()) };
        next.map_or(Duration::MAX, |next| next.saturating_duration_since(clock::now()))
    }

    /// Reads what is due.
    fn look(&mut self, pid: Option<u32>) -> Result<(), LoadtestError> {
        let now = clock::now();
        if self.first.is_none() && now >= self.begins {
            self.first = Some(Edge::read(pid)?);
        }
        if self.last.is_none() && self.ends.is_some_and(|ends| now >= ends) {
            self.last = Some(Edge::read(pid)?);
        }
        Ok(())
    }

    fn plateau(self, pid: Option<u32>) -> Result<Plateau, LoadtestError> {
        let first = self.first.map_or_else(|| Edge::read(pid), Ok)?;
        let last = self.last.map_or_else(|| Edge::read(pid), Ok)?;
        Ok(Plateau::between(&first, &last))
    }
}
