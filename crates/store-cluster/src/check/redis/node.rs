//! The check's own connection to one server, and the reason if there is none.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue,
    RedisError, ServerErrorKind,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Finding, TRUST, causes, is_distrust};
use crate::redis::RedisOptions;

/// Why a server cannot be examined.
pub(super) enum Trouble {
    /// It does not answer. How bad that is depends on which server it is.
    Away(String),
    /// It answers, and a setting there or here is wrong.
    Wrong(Finding),
}

/// A server that has accepted the connection.
pub(super) struct Node {
    /// Its name in findings: `Redis at 10.0.0.1:6379`.
    pub(super) name: String,
    pub(super) info: ConnectionInfo,
    /// Every field of INFO.
    pub(super) facts: Facts,
    connection: MultiplexedConnection,
}

/// The fields of an answer to INFO: lines of the form `name:value`.
pub(super) struct Facts(HashMap<String, String>);

impl Facts {
    pub(super) fn parse(text: &str) -> Self {
        let field =
            |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(text.lines().filter_map(|line| field(line.trim())).collect())
    }

    /// A field; empty if it is not there.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The values of `slave0`, `slave1` and so on.
    pub(super) fn replicas(&self) -> impl Iterator<Item = &str> {
        let is_replica =
            |name: &str| name.strip_prefix("slave").and_then(|number| number.parse::<u32>().ok()).is_some();
        self.0.iter().filter(move |(name, _)| is_replica(name)).map(|(_, value)| value.as_str())
    }
}

impl Node {
    /// Connects as the store does, and asks the server what it is.
    pub(super) async fn reach(info: &ConnectionInfo, options: &RedisOptions) -> Result<Self, Trouble> {
        let name = format!("Redis at {}", info.addr());
        let limit = options.timeout;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(limit))
            .set_response_timeout(Some(limit));
        let connecting = async {
            let client = Client::open(info.clone())?;
            client.get_multiplexed_async_connection_with_config(&config).await
        };
        let connection = match connecting.await {
            Ok(connection) => connection,
            Err(error) => return Err(trouble(info, &name, &error, options).await),
        };
        let mut node = Self { name, info: info.clone(), facts: Facts(HashMap::new()), connection };
        let answer = node.ask::<String>(&redis::cmd("INFO")).await;
        match answer {
            Ok(text) => node.facts = Facts::parse(&text),
            Err(error) => return Err(trouble(info, &node.name, &error, options).await),
        }
        Ok(node)
    }

    /// One command's answer, within the timeout.
    pub(super) async fn ask<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, RedisError> {
        cmd.query_async(&mut self.connection.clone()).await
    }

    pub(super) fn is_clustered(&self) -> bool {
        self.facts.get("cluster_enabled") == "1"
    }

    pub(super) fn is_replica(&self) -> bool {
        self.facts.get("role") == "slave"
    }

    /// The finding for an error that shows that the user lacks a permission which the store needs.
    pub(super) fn acl(&self, error: &RedisError, prefix: &str) -> Option<Finding> {
        acl(&self.info, &self.name, error, prefix)
    }
}

fn acl(info: &ConnectionInfo, name: &str, error: &RedisError, prefix: &str) -> Option<Finding> {
    if error.kind() != ErrorKind::Server(ServerErrorKind::NoPerm) {
        return None;
    }
    let user = info.redis_settings().username().unwrap_or("default");
    let what =
        format!("{name}: user {user} may not do what the store does: {}", error.detail().unwrap_or(""));
    let mend = format!(
        "ACL SETUSER {user} ~{{{prefix}:* &{prefix}:* +@all -@admin -@dangerous +info +config|get, and ACL SAVE"
    );
    Some(Finding::refused(what, mend))
}

/// Why connecting, or the first query, has failed.
async fn trouble(info: &ConnectionInfo, name: &str, error: &RedisError, options: &RedisOptions) -> Trouble {
    let text = causes(error);
    if error.kind() == ErrorKind::AuthenticationFailed || error.code() == Some("NOAUTH") {
        let user = info.redis_settings().username().unwrap_or("default");
        let what =
            format!("{name} does not accept user {user} with the password that is given, or not given");
        let mend = format!(
            "correct user and password in SYMBOLON_REDIS_URLS (`@` in it is %40), or set it on every node: ACL SETUSER \
             {user} on >PASSWORD"
        );
        return Trouble::Wrong(Finding::refused(what, mend));
    }
    if let Some(finding) = acl(info, name, error, &options.prefix) {
        return Trouble::Wrong(finding);
    }
    if is_distrust(&text) {
        let mend = format!(
            "{TRUST}; the nodes of a cluster announce that name by cluster-announce-hostname, with \
             cluster-preferred-endpoint-type hostname"
        );
        return Trouble::Wrong(Finding::refused(
            format!("{name}: its certificate is not trusted: {text}"),
            mend,
        ));
    }
    if let ConnectionAddr::TcpTls { host, port, .. } = info.addr()
        && speaks_plainly(host, *port, options.timeout).await
    {
        let mend = "set tls-port, tls-cert-file and tls-key-file on every node (tls-cluster and tls-replication too), or, \
                    only where nobody can listen, write redis:// in SYMBOLON_REDIS_URLS";
        let what = format!("{name} does not offer TLS, which rediss:// asks for");
        return Trouble::Wrong(Finding::refused(what, mend));
    }
    let passing = error.code() == Some("LOADING") || text.contains("max number of clients");
    if matches!(error.kind(), ErrorKind::Server(_)) && !passing {
        let finding = Finding::refused(format!("{name} refuses the connection: {text}"), "look at its log");
        return Trouble::Wrong(finding);
    }
    Trouble::Away(text)
}

/// Whether a server answers without TLS.
async fn speaks_plainly(host: &str, port: u16, limit: Duration) -> bool {
    let asking = async {
        let mut stream = TcpStream::connect((host, port)).await?;
        stream.write_all(b"PING\r\n").await?;
        stream.read_u8().await
    };
    // A TLS server sends nothing, or an alert, which begins with another byte.
    matches!(timeout(limit, asking).await, Ok(Ok(b'+' | b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_info_are_found_by_name() {
        let text = "# Replication\r\nrole:master\r\nconnected_slaves:1\r\nslaves_waiting:x\r\n\
                    slave0:ip=127.0.0.1,port=7000,state=online,offset=14,lag=0\r\n";
        let facts = Facts::parse(text);
        assert_eq!(
            (facts.get("role"), facts.get("connected_slaves"), facts.get("other")),
            ("master", "1", "")
        );
        let replicas: Vec<_> = facts.replicas().collect();
        assert_eq!(replicas, ["ip=127.0.0.1,port=7000,state=online,offset=14,lag=0"]);
    }
}
