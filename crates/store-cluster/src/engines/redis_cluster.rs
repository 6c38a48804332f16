//! A Redis Cluster of the tests' own.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::cluster_view::{Itself, Member, SLOT_COUNT, nodes_conf};
use super::directory;
use super::port::Port;
use super::redis_node::{RedisNode, RedisServerOptions};
use super::until::until;

/// Three primaries, and a replica of each.
const NODES: usize = 6;

/// Six `redis-server` in a temporary directory, on free loopback ports: nodes 0, 1 and 2 are primaries at first,
/// nodes 3, 4 and 5 their replicas, in this order. All are killed and their data removed when this is dropped.
pub struct RedisCluster {
    // Dropped before their directory.
    nodes: Vec<RedisNode>,
    directory: TempDir,
}

/// A node as it is at the moment.
#[derive(Clone, Debug)]
pub struct RedisClusterNode {
    /// Which of the six it is, by which the methods of [`RedisCluster`] name it.
    pub index: usize,
    /// Its loopback port.
    pub port: u16,
    /// Whether it has a process that is not paused.
    pub running: bool,
    /// The node that it says it replicates; `None` if it says it is a primary, or does not run.
    pub replicates: Option<usize>,
}

impl RedisCluster {
    /// Starts a cluster. When this returns, every node says that the cluster is in order, and every replica is in
    /// step with its primary. That takes two seconds at least: a primary that starts accepts no writes before.
    ///
    /// # Panics
    /// If `redis-server` is missing, does not start, or the nodes do not become a cluster.
    pub fn start(options: RedisServerOptions) -> Self {
        let directory = directory::temporary("redis-cluster");
        let ports: Vec<Port> = (0..NODES).map(|_| Port::reserve_with_bus()).collect();
        let id = || format!("{:016x}{:016x}{:08x}", super::random(), super::random(), super::random() >> 32);
        let members: Vec<Member> =
            ports.iter().map(|port| Member { id: id(), port: port.number(), bus: port.bus() }).collect();
        let form = [("cluster-enabled", "yes"), ("cluster-node-timeout", "2000")];
        let node = |(index, port)| {
            let own = directory.path().join(format!("node-{index}"));
            fs::create_dir(&own).expect("a directory can be made");
            fs::write(own.join("nodes.conf"), nodes_conf(&members, index, options.address()))
                .expect("a file can be written");
            RedisNode::new(&own, port, &form, &options)
        };
        let nodes: Vec<RedisNode> = ports.into_iter().enumerate().map(node).collect();
        nodes.iter().for_each(RedisNode::launch);
        nodes.iter().for_each(RedisNode::wait_until_it_answers);
        let cluster = Self { nodes, directory };
        cluster.wait_until_in_order();
        cluster
    }

    /// The URLs of all nodes, with the password if there is one, parted by commas.
    pub fn urls(&self) -> String {
        self.nodes.iter().map(RedisNode::url).collect::<Vec<_>>().join(",")
    }

    /// The directory of data and logs. The processes have their working directories in it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The six nodes, by index.
    pub fn nodes(&self) -> Vec<RedisClusterNode> {
        let selves: Vec<Option<Itself>> = self.nodes.iter().map(itself).collect();
        let index_of =
            |id: &str| selves.iter().position(|node| node.as_ref().is_some_and(|node| node.id == id));
        let node = |(index, node): (usize, &RedisNode)| RedisClusterNode {
            index,
            port: node.port().number(),
            running: node.is_running(),
            replicates: selves[index].as_ref().and_then(|node| index_of(node.replicates.as_deref()?)),
        };
        self.nodes.iter().enumerate().map(node).collect()
    }

    /// The running node that holds `key` as its primary; waits until there is one, as for the end of a failover.
    pub fn primary_of(&self, key: &str) -> usize {
        until("a primary holds the key's slot", || self.try_primary_of(key))
    }

    /// [`RedisCluster::primary_of`] as it is now: `None` while nobody holds the key's slot.
    pub fn try_primary_of(&self, key: &str) -> Option<usize> {
        let running = self.nodes.iter().find(|node| node.is_running())?;
        let slot: u16 = running.query(&["CLUSTER", "KEYSLOT", key]).ok()?.parse().ok()?;
        let selves = self.nodes.iter().enumerate().filter_map(|(index, node)| Some((index, itself(node)?)));
        let claims = selves.filter(|(_, node)| node.claims(slot));
        claims.max_by_key(|(_, node)| node.epoch).map(|(index, _)| index)
    }

    /// Waits until, among the nodes that run, every slot has exactly one primary, every node says that the cluster is
    /// in order, and every replica is in step with its primary. After a kill that is the end of the failover; after a
    /// restart, that the node has learnt what happened without it.
    pub fn wait_until_in_order(&self) {
        until("the cluster is in order", || {
            let held: usize = self.nodes.iter().filter_map(itself).map(|node| node.slots_held()).sum();
            let all_are = || self.nodes.iter().filter(|node| node.is_running()).all(is_in_order);
            // Twice: a replica that has its data may have been unknown to its primary when that was asked.
            (held == SLOT_COUNT && all_are() && all_are()).then_some(())
        });
    }

    /// Sends one command to a node, which answers for itself (a key of another node is an error); the answer as text,
    /// a line per element of an array.
    ///
    /// # Panics
    /// If there is no answer, or the answer is an error.
    pub fn cli(&self, index: usize, arguments: &[&str]) -> String {
        self.try_cli(index, arguments).unwrap_or_else(|error| panic!("node {index}: {arguments:?}: {error}"))
    }

    /// [`RedisCluster::cli`] that returns errors instead of panicking.
    pub fn try_cli(&self, index: usize, arguments: &[&str]) -> Result<String, String> {
        self.nodes[index].query(arguments)
    }

    /// Removes all data from every primary that runs, and from its replicas.
    pub fn flush_all(&self) {
        for node in
            self.nodes.iter().filter(|node| itself(node).is_some_and(|node| node.replicates.is_none()))
        {
            node.flush_all().expect("FLUSHALL");
        }
    }

    /// SIGKILL to a node; returns when its process is gone.
    pub fn kill(&self, index: usize) {
        self.nodes[index].kill();
    }

    /// Starts a node again on the same data and port, after killing it if it runs. It answers when this returns, but
    /// has yet to learn what happened meanwhile: see [`RedisCluster::wait_until_in_order`].
    pub fn restart(&self, index: usize) {
        self.nodes[index].launch();
        self.nodes[index].wait_until_it_answers();
    }

    /// SIGSTOP to a node: its connections stay open, and nothing answers.
    pub fn pause(&self, index: usize) {
        self.nodes[index].pause();
    }

    /// SIGCONT to a node.
    pub fn resume(&self, index: usize) {
        self.nodes[index].resume();
    }
}

/// What a node reports about itself; `None` if it does not run.
fn itself(node: &RedisNode) -> Option<Itself> {
    node.is_running()
        .then(|| node.query(&["CLUSTER", "NODES"]).ok())
        .flatten()
        .as_deref()
        .and_then(Itself::parse)
}

/// Whether a node reports that the cluster is in order, and that its own replication, as a primary or a replica, is in
/// step.
fn is_in_order(node: &RedisNode) -> bool {
    let (Ok(cluster), Ok(replication)) =
        (node.query(&["CLUSTER", "INFO"]), node.query(&["INFO", "replication"]))
    else {
        return false;
    };
    let in_step = if replication.contains("role:master") {
        replication.matches(",state=").count() == replication.matches(",state=online").count()
    } else {
        replication.contains("master_link_status:up")
    };
    cluster.contains("cluster_state:ok") && in_step
}
