//! A visitor and what carries its requests.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Load;
use crate::client::{ClientError, Connection, Peer};
use crate::clock;
use crate::scenario::{Next, Visitor};
use crate::tally::Tally;

/// The pause after a failed connection, so that a dead target is not asked thousands of times a second.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

/// A connection that was idle for so long may have been ended by its server.
const IDLE: Duration = Duration::from_millis(50);

/// What became of one turn.
pub(super) enum Turn {
    /// A request was sent, answered and counted.
    Answered,
    /// It was not answered, and counted as a failure.
    Failed,
    /// The visitor has nothing left to ask.
    Exhausted,
}

pub(super) struct Worker {
    connection: Connection,
    peer: Peer,
    pub(super) visitor: Box<dyn Visitor>,
    request: Vec<u8>,
    /// When the connection was last used.
    used: Instant,
}

impl Worker {
    /// Connects at once, so that an unreachable target is told before the run. As many as the protocol lets share a
    /// connection. Threads begin with different nodes.
    pub(super) async fn connect(
        load: &Load,
        thread: usize,
        visitors: Vec<Box<dyn Visitor>>,
    ) -> Result<Vec<Self>, ClientError> {
        let mut workers: Vec<Self> = Vec::with_capacity(visitors.len());
        for (position, visitor) in visitors.into_iter().enumerate() {
            let peer = load.node(thread + position / load.peer.protocol().streams());
            let begins = position % load.peer.protocol().streams() == 0;
            let shared = workers.last().filter(|_| !begins).and_then(|last| last.connection.beside());
            let connection = match shared {
                Some(connection) => connection,
                None => Connection::open(peer, load.timeouts).await?,
            };
            let (peer, request) = (peer.clone(), Vec::with_capacity(4096));
            workers.push(Self { connection, peer, visitor, request, used: clock::now() });
        }
        Ok(workers)
    }

    /// Sends one request and judges its answer, or as many as the visitor says belong together. The latency counts
    /// from `intended`, or from the sending.
    pub(super) async fn turn(
        &mut self,
        load: &Load,
        intended: Option<Instant>,
        tally: &Mutex<Tally>,
    ) -> Turn {
        let mut started = intended;
        loop {
            self.request.clear();
            if let Next::Exhausted = self.visitor.next_request(&mut self.request) {
                return Turn::Exhausted;
            }
            if clock::now().saturating_duration_since(self.used) >= IDLE {
                // Lets the runtime look at the network: an end that came while the thread was at something else is
                // not known before.
                tokio::task::yield_now().await;
            }
            if !self.connection.is_reusable()
                && let Err(error) = self.connection.renew(&self.peer, load.timeouts).await
            {
                locked(tally, |tally| tally.failed(&error));
                tokio::time::sleep(RECONNECT_PAUSE).await;
                return Turn::Failed;
            }
            let started = *started.get_or_insert_with(clock::now);
            let answered = self.connection.exchange(&self.request).await;
            self.used = clock::now();
            match answered {
                Ok(response) => {
                    let latency = self.used.saturating_duration_since(started);
                    let verdict = self.visitor.check(&response);
                    if verdict.is_ok() && self.visitor.goes_on() {
                        continue;
                    }
                    locked(tally, |tally| tally.answered(latency, verdict));
                    return Turn::Answered;
                }
                Err(error) => {
                    locked(tally, |tally| tally.failed(&error));
                    return Turn::Failed;
                }
            }
        }
    }
}

/// The tally belongs to one thread; the lock is never contended and costs next to nothing.
fn locked(tally: &Mutex<Tally>, count: impl FnOnce(&mut Tally)) {
    count(&mut tally.lock().unwrap_or_else(PoisonError::into_inner));
}
