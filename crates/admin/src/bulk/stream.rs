//! Processes an NDJSON stream: lines in, chunks to a worker function, answers out in the order of the lines. Memory
//! is bounded by the chunks in flight and [`BUFFERED`] chunks of unread answers.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, header};
use http_body_util::BodyExt;
use hyper::body::Frame;
use serde_json::{Map, Value, json};
use symbolon_protocol::event::Event;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::super::call::{Call, Concerns, NOT_RECORDED, Payload, Records, audited, parse_object};
use super::super::error::{AdminError, Answer};
use super::super::fields::Fields;
use super::lines::{Line, Lines};
use symbolon_app::audit::ChangedFields;
use symbolon_app::http::no_store;

/// Chunks of answers that may wait for the reader. Enough that a client which reads only after writing everything can
/// send a hundred thousand lines.
const BUFFERED: usize = 256;

/// The result of one line.
pub(super) type Done = Result<Value, AdminError>;

/// How a stream is divided and recorded.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    /// Lines per chunk.
    pub(super) chunk: usize,
    /// Chunks processed at once.
    pub(super) in_flight: usize,
    /// The audit event, recorded when the stream begins, and with counts when it ends; `None` where nothing is changed.
    pub(super) event: Option<Event>,
}

/// Answers a stream of lines. `work` processes a chunk and returns one result per line, in order.
///
/// # Errors
/// 415 if the body is not NDJSON.
pub(super) fn answer<W, Fut>(call: Call, payload: Payload, pace: Pace, work: W) -> Answer
where
    W: Fn(Vec<Line>) -> Fut + Send + 'static,
    Fut: Future<Output = Vec<Done>> + Send + 'static,
{
    const ACCEPTED: [&str; 4] =
        ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];
    payload.expect("application/x-ndjson", &ACCEPTED)?;
    let (sender, receiver) = mpsc::channel(BUFFERED);
    tokio::spawn(async move {
        let record = |detail: Value| {
            if let Some(event) = pace.event {
                call.audit(event, Concerns { detail, ..Concerns::default() }, ChangedFields::none());
            }
        };
        // Recorded first, so that a stream which is broken off by a crash is in the log too.
        record(json!({ "bulk": true, "begun": true }));
        if let Err(error) = call.audited().await {
            let mut text = Vec::new();
            write_line(&mut text, 0, Err(error));
            let _ = sender.send(Ok(text.into())).await;
            return;
        }
        let counts = run(payload.body, pace, work, (sender.clone(), &call.records)).await;
        record(json!({ "bulk": true, "done": counts.done, "refused": counts.refused }));
        // The response ends when the last sender is dropped. So it ends after the counts are in the audit log, unless
        // writing them fails.
        let _ = call.audited().await;
        drop(sender);
    });
    Ok(response(receiver))
}

/// The numbers of lines done and refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    done: u64,
    refused: u64,
}

struct Chunk {
    numbers: Vec<u64>,
    running: JoinHandle<Vec<Done>>,
}

/// Where the answers go.
type Sender = mpsc::Sender<io::Result<Bytes>>;

/// Reads lines, starts chunks and sends answers, until the input ends or the reader has gone. The answers of a chunk
/// wait for its audit records.
async fn run<W, Fut>(mut body: Body, pace: Pace, work: W, (sender, records): (Sender, &Records)) -> Counts
where
    W: Fn(Vec<Line>) -> Fut,
    Fut: Future<Output = Vec<Done>> + Send + 'static,
{
    let (mut lines, mut waiting) = (Lines::default(), VecDeque::new());
    let (mut running, mut counts) = (VecDeque::new(), Counts::default());
    let mut answers = Answers { sender: &sender, records, is_one_lost: false };
    loop {
        let arrived = body.frame().await;
        let over = match &arrived {
            Some(Ok(frame)) => {
                lines.push(frame.data_ref().map_or(&[][..], |data| data), |line| waiting.push_back(line));
                false
            }
            Some(Err(_)) | None => {
                lines.finish(|line| waiting.push_back(line));
                true
            }
        };
        while waiting.len() >= pace.chunk || (over && !waiting.is_empty()) {
            let chunk: Vec<Line> = waiting.drain(..pace.chunk.min(waiting.len())).collect();
            let numbers = chunk.iter().map(|line| line.number).collect();
            running.push_back(Chunk { numbers, running: tokio::spawn(work(chunk)) });
            if running.len() >= pace.in_flight && !settle(&mut running, &mut counts, &mut answers).await {
                return counts;
            }
        }
        if over {
            while !running.is_empty() {
                if !settle(&mut running, &mut counts, &mut answers).await {
                    return counts;
                }
            }
            if matches!(arrived, Some(Err(_))) {
                let broken = AdminError::invalid("the body could not be read to its end");
                let mut text = Vec::new();
                write_line(&mut text, lines.current(), Err(broken));
                let _ = sender.send(Ok(text.into())).await;
            }
            return counts;
        }
    }
}

/// Where the answers go, and what they wait for.
struct Answers<'a> {
    sender: &'a Sender,
    records: &'a Records,
    /// Whether an audit record was lost. Chunks in flight share the records, so it may be one of a later chunk: from then on
    /// no line is acknowledged.
    is_one_lost: bool,
}

