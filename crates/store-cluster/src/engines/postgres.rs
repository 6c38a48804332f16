//! A PostgreSQL of the tests' own.

use std::fs::{self, File};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::Signal;
use symbolon_crypto::SecretString;
use tempfile::TempDir;
use tokio::runtime::Builder;

use super::port::Port;
use super::process::Process;
use super::program::{User, command, postgres_programs};
use super::{directory, spawner, until};
use crate::PostgresOptions;
use crate::open::migrate_schema;

/// Partitions of a table in a copied database: more than one, so that rows are parted.
const MOST_PARTITIONS: u32 = 2;

/// How long a statement of the migration may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The superuser of the cluster, and his password. It listens on loopback only.
const USER: &str = "symbolon";
const PASSWORD: &str = "for-tests-only";

/// Seconds until psql gives up; a server that runs answers sooner.
const CONNECT_TIMEOUT: &str = "20";

/// Begin lines of a dump that older versions of PostgreSQL, or of psql, refuse.
const NEWER_ONLY: [&str; 3] = ["\\restrict", "\\unrestrict", "SET transaction_timeout"];

/// The database that is always there.
const FIRST_DATABASE: &str = "postgres";

/// The database from which others with the same schema are copied.
const TEMPLATE: &str = "template_of_stores";

/// How a [`PostgresServer`] is set up.
#[derive(Clone, Debug, Default)]
pub struct PostgresServerOptions {
    /// The address of this machine that it listens on; loopback where it is not given.
    pub address: Option<IpAddr>,
    /// Settings of `postgresql.conf` by name, as `("max_connections", "20")`. They win over the defaults, which are
    /// PostgreSQL's own: `fsync` is on.
    pub settings: Vec<(String, String)>,
}

/// A PostgreSQL database cluster in a temporary directory, on a free loopback port, with password authentication. All
/// its processes are killed and its data removed when this is dropped.
pub struct PostgresServer {
    // Dropped before the directory and the port, which it uses.
    process: Mutex<Option<Process>>,
    programs: PathBuf,
    user: Option<User>,
    settings: Vec<(String, String)>,
    address: IpAddr,
    directory: TempDir,
    port: Port,
    has_template: OnceLock<()>,
}

impl PostgresServer {
    /// Makes a new cluster and starts it; it answers when this returns.
    ///
    /// # Panics
    /// If PostgreSQL 15 or newer is missing or does not start.
    pub fn start(options: PostgresServerOptions) -> Self {
        let server = Self {
            process: Mutex::new(None),
            programs: postgres_programs(),
            user: User::of_postgres(),
            settings: options.settings,
            address: options.address.unwrap_or(Ipv4Addr::LOCALHOST.into()),
            directory: directory::temporary("postgres"),
            port: Port::reserve(),
            has_template: OnceLock::new(),
        };
        server.initialize();
        server.launch(&mut server.process.lock());
        server
    }

