//! One `redis-server` process, alone or in a cluster.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use redis::{RedisError, Value};

use super::port::Port;
use super::process::Process;
use super::program::{command, redis_server};

/// How long a server that runs may take to answer: never reached but by a server that hangs.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The settings that the store needs: an append-only file, a bound of memory, and no eviction of keys.
const SETTINGS: &[(&str, &str)] = &[
    ("save", "\"\""),
    ("appendonly", "yes"),
    ("appendfsync", "everysec"),
    ("maxmemory", "1gb"),
    ("maxmemory-policy", "noeviction"),
    ("repl-diskless-sync-delay", "0"),
];

/// How the Redis servers are set up.
#[derive(Clone, Debug, Default)]
pub struct RedisServerOptions {
    /// The address of this machine that they listen on and are known by; loopback where it is not given.
    pub address: Option<IpAddr>,
    /// The password of clients and of replicas (`requirepass`, `masterauth`). It must not need escaping in a URL.
    pub password: Option<String>,
    /// Settings of `redis.conf` by name, as `("cluster-node-timeout", "500")`. They win over the defaults: append-only
    /// file synced every second, no eviction, and in a cluster a node timeout of 2,000 ms.
    pub settings: Vec<(String, String)>,
}

impl RedisServerOptions {
    /// Where they listen.
    pub(super) fn address(&self) -> IpAddr {
        self.address.unwrap_or(Ipv4Addr::LOCALHOST.into())
    }
}

/// A server and whether it runs.
pub(super) struct RedisNode {
    run: Mutex<Run>,
    directory: PathBuf,
    password: Option<String>,
    address: IpAddr,
    port: Port,
}

#[derive(Default)]
struct Run {
    process: Option<Process>,
    paused: bool,
}

impl RedisNode {
    /// Writes the configuration into the existing `directory`: the store's settings, then `form`, then the options.
    pub(super) fn new(
        directory: &Path,
        port: Port,
        form: &[(&str, &str)],
        options: &RedisServerOptions,
    ) -> Self {
        let address = options.address();
        let mut lines = vec![
            format!("bind {address}"),
            // In protected mode, a server without a password accepts connections from loopback only.
            format!("protected-mode {}", if address.is_loopback() { "yes" } else { "no" }),
            format!("port {}", port.number()),
            format!("dir {}", directory.display()),
        ];
        lines.extend(SETTINGS.iter().chain(form).map(|(name, value)| format!("{name} {value}")));
        if let Some(password) = &options.password {
            lines.extend([format!("requirepass {password}"), format!("masterauth {password}")]);
        }
        lines.extend(options.settings.iter().map(|(name, value)| format!("{name} {value}")));
        fs::write(directory.join("redis.conf"), lines.join("\n") + "\n").expect("a file can be written");
        let (directory, password) = (directory.to_owned(), options.password.clone());
        Self { run: Mutex::default(), directory, password, address, port }
    }

    pub(super) fn port(&self) -> &Port {
        &self.port
    }

    pub(super) fn url(&self) -> String {
        let password = self.password.as_ref().map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{password}{}:{}", self.address, self.port.number())
    }

    /// Whether it has a process, and one that is not paused.
    pub(super) fn is_running(&self) -> bool {
        let run = self.run.lock();
        run.process.is_some() && !run.paused
    }

    /// Starts the process, after killing the one that runs.
    pub(super) fn launch(&self) {
        self.kill();
        let mut redis = command(&redis_server(), None);
        redis.current_dir(&self.directory).arg(self.directory.join("redis.conf"));
        self.run.lock().process = Some(Process::start(redis, &self.directory.join("log")));
    }

    /// Waits until the process has read its data and answers.
    pub(super) fn wait_until_it_answers(&self) {
        if let Some(process) = &mut self.run.lock().process {
            process.until("redis-server answers", || self.query(&["PING"]).ok());
        }
    }

    /// SIGKILL; returns when the process is gone.
    pub(super) fn kill(&self) {
        *self.run.lock() = Run::default();
    }

    /// SIGSTOP: connections stay open, and nothing answers.
    pub(super) fn pause(&self) {
        let mut run = self.run.lock();
        if let Some(process) = &run.process {
            process.pause();
            run.paused = true;
        }
    }

    /// SIGCONT.
    pub(super) fn resume(&self) {
        let mut run = self.run.lock();
        if let Some(process) = &run.process {
            process.resume();
            run.paused = false;
        }
    }

    /// Sends one command on a connection of its own; the answer, or the error, as text.
    pub(super) fn query(&self, arguments: &[&str]) -> Result<String, String> {
        self.connection()
            .and_then(|mut connection| command_of(arguments).query(&mut connection))
            .map_err(|error| error_text(&error))
            .and_then(|answer| text(&answer))
    }

    /// Removes all data, also from the replicas that are there.
    pub(super) fn flush_all(&self) -> Result<(), String> {
        let flush = |mut connection: redis::Connection| {
            command_of(&["FLUSHALL", "SYNC"]).exec(&mut connection)?;
            let replicas = command_of(&["INFO", "replication"]).query::<String>(&mut connection)?;
            let online = replicas.matches("state=online").count().to_string();
            command_of(&["WAIT", &online, "5000"]).exec(&mut connection)
        };
        self.connection().and_then(flush).map_err(|error| error_text(&error))
    }

    fn connection(&self) -> redis::RedisResult<redis::Connection> {
        let connection = redis::Client::open(self.url())?.get_connection_with_timeout(TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        Ok(connection)
    }
}

fn command_of(arguments: &[&str]) -> redis::Cmd {
    let mut command = redis::Cmd::new();
    for argument in arguments {
        command.arg(argument);
    }
    command
}

/// An answer as `redis-cli` would print it to a file: nothing for nil, a line per element of an array.
fn text(answer: &Value) -> Result<String, String> {
    Ok(match answer {
        Value::Nil => String::new(),
        Value::Okay => "OK".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Array(values) => values.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n"),
        Value::ServerError(error) => return Err(server_error(error.code(), error.details())),
        other => format!("{other:?}"),
    })
}

/// An error as the server words it (`MOVED 7 127.0.0.1:10001`), else as the client does.
fn error_text(error: &RedisError) -> String {
    error.code().map_or_else(|| error.to_string(), |code| server_error(code, error.detail()))
}

fn server_error(code: &str, detail: Option<&str>) -> String {
    [code, detail.unwrap_or_default()].join(" ")
}