/// Waits for the oldest chunk, and until its audit records are durable, because every answered line acknowledges a
/// change; then sends its answers. False if the reader has gone; chunks in flight are then still completed.
async fn settle(running: &mut VecDeque<Chunk>, counts: &mut Counts, answers: &mut Answers<'_>) -> bool {
    let Some(Chunk { numbers, running }) = running.pop_front() else { return true };
    let mut results = match running.await {
        Ok(results) => results.into_iter(),
        Err(error) => {
            tracing::error!(target: "symbolon::request", %error, "a chunk of a bulk request failed inside");
            Vec::new().into_iter()
        }
    };
    if audited(answers.records).await.is_err() && !answers.is_one_lost {
        tracing::error!(target: "symbolon::request", "lines of a bulk request are not acknowledged: {NOT_RECORDED}");
        answers.is_one_lost = true;
    }
    let mut text = Vec::with_capacity(numbers.len() * 128);
    for number in numbers {
        let result = results.next().unwrap_or_else(|| Err(AdminError::internal("a line without a result")));
        let result = match answers.is_one_lost {
            true => result.and_then(|_| Err(AdminError::not_recorded())),
            false => result,
        };
        if result.is_ok() {
            counts.done += 1
        } else {
            counts.refused += 1
        }
        write_line(&mut text, number, result);
    }
    answers.sender.send(Ok(text.into())).await.is_ok()
}

fn write_line(text: &mut Vec<u8>, number: u64, result: Done) {
    let line = result.unwrap_or_else(|error| {
        let mut document = error.document();
        if let Some(members) = document.as_object_mut() {
            members.insert("line".to_owned(), number.into());
        }
        document
    });
    // Writing a value into memory cannot fail.
    let _ = serde_json::to_writer(&mut *text, &line);
    text.push(b'\n');
}

/// The JSON object on a line.
///
/// # Errors
/// 400 if the line is too long or is not a JSON object.
pub(super) fn object(line: Line) -> Result<Map<String, Value>, AdminError> {
    match line.bytes {
        Some(bytes) => parse_object(&bytes),
        None => Err(AdminError::invalid("the line is longer than 65536 bytes")),
    }
}

/// The members of the JSON object on a line.
///
/// # Errors
/// As [`object`].
pub(super) fn fields(line: Line) -> Result<Fields, AdminError> {
    object(line).map(Fields::new)
}

/// Processes the lines of a chunk at the same time, each by itself: those of one chunk wait for one write together. The results
/// are in the order of the lines.
pub(super) async fn each<Fut>(chunk: Vec<Line>, work: impl Fn(Line) -> Fut) -> Vec<Done>
where
    Fut: Future<Output = Done> + Send + 'static,
{
    let running: Vec<JoinHandle<Done>> = chunk.into_iter().map(|line| tokio::spawn(work(line))).collect();
    let mut done = Vec::with_capacity(running.len());
    for line in running {
        done.push(line.await.unwrap_or_else(|error| Err(AdminError::internal(error))));
    }
    done
}

/// The lines of a chunk during its store operation: the refused ones with their errors, the others as one batch.
pub(super) struct Batch<T> {
    results: Vec<Option<Done>>,
    items: Vec<T>,
}

impl<T> Batch<T> {
    /// An empty batch.
    pub(super) const fn new() -> Self {
        Self { results: Vec::new(), items: Vec::new() }
    }

    /// Adds the next line.
    pub(super) fn push(&mut self, line: Result<T, AdminError>) {
        match line {
            Ok(item) => {
                self.items.push(item);
                self.results.push(None);
            }
            Err(error) => self.results.push(Some(Err(error))),
        }
    }

    /// The items for the store.
    pub(super) fn take(&mut self) -> Vec<T> {
        std::mem::take(&mut self.items)
    }

    /// The results of all lines. `rest` are the results of the batch, in order; if the whole batch failed, each of
    /// its lines gets the error.
    pub(super) fn settle(self, rest: Result<impl IntoIterator<Item = Done>, AdminError>) -> Vec<Done> {
        let (mut rest, failed) = match rest {
            Ok(rest) => (Some(rest.into_iter()), None),
            Err(error) => (None, Some(Arc::new(error))),
        };
        if let Some(AdminError::Failure(failure)) = failed.as_deref() {
            tracing::error!(target: "symbolon::request", ?failure, "a chunk of a bulk request failed");
        }
        let mut next = || match (&mut rest, &failed) {
            (Some(rest), _) => {
                rest.next().unwrap_or_else(|| Err(AdminError::internal("a line without a result")))
            }
            (None, Some(error)) => Err(error.again()),
            (None, None) => Err(AdminError::internal("a batch without a result")),
        };
        self.results.into_iter().map(|result| result.unwrap_or_else(&mut next)).collect()
    }
}

struct Streamed(mpsc::Receiver<io::Result<Bytes>>);

impl hyper::body::Body for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|next| next.map(|data| data.map(Frame::data)))
    }
}

/// A response that is streamed from a channel.
pub(super) fn response(parts: mpsc::Receiver<io::Result<Bytes>>) -> Response {
    let mut response = no_store(Response::new(Body::new(Streamed(parts))));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    response
}

/// Values as NDJSON, one per line.
pub(super) fn written(values: impl IntoIterator<Item = Value>) -> Bytes {
    let mut text = Vec::new();
    for value in values {
        write_line(&mut text, 0, Ok(value));
    }
    text.into()
}

#[cfg(test)]
mod tests;
