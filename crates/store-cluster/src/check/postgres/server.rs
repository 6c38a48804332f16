//! The check's own connection to PostgreSQL, and the finding if there is none.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_postgres::config::Host;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::super::{SLOW, TIMES, TRUST, is_distrust};
use super::{Finding, causes};
use crate::postgres::{PostgresOptions, config, tls};

/// A server that has accepted the connection.
pub(super) struct Server {
    /// Its name in findings: `PostgreSQL at db.example:5432`.
    pub(super) name: String,
    pub(super) user: String,
    client: Client,
    limit: Duration,
    /// The connection, closed with this even if a question is still open.
    _connection: JoinSet<()>,
}

impl Server {
    /// Connects as the store does.
    ///
    /// # Errors
    /// The finding: what is wrong with the URL, the network or the user.
    pub(super) async fn connect(options: &PostgresOptions) -> Result<Self, Finding> {
        let config = config(options).map_err(|error| unreadable(&why_unreadable(options, &error)))?;
        let name = name(&config);
        if name.contains('@') || config.get_dbname().is_some_and(|name| name.contains('@')) {
            return Err(unreadable("there is more than one `@` in it"));
        }
        let target = Target { name: &name, config: &config };
        let connecting = config.connect(MakeRustlsConnect::new(tls()));
        let (client, connection) = match timeout(options.timeout, connecting).await {
            Ok(connected) => connected.map_err(|error| target.refusal(&error))?,
            Err(_) => return Err(target.away(&format!("no answer within {:?}", options.timeout))),
        };
        let mut task = JoinSet::new();
        task.spawn(async {
            // If the connection breaks, the next query returns the error.
            let _ = connection.await;
        });
        let user = target.user().to_owned();
        Ok(Self { name, user, client, limit: options.timeout, _connection: task })
    }

    /// What the server says it is.
    pub(super) async fn version(&self) -> Result<String, Finding> {
        let [version] = self.row("SELECT version()").await?;
        Ok(version)
    }

    /// The one row of a query, whose columns are text; empty for NULL.
    pub(super) async fn row<const N: usize>(&self, sql: &str) -> Result<[String; N], Finding> {
        let row = self.bounded(self.client.query_one(sql, &[])).await?;
        let mut values = [const { String::new() }; N];
        for (index, value) in values.iter_mut().enumerate() {
            let column = row.try_get::<_, Option<String>>(index).map_err(|error| self.unanswered(&error))?;
            *value = column.unwrap_or_default();
        }
        Ok(values)
    }

    /// The shortest time that a statement takes, both ways included.
    pub(super) async fn fastest(&self, sql: &str) -> Result<Duration, Finding> {
        let mut fastest = Duration::MAX;
        for _ in 0..TIMES {
            let began = Instant::now();
            self.bounded(self.client.batch_execute(sql)).await?;
            fastest = fastest.min(began.elapsed());
            if fastest > SLOW {
                break;
            }
        }
        Ok(fastest)
    }

    async fn bounded<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Finding> {
        match timeout(self.limit, answer).await {
            Ok(answered) => answered.map_err(|error| self.unanswered(&error)),
            Err(_) => Err(self.late(self.limit)),
        }
    }

    /// The finding for a server that has not answered in time.
    pub(super) fn late(&self, limit: Duration) -> Finding {
        let what = format!("{}: no answer within {limit:?}", self.name);
        Finding::failing(what, "look at its log, its load and its disk")
    }

    fn unanswered(&self, error: &Error) -> Finding {
        Finding::failing(format!("{}: {}", self.name, causes(error)), "look at its log")
    }
}

fn unreadable(why: &str) -> Finding {
    Finding::refused(
        format!("SYMBOLON_POSTGRES_URL cannot be read: {why}"),
        "write postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=require, with `@` in the password as %40; of \
         sslmode there are disable, prefer and require, which checks the certificate and its name",
    )
}

/// Why the URL cannot be read. If it is malformed, the parser may take a piece of the password for the name of an
/// option, which must not be shown.
fn why_unreadable(options: &PostgresOptions, error: &Error) -> String {
    let text = causes(error);
    let Some((_, option)) = text.split_once("unknown option `") else { return text };
    let behind_password = options.url.expose().rsplit('@').next().unwrap_or_default();
    if behind_password.contains(option.trim_end_matches('`')) { text } else { "unknown option".to_owned() }
}

