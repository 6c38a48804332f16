//! The nodes of a cluster, from CLUSTER SHARDS (Redis 7).

use std::collections::HashMap;

use redis::{ConnectionAddr, ConnectionInfo, ParsingError, Value, from_redis_value_ref};

/// A node of the cluster, as another one knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    host: String,
    port: u16,
    /// A primary; false for a replica.
    primary: bool,
    /// The hash slots of its shard, by ranges: first and last.
    slots: Vec<(u16, u16)>,
}

impl Member {
    /// Host and port.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// `primary` or `replica`.
    pub(crate) fn kind(&self) -> &'static str {
        if self.primary { "primary" } else { "replica" }
    }

    /// Whether it is a primary that has slots.
    pub(crate) fn is_serving(&self) -> bool {
        self.primary && !self.slots.is_empty()
    }

    /// The hash slots of its shard, by ranges: first and last.
    pub(super) fn slots(&self) -> &[(u16, u16)] {
        &self.slots
    }

    /// Whether its address is known.
    pub(super) fn is_located(&self) -> bool {
        !self.host.is_empty() && self.port != 0
    }

    /// The settings for a connection to it: the seed's, with its own address.
    pub(crate) fn info(&self, seed: &ConnectionInfo) -> ConnectionInfo {
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

type Fields = HashMap<String, Value>;

/// The members in an answer to CLUSTER SHARDS. `unknown` is the host of each node for which the answer gives none; such
/// a node is at the host that was asked.
pub(crate) fn members(shards: &Value, unknown: &str, tls: bool) -> Result<Vec<Member>, ParsingError> {
    let mut members = Vec::new();
    for shard in from_redis_value_ref::<Vec<Fields>>(shards)? {
        let field = |name| shard.get(name).unwrap_or(&Value::Nil);
        let bounds = from_redis_value_ref::<Vec<u16>>(field("slots"))?;
        let (ranges, _) = bounds.as_chunks();
        let slots: Vec<(u16, u16)> = ranges.iter().map(|[first, last]| (*first, *last)).collect();
        for node in from_redis_value_ref::<Vec<Fields>>(field("nodes"))? {
            let text = |name| {
                from_redis_value_ref::<Option<String>>(node.get(name).unwrap_or(&Value::Nil))
                    .map(Option::unwrap_or_default)
            };
            let host = Some(text("endpoint")?).filter(|host| !matches!(host.as_str(), "" | "?"));
            let host = host.unwrap_or_else(|| unknown.to_owned());
            let port = text(if tls { "tls-port" } else { "port" })?;
            // A node without such a port gets 0: connections to it fail, and the short way skips it.
            let port = port.parse().unwrap_or(0);
            let (primary, slots) = (text("role")? == "master", slots.clone());
            members.push(Member { host, port, primary, slots });
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
        let found = members(&shards, "seed", false).unwrap();
        let places: Vec<_> = found.iter().map(|member| (member.place(), member.kind())).collect();
        let expected =
            [("a.example:6379", "primary"), ("seed:6379", "replica"), ("10.0.0.3:6379", "primary")];
        assert_eq!(places, expected.map(|(place, kind)| (place.to_owned(), kind)));
        assert_eq!(found.iter().map(Member::is_serving).collect::<Vec<_>>(), [true, false, false]);
        let with_tls = members(&shards, "seed", true).unwrap();
        assert_eq!(with_tls.iter().map(|member| member.port).collect::<Vec<_>>(), [6380, 6380, 0]);
    }
}
