//! What the queue of deliveries and its job tell each other in this process: that something was queued, and how many wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symbolon_store::port::DeliveryKind;
use symbolon_telemetry::{Exposition, MetricSource, MetricType};
use tokio::sync::Notify;

/// Wakes the job that delivers, and exposes how many deliveries wait.
#[derive(Default)]
pub struct DeliverySignals {
    queued: Notify,
    figures: Arc<WaitingDeliveries>,
}

impl DeliverySignals {
    /// Something was queued that is due now.
    pub fn note_queued(&self) {
        self.queued.notify_one();
    }

    /// Resolves when something was queued since the last call.
    pub async fn queued(&self) {
        self.queued.notified().await;
    }

    /// How many wait, for `/metrics`.
    pub fn figures(&self) -> &Arc<WaitingDeliveries> {
        &self.figures
    }
}

/// How many deliveries wait, by kind, when it was last looked at.
#[derive(Default)]
pub struct WaitingDeliveries([AtomicU64; DeliveryKind::ALL.len()]);

impl WaitingDeliveries {
    /// Takes over what the store says. Kinds that it does not name have none.
    pub fn set(&self, waiting: &[(DeliveryKind, u64)]) {
        for (kind, own) in DeliveryKind::ALL.iter().zip(&self.0) {
            let count = waiting.iter().filter(|(named, _)| named == kind).map(|(_, count)| count).sum();
            own.store(count, Ordering::Relaxed);
        }
    }
}

impl MetricSource for WaitingDeliveries {
    fn expose(&self, page: &mut Exposition) {
        let help = "Deliveries that wait in the store, of all nodes together: mail, back-channel calls.";
        page.family("symbolon_deliveries_waiting", MetricType::Gauge, help);
        for (kind, own) in DeliveryKind::ALL.iter().zip(&self.0) {
            page.count(&[("kind", kind.as_str())], own.load(Ordering::Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_names_is_told_and_the_rest_is_none() {
        let told = |figures: &WaitingDeliveries| {
            let mut page = Exposition::new();
            figures.expose(&mut page);
            page.finish()
        };
        let figures = WaitingDeliveries::default();
        figures.set(&[(DeliveryKind::Mail, 7), (DeliveryKind::BackChannelLogout, 2)]);
        assert!(told(&figures).contains("symbolon_deliveries_waiting{kind=\"mail\"} 7\n"));
        figures.set(&[(DeliveryKind::BackChannelLogout, 1)]);
        let page = told(&figures);
        assert!(
            page.contains("{kind=\"mail\"} 0\n") && page.contains("{kind=\"back_channel_logout\"} 1\n"),
            "{page}"
        );
    }
}
