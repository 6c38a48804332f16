//! The short way to a primary: a connection of the asking worker's own, found by a map of the cluster's slots.
//!
//! A worker is one thread with one runtime. Where its connections to Redis live on it too, no other thread is woken, and
//! what the requests of one turn ask goes out in one write. The map and the connections are a memory, nothing more:
//! whatever the short way does not have or cannot do (another map, a lost connection, a failover) goes the long way, by
//! the cluster's client, and is looked up anew.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use redis::aio::ConnectionLike;
use redis::cluster_async::{ClusterConnection, Connect};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError,
    RedisResult, ServerErrorKind, Value,
};
use thread_local::ThreadLocal;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use super::answering::Answering;
use super::members::{Member, members};
use super::tag::HASH_SLOTS;
use super::{Answered, Primary, RedisOptions};

/// After a connection or a map could not be had, and after it could: how long nobody tries to get it again.
const PAUSE: Duration = Duration::from_millis(200);

/// Commands that may stand before a connection that is being written to.
const QUEUE: usize = 512;

/// Which primary has which slot.
struct Map {
    primaries: Vec<Member>,
    /// By slot, which of the primaries; beyond them: none that is known.
    owners: Box<[u16; HASH_SLOTS as usize]>,
}

impl Map {
    fn of(members: Vec<Member>) -> Self {
        let located = |member: &Member| member.is_serving() && member.is_located();
        let primaries: Vec<Member> = members.into_iter().filter(located).collect();
        let mut owners = Box::new([u16::MAX; HASH_SLOTS as usize]);
        for (owner, primary) in (0..).zip(&primaries) {
            for (first, last) in primary.slots() {
                if let Some(slots) = owners.get_mut(usize::from(*first)..=usize::from(*last)) {
                    slots.fill(owner);
                }
            }
        }
        Self { primaries, owners }
    }
}

/// A thread's own connections, by the numbers of the map's primaries.
#[derive(Default)]
struct Own {
    map: Option<Arc<Map>>,
    ways: Vec<Way>,
    /// How many connections were made.
    made: u64,
}

#[derive(Clone, Default)]
enum Way {
    /// Nobody has tried.
    #[default]
    None,
    /// Somebody tries, or tried in vain; another may from then on.
    Trying(Instant),
    /// A connection, and which one of this thread's it is.
    Open(Answering, u64),
}

/// The short ways of all threads.
pub(super) struct ShortWay(Arc<Shared>);

struct Shared {
    cluster: ClusterConnection<Answering>,
    seed: ConnectionInfo,
    timeout: Duration,
    map: ArcSwapOption<Map>,
    /// Whether the map is being read.
    reading: AtomicBool,
    threads: ThreadLocal<RefCell<Own>>,
}

/// A connection that was found for a command.
pub(super) struct Found {
    connection: Answering,
    number: u64,
}

impl ShortWay {
    /// Beside a cluster's long way. Nothing is connected yet.
    pub(super) fn new(cluster: &ClusterConnection<Answering>, options: &RedisOptions) -> RedisResult<Self> {
        let no_seed = || RedisError::from((ErrorKind::InvalidClientConfig, "there is no seed"));
        let seed = options.urls.first().ok_or_else(no_seed)?.expose().into_connection_info()?;
        Ok(Self(Arc::new(Shared {
            cluster: cluster.clone(),
            seed: seed.set_tcp_settings(TcpSettings::default().set_nodelay(true)),
            timeout: options.timeout,
            map: ArcSwapOption::empty(),
            reading: AtomicBool::new(false),
            threads: ThreadLocal::new(),
        })))
    }

    /// This thread's connection to where a slot is; none: go the long way. What is missing is being made then.
    pub(super) fn to(&self, slot: u16) -> Option<Found> {
        let shared = &self.0;
        let own = shared.threads.get_or_default();
        let map = shared.map.load();
        let Some(map) = &*map else {
            shared.read_map();
            return None;
        };
        let owner = usize::from(*map.owners.get(usize::from(slot))?);
        let mut own = own.borrow_mut();
        if !own.map.as_ref().is_some_and(|known| Arc::ptr_eq(known, map)) {
            own.follow(map);
        }
        let way = own.ways.get_mut(owner)?;
        if let Way::Open(connection, number) = way {
            return Some(Found { connection: connection.clone(), number: *number });
        }
        if !matches!(way, Way::Trying(until) if Instant::now() < *until) && is_worker() {
            *way = Way::Trying(Instant::now() + shared.timeout + PAUSE);
            tokio::spawn(connect(Arc::clone(shared), Arc::clone(map), owner));
        }
        None
    }

