//! Redis or Valkey, over three kinds of connections: one for reads and for writes that may be lost, one for durable
//! writes, which are not answered before a replica has them, and the [short way](short_way), which each worker has to
//! itself.
//!
//! The `redis` crate does routing, redirections, failover and reconnecting. This module adds to the connections that
//! the crate makes: every answer names [the process that gave it](Primary) and is accepted only while that process
//! [proves that it runs](liveness), and durable writes are batched, with one `WAIT` for each batch.

mod answering;
mod durable;
mod link;
mod liveness;
mod members;
mod pipe;
mod resp;
mod script;
mod short_way;
mod tag;

pub(crate) use liveness::SILENCE;
pub(crate) use members::{Member, members};
pub(crate) use script::{Script, ScriptCall};
pub(crate) use tag::{Key, Tag, Tags};

use std::fmt;
use std::time::Duration;

use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, Value};
use symbolon_crypto::SecretString;
use symbolon_store::StoreError;
use tokio::time::timeout_at;

use crate::breaker::Breaker;
use answering::Answering;
use durable::Durable;
use link::Link;
use short_way::{Failed, ShortWay};

/// Whether a durable write waits for a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplicaPolicy {
    /// Yes. If no replica is left, durable writes are refused (503), and reads still work.
    #[default]
    Wait,
    /// No. A write that only the primary has is lost with it.
    Local,
}

/// How to reach Redis.
#[derive(Clone)]
pub struct RedisOptions {
    /// Some nodes of one cluster, or one server outside a cluster: `redis://` or `rediss://` (TLS), with user and
    /// password.
    pub urls: Vec<SecretString>,
    /// How long one command may take, with all its redirections.
    pub timeout: Duration,
    /// What durable writes wait for.
    pub replicas: ReplicaPolicy,
    /// The prefix of every key, so that several installations may share one Redis.
    pub prefix: String,
}

/// One process of Redis, from its start to its end: the first 64 bits of its random run id.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Primary(u64);

impl Primary {
    /// Parses its text, the value of a tag's key [`complete_primary`](Tag::complete_primary).
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() == 16)?;
        u64::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for Primary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Primary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The answer to a command, and the process that gave it.
pub(crate) struct Answered {
    pub(crate) value: Value,
    pub(crate) primary: Primary,
}

impl Answered {
    /// Splits what [`Answering::signed`] put together.
    fn of(value: Value) -> Result<Self, StoreError> {
        let unsigned = || StoreError::Failed("an answer of Redis does not say who gave it".into());
        let Value::Array(parts) = value else { return Err(unsigned()) };
        match <[Value; 2]>::try_from(parts) {
            Ok([Value::Int(run), value]) => Ok(Self { value, primary: Primary(run.cast_unsigned()) }),
            _ => Err(unsigned()),
        }
    }

    /// The value, as the type that the command returns.
    pub(crate) fn read<T: FromRedisValue>(self) -> Result<T, StoreError> {
        T::from_redis_value(self.value).map_err(|error| StoreError::Failed(format!("Redis: {error}")))
    }
}

/// The connections for durable writes.
enum DurableLink {
    /// Batched, with one `WAIT` for each batch. These connections have their own circuit breaker, so that reads still
    /// work while replicas are missing.
    Waiting(Link<Durable>, Breaker),
    /// The connections of all other commands; no write waits for a replica.
    Local,
}

/// Redis or Valkey.
pub(crate) struct Redis {
    link: Link<Answering>,
    short: Option<ShortWay>,
    durable: DurableLink,
    breaker: Breaker,
    tags: Tags,
    timeout: Duration,
}

impl Redis {
    /// Connects. Durable writes to a single server wait for no replica.
    pub(crate) async fn connect(options: &RedisOptions) -> Result<Self, RedisError> {
        let (link, clustered) = Link::connect(options).await?;
        let short = link.cluster().map(|cluster| ShortWay::new(cluster, options)).transpose()?;
        let durable = match options.replicas {
            ReplicaPolicy::Wait if clustered => {
                let breaker = Breaker::new("a replica of Redis");
                DurableLink::Waiting(Link::connect(options).await?.0, breaker)
            }
            _ => DurableLink::Local,
        };
        Ok(Self {
            link,
            short,
            durable,
            breaker: Breaker::new("Redis"),
            tags: Tags::new(&options.prefix),
            timeout: options.timeout,
        })
    }

