//! What the settings of PostgreSQL mean for the store.

use super::Finding;
use super::server::{Server, read_only};

/// The oldest version that is tested.
const OLDEST: u32 = 15;

/// The name of a database that speaks PostgreSQL's protocol, but on which the store is not tested.
pub(super) fn relative(version: &str) -> Option<&'static str> {
    [("CockroachDB", "CockroachDB"), ("-YB-", "YugabyteDB")]
        .into_iter()
        .find_map(|(mark, name)| version.contains(mark).then_some(name))
}

/// The finding for such a database.
pub(super) fn untested(server: &str, relative: &str) -> Finding {
    Finding::warning(
        format!(
            "{server} is {relative}, on which this program is not tested; its settings were not examined"
        ),
        format!("use PostgreSQL {OLDEST} or newer, or try it with your own load before you rely on it"),
    )
}

/// The settings of PostgreSQL, as this role sees them in this database.
pub(super) struct Settings {
    version_number: u32,
    version: String,
    in_recovery: bool,
    read_only: bool,
    fsync: String,
    full_page_writes: String,
    synchronous_commit: String,
    standbys: String,
    max_connections: usize,
    /// Amazon Aurora and Neon keep the log by other means, and say so by `fsync = off`.
    own_storage: bool,
}

impl Settings {
    pub(super) async fn ask(server: &Server) -> Result<Self, Finding> {
        let sql = "SELECT current_setting('server_version_num'), current_setting('server_version'),
                          CAST(pg_is_in_recovery() AS TEXT), current_setting('transaction_read_only'),
                          current_setting('fsync'), current_setting('full_page_writes'),
                          current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
                          current_setting('max_connections'),
                          CAST(to_regproc('pg_catalog.aurora_version') IS NOT NULL
                               OR current_setting('neon.timeline_id', true) IS NOT NULL AS TEXT)";
        let [number, version, recovery, read_only, fsync, pages, commit, standbys, connections, storage] =
            server.row(sql).await?;
        Ok(Self {
            version_number: number.parse().unwrap_or(0),
            version,
            in_recovery: recovery == "true",
            read_only: read_only == "on",
            fsync,
            full_page_writes: pages,
            synchronous_commit: commit,
            standbys,
            max_connections: connections.parse().unwrap_or(0),
            own_storage: storage == "true",
        })
    }

    pub(super) fn is_writable(&self) -> bool {
        !self.in_recovery && !self.read_only
    }

    pub(super) fn judge(&self, server: &Server, pool: usize) -> Vec<Finding> {
        let name = &server.name;
        let mut findings = vec![self.of_version(name)];
        findings.extend(self.of_writing(name, &server.user));
        if self.own_storage {
            findings.push(untested(name, "Amazon Aurora or Neon"));
        } else {
            findings.extend(self.of_durability(name));
            findings.extend(self.of_standbys(name));
        }
        findings.push(self.of_connections(name, pool));
        findings
    }

    fn of_version(&self, name: &str) -> Finding {
        let version = &self.version;
        if self.version_number / 10_000 >= OLDEST {
            return Finding::fine(format!("{name}: version {version}"));
        }
        let what = format!("{name}: version {version} is older than {OLDEST}");
        Finding::refused(what, format!("move the database to PostgreSQL {OLDEST} or newer (pg_upgrade)"))
    }

    fn of_writing(&self, name: &str, user: &str) -> Option<Finding> {
        if self.in_recovery {
            return Some(read_only(name, "pg_is_in_recovery() is true, it is a standby"));
        }
        let mend = format!(
            "ALTER ROLE \"{user}\" RESET default_transaction_read_only, and the same for the database; if a failover \
             set it, point SYMBOLON_POSTGRES_URL at the primary"
        );
        let what = format!("{name} is read-only for {user}: transaction_read_only = on");
        self.read_only.then(|| Finding::refused(what, mend))
    }

    fn of_durability(&self, name: &str) -> Vec<Finding> {
        let settings = [
            ("fsync", &self.fsync, "a crash of the machine can destroy the database"),
            ("full_page_writes", &self.full_page_writes, "a crash of the machine can tear pages of it"),
            (
                "synchronous_commit",
                &self.synchronous_commit,
                "a crash of the server forgets revocations that were confirmed",
            ),
        ];
        let refused = |(key, value, why): (&str, &String, &str)| {
            let scope = if key == "synchronous_commit" {
                "; where role, database or the URL's options set it, reset it there"
            } else {
                ""
            };
            let mend = format!("ALTER SYSTEM SET {key} = on; SELECT pg_reload_conf(){scope}");
            (value == "off").then(|| Finding::refused(format!("{name}: {key} = off: {why}"), mend))
        };
        settings.into_iter().filter_map(refused).collect()
    }

