//! The short way to a primary: a connection of the worker's own, found by a map of the cluster's slots.
//!
//! A worker is one thread with one runtime. If its connections to Redis run on the same thread, no other thread is
//! woken, and all commands that its requests submit in one turn of the event loop go out in one write. The map and the
//! connections are only a cache. Whatever the short way lacks or cannot do (a changed map, a lost connection, a
//! failover) takes the long way, through the cluster client, and the map is read again.

mod connect;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use redis::aio::ConnectionLike;
use redis::cluster_async::ClusterConnection;
use redis::{Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisError, RedisResult};
use thread_local::ThreadLocal;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use super::answering::Answering;
use super::members::{Member, members};
use super::pipe::{Lost, NotTaken, Pipe};
use super::tag::HASH_SLOTS;
use super::{Answered, Primary, RedisOptions};
use connect::connect;

/// How long after an attempt to connect or to read the map, successful or not, no other attempt is made.
const PAUSE: Duration = Duration::from_millis(200);

/// Which primary has which slot.
struct Map {
    primaries: Vec<Member>,
    /// By slot, the index of its primary; beyond `primaries` if none is known.
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

/// A thread's own connections, by the index of the primary in the map.
#[derive(Default)]
struct Own {
    map: Option<Arc<Map>>,
    ways: Vec<Way>,
}

#[derive(Clone, Default)]
enum Way {
    /// No attempt was made.
    #[default]
    None,
    /// An attempt runs or has failed. Another one may start at this time.
    Trying(Instant),
    Open(Open),
}

/// A connection, and the process that it leads to.
#[derive(Clone)]
pub(super) struct Open {
    pipe: Arc<Pipe>,
    primary: Primary,
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

impl ShortWay {
    /// Creates it beside a cluster client. Nothing is connected yet.
    pub(super) fn new(cluster: &ClusterConnection<Answering>, options: &RedisOptions) -> RedisResult<Self> {
        let no_seed = || RedisError::from((ErrorKind::InvalidClientConfig, "there is no seed"));
        let seed = options.urls.first().ok_or_else(no_seed)?.expose().into_connection_info()?;
        Ok(Self(Arc::new(Shared {
            cluster: cluster.clone(),
            seed,
            timeout: options.timeout,
            map: ArcSwapOption::empty(),
            reading: AtomicBool::new(false),
            threads: ThreadLocal::new(),
        })))
    }

    /// This thread's connection to the primary of a slot. If `None`, the command must take the long way, and what was
    /// missing is fetched or opened in the background.
    pub(super) fn to(&self, slot: u16) -> Option<Open> {
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
        if let Way::Open(open) = way {
            return Some(open.clone());
        }
        if !matches!(way, Way::Trying(until) if Instant::now() < *until) && is_worker() {
            *way = Way::Trying(Instant::now() + shared.timeout + PAUSE);
            tokio::spawn(open(Arc::clone(shared), Arc::clone(map), owner));
        }
        None
    }

    /// How many primaries the cluster has; `None` before the map is read.
    pub(super) fn primaries(&self) -> Option<usize> {
        self.0.map.load().as_ref().map(|map| map.primaries.len())
    }

    /// Sends a command over a connection that [`to`](Self::to) has returned.
    pub(super) async fn send(&self, open: Open, cmd: &Cmd) -> Result<Answered, Failed> {
        let Open { pipe, primary } = open;
        let asked = match pipe.ask(cmd) {
            Ok(asked) => asked,
            Err(NotTaken::Full) => return Err(Failed::Full),
            Err(NotTaken::Lost) => {
                self.0.give_up(&pipe);
                return Err(Failed::Elsewhere(Instant::now() + self.0.timeout));
            }
        };
        let by = asked.at() + self.0.timeout;
        match asked.await {
            Ok(Ok(value)) => return Ok(Answered { value, primary }),
            // The slot has moved, or this node is a replica now, or it cannot serve the command. The command changed
            // nothing.
            Ok(Err(_)) => self.0.read_map(),
            Err(Lost) => self.0.give_up(&pipe),
        }
        Err(Failed::Elsewhere(by))
    }
}

/// Why the short way has no answer.
pub(super) enum Failed {
    /// The long way may have one until this time: it can follow a change of the cluster.
    Elsewhere(Instant),
    /// Too many commands wait already.
    Full,
}

/// Whether tasks that this thread spawns stay on it.
fn is_worker() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread)
}

impl Own {
    /// Switches to another map. Connections to primaries that are in both maps are kept.
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
    /// Reads the map again, unless it is being read or was read a moment ago.
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
        // A node whose host is not in the answer gets none, and its slots take the long way.
        Ok(Map::of(members(&shards, "", matches!(self.seed.addr(), ConnectionAddr::TcpTls { .. }))?))
    }

    /// Drops a lost connection, if this thread still has it, and reads the map again, because another primary may have
    /// taken over.
    fn give_up(self: &Arc<Self>, pipe: &Arc<Pipe>) {
        if let Some(own) = self.threads.get() {
            let ways = &mut own.borrow_mut().ways;
            let lost = |way: &&mut Way| matches!(way, Way::Open(open) if Arc::ptr_eq(&open.pipe, pipe));
            if let Some(lost) = ways.iter_mut().find(lost) {
                *lost = Way::Trying(Instant::now() + PAUSE);
            }
        }
        self.read_map();
    }
}

/// Opens this thread's own connection to a primary.
async fn open(shared: Arc<Shared>, map: Arc<Map>, owner: usize) {
    let Some(primary) = map.primaries.get(owner) else { return };
    match connect(&primary.info(&shared.seed), shared.timeout).await {
        Ok(open) => {
            let mut own = shared.threads.get_or_default().borrow_mut();
            // Kept only if the thread still uses the map in which the primary was found.
            if own.map.as_ref().is_some_and(|known| Arc::ptr_eq(known, &map))
                && let Some(way) = own.ways.get_mut(owner)
            {
                *way = Way::Open(open);
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