    /// Whether Redis answers. Missing replicas do not count: reads still work, and the other nodes, to which this
    /// node's requests would be sent, lack the same replicas.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: Redis has not answered for a while.
    pub(crate) fn ready(&self) -> Result<(), StoreError> {
        if self.breaker.is_closed() {
            return Ok(());
        }
        Err(StoreError::Unavailable("Redis does not answer".into()))
    }

    /// How long one command may take, with all its redirections.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How many primaries there are; `None` before that is known.
    pub(crate) fn primaries(&self) -> Option<usize> {
        self.short.as_ref().map_or(Some(1), ShortWay::primaries)
    }

    /// The hash tags of this installation.
    pub(crate) fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Sends a read, or a write that may be lost with the primary.
    pub(crate) async fn ask(&self, cmd: &Cmd) -> Result<Answered, StoreError> {
        let admitted = self.breaker.admit()?;
        admitted.judge(self.by_the_long_way(cmd).await)
    }

    /// As [`ask`](Self::ask), for a command whose keys are all in one hash slot. Uses the worker's own connection if
    /// there is one.
    pub(crate) async fn ask_at(&self, hash_slot: u16, cmd: &Cmd) -> Result<Answered, StoreError> {
        let admitted = self.breaker.admit()?;
        let Some((short, open)) = self.short.as_ref().and_then(|short| Some((short, short.to(hash_slot)?)))
        else {
            return admitted.judge(self.by_the_long_way(cmd).await);
        };
        admitted.judge(match short.send(open, cmd).await {
            Ok(answered) => Ok(answered),
            Err(Failed::Elsewhere(by)) => {
                timeout_at(by, self.by_the_long_way(cmd)).await.unwrap_or_else(|_| Err(too_late()))
            }
            Err(Failed::Full) => Err(too_many()),
        })
    }

    async fn by_the_long_way(&self, cmd: &Cmd) -> Result<Answered, StoreError> {
        self.link.send(cmd).await.map_err(|error| store_error(&error)).and_then(Answered::of)
    }

    /// Sends a durable write. Returns when a replica has it too, if the policy asks for that.
    pub(crate) async fn write_durably(&self, cmd: &Cmd) -> Result<Answered, StoreError> {
        let DurableLink::Waiting(link, breaker) = &self.durable else { return self.ask(cmd).await };
        let admitted = breaker.admit()?;
        admitted.judge(link.send(cmd).await.map_err(|error| store_error(&error)).and_then(Answered::of))
    }

    /// Runs a script whose writes may be lost with the primary.
    pub(crate) async fn run(&self, script: &Script, call: ScriptCall<'_>) -> Result<Answered, StoreError> {
        match self.ask(&script.by_digest(&call)).await {
            Err(error) if is_unknown_script(&error) => self.ask(&script.by_source(&call)).await,
            answered => answered,
        }
    }

    /// Runs a script as a durable write; see [`write_durably`](Self::write_durably).
    pub(crate) async fn run_durably(
        &self,
        script: &Script,
        call: ScriptCall<'_>,
    ) -> Result<Answered, StoreError> {
        match self.write_durably(&script.by_digest(&call)).await {
            Err(error) if is_unknown_script(&error) => self.write_durably(&script.by_source(&call)).await,
            answered => answered,
        }
    }
}

fn too_late() -> StoreError {
    StoreError::Unavailable("Redis: no answer in time".into())
}

fn too_many() -> StoreError {
    StoreError::Unavailable("Redis: too many commands wait".into())
}

/// The error for a script that a node does not know.
const NO_SCRIPT: &str = "Redis has no such script";

fn is_unknown_script(error: &StoreError) -> bool {
    matches!(error, StoreError::Failed(text) if text == NO_SCRIPT)
}

fn store_error(error: &RedisError) -> StoreError {
    match error.kind() {
        ErrorKind::Server(redis::ServerErrorKind::NoScript) => StoreError::Failed(NO_SCRIPT.into()),
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse | ErrorKind::InvalidClientConfig => {
            StoreError::Failed(format!("Redis: {error}"))
        }
        ErrorKind::Server(redis::ServerErrorKind::ResponseError) => refused(error),
        // Out of reach, failing over, out of memory, read-only: the same request may work later.
        _ => StoreError::Unavailable(format!("Redis: {error}")),
    }
}

/// An error of the server for which the client library has no kind.
fn refused(error: &RedisError) -> StoreError {
    let text = format!("Redis: {error}");
    let passing = ["OOM", "NOREPLICAS", "MISCONF", "LOADING", "WAIT"];
    if error.code().is_some_and(|code| passing.contains(&code))
        || passing.iter().any(|word| text.contains(word))
    {
        return StoreError::Unavailable(text);
    }
    StoreError::Failed(text)
}
