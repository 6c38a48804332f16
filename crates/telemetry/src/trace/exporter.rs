//! The one task that sends spans to the collector, in batches.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::collector::{Collector, ExportError};
use super::figures::TraceFigures;
use super::message::{ExportRequest, KeyValue, Resource, ResourceSpans, Scope, ScopeSpans, Span};
use super::span::RequestSpan;
use super::{Ids, Service};

/// The most requests in one batch.
const BATCH: usize = 512;
/// How long the first request of a batch waits for others.
const GATHER: Duration = Duration::from_secs(5);
/// The wait before the first retry; each further wait is twice the one before.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const ATTEMPTS: u32 = 5;
/// Time limit for the last batches when the server stops.
const CLOSING: Duration = Duration::from_secs(5);

pub(super) struct Exporter<'a> {
    pub(super) collector: &'a Collector,
    pub(super) service: &'a Service,
    pub(super) ids: &'a Ids,
    pub(super) figures: &'a TraceFigures,
    pub(super) receiver: mpsc::Receiver<RequestSpan>,
}

impl Exporter<'_> {
    /// Sends batches until `closing` is true and the queue is empty, or the time limit for the last batches is over.
    pub(super) async fn run(mut self, closing: watch::Receiver<bool>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut ending = closing.clone();
        let over = async {
            closed(&mut ending).await;
            sleep(CLOSING).await;
        };
        tokio::select! {
            () = self.export_all(&mut batch, closing) => return,
            () = over => {}
        }
        while let Ok(request) = self.receiver.try_recv() {
            batch.push(request);
        }
        let spans = batch.iter().map(RequestSpan::spans).sum();
        self.figures.dropped(spans);
        tracing::warn!(target: "symbolon::trace", spans, "the server stopped before the collector took all spans");
    }

    async fn export_all(&mut self, batch: &mut Vec<RequestSpan>, mut closing: watch::Receiver<bool>) {
        loop {
            self.gather(batch, &mut closing).await;
            if batch.is_empty() {
                return;
            }
            self.export(batch, &mut closing).await;
            batch.clear();
        }
    }

    /// Takes the next batch: when it is full, or when its gathering time is over. The batch stays empty only if the
    /// queue is closed and empty.
    async fn gather(&mut self, batch: &mut Vec<RequestSpan>, closing: &mut watch::Receiver<bool>) {
        let mut until: Option<Instant> = None;
        while batch.len() < BATCH {
            let room = BATCH - batch.len();
            tokio::select! {
                biased;
                () = closed(closing), if !self.receiver.is_closed() => self.receiver.close(),
                came = self.receiver.recv_many(batch, room) => {
                    if came == 0 {
                        return;
                    }
                    until.get_or_insert_with(|| Instant::now() + GATHER);
                }
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => return,
            }
        }
    }

    /// Sends a batch, with retries. If they fail, the batch is lost.
    async fn export(&self, batch: &[RequestSpan], closing: &mut watch::Receiver<bool>) {
        let spans = batch.iter().map(RequestSpan::spans).sum::<usize>();
        match self.send(self.message(batch), closing).await {
            Ok(rejected) => {
                self.figures.exported(spans.saturating_sub(rejected));
                self.figures.dropped(rejected.min(spans));
                if rejected > 0 {
                    tracing::warn!(target: "symbolon::trace", rejected, "the collector rejected spans");
                }
            }
            Err(error) => {
                self.figures.dropped(spans);
                tracing::warn!(target: "symbolon::trace", %error, spans, "spans were lost");
            }
        }
    }

    /// Retries until the batch is accepted, refused for good, or all attempts are used. When the server stops, the
    /// next attempt is the last.
    async fn send(&self, message: Bytes, closing: &mut watch::Receiver<bool>) -> Result<usize, ExportError> {
        let mut wait = FIRST_RETRY;
        let mut attempts = 1;
        loop {
            let error = match self.collector.send(message.clone()).await {
                Ok(rejected) => return Ok(rejected),
                Err(error) => error,
            };
            let Some(after) = error.retry().filter(|_| attempts < ATTEMPTS) else { return Err(error) };
            tokio::select! {
                () = closed(closing) => attempts = ATTEMPTS,
                () = sleep(after.unwrap_or(wait)) => attempts += 1,
            }
            wait *= 2;
        }
    }

    fn message(&self, batch: &[RequestSpan]) -> Bytes {
        let spans: Vec<Span> =
            batch.iter().flat_map(|request| request.messages(|| self.ids.span())).collect();
        let name = self.service.name.to_owned();
        let scope = Scope { name, version: self.service.version.to_owned() };
        let attributes = vec![
            KeyValue::text("service.name", self.service.name),
            KeyValue::text("service.version", self.service.version),
            KeyValue::text("service.instance.id", self.service.instance.as_str()),
        ];
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
        let resource_spans = vec![ResourceSpans { resource: Some(Resource { attributes }), scope_spans }];
        ExportRequest { resource_spans }.encode_to_vec().into()
    }
}

/// Returns when the tracer is being closed, or its sender was dropped.
async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}
