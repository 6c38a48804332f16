//! A connection that answers a write only when a replica has received it.
//!
//! The command `WAIT` counts the replicas that have received everything that its own connection wrote, and blocks that
//! connection meanwhile. So durable writes have connections of their own. Commands that come during a `WAIT` are gathered
//! and sent together, with one `WAIT` for all of them.

use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::cluster_async::Connect;
use redis::{
    AsyncConnectionConfig, Cmd, ErrorKind, IntoConnectionInfo, Pipeline, RedisError, RedisFuture,
    RedisResult, Value,
};
use tokio::sync::{mpsc, oneshot};

use super::answering::{Answering, is_ours};

/// The most commands under one `WAIT`.
const MOST_IN_BATCH: usize = 512;

/// Capacity of the queue of commands.
const QUEUE: usize = 8_192;

/// How many replicas must acknowledge a write.
const REPLICAS: u32 = 1;

/// How long that may take.
const REPLICAS_WITHIN: Duration = Duration::from_millis(500);

struct Job {
    cmd: Cmd,
    answer: oneshot::Sender<RedisResult<Value>>,
}

/// A connection to one process, and the queue of its writes.
#[derive(Clone)]
pub(super) struct Durable {
    inner: Answering,
    queue: mpsc::Sender<Job>,
}

impl Connect for Durable {
    fn connect_with_config<'a, T>(info: T, config: AsyncConnectionConfig) -> RedisFuture<'a, Self>
    where
        T: IntoConnectionInfo + Send + 'a,
    {
        Box::pin(async move {
            let inner = Answering::connect_with_config(info, config).await?;
            let (queue, jobs) = mpsc::channel(QUEUE);
            tokio::spawn(write_batches(inner.clone(), jobs));
            Ok(Self { inner, queue })
        })
    }
}

impl ConnectionLike for Durable {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        if !is_ours(cmd) {
            return self.inner.req_packed_command(cmd);
        }
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let gone = |_| RedisError::from((ErrorKind::Io, "the connection is gone"));
            self.queue.try_send(Job { cmd: cmd.clone(), answer }).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => {
                    RedisError::from((ErrorKind::Client, "too many writes wait for a replica"))
                }
                mpsc::error::TrySendError::Closed(_) => gone(()),
            })?;
            answered.await.map_err(|_| gone(()))?
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.inner.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}

/// Writes queued commands in batches until the connection is dropped.
async fn write_batches(mut inner: Answering, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(MOST_IN_BATCH);
    while jobs.recv_many(&mut batch, MOST_IN_BATCH).await > 0 {
        match write(&mut inner, &batch).await {
            Ok(answers) => {
                for (job, answer) in batch.drain(..).zip(answers) {
                    // The caller may have given up waiting.
                    let _ = job.answer.send(answer);
                }
            }
            Err(error) => {
                for job in batch.drain(..) {
                    let _ = job.answer.send(Err(error.clone()));
                }
            }
        }
    }
}

/// Writes one batch and waits for a replica; returns the answers, each with the run id of the process. A write has
/// succeeded only if `WAIT` returns enough replicas: a primary may answer `OK` to a write and lose it when it is
/// demoted, so an error in place of that number is a failure too.
async fn write(inner: &mut Answering, batch: &[Job]) -> RedisResult<Vec<RedisResult<Value>>> {
    let mut pipeline = Pipeline::with_capacity(batch.len() + 1);
    for job in batch {
        pipeline.add_command(job.cmd.clone());
    }
    let within = u64::try_from(REPLICAS_WITHIN.as_millis()).unwrap_or(u64::MAX);
    pipeline.cmd("WAIT").arg(REPLICAS).arg(within);
    let mut answers = inner.req_packed_commands(&pipeline, 0, batch.len() + 1).await?;
    let missing = match answers.pop() {
        Some(Value::Int(replicas)) if replicas >= i64::from(REPLICAS) => None,
        Some(Value::ServerError(error)) => Some(format!("WAIT: {}", RedisError::from(error))),
        _ => Some(format!("not within {within} ms")),
    };
    let judge = |answer| match (answer, &missing) {
        // A refused command wrote nothing that a replica could lack. The client library must see the error, because it
        // follows some of them, such as MOVED.
        (Value::ServerError(error), _) => Ok(Value::ServerError(error)),
        (_, Some(why)) => Err(RedisError::from((
            ErrorKind::Client,
            "NOREPLICAS: no replica has acknowledged the write",
            why.clone(),
        ))),
        (answer, None) => Ok(inner.signed(answer)),
    };
    Ok(answers.into_iter().map(judge).collect())
}