    /// The URL of `database`, with user and password.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD}@{}:{}/{database}", self.address, self.port.number())
    }

    /// The directory of data and log. The processes of this server have their working directory in it.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Creates an empty database; `name` must be a plain lower-case identifier.
    pub fn create_database(&self, name: &str) {
        self.psql(FIRST_DATABASE, &format!("CREATE DATABASE {name}"));
    }

    /// Creates a database with the schema of a store and nothing else in it, but for fewer partitions: hundreds of tables
    /// would be copied, and read from the catalogue by each new connection, which was half of the time of all tests.
    /// Not for measurements.
    pub fn create_database_with_schema(&self, name: &str) {
        self.has_template.get_or_init(|| {
            self.create_database(TEMPLATE);
            let url = SecretString::new(self.url(TEMPLATE));
            // A thread of its own: the caller may be a task, in which no other runtime may block.
            let migrated = thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
                let options = PostgresOptions { url, connections: 1, timeout: PATIENCE };
                runtime.block_on(migrate_schema(&options, MOST_PARTITIONS))
            });
            migrated.join().expect("a migration").unwrap_or_else(|error| panic!("{error}"));
            // The connection ends a moment after the runtime, and nobody may be connected to what is copied.
            let others = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{TEMPLATE}'");
            until("the template is left", || (self.psql(FIRST_DATABASE, &others) == "0").then_some(()));
        });
        self.psql(FIRST_DATABASE, &format!("CREATE DATABASE {name} TEMPLATE {TEMPLATE}"));
    }

    /// Runs `sql` in one transaction and returns its rows: a line each, the columns parted by `|`.
    ///
    /// # Panics
    /// With what psql says, if it fails.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        self.try_psql(database, sql).unwrap_or_else(|error| panic!("psql: {error}\n{sql}"))
    }

    /// A database as `pg_dump` writes it, without what only its own version of PostgreSQL reads.
    ///
    /// # Panics
    /// With what `pg_dump` says, if it fails.
    pub fn dump(&self, database: &str) -> String {
        let mut dump = self.command("pg_dump");
        dump.args(["--no-owner", "--no-privileges", "--dbname", &self.url(database)]);
        let dump = output(dump).unwrap_or_else(|error| panic!("pg_dump: {error}"));
        let anywhere =
            |line: &&str| !NEWER_ONLY.iter().any(|begin| line.starts_with(begin)) && !line.starts_with("--");
        let mut lines: Vec<&str> = dump.lines().filter(anywhere).collect();
        lines.retain(|line| !line.is_empty());
        lines.join("\n") + "\n"
    }

    /// Runs what [`PostgresServer::dump`] wrote, in an empty database.
    ///
    /// # Panics
    /// With what psql says, if it fails.
    pub fn load(&self, database: &str, dump: &Path) {
        let mut psql = self.psql_at(database);
        // The server's user may not be allowed to read the file.
        psql.stdin(File::open(dump).expect("a dump"));
        finished(psql).unwrap_or_else(|error| panic!("psql: {error}"));
    }

    /// The server's first process, whose children are all its others.
    ///
    /// # Panics
    /// If it does not run.
    pub fn pid(&self) -> u32 {
        self.process.lock().as_ref().expect("PostgreSQL runs").id()
    }

    /// Kills all processes of the server at once, as a crash does (SIGKILL), and returns when they are gone.
    pub fn kill(&self) {
        *self.process.lock() = None;
    }

    /// Shuts the server down in order, without waiting for clients to leave ("fast"), and returns when it is down.
    pub fn stop(&self) {
        if let Some(process) = self.process.lock().take() {
            process.end_by(Signal::INT);
        }
    }

    /// Starts the server again on the same data and port, after shutting it down if it runs; it has recovered and
    /// answers when this returns.
    pub fn restart(&self) {
        self.stop();
        self.launch(&mut self.process.lock());
    }

    /// The numbers of its processes, the one first that starts the others.
    pub fn processes(&self) -> Vec<u32> {
        self.process.lock().as_ref().map(Process::all).unwrap_or_default()
    }

    /// SIGSTOP to all its processes: connections stay open, and nothing answers.
    pub fn pause(&self) {
        if let Some(process) = &*self.process.lock() {
            process.pause_all();
        }
    }

    /// SIGCONT to all its processes.
    pub fn resume(&self) {
        if let Some(process) = &*self.process.lock() {
            process.resume_all();
        }
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = command(&self.programs.join(program), self.user);
        command.current_dir(self.directory.path());
        command
    }

    /// initdb.
    fn initialize(&self) {
        let password_file = self.directory.path().join("password");
        fs::write(&password_file, PASSWORD).expect("a file can be written");
        if let Some(User { uid, gid }) = self.user {
            for path in [self.directory.path(), &password_file] {
                chown(path, Some(uid), Some(gid)).expect("root may give files away");
            }
        }
        let mut initdb = self.command("initdb");
        initdb.arg("--pgdata").arg(self.data()).arg("--pwfile").arg(password_file);
        // The server syncs what it writes; the files it begins with need not survive a power cut.
        initdb.args(["--username", USER, "--auth", "scram-sha-256", "--no-sync", "--no-instructions"]);
        initdb.args(["--encoding", "UTF8", "--locale", "C"]);
        output(initdb).unwrap_or_else(|error| panic!("initdb: {error}"));
        if !self.address.is_loopback() {
            // initdb lets loopback in only.
            let hosts = File::options().append(true).open(self.data().join("pg_hba.conf"));
            let line = "host all all samenet scram-sha-256";
            hosts.and_then(|mut hosts| writeln!(hosts, "{line}")).expect("a file can be written");
        }
    }

    fn launch(&self, process: &mut Option<Process>) {
        // The file names the process of a server that was killed. Another process may have that number by now, and then
        // PostgreSQL would refuse to start.
        let _ = fs::remove_file(self.data().join("postmaster.pid"));
        let mut postgres = self.command("postgres");
        postgres.arg("-D").arg(self.data());
        let port = self.port.number().to_string();
        let address = self.address.to_string();
        let own = [
            ("listen_addresses", address.as_str()),
            ("port", &port),
            ("unix_socket_directories", ""),
            // By default, shared memory of a killed server stays in `/dev/shm`; a file goes with the data.
            ("dynamic_shared_memory_type", "mmap"),
        ];
        let chosen = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.into_iter().chain(chosen) {
            postgres.arg("-c").arg(format!("{name}={value}"));
        }
        let started = process.insert(Process::start(postgres, &self.log()));
        started.until("PostgreSQL answers", || self.try_psql(FIRST_DATABASE, "SELECT 1").ok());
    }

    fn try_psql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.psql_at(database);
        psql.args(["--command", sql]);
        output(psql)
    }

    fn psql_at(&self, database: &str) -> Command {
        let mut psql = self.command("psql");
        psql.env("PGCONNECT_TIMEOUT", CONNECT_TIMEOUT);
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1"]);
        psql.args(["--dbname", &self.url(database)]);
        psql
    }
}

/// Runs a command to its end; returns its output, or its error output if it fails.
fn output(mut command: Command) -> Result<String, String> {
    command.stdin(Stdio::null());
    finished(command)
}

/// As [`output`], for a command whose input is set already.
fn finished(mut command: Command) -> Result<String, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = spawner::spawn(command).and_then(std::process::Child::wait_with_output);
    let output = output.map_err(|error| error.to_string())?;
    let text = if output.status.success() { output.stdout } else { output.stderr };
    let text = String::from_utf8_lossy(&text).trim_end().to_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}
