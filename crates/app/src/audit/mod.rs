//! Domain events: every one is counted; the audited ones are queued and written to the audit log in batches.
//!
//! No sign-in and no token waits for the audit log: its queue is bounded, and a record that does not fit is dropped,
//! counted and reported. An administrator's change does wait: it is acknowledged only after its record is written.

mod admin_refused;
mod changed_fields;
mod figures;
mod queue;
mod refused_requests;
mod writer;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use smol_str::{SmolStr, ToSmolStr};
use symbolon_protocol::event::{AuditRecord, Event};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::Audit;
use tokio::sync::{oneshot, watch};

use admin_refused::RefusedAdmins;
use figures::AuditFigures;
use queue::Queue;
use refused_requests::RefusedRequests;
use symbolon_telemetry::{CounterFamily, MetricSource, Registry, RequestId};

pub use changed_fields::ChangedFields;
pub(crate) use refused_requests::Circumstances;
pub use refused_requests::RefusedRequest;

/// Capacity of the queue in records: about 20 MiB when full of what people and clients do. Administrators' changes are
/// larger, but whoever makes them waits until they are written.
const CAPACITY: usize = 65_536;
/// The shortest interval between two log lines about dropped records.
const REPORT_EVERY: Duration = Duration::from_secs(60);
/// How often [`AuditLog::settle`] checks whether records are still waiting.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Who caused an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person in a browser.
    User,
    /// A client acting for itself, with its credentials or, if it is public, without.
    Client,
    /// An administrator: a request with the admin secret.
    Admin,
    /// The server, in a background job.
    System,
    /// A request without valid credentials.
    Anonymous,
}

impl Actor {
    /// The name in the audit log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Client => "client",
            Self::Admin => "admin",
            Self::System => "system",
            Self::Anonymous => "anonymous",
        }
    }
}

/// An event as a handler reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// The kind of event.
    pub event: Event,
    /// The user that it concerns.
    pub user: Option<UserId>,
    /// The client that it concerns.
    pub client: Option<ClientId>,
    /// Who caused it.
    pub actor: Actor,
    /// The address that the request came from.
    pub address: Option<IpAddr>,
    /// The request's id.
    pub request: Option<RequestId>,
    /// Further details; never secrets or tokens.
    pub detail: serde_json::Value,
}

impl AuditEntry {
    /// An event caused by a background job of the server.
    pub const fn system(event: Event, detail: serde_json::Value) -> Self {
        Self { event, user: None, client: None, actor: Actor::System, address: None, request: None, detail }
    }
}

/// An entry in the queue. The writer turns it into a record, so that no request spends time on that.
struct Queued {
    issuer: IssuerId,
    at: Timestamp,
    entry: AuditEntry,
    /// Signalled once the record is written; dropped without a signal if it never will be.
    written: Option<oneshot::Sender<()>>,
}

impl Queued {
    fn into_record(self) -> (IssuerId, AuditRecord) {
        let AuditEntry { event, user, client, actor, address, request, detail } = self.entry;
        let record = AuditRecord {
            at: self.at,
            event,
            user,
            client,
            actor: SmolStr::new_static(actor.name()),
            address: address.map(|address| address.to_canonical().to_smolstr()),
            request: request.as_ref().map(ToString::to_string),
            detail,
        };
        (self.issuer, record)
    }
}

/// Resolves when an audit record has been written.
pub struct Written(oneshot::Receiver<()>);

impl Written {
    /// True if the record becomes durable within `longest`; false if it is dropped or the time runs out.
    pub async fn within(self, longest: Duration) -> bool {
        matches!(tokio::time::timeout(longest, self.0).await, Ok(Ok(())))
    }
}

/// Counts events and queues what is audited.
pub struct AuditLog {
    events: Arc<CounterFamily>,
    queue: Arc<Queue>,
    has_writer: AtomicBool,
    figures: Arc<AuditFigures>,
    reported_at: AtomicU64,
    reported: AtomicU64,
    refused_admins: RefusedAdmins,
    refused_requests: Arc<RefusedRequests>,
    closing: watch::Sender<bool>,
    finished: watch::Sender<bool>,
}

impl AuditLog {
    /// A log whose metrics are exposed by the registry. Call once per registry.
    pub fn new(registry: &Registry) -> Self {
        Self::with_capacity(registry, CAPACITY)
    }