    /// Sends a command by a connection that was found. None: it must go the long way.
    pub(super) async fn send(&self, found: Found, cmd: &Cmd) -> Option<RedisResult<Answered>> {
        let Found { mut connection, number } = found;
        let primary = Primary(connection.run.cast_unsigned());
        match connection.connection.send_packed_command(cmd).await.and_then(Value::extract_error) {
            Ok(value) => Some(Ok(Answered { value, primary })),
            Err(error) if is_elsewhere(&error) => {
                self.0.read_map();
                None
            }
            Err(error) if error.is_timeout() || error.is_unrecoverable_error() => {
                self.0.give_up(number);
                // Where the time is up, there is none left for another attempt.
                error.is_timeout().then_some(Err(error))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Whether what this thread spawns stays on it.
fn is_worker() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread)
}

/// Whether somebody else has what was asked for, or will have it.
fn is_elsewhere(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};
    matches!(
        error.kind(),
        ErrorKind::Server(Moved | Ask | TryAgain | ClusterDown | MasterDown | ReadOnly | BusyLoading)
    )
}

impl Own {
    /// Goes over to another map. Connections to primaries that are in both are kept.
    fn follow(&mut self, map: &Arc<Map>) {
        let before = self.map.replace(Arc::clone(map));
        let places = before.iter().flat_map(|map| &map.primaries).map(Member::place);
        let mut kept: Vec<(String, Way)> = places.zip(self.ways.drain(..)).collect();
        for primary in &map.primaries {
            let place = primary.place();
            let way = kept.iter().position(|(kept, _)| *kept == place).map(|at| kept.swap_remove(at).1);
            self.ways.push(way.unwrap_or_default());
        }
    }
}

impl Shared {
    /// Reads the map again, unless it is being read or was just now.
    fn read_map(self: &Arc<Self>) {
        if Handle::try_current().is_err() || self.reading.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            match shared.ask_for_map().await {
                Ok(map) => shared.map.store(Some(Arc::new(map))),
                Err(error) => {
                    tracing::debug!(target: "symbolon::store", %error, "Redis does not tell who has which slots");
                }
            }
            tokio::time::sleep(PAUSE).await;
            shared.reading.store(false, Ordering::Release);
        });
    }

    async fn ask_for_map(&self) -> RedisResult<Map> {
        let mut cmd = redis::cmd("CLUSTER");
        let shards = self.cluster.clone().req_packed_command(cmd.arg("SHARDS")).await?.extract_error()?;
        // A node that does not tell its host is asked the long way.
        Ok(Map::of(members(&shards, "", matches!(self.seed.addr(), ConnectionAddr::TcpTls { .. }))?))
    }

    /// Forgets a connection, if this thread still has it, and looks whether the primary is still one.
    fn give_up(self: &Arc<Self>, number: u64) {
        if let Some(own) = self.threads.get() {
            let ways = &mut own.borrow_mut().ways;
            let lost = ways.iter_mut().find(|way| matches!(way, Way::Open(_, open) if *open == number));
            if let Some(lost) = lost {
                *lost = Way::Trying(Instant::now() + PAUSE);
            }
        }
        self.read_map();
    }
}

/// Makes a connection of this thread's own.
async fn connect(shared: Arc<Shared>, map: Arc<Map>, owner: usize) {
    let Some(primary) = map.primaries.get(owner) else { return };
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(shared.timeout))
        .set_response_timeout(Some(shared.timeout))
        .set_pipeline_buffer_size(QUEUE);
    match Answering::connect_with_config(primary.info(&shared.seed), config).await {
        Ok(connection) => {
            let mut own = shared.threads.get_or_default().borrow_mut();
            own.made += 1;
            let way = Way::Open(connection, own.made);
            // Unless it goes by another map now.
            if own.map.as_ref().is_some_and(|known| Arc::ptr_eq(known, &map))
                && let Some(place) = own.ways.get_mut(owner)
            {
                *place = way;
            }
        }
        Err(error) => {
            let place = primary.place();
            tracing::debug!(target: "symbolon::store", place, %error, "no connection of a worker's own");
            shared.read_map();
        }
    }
}

#[cfg(test)]
mod tests;
