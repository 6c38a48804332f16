//! A connection whose answers say which process gave them.

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::Connect;
use redis::{
    Arg, AsyncConnectionConfig, Cmd, ErrorKind, IntoConnectionInfo, Pipeline, RedisError, RedisFuture, Value,
};

/// A multiplexed connection to one process.
#[derive(Clone)]
pub(super) struct Answering {
    pub(super) connection: MultiplexedConnection,
    pub(super) run: i64,
}

impl Connect for Answering {
    fn connect_with_config<'a, T>(info: T, config: AsyncConnectionConfig) -> RedisFuture<'a, Self>
    where
        T: IntoConnectionInfo + Send + 'a,
    {
        Box::pin(async move {
            let mut connection = MultiplexedConnection::connect_with_config(info, config).await?;
            let run = run_of(&mut connection).await?;
            Ok(Self { connection, run })
        })
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

/// Whether a command is one of ours, rather than the client's own housekeeping, whose answers it must find as they are.
pub(super) fn is_ours(cmd: &Cmd) -> bool {
    let Some(Arg::Simple(name)) = cmd.args_iter().next() else { return false };
    const OURS: [&[u8]; 13] = [
        b"MGET", b"GET", b"SET", b"EVALSHA", b"EVAL", b"DEL", b"ZADD", b"ZREM", b"ZRANGE", b"ZCARD",
        b"PEXPIRE", b"PUBLISH", b"UNLINK",
    ];
    OURS.contains(&name)
}

/// An answer together with who gave it; an error stays what it is.
pub(super) fn signed(run: i64, value: Value) -> Value {
    match value {
        Value::ServerError(_) => value,
        value => Value::Array(vec![Value::Int(run), value]),
    }
}

impl ConnectionLike for Answering {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let value = self.connection.send_packed_command(cmd).await?;
            Ok(if is_ours(cmd) { signed(self.run, value) } else { value })
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.connection.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.connection.get_db()
    }
}
