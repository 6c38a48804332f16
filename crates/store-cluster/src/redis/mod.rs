//! Redis or Valkey, by three kinds of connections: one for what is read or may be lost, one, of its own for each
//! primary, for what must not be told before a replica has it, and a [short way](short_way) of each worker's own.
//!
//! Routing, redirections, failover and reconnecting are the `redis` crate's. What is ours sits in the connections that
//! it makes: every answer says [which process gave it](Primary) and counts only while that [lives](life), and durable
//! writes are gathered, with one `WAIT` for each batch.

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
    /// It does. Where no replica is left these writes are refused (503) while reads go on.
    #[default]
    Wait,
    /// It does not: what the primary alone has may be lost with it.
    Local,
}

/// How to reach Redis.
#[derive(Clone)]
pub struct RedisOptions {
    /// Some nodes of one cluster, or one server that is none: `redis://` or `rediss://` (TLS), with user and password.
    pub urls: Vec<SecretString>,
    /// How long one command may take, with all its redirections.
    pub timeout: Duration,
    /// What durable writes wait for.
    pub replicas: ReplicaPolicy,
    /// Begins every key: several installations may share one Redis.
    pub prefix: String,
}

/// One process of Redis, from its start to its end: the first 64 bits of its random run id.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Primary(u64);

impl Primary {
    /// Reads it back from its text, in an epoch key.
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

/// What a command was answered, and by whom.
pub(crate) struct Answered {
    pub(crate) value: Value,
    pub(crate) primary: Primary,
}

impl Answered {
    /// Takes apart what [`Answering::signed`] put together.
    fn of(value: Value) -> Result<Self, StoreError> {
        let unsigned = || StoreError::Failed("an answer of Redis does not say who gave it".into());
        let Value::Array(parts) = value else { return Err(unsigned()) };
        match <[Value; 2]>::try_from(parts) {
            Ok([Value::Int(run), value]) => Ok(Self { value, primary: Primary(run.cast_unsigned()) }),
            _ => Err(unsigned()),
        }
    }

    /// The value as what the command gives.
    pub(crate) fn read<T: FromRedisValue>(self) -> Result<T, StoreError> {
        T::from_redis_value(self.value).map_err(|error| StoreError::Failed(format!("Redis: {error}")))
    }
}

/// Writes that must not be told before a replica has them.
enum DurableLink {
    /// Gathered, one `WAIT` for each batch. Its circuit is its own: where replicas are missing, reads go on.
    Waiting(Link<Durable>, Breaker),
    /// By whatever connection writes otherwise.
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
    /// Connects. A single server has no replica to wait for.
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

    /// Whether commands are let through. Where only replicas are missing, reads go on: that is no reason to send this
    /// node's requests to others, which miss them too.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: it has not answered for a while.
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

    /// The names of hash tags.
    pub(crate) fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Reads, or writes what may be lost with the primary.
    pub(crate) async fn ask(&self, cmd: &Cmd) -> Result<Answered, StoreError> {
        let admitted = self.breaker.admit()?;
        admitted.judge(self.by_the_long_way(cmd).await)
    }

    /// As [`ask`](Self::ask), for a command whose keys are all in this slot of the cluster; without leaving the worker
    /// that asks where that can be had.
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

    /// Writes, and answers when a replica has it too, as far as the policy says.
    pub(crate) async fn write_durably(&self, cmd: &Cmd) -> Result<Answered, StoreError> {
        let DurableLink::Waiting(link, breaker) = &self.durable else { return self.ask(cmd).await };
        let admitted = breaker.admit()?;
        admitted.judge(link.send(cmd).await.map_err(|error| store_error(&error)).and_then(Answered::of))
    }

    /// Runs a script that changes nothing that must last.
    pub(crate) async fn run(&self, script: &Script, call: ScriptCall<'_>) -> Result<Answered, StoreError> {
        match self.ask(&script.by_digest(&call)).await {
            Err(error) if is_unknown_script(&error) => self.ask(&script.by_source(&call)).await,
            answered => answered,
        }
    }

    /// Runs a script, and answers when a replica has what it wrote.
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

/// What is said where a script is not known to a node.
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

/// A refusal of the server's that has no kind of its own in the client.
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
