//! What became of audit records.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::telemetry::{Exposition, MetricSource, MetricType};

/// Records that wait, were written, and were lost.
#[derive(Debug, Default)]
pub(super) struct AuditFigures {
    waiting: AtomicU64,
    written: AtomicU64,
    dropped: AtomicU64,
}

impl AuditFigures {
    /// One more waits.
    pub(super) fn queued(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// It did not fit.
    pub(super) fn dropped_from_queue(&self) {
        self.lost(1);
    }

    /// So many that waited are in the store.
    pub(super) fn wrote(&self, records: usize) {
        self.waiting.fetch_sub(count(records), Ordering::Relaxed);
        self.written.fetch_add(count(records), Ordering::Relaxed);
    }

    /// So many that waited will never be.
    pub(super) fn lost(&self, records: usize) {
        self.waiting.fetch_sub(count(records), Ordering::Relaxed);
        self.dropped.fetch_add(count(records), Ordering::Relaxed);
    }

    /// That wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Lost so far.
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
        page.count(&[], self.waiting.load(Ordering::Relaxed));
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
