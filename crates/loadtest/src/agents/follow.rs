//! An agent's part of a load: it prepares, begins when its coordinator says so, and hands over what it counts every second.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use tokio::sync::mpsc::UnboundedSender;

use super::message::{Done, Job, ToCoordinator, mixture};
use crate::client::{Protocol, Timeouts, Way};
use crate::executor::{
    Closed, Counted, CountedSecond, Leader, Led, Load, Open, Stop, Until, closed_part, open_part,
};
use crate::run::{Traffic, Work};
use crate::scenario::Visitor;
use crate::seed::Seed;
use crate::tally::Lately;
use crate::{LoadtestError, Target, clock};

/// How long it sleeps at most before it looks again whether it was stopped.
const SLEEP: Duration = Duration::from_millis(50);

/// What goes to the coordinator.
pub(super) enum Outgoing {
    Message(ToCoordinator),
    /// Written down by who sends it: the thread that counts has no time for it.
    Second(CountedSecond),
}

/// What an agent has to run a job with.
pub(super) struct Following {
    pub(super) out: UnboundedSender<Outgoing>,
    /// By which the coordinator says when the load begins.
    pub(super) beginning: Receiver<Instant>,
    pub(super) stop: Stop,
    pub(super) trust: Option<Arc<ClientConfig>>,
}

/// Runs a job to its end; what came of it.
pub(super) async fn run(job: Job, following: Following) -> Result<Done, LoadtestError> {
    let Following { out, beginning, stop, trust } = following;
    let protocol = job.http2_streams.map_or(Protocol::Http1, |streams| Protocol::Http2 { streams });
    let way = Way { protocol, trust };
    let (first, others) = job.urls.split_first().ok_or_else(|| LoadtestError::Options("no target".into()))?;
    let target = Target::discover_by(&way, first, None).await?.with_others(&way, others)?;
    if target.issuer != job.issuer {
        let (url, issuer) = (first.clone(), target.issuer);
        let reason = format!("from here it announces the issuer {issuer}, and {} is loaded", job.issuer);
        return Err(LoadtestError::Target { url, reason });
    }
    let seed = Seed::of_parts(job.seed.get().as_bytes(), target)?;
    job.codes.into_iter().for_each(|code| seed.codes.put(code));
    let seed = Arc::new(seed);
    let visitors = Work::visitors(&job.scenario, &seed, job.connections)?;
    let begun = Arc::new(Mutex::new(None));
    let leader =
        Coordinated { out, beginning: Mutex::new(beginning), stop: stop.clone(), begun: Arc::clone(&begun) };
    let load = Load {
        threads: job.threads,
        warm_up: job.warm_up,
        stop,
        timeouts: Timeouts { request: job.timeout, ..Timeouts::default() },
        led: Led::by(Arc::new(leader)),
        ..seed.target.load()
    };
    let (traffic, turn, of) = (job.traffic.traffic()?, job.turn, job.of);
    let counting = tokio::task::spawn_blocking(move || count(load, traffic, (turn, of), visitors));
    let (counted, mut visitors) = counting.await.map_err(|_| LoadtestError::Interrupted)??;
    let families = visitors.drain(..).flat_map(|mut visitor| visitor.give_back()).collect();
    let begun = begun.lock().unwrap_or_else(PoisonError::into_inner).take();
    let times = begun.map_or_else(Default::default, |Begun { at, late }| {
        (clock::now().saturating_duration_since(at), late)
    });
    Ok(Done::new(&counted, families, times))
}

fn count(
    load: Load,
    traffic: Traffic,
    (turn, of): (usize, usize),
    visitors: Vec<Box<dyn Visitor>>,
) -> Result<(Counted, Vec<Box<dyn Visitor>>), LoadtestError> {
    // The coordinator draws the course from what is handed over.
    let unseen = &mut |_: Duration, _: &Lately| {};
    match traffic {
        Traffic::Open(schedule) => {
            open_part(&Open { load, schedule: schedule.share(turn, of) }, visitors, unseen)
        }
        Traffic::Closed(duration) => {
            closed_part(&Closed { load, until: Until::Elapsed(duration) }, visitors, unseen)
        }
        Traffic::Mixture(_) => Err(mixture()),
    }
}

/// When a load began.
struct Begun {
    at: Instant,
    /// How much later than it was told.
    late: Duration,
}

/// The coordinator, as the load sees it.
struct Coordinated {
    out: UnboundedSender<Outgoing>,
    beginning: Mutex<Receiver<Instant>>,
    stop: Stop,
    begun: Arc<Mutex<Option<Begun>>>,
}

impl Coordinated {
    /// Waits to be told when to begin; none where it was stopped before.
    fn told(&self) -> Option<Instant> {
        let beginning = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.stop.is_stopped() {
            match beginning.recv_timeout(SLEEP) {
                Ok(at) => return Some(at),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }
}

impl Leader for Coordinated {
    fn begin(&self) -> Option<Instant> {
        // Where nobody listens any more, nobody says when to begin either.
        drop(self.out.send(Outgoing::Message(ToCoordinator::Ready)));
        let at = self.told()?;
        loop {
            let now = clock::now();
            if now >= at {
                let late = now.saturating_duration_since(at);
                *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Begun { at, late });
                return Some(at);
            }
            if self.stop.is_stopped() {
                return None;
            }
            std::thread::sleep((at - now).min(SLEEP));
        }
    }

    fn take(&self, second: CountedSecond) {
        drop(self.out.send(Outgoing::Second(second)));
    }
}
