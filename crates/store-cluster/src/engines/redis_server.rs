//! A single Redis, as used for development.

use std::path::Path;

use tempfile::TempDir;

use super::directory;
use super::port::Port;
use super::redis_node::{RedisNode, RedisServerOptions};

/// One `redis-server` without cluster, in a temporary directory, on a free loopback port. It is killed and its data
/// removed when this is dropped.
pub struct RedisServer {
    // Dropped before its directory.
    node: RedisNode,
    directory: TempDir,
}

impl RedisServer {
    /// Starts the server; it answers when this returns.
    ///
    /// # Panics
    /// If `redis-server` is missing or does not start.
    pub fn start(options: RedisServerOptions) -> Self {
        let directory = directory::temporary("redis");
        let node = RedisNode::new(directory.path(), Port::reserve(), &[], &options);
        let server = Self { node, directory };
        server.restart();
        server
    }

    /// Its URL, with the password if there is one.
    pub fn url(&self) -> String {
        self.node.url()
    }

    /// The directory of data and log. The process has its working directory in it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Sends one command; the answer as text, a line per element of an array.
    ///
    /// # Panics
    /// If there is no answer, or the answer is an error.
    pub fn cli(&self, arguments: &[&str]) -> String {
        self.try_cli(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    }

    /// [`RedisServer::cli`] that returns errors instead of panicking.
    pub fn try_cli(&self, arguments: &[&str]) -> Result<String, String> {
        self.node.query(arguments)
    }

    /// Removes all data.
    pub fn flush_all(&self) {
        self.node.flush_all().expect("FLUSHALL");
    }

    /// SIGKILL; returns when the process is gone.
    pub fn kill(&self) {
        self.node.kill();
    }

    /// Starts it again on the same data and port, after killing it if it runs; it answers when this returns.
    pub fn restart(&self) {
        self.node.launch();
        self.node.wait_until_it_answers();
    }

    /// SIGSTOP: connections stay open, and nothing answers.
    pub fn pause(&self) {
        self.node.pause();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.node.resume();
    }
}
