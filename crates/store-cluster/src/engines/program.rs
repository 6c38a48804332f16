//! Where the servers' programs are, and how they are started.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest PostgreSQL that the store supports.
const OLDEST_POSTGRES: u32 = 15;

/// Where Debian keeps PostgreSQL: one directory per version, none of them in `PATH`.
const POSTGRES: &str = "/usr/lib/postgresql";

/// The unix user that runs a server.
#[derive(Clone, Copy)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl User {
    /// The user that runs PostgreSQL, which refuses to run as root: `postgres` if this process is root, else `None`,
    /// for the user of this process.
    pub(super) fn of_postgres() -> Option<Self> {
        rustix::process::geteuid().is_root().then(|| {
            let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
            users
                .lines()
                .find_map(Self::postgres_in)
                .expect("unix user `postgres` (Debian package `postgresql`)")
        })
    }

    /// The user of a line of passwd(5), if it is `postgres`.
    fn postgres_in(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(':').collect();
        match fields.as_slice() {
            ["postgres", _, uid, gid, ..] => Some(Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? }),
            _ => None,
        }
    }
}

/// The directory of PostgreSQL's programs: that of the newest version installed, else the one in `PATH`.
pub(super) fn postgres_programs() -> PathBuf {
    let versions = fs::read_dir(POSTGRES).into_iter().flatten().flatten().filter_map(|version| {
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        let programs = version.path().join("bin");
        (number >= OLDEST_POSTGRES && programs.join("postgres").is_file()).then_some((number, programs))
    });
    if let Some((_, programs)) = versions.max_by_key(|(number, _)| *number) {
        return programs;
    }
    let postgres = in_path("postgres").unwrap_or_else(|| {
        panic!("PostgreSQL {OLDEST_POSTGRES} or newer is needed, in {POSTGRES} or PATH: install Debian's `postgresql`")
    });
    postgres.parent().expect("a program is in a directory").to_owned()
}

/// `redis-server` in `PATH`.
pub(super) fn redis_server() -> PathBuf {
    in_path("redis-server").expect("redis-server is needed in PATH: install Debian's `redis-server`")
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(default_path);
    env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file())
}

fn default_path() -> OsString {
    "/usr/bin:/bin:/usr/sbin:/sbin".into()
}

/// The command that runs `program` as `user`, if it names one, and that dies with this process. Of the environment it
/// has `PATH` only: what is set for the tests (`PGOPTIONS`, say) is not meant for the servers.
pub(super) fn command(program: &Path, user: Option<User>) -> Command {
    let setpriv = in_path("setpriv").expect("setpriv is needed in PATH: install Debian's `util-linux`");
    let mut command = Command::new(setpriv);
    command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_else(default_path)).env("LC_ALL", "C");
    command.args(["--pdeathsig", "KILL"]);
    if let Some(User { uid, gid }) = user {
        command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string(), "--clear-groups"]);
    }
    command.arg("--").arg(program);
    command
}
