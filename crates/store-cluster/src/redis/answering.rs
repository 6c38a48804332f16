//! A connection whose answers name the process that gave them. Answers are accepted only while the process [proves that
//! it runs](super::liveness).

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::Connect;
use redis::{
    Arg, AsyncConnectionConfig, Cmd, ErrorKind, IntoConnectionInfo, Pipeline, RedisError, RedisFuture,
    RedisResult, Value,
};
use tokio::time::{Instant, sleep, sleep_until};

use super::liveness::{BEAT, Liveness, SETTLING};

/// A multiplexed connection to one process.
#[derive(Clone)]
pub(super) struct Answering {
    connection: MultiplexedConnection,
    run: i64,
    life: Arc<Mutex<Liveness>>,
    settled_at: Instant,
}

impl Connect for Answering {
    fn connect_with_config<'a, T>(info: T, config: AsyncConnectionConfig) -> RedisFuture<'a, Self>
    where
        T: IntoConnectionInfo + Send + 'a,
    {
        Box::pin(async move {
            let mut connection = MultiplexedConnection::connect_with_config(info, config).await?;
            let run = run_of(&mut connection).await?;
            let now = Instant::now();
            let life = Arc::new(Mutex::new(Liveness::begin(now)));
            tokio::spawn(beat(connection.clone(), Arc::downgrade(&life)));
            Ok(Self { connection, run, life, settled_at: now + SETTLING })
        })
    }
}

/// Sends a PING regularly until the connection is dropped or lost.
async fn beat(mut connection: MultiplexedConnection, life: Weak<Mutex<Liveness>>) {
    loop {
        sleep(BEAT).await;
        if life.strong_count() == 0 {
            return;
        }
        let asked = Instant::now();
        let answered = connection.send_packed_command(&redis::cmd("PING")).await;
        let Some(life) = life.upgrade() else { return };
        match answered {
            Ok(_) if life.lock().hear(asked, Instant::now()).is_err() => return,
            Err(error) if error.is_unrecoverable_error() => return,
            // An error shows that the process runs too, but does not count as a proof.
            _ => {}
        }
    }
}

impl Answering {
    /// Checks the connection before a command is sent; returns the time at which it is sent. A command of the store
    /// (`matters`) waits until the connection is [`SETTLING`] old. A process that hangs does not close its connections.
    /// Its silence is noticed here, and the error makes the client library look for the process that took over.
    async fn begin(&self, matters: bool) -> RedisResult<Instant> {
        let mut now = Instant::now();
        if matters && now < self.settled_at {
            sleep_until(self.settled_at).await;
            now = Instant::now();
        }
        self.life.lock().goes_on(now)?;
        Ok(now)
    }

    /// Adds the run id of the process to an answer; an error stays unchanged.
    pub(super) fn signed(&self, value: Value) -> Value {
        match value {
            Value::ServerError(_) => value,
            value => Value::Array(vec![Value::Int(self.run), value]),
        }
    }

    /// Checks, when an answer has come, whether it may be accepted.
    fn hear(&self, asked: Instant) -> RedisResult<()> {
        Ok(self.life.lock().hear(asked, Instant::now())?)
    }
}

/// Asks a process for its run id, which it draws when it starts.
async fn run_of(connection: &mut MultiplexedConnection) -> Result<i64, RedisError> {
    let info: String = redis::cmd("INFO").arg("server").query_async(connection).await?;
    run_in(&info)
        .ok_or_else(|| RedisError::from((ErrorKind::UnexpectedReturnType, "INFO server has no run_id")))
}

/// The run id in an answer to INFO: its first 64 bits.
pub(super) fn run_in(info: &str) -> Option<i64> {
    let run = info.lines().find_map(|line| line.strip_prefix("run_id:"))?.get(..16)?;
    u64::from_str_radix(run, 16).ok().map(u64::cast_signed)
}

/// Whether a command is one of the store's. The client library sends commands of its own too, to learn the cluster's
/// slots, and must get their answers unchanged.
pub(super) fn is_ours(cmd: &Cmd) -> bool {
    let Some(Arg::Simple(name)) = cmd.args_iter().next() else { return false };
    const OURS: [&[u8]; 15] = [
        b"HMGET",
        b"MGET",
        b"GET",
        b"SET",
        b"EVALSHA",
        b"EVAL",
        b"DEL",
        b"ZADD",
        b"ZREM",
        b"ZRANGE",
        b"ZRANGEBYSCORE",
        b"ZCARD",
        b"PEXPIRE",
        b"PUBLISH",
        b"UNLINK",
    ];
    OURS.contains(&name)
}

impl ConnectionLike for Answering {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let is_ours = is_ours(cmd);
            let asked = self.begin(is_ours).await?;
            let value = self.connection.send_packed_command(cmd).await?;
            self.hear(asked)?;
            Ok(if is_ours { self.signed(value) } else { value })
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let asked = self.begin(true).await?;
            let answers = self.connection.send_packed_commands(pipeline, offset, count).await?;
            self.hear(asked)?;
            Ok(answers)
        })
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}
