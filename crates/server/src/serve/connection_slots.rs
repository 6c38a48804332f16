//! A bound on connections: when all slots are taken, the connection that has been idle longest is closed for a new
//! one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::watchdog::Activity;
use symbolon_app::rate_limit::InFlightGuard;
use symbolon_telemetry::{Exposition, MetricSource, MetricType};

/// How long a new connection waits before another one is chosen to be closed: the chosen one may have got a request
/// by then, or another one may have become idle.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How many candidates for closing one scan of all connections collects.
const LOOK: usize = 256;

/// The slots of one listener.
pub(super) struct ConnectionSlots {
    free: Arc<Semaphore>,
    open: Mutex<Open>,
    /// The origin of the idle times of connections.
    pub(super) beginning: Instant,
    refused: AtomicU64,
    closed: AtomicU64,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Arc<Activity>>,
    /// The connections that were idle longest at the last scan, with their idle-since times, the longest last. A
    /// candidate whose idle-since time is unchanged has still been idle longer than every connection outside this
    /// list: those became idle later.
    candidates: Vec<(u64, u64)>,
}

impl Open {
    fn longest_idle(&mut self) -> Option<Arc<Activity>> {
        self.next_candidate().or_else(|| {
            self.look();
            self.next_candidate()
        })
    }

    fn next_candidate(&mut self) -> Option<Arc<Activity>> {
        while let Some((since, id)) = self.candidates.pop() {
            let found = self.connections.get(&id).filter(|found| found.idle_since() == Some(since));
            if let Some(found) = found {
                return Some(Arc::clone(found));
            }
        }
        None
    }

    fn look(&mut self) {
        let idle = |(id, activity): (&u64, &Arc<Activity>)| Some((activity.idle_since()?, *id));
        self.candidates = self.connections.iter().filter_map(idle).collect();
        if self.candidates.len() > LOOK {
            self.candidates.select_nth_unstable(LOOK);
            self.candidates.truncate(LOOK);
        }
        self.candidates.sort_unstable_by(|one, other| other.cmp(one));
    }
}

impl ConnectionSlots {
    /// Room for `most` connections.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            free: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))),
            open: Mutex::default(),
            beginning: Instant::now(),
            refused: AtomicU64::new(0),
            closed: AtomicU64::new(0),
        })
    }

    /// Takes a slot. If none is free, closes the connection that has been idle longest; waits while all have
    /// requests in flight. `None` cannot happen, because the semaphore is never closed.
    pub(super) async fn take(
        self: &Arc<Self>,
        activity: &Arc<Activity>,
        of_address: Option<InFlightGuard>,
    ) -> Option<ConnectionSlot> {
        let free = match Arc::clone(&self.free).try_acquire_owned() {
            Ok(free) => free,
            Err(_) => self.make_room().await?,
        };
        let mut open = self.open.lock();
        let id = open.next;
        open.next += 1;
        open.connections.insert(id, Arc::clone(activity));
        Some(ConnectionSlot { slots: Arc::clone(self), id, _free: free, _of_address: of_address })
    }

    async fn make_room(&self) -> Option<OwnedSemaphorePermit> {
        let mut told: Option<Arc<Activity>> = None;
        loop {
            // The chosen connection has got a request and goes on, so another one is chosen.
            if told.as_ref().is_none_or(|told| !told.is_to_end()) {
                told = self.open.lock().longest_idle();
                if let Some(told) = &told {
                    told.tell_to_end();
                }
            }
            if let Ok(free) = timeout(LOOK_AGAIN, Arc::clone(&self.free).acquire_owned()).await {
                return free.ok();
            }
        }
    }

    /// Counts a connection that was refused because its address has too many.
    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// The slot of a connection, held until this is dropped.
#[must_use = "it is free again when this is dropped"]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    id: u64,
    _free: OwnedSemaphorePermit,
    _of_address: Option<InFlightGuard>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let gone = self.slots.open.lock().connections.remove(&self.id);
        if gone.is_some_and(|activity| activity.is_to_end()) {
            self.slots.closed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Metrics of connections.
pub(super) struct ConnectionFigures(pub(super) [(&'static str, Arc<ConnectionSlots>); 2]);

impl MetricSource for ConnectionFigures {
    fn expose(&self, page: &mut Exposition) {
        let mut family = |name, kind, help, value: fn(&ConnectionSlots) -> u64| {
            page.family(name, kind, help);
            for (listener, slots) in &self.0 {
                page.count(&[("listener", listener)], value(slots));
            }
        };
        family("symbolon_connections", MetricType::Gauge, "Connections that are open.", |slots| {
            u64::try_from(slots.open.lock().connections.len()).unwrap_or(u64::MAX)
        });
        family(
            "symbolon_connections_refused_total",
            MetricType::Counter,
            "Connections closed at once, as their address had as many as it may.",
            |slots| slots.refused.load(Ordering::Relaxed),
        );
        family(
            "symbolon_connections_idle_closed_total",
            MetricType::Counter,
            "Idle connections closed to make room for others.",
            |slots| slots.closed.load(Ordering::Relaxed),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::watchdog::BeforeFirstRequest;

    const MOMENT: Duration = Duration::from_millis(1);

    /// A connection that ends when it is told to.
    async fn connect(slots: &Arc<ConnectionSlots>) -> Arc<Activity> {
        let activity = Arc::new(Activity::new(&BeforeFirstRequest::default(), slots.beginning));
        let slot = slots.take(&activity, None).await;
        let told = Arc::clone(&activity);
        tokio::spawn(async move {
            told.told_to_end().await;
            drop(slot);
        });
        tokio::time::sleep(MOMENT).await;
        activity
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_idle_longest_makes_room() {
        let slots = ConnectionSlots::new(3);
        let [first, second, third] = [(); 3].map(|()| connect(&slots));
        let (first, second, third) = (first.await, second.await, third.await);
        // The first was idle longest, had it not had a request since.
        drop(first.request(false));
        tokio::time::sleep(MOMENT).await;
        let fourth = connect(&slots).await;
        assert_eq!(
            [&first, &second, &third, &fourth].map(|activity| activity.is_to_end()),
            [false, true, false, false]
        );
        let fifth = connect(&slots).await;
        assert!(third.is_to_end() && !first.is_to_end() && !fifth.is_to_end());
        connect(&slots).await;
        assert!(first.is_to_end() && !fourth.is_to_end());
        assert_eq!(slots.closed.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_a_request_is_never_closed_and_a_newcomer_waits() {
        let slots = ConnectionSlots::new(2);
        let both = [connect(&slots).await, connect(&slots).await];
        let [first, second] = [both[0].request(false), both[1].request(false)];
        let begun = Instant::now();
        let waiting = tokio::spawn({
            let slots = Arc::clone(&slots);
            async move { connect(&slots).await }
        });
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!waiting.is_finished() && !both.iter().any(|activity| activity.is_to_end()));
        drop(second);
        waiting.await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(6));
        assert!(both[1].is_to_end() && !both[0].is_to_end());
        drop(first);
    }

    #[tokio::test(start_paused = true)]
    async fn many_newcomers_each_find_the_longest_idle() {
        let slots = ConnectionSlots::new(2 * LOOK);
        let mut all = Vec::new();
        for _ in 0..4 * LOOK {
            all.push(connect(&slots).await);
        }
        let ended: Vec<bool> = all.iter().map(|activity| activity.is_to_end()).collect();
        assert!(ended[..2 * LOOK].iter().all(|ended| *ended) && !ended[2 * LOOK..].contains(&true));
    }
}
