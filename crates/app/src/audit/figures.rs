//! Metrics of audit records: waiting, written and lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::queue::Queue;
use symbolon_telemetry::{Exposition, MetricSource, MetricType};

/// Numbers of records that wait, were written, and were lost. The waiting ones are read from the queue: a separate
/// counter would be one more cache line for every login to fetch from another core.
pub(super) struct AuditFigures {
    queue: Arc<Queue>,
    written: AtomicU64,
    dropped: AtomicU64,
}

impl AuditFigures {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue, written: AtomicU64::new(0), dropped: AtomicU64::new(0) }
    }

    /// Counts a record that did not fit into the queue.
    pub(super) fn refused(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts records that were taken from the queue and are now in the store.
    pub(super) fn wrote(&self, records: usize) {
        self.written.fetch_add(count(records), Ordering::Relaxed);
        self.queue.settle(records);
    }

    /// Counts records that were taken from the queue and will never be written.
    pub(super) fn lost(&self, records: usize) {
        self.dropped.fetch_add(count(records), Ordering::Relaxed);
        self.queue.settle(records);
    }

    /// Records lost so far.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

fn count(records: usize) -> u64 {
    u64::try_from(records).unwrap_or(u64::MAX)
}

impl MetricSource for AuditFigures {
    fn expose(&self, page: &mut Exposition) {
        let help = "Audit records that wait to be written.";
        page.family("symbolon_audit_queue_length", MetricType::Gauge, help);
        page.count(&[], self.queue.unsettled());
        page.family(
            "symbolon_audit_written_total",
            MetricType::Counter,
            "Audit records written to the store.",
        );
        page.count(&[], self.written.load(Ordering::Relaxed));
        let help = "Audit records lost because the queue was full or the store refused them.";
        page.family("symbolon_audit_dropped_total", MetricType::Counter, help);
        page.count(&[], self.dropped());
    }
}
