//! Who belongs to a cluster, from CLUSTER SHARDS (Redis 7).

use std::collections::HashMap;

use redis::{ConnectionAddr, ConnectionInfo, RedisError, Value, from_redis_value_ref};

use super::Finding;
use super::node::Node;
use crate::redis::RedisOptions;

/// A node of the cluster, as another one knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    host: String,
    port: u16,
    /// A primary; false for a replica.
    primary: bool,
    /// Its shard has slots.
    slots: bool,
}

impl Member {
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn kind(&self) -> &'static str {
        if self.primary { "primary" } else { "replica" }
    }

    /// Whether it holds slots that nobody else does.
    pub(super) fn is_serving(&self) -> bool {
        self.primary && self.slots
    }

    /// How it is reached: as the seed, at its own address.
    pub(super) fn info(&self, seed: &ConnectionInfo) -> ConnectionInfo {
        let mut address = seed.addr().clone();
        match &mut address {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                (*host, *port) = (self.host.clone(), self.port);
            }
            _ => address = ConnectionAddr::Tcp(self.host.clone(), self.port),
        }
        seed.clone().set_addr(address)
    }
}

/// The members that `seed` knows.
pub(super) async fn of(seed: &Node, options: &RedisOptions) -> Result<Vec<Member>, Finding> {
    let failed = |error: &RedisError| match seed.acl(error, &options.prefix) {
        Some(finding) => finding,
        None => Finding::failing(format!("{}: CLUSTER SHARDS: {error}", seed.name), "look at its log"),
    };
    let shards: Value =
        seed.ask(redis::cmd("CLUSTER").arg("SHARDS")).await.map_err(|error| failed(&error))?;
    let tls = matches!(seed.info.addr(), ConnectionAddr::TcpTls { .. });
    let host = match seed.info.addr() {
        ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.as_str(),
        _ => "localhost",
    };
    parse(&shards, host, tls).map_err(|error| failed(&error.into()))
}

type Fields = HashMap<String, Value>;

/// `unknown` stands for a host that a node does not tell: it is where one asked.
fn parse(shards: &Value, unknown: &str, tls: bool) -> Result<Vec<Member>, redis::ParsingError> {
    let mut members = Vec::new();
    for shard in from_redis_value_ref::<Vec<Fields>>(shards)? {
        let field = |name| shard.get(name).unwrap_or(&Value::Nil);
        let slots = !from_redis_value_ref::<Vec<u16>>(field("slots"))?.is_empty();
        for node in from_redis_value_ref::<Vec<Fields>>(field("nodes"))? {
            let text = |name| {
                from_redis_value_ref::<Option<String>>(node.get(name).unwrap_or(&Value::Nil))
                    .map(Option::unwrap_or_default)
            };
            let host = Some(text("endpoint")?).filter(|host| !matches!(host.as_str(), "" | "?"));
            let host = host.unwrap_or_else(|| unknown.to_owned());
            let port = text(if tls { "tls-port" } else { "port" })?;
            // A node without such a port cannot be reached so, and is found out as one.
            let port = port.parse().unwrap_or(0);
            members.push(Member { host, port, primary: text("role")? == "master", slots });
        }
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn shard(slots: &[i64], nodes: Vec<Value>) -> Value {
        let slots = slots.iter().copied().map(Value::Int).collect();
        Value::Array(vec![text("slots"), Value::Array(slots), text("nodes"), Value::Array(nodes)])
    }

    fn node(endpoint: Value, ports: &[(&str, i64)], role: &str) -> Value {
        let mut fields = vec![text("id"), text("8a"), text("endpoint"), endpoint, text("role"), text(role)];
        fields.extend(ports.iter().flat_map(|(name, port)| [text(name), Value::Int(*port)]));
        Value::Array(fields)
    }

    #[test]
    fn members_are_where_they_say_else_where_one_asked() {
        let both = [("port", 6379), ("tls-port", 6380)];
        let shards = Value::Array(vec![
            shard(
                &[0, 16_383],
                vec![node(text("a.example"), &both, "master"), node(Value::Nil, &both, "replica")],
            ),
            shard(&[], vec![node(text("10.0.0.3"), &both[..1], "master")]),
        ]);
        let members = parse(&shards, "seed", false).unwrap();
        let places: Vec<_> = members.iter().map(|member| (member.place(), member.kind())).collect();
        let expected =
            [("a.example:6379", "primary"), ("seed:6379", "replica"), ("10.0.0.3:6379", "primary")];
        assert_eq!(places, expected.map(|(place, kind)| (place.to_owned(), kind)));
        assert_eq!(members.iter().map(Member::is_serving).collect::<Vec<_>>(), [true, false, false]);
        let with_tls = parse(&shards, "seed", true).unwrap();
        assert_eq!(with_tls.iter().map(|member| member.port).collect::<Vec<_>>(), [6380, 6380, 0]);
    }
}
