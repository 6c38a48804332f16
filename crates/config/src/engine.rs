//! URLs of PostgreSQL and Redis, checked as far as is possible without connecting. Error messages never quote a part
//! of a URL, because any part may be the password.

use std::net::IpAddr;

use url::form_urlencoded;
use url::{Host, Url};

use super::error::Mistake;

/// Checks a PostgreSQL URL (`postgres://user:password@host:port,host:port/database?name=value`). True if data may
/// leave this machine unencrypted.
pub(super) fn postgres(text: &str) -> Result<bool, Mistake> {
    const EXAMPLE: &str = "write it as in \"postgres://user:password@host:5432/database?sslmode=require\"";
    let refuse = |problem: &str| Err(Mistake::new(problem, EXAMPLE));
    let Some(rest) = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://")) else {
        return refuse("is not a postgres:// or postgresql:// URL");
    };
    // The driver ends the credentials at the first `@`, so an `@` in a password must be written `%40`.
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let (hosts, rest) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let (mut encrypted, mut beyond, mut named) = (false, false, false);
    for host in hosts.split(',').filter(|host| !host.is_empty()) {
        let Some(host) = host_of(host) else { return refuse("names a host or port that cannot be read") };
        named = true;
        beyond |= !is_here(host);
    }
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match (&*name, &*value) {
            ("sslmode", "require") => encrypted = true,
            ("sslmode", "disable" | "prefer") => encrypted = false,
            ("sslmode", _) => {
                let mend = "write sslmode=require, which checks the server's certificate and name (authorities: the \
                            machine's, or SSL_CERT_FILE), or prefer or disable";
                return Err(Mistake::new("has an sslmode that is not known", mend));
            }
            ("host", hosts) => {
                named = true;
                beyond |= !hosts.split(',').all(is_here);
            }
            _ => {}
        }
    }
    if !named {
        return refuse("names no host");
    }
    Ok(beyond && !encrypted)
}

/// The host of `host`, `host:port` or `[address]:port`.
fn host_of(text: &str) -> Option<&str> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))?)
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let is_port = port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0);
    (is_port && !host.is_empty()).then_some(host)
}

/// Whether a host is this machine: loopback, or the directory of a Unix socket.
fn is_here(host: &str) -> bool {
    let name = host.to_ascii_lowercase();
    host.starts_with('/')
        || name.starts_with("%2f")
        || name == "localhost"
        || name.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Checks the URLs of one Redis Cluster. True if data may leave this machine unencrypted.
pub(super) fn redis(texts: &[&str]) -> Result<bool, Mistake> {
    const EXAMPLE: &str =
        "write redis://host:6379, or rediss://host:6379 for TLS, several of them separated by commas";
    let (mut first, mut clear) = (None, false);
    for text in texts {
        let url = Url::parse(text).map_err(|_| Mistake::new("holds what is not a URL", EXAMPLE))?;
        let encrypted = match url.scheme() {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            _ => return Err(Mistake::new("holds a URL that is not redis:// or rediss://", EXAMPLE)),
        };
        let Some(host) = url.host() else { return Err(Mistake::new("holds a URL without a host", EXAMPLE)) };
        if url.fragment().is_some() {
            let mend = "leave out what follows `#`: certificates are always checked";
            return Err(Mistake::new("holds a URL with a fragment", mend));
        }
        let of_all = (encrypted, url.username().to_owned(), url.password().map(str::to_owned));
        if *first.get_or_insert_with(|| of_all.clone()) != of_all {
            let mend = "give all URLs the same user and password, and TLS to all or none";
            return Err(Mistake::new("holds URLs that differ in more than host and port", mend));
        }
        let here = match host {
            Host::Domain(name) => is_here(name),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        clear |= !here && !encrypted;
    }
    if texts.is_empty() {
        return Err(Mistake::new("holds no URL", EXAMPLE));
    }
    Ok(clear)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(found: Result<bool, Mistake>) -> String {
        found.unwrap_err().problem
    }

    #[test]
    fn a_database_is_reached_in_the_clear_only_where_it_says_so_or_is_here() {
        for (url, clear) in [
            ("postgres://u:p@127.0.0.1:5432/db", false),
            ("postgresql://localhost/db", false),
            ("postgres://u:p@[::1]/db", false),
            ("postgres://u:p@[::1]:5432", false),
            ("postgres:///db?host=/run/postgresql", false),
            ("postgres://%2Frun%2Fpostgresql/db", false),
            ("postgres://u:p@db.example/db", true),
            ("postgres://u:p@db.example/db?sslmode=prefer", true),
            ("postgres://u:p@db.example?sslmode=require", false),
            (
                "postgres://a.example:5432,b.example:5433/db?sslmode=require&target_session_attrs=read-write",
                false,
            ),
            ("postgres://localhost,b.example/db", true),
            ("postgres://u:p@10.0.0.1/db?connect_timeout=3", true),
            ("postgres:///db?host=db.example", true),
        ] {
            assert_eq!(postgres(url).unwrap(), clear, "{url}");
        }
    }

    #[test]
    fn a_database_that_cannot_be_one_is_refused_by_what_is_wrong() {
        for (url, part) in [
            ("", "is not a postgres://"),
            ("mysql://u:p@h/db", "is not a postgres://"),
            ("POSTGRES://h/db", "is not a postgres://"),
            ("host=h user=u", "is not a postgres://"),
            ("postgres://", "names no host"),
            ("postgres:///db", "names no host"),
            ("postgres://h:port/db", "host or port"),
            ("postgres://h:0/db", "host or port"),
            ("postgres://h:65536/db", "host or port"),
            ("postgres://[::1/db", "host or port"),
            ("postgres://:5432/db", "host or port"),
            ("postgres://h/db?sslmode=verify-full", "sslmode"),
        ] {
            assert!(problem(postgres(url)).contains(part), "{url}");
        }
    }

    #[test]
    fn redis_is_reached_in_the_clear_only_by_redis_beyond_here() {
        for (urls, clear) in [
            (&["redis://127.0.0.1:6379"][..], false),
            (&["redis://localhost", "redis://[::1]:7000/"], false),
            (&["valkey://u:p@10.0.0.1:6379"], true),
            (&["redis://127.0.0.1:1", "redis://cache.example:1"], true),
            (&["rediss://:p@a.example", "rediss://:p@b.example:7000"], false),
            (&["valkeys://a.example"], false),
        ] {
            assert_eq!(redis(urls).unwrap(), clear, "{urls:?}");
        }
    }

    #[test]
    fn redis_that_cannot_be_one_cluster_is_refused_by_what_is_wrong() {
        for (urls, part) in [
            (&[][..], "no URL"),
            (&["127.0.0.1:6379"], "not"),
            (&["http://127.0.0.1:6379"], "not redis://"),
            (&["unix:///run/redis.sock"], "not redis://"),
            (&["redis://"], "without a host"),
            (&["redis://h:port"], "not a URL"),
            (&["rediss://h#insecure"], "fragment"),
            (&["redis://h", "rediss://i"], "differ"),
            (&["redis://u:p@h", "redis://u:q@i"], "differ"),
        ] {
            assert!(problem(redis(urls)).contains(part), "{urls:?}");
        }
    }
}