/// `PostgreSQL at a:5432, b:5432`.
fn name(config: &Config) -> String {
    let ports = config.get_ports();
    let place = |(index, host): (usize, &Host)| {
        let port = ports.get(index).or_else(|| ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(host) => format!("{host}:{port}"),
            Host::Unix(path) => format!("{}/.s.PGSQL.{port}", path.display()),
        }
    };
    let places: Vec<String> = config.get_hosts().iter().enumerate().map(place).collect();
    format!("PostgreSQL at {}", places.join(", "))
}

/// The server to connect to.
struct Target<'a> {
    name: &'a str,
    config: &'a Config,
}

impl Target<'_> {
    fn user(&self) -> &str {
        self.config.get_user().unwrap_or("(none)")
    }

    fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or(self.user())
    }

    fn away(&self, why: &str) -> Finding {
        Finding::refused(
            format!("{} cannot be reached: {why}", self.name),
            "start the server, correct host and port in SYMBOLON_POSTGRES_URL, or open the way (listen_addresses, \
             firewalls)",
        )
    }

    fn refusal(&self, error: &Error) -> Finding {
        if let Some(refusal) = error.as_db_error() {
            return self.refusal_of_server(refusal);
        }
        let (name, text) = (self.name, causes(error));
        if text.contains("server does not support TLS") {
            let mend = "ALTER SYSTEM SET ssl = on, with ssl_cert_file and ssl_key_file; SELECT pg_reload_conf(); or, \
                        only where nobody can listen, sslmode=disable in SYMBOLON_POSTGRES_URL";
            return Finding::refused(
                format!("{name} does not offer TLS, which sslmode=require asks for"),
                mend,
            );
        }
        if is_distrust(&text) {
            return Finding::refused(format!("{name}: its certificate is not trusted: {text}"), TRUST);
        }
        if text.contains("database does not allow writes") {
            return read_only(name, "no host of SYMBOLON_POSTGRES_URL may be written to");
        }
        if text.contains("password missing") {
            let what = format!("{name} asks for the password of user {}, and there is none", self.user());
            return Finding::refused(what, "write it into SYMBOLON_POSTGRES_URL, behind the user");
        }
        self.away(&text)
    }

    /// The finding for an error that the server may send before it accepts the connection.
    fn refusal_of_server(&self, refusal: &DbError) -> Finding {
        let (code, message) = (refusal.code(), refusal.message());
        let (user, database) = (self.user(), self.database());
        let mend = if *code == SqlState::INVALID_CATALOG_NAME {
            format!("CREATE DATABASE \"{database}\" OWNER \"{user}\"")
        } else if *code == SqlState::INVALID_PASSWORD {
            format!(
                "correct user and password in SYMBOLON_POSTGRES_URL (`@` in it is %40), or set it: ALTER ROLE \
                 \"{user}\" PASSWORD '…'"
            )
        } else if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
            format!(
                "let user \"{user}\" in from here, by a line of pg_hba.conf (`hostssl {database} {user} … \
                 scram-sha-256` needs sslmode=require), and CREATE ROLE \"{user}\" LOGIN if there is none"
            )
        } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
            format!("GRANT CONNECT ON DATABASE \"{database}\" TO \"{user}\"")
        } else if *code == SqlState::TOO_MANY_CONNECTIONS {
            "raise max_connections, or lower SYMBOLON_POSTGRES_CONNECTIONS on every node".to_owned()
        } else {
            "wait until the server has started, or look at its log".to_owned()
        };
        Finding::refused(format!("{}: {message} ({})", self.name, code.code()), mend)
    }
}

/// The finding for a server that is read-only.
pub(super) fn read_only(name: &str, why: &str) -> Finding {
    Finding::refused(
        format!("{name} is read-only: {why}"),
        "point SYMBOLON_POSTGRES_URL at the primary, or name all servers and add target_session_attrs=read-write",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_named_with_its_port_and_no_password() {
        let name = |url: &str| name(&url.parse().unwrap());
        assert_eq!(name("postgres://u:secret@a,b:7/d"), "PostgreSQL at a:5432, b:7");
        assert_eq!(name("postgres://u:secret@%2Frun%2Fpg:7/d"), "PostgreSQL at /run/pg/.s.PGSQL.7");
    }
}
