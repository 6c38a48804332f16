//! Metrics of spans.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::prometheus::{Exposition, MetricSource, MetricType};

/// Counts the spans that the collector accepted, and those that were lost.
#[derive(Debug, Default)]
pub(super) struct TraceFigures {
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl TraceFigures {
    pub(super) fn exported(&self, spans: usize) {
        self.exported.fetch_add(count(spans), Ordering::Relaxed);
    }

    pub(super) fn dropped(&self, spans: usize) {
        self.dropped.fetch_add(count(spans), Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn values(&self) -> (u64, u64) {
        (self.exported.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }
}

fn count(spans: usize) -> u64 {
    u64::try_from(spans).unwrap_or(u64::MAX)
}

impl MetricSource for TraceFigures {
    fn expose(&self, page: &mut Exposition) {
        let help = "Spans that the collector took over.";
        page.family("symbolon_trace_spans_exported_total", MetricType::Counter, help);
        page.count(&[], self.exported.load(Ordering::Relaxed));
        let help = "Spans lost because the queue was full or the collector did not take them.";
        page.family("symbolon_trace_spans_dropped_total", MetricType::Counter, help);
        page.count(&[], self.dropped.load(Ordering::Relaxed));
    }
}
