//! A visitor and what carries its requests.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Load, example};
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
    Answered {
        /// Whether the answer says what it must.
        right: bool,
    },
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
    /// connection. Threads begin with different nodes. With the error, the visitors come back.
    pub(super) async fn connect(
        load: &Load,
        thread: usize,
        visitors: Vec<Box<dyn Visitor>>,
    ) -> Result<Vec<Self>, (ClientError, Vec<Box<dyn Visitor>>)> {
        let mut workers: Vec<Self> = Vec::with_capacity(visitors.len());
        let mut visitors = visitors.into_iter().enumerate();
        while let Some((position, visitor)) = visitors.next() {
            let peer = load.node(thread + position / load.peer.protocol().streams());
            let begins = position % load.peer.protocol().streams() == 0;
            let shared = workers.last().filter(|_| !begins).and_then(|last| last.connection.beside());
            let connection = match shared {
                Some(connection) => connection,
                None => match Connection::open(peer, load.timeouts).await {
                    Ok(connection) => connection,
                    Err(error) => {
                        let connected = workers.into_iter().map(|worker| worker.visitor);
                        let rest = visitors.map(|(_, visitor)| visitor);
                        return Err((error, connected.chain([visitor]).chain(rest).collect()));
                    }
                },
            };
            let (peer, request) = (peer.clone(), Vec::with_capacity(4096));
            workers.push(Self { connection, peer, visitor, request, used: clock::now() });
        }
        Ok(workers)
    }

    /// When the connection was last used: when the last answer was there, if there was one.
    pub(super) fn used(&self) -> Instant {
        self.used
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
            let step = self.visitor.step();
            let begun = clock::now();
            if begun.saturating_duration_since(self.used) >= IDLE {
                // Lets the runtime look at the network: an end that came while the thread was at something else is
                // not known before.
                tokio::task::yield_now().await;
            }
            if !self.is_connected(tally)
                && let Err(error) = self.connection.renew(&self.peer, load.timeouts).await
            {
                self.fail(&error, started.unwrap_or(begun), tally);
                tokio::time::sleep(RECONNECT_PAUSE).await;
                return Turn::Failed;
            }
            let started = *started.get_or_insert_with(clock::now);
            let sent = if step.is_empty() { started } else { clock::now() };
            let answered = self.connection.exchange(&self.request).await;
            self.used = clock::now();
            let response = match answered {
                Ok(response) => response,
                Err(error) => {
                    self.fail(&error, started, tally);
                    return Turn::Failed;
                }
            };
            let took = self.used.saturating_duration_since(started);
            if !step.is_empty() {
                locked(tally, |tally| tally.step(step, self.used.saturating_duration_since(sent)));
            }
            let verdict = self.visitor.check(&response);
            if verdict.is_ok() && self.visitor.goes_on() {
                locked(tally, |tally| tally.exchanges += 1);
                continue;
            }
            let (kind, right) = (self.visitor.kind(), verdict.is_ok());
            locked(tally, |tally| match verdict {
                Ok(right) => tally.right(kind, took, right),
                Err(wrong) => {
                    let example = || example::of(&self.request, Some(&response), wrong.detail.clone());
                    tally.wrong(kind, took, &wrong, example);
                }
            });
            self.count_unasked(tally);
            return Turn::Answered { right };
        }
    }

    /// Whether the connection can be used; what came on it meanwhile is counted.
    pub(super) fn is_connected(&mut self, tally: &Mutex<Tally>) -> bool {
        let reusable = self.connection.is_reusable();
        self.count_unasked(tally);
        reusable
    }

    fn count_unasked(&mut self, tally: &Mutex<Tally>) {
        if let Some((unasked, came)) = self.connection.take_unasked() {
            let example = || example::of_unasked(unasked, &self.request, came);
            locked(tally, |tally| tally.unasked(unasked.kind(), example));
        }
    }

    fn fail(&self, error: &ClientError, started: Instant, tally: &Mutex<Tally>) {
        let took = clock::now().saturating_duration_since(started);
        let example = || example::of(&self.request, None, error.to_string());
        locked(tally, |tally| tally.failed(self.visitor.kind(), took, error, example));
    }
}

/// The tally belongs to one thread; the lock is never contended and costs next to nothing.
pub(super) fn locked(tally: &Mutex<Tally>, count: impl FnOnce(&mut Tally)) {
    count(&mut tally.lock().unwrap_or_else(PoisonError::into_inner));
}