    fn of_standbys(&self, name: &str) -> Option<Finding> {
        let why = if self.standbys.is_empty() {
            "synchronous_standby_names is empty".to_owned()
        } else if self.synchronous_commit == "local" {
            format!("synchronous_commit = local does not wait for {}", self.standbys)
        } else {
            return None;
        };
        let what = format!(
            "{name}: {why}: if the primary is lost together with its disk, its last commits are lost as well"
        );
        let mend = "add a standby and ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (NAME, …)', with \
                    synchronous_commit = on; or keep the data on a disk that survives the machine";
        Some(Finding::warning(what, mend))
    }

    fn of_connections(&self, name: &str, pool: usize) -> Finding {
        let what =
            format!("{name}: max_connections = {}, and this node holds up to {pool}", self.max_connections);
        if self.max_connections >= pool.saturating_mul(2) {
            return Finding::fine(what);
        }
        Finding::warning(
            format!("{what}: there is no room for a second node"),
            "lower SYMBOLON_POSTGRES_CONNECTIONS, or ALTER SYSTEM SET max_connections to what all nodes hold and 10 \
             more, and restart the server",
        )
    }
}

/// What this role may do.
pub(super) struct Privileges {
    database: String,
    schema: String,
    may_create: bool,
    has_tables: bool,
}

impl Privileges {
    pub(super) async fn ask(server: &Server) -> Result<Self, Finding> {
        let sql = "SELECT CAST(current_database() AS TEXT), CAST(current_schema() AS TEXT),
                          CAST(has_schema_privilege(current_schema(), 'CREATE') AS TEXT),
                          CAST(to_regclass('schema_steps') IS NOT NULL AS TEXT)";
        let [database, schema, create, tables] = server.row(sql).await?;
        Ok(Self { database, schema, may_create: create == "true", has_tables: tables == "true" })
    }

    pub(super) fn judge(&self, server: &Server) -> Option<Finding> {
        let Server { name, user, .. } = server;
        let Self { database, schema, .. } = self;
        if self.may_create {
            return None;
        }
        if schema.is_empty() {
            let what = format!("{name}: {user} has no schema to make tables in: its search_path names none");
            let mend = format!(
                "CREATE SCHEMA \"{user}\" AUTHORIZATION \"{user}\", or GRANT USAGE, CREATE ON SCHEMA public TO \"{user}\""
            );
            return Some(Finding::refused(what, mend));
        }
        let what = format!("{name}: {user} may not create tables in schema {schema} of {database}");
        let mend =
            format!("GRANT USAGE, CREATE ON SCHEMA \"{schema}\" TO \"{user}\", in database \"{database}\"");
        Some(if self.has_tables {
            Finding::warning(
                format!("{what}: a newer version of this program cannot bring them up to date"),
                mend,
            )
        } else {
            Finding::refused(what, mend)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Level;
    use super::*;

    fn settings(version_number: u32) -> Settings {
        Settings {
            version_number,
            version: "x".into(),
            in_recovery: false,
            read_only: false,
            fsync: "on".into(),
            full_page_writes: "on".into(),
            synchronous_commit: "on".into(),
            standbys: "one".into(),
            max_connections: 100,
            own_storage: false,
        }
    }

    #[test]
    fn versions_before_15_are_refused() {
        for (number, level) in [(140_019, Level::Refused), (150_000, Level::Fine), (180_001, Level::Fine)] {
            assert_eq!(settings(number).of_version("PostgreSQL at db:5432").level, level, "{number}");
        }
    }

    #[test]
    fn relatives_are_known_by_what_they_say() {
        let cockroach = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/20)";
        let yugabyte = "PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang, 64-bit";
        let postgres = "PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc";
        assert_eq!(relative(cockroach), Some("CockroachDB"));
        assert_eq!(relative(yugabyte), Some("YugabyteDB"));
        assert_eq!(relative(postgres), None);
        assert_eq!(untested("PostgreSQL at db:5432", "CockroachDB").level, Level::Warning);
    }

    #[test]
    fn a_standby_that_commits_do_not_wait_for_is_none() {
        assert_eq!(settings(150_000).of_standbys("s"), None);
        let local = Settings { synchronous_commit: "local".into(), ..settings(150_000) };
        assert!(local.of_standbys("s").unwrap().what.contains("synchronous_commit = local"));
        let none = Settings { standbys: String::new(), ..settings(150_000) };
        assert!(none.of_standbys("s").unwrap().what.contains("synchronous_standby_names is empty"));
    }
}