    fn with_capacity(registry: &Registry, capacity: usize) -> Self {
        let names: Vec<&'static str> = Event::ALL.iter().map(|event| event.name()).collect();
        let queue = Arc::new(Queue::new(capacity));
        let figures = Arc::new(AuditFigures::new(Arc::clone(&queue)));
        registry.register(Arc::clone(&figures) as Arc<dyn MetricSource>);
        let refused_requests = RefusedRequests::new();
        registry.register(Arc::clone(&refused_requests) as Arc<dyn MetricSource>);
        Self {
            events: registry.events(&names),
            queue,
            has_writer: AtomicBool::new(false),
            figures,
            reported_at: AtomicU64::new(0),
            reported: AtomicU64::new(0),
            refused_admins: RefusedAdmins::default(),
            refused_requests,
            closing: watch::Sender::new(false),
            finished: watch::Sender::new(false),
        }
    }

    /// Counts an event that needs no record.
    #[inline]
    pub fn count(&self, event: Event) {
        self.events.increment(event as usize);
    }

    /// Counts an event and, if its kind is audited, queues its record. Never waits.
    pub fn record(&self, issuer: &IssuerId, entry: AuditEntry, now: Timestamp) {
        let event = entry.event;
        if event.audited() {
            self.queue(issuer, entry, now);
        }
        // Last: whoever sees it counted finds its record.
        self.count(event);
    }

    /// Like [`record`](Self::record), but returns a handle to wait until the record is durable. Works before
    /// [`run`](Self::run) has started too: the record then waits for it. `None` if the event is not audited, or if
    /// the log is closed because the server is stopping.
    pub fn record_awaited(&self, issuer: &IssuerId, entry: AuditEntry, now: Timestamp) -> Option<Written> {
        let event = entry.event;
        if !event.audited() {
            self.count(event);
            return None;
        }
        let (tell, written) = oneshot::channel();
        self.push(Queued { issuer: issuer.clone(), at: now, entry, written: Some(tell) });
        self.count(event);
        (!self.queue.is_closed()).then_some(Written(written))
    }

    fn queue(&self, issuer: &IssuerId, entry: AuditEntry, now: Timestamp) {
        self.push(Queued { issuer: issuer.clone(), at: now, entry, written: None });
    }

    fn push(&self, record: Queued) {
        let at = record.at;
        if !self.queue.push(record) {
            self.figures.refused();
            self.report_dropped(at);
        }
    }

    /// How often an event has happened.
    pub fn events(&self, event: Event) -> u64 {
        self.events.value(event as usize).unwrap_or(0)
    }

    /// Writes queued records to the store until [`drain`](Self::drain): one batch every 250 ms to 1 s, of at most
    /// 20,000 records. Only the first call does this, later ones return at once.
    pub async fn run(&self, store: &dyn Audit) {
        if self.has_writer.swap(true, Ordering::Relaxed) {
            return;
        }
        writer::Writer::new(store, &self.queue, &self.figures).run(self.closing.subscribe()).await;
        self.finished.send_replace(true);
    }

    /// Waits until every record that was queued before is written or lost, for at most `longest`. True if so.
    pub async fn settle(&self, longest: Duration) -> bool {
        let queued = self.queue.pushed();
        let settled = async {
            while !self.queue.is_settled(queued) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(longest, settled).await.is_ok()
    }

    /// Closes the queue, and returns when every queued record was written, or given up because the store stays out of
    /// reach. Call it after the last request and before the store is closed.
    pub async fn drain(&self) {
        self.sum_up_last_refused_admins();
        self.closing.send_replace(true);
        if !self.has_writer.load(Ordering::Relaxed) {
            // `run` was never called, so nobody will write.
            return;
        }
        // Cannot fail: `self` holds the sender.
        let _ = self.finished.subscribe().wait_for(|finished| *finished).await;
    }

    fn report_dropped(&self, now: Timestamp) {
        let last = self.reported_at.load(Ordering::Relaxed);
        let due = last == 0 || now.since(Timestamp::from_millis(last)) >= REPORT_EVERY;
        let order = Ordering::Relaxed;
        if due && self.reported_at.compare_exchange(last, now.millis().max(1), order, order).is_ok() {
            let all = self.figures.dropped();
            let dropped = all - self.reported.swap(all, order).min(all);
            tracing::error!(target: "symbolon::audit", dropped, "audit records were dropped: the store is too slow");
        }
    }
}

#[cfg(test)]
mod tests;
