//! Stores as files: a data directory as an archive, keys of Redis as lines of JSON.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use symbolon_store_cluster::engines::RedisCluster;

/// Lua for Redis: converts a text to hexadecimal.
const HEX: &str = "local function hex(text)
    return (text:gsub('.', function(byte) return string.format('%02x', byte:byte()) end))
end ";

/// Lua for Redis: reads the members of a sorted set with their scores, or a text.
const READ: &str = "if redis.call('TYPE', KEYS[1]).ok == 'zset' then
    local lines = {}
    local members = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
    for i = 1, #members, 2 do lines[#lines + 1] = hex(members[i]) .. ' ' .. members[i + 1] end
    return table.concat(lines, ',')
end
return redis.call('GET', KEYS[1])";

const ADD: &str =
    "local bytes = ARGV[1]:gsub('..', function(byte) return string.char(tonumber(byte, 16)) end)
return redis.call('ZADD', KEYS[1], ARGV[2], bytes)";

/// Packs the directory `data` in `parent` into a file. Holes stay holes.
pub fn pack(parent: &Path, archive: &Path) {
    run(Command::new("tar")
        .args(["--create", "--sparse", "--gzip", "--owner=0", "--group=0", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(parent)
        .arg("data"));
}

/// Unpacks such an archive into `parent`.
pub fn unpack(archive: &Path, parent: &Path) {
    run(Command::new("tar")
        .args(["--extract", "--gzip", "--no-same-owner", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(parent));
}

fn run(command: &mut Command) {
    let output = command.output().expect("tar");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Prefixes of the keys that live for minutes.
const SHORT_LIVED: [&str; 2] = ["challenge:", "code:"];

/// Every key below a prefix, one per line. Without keys that live for minutes, and without those that a process of
/// Redis confirmed, which mean nothing in another process.
pub fn copied_redis(redis: &RedisCluster, prefix: &str) -> String {
    let begin = format!("{{{prefix}:");
    let mut lines = Vec::new();
    for node in redis.nodes().iter().filter(|node| node.replicates.is_none()) {
        for key in redis.cli(node.index, &["KEYS", &format!("{begin}*")]).lines() {
            let rest = key.strip_prefix(&begin).expect("the prefix");
            if rest.contains("}e:") || SHORT_LIVED.iter().any(|begin| rest.starts_with(begin)) {
                continue;
            }
            let kind = redis.cli(node.index, &["TYPE", key]);
            let read = redis.cli(node.index, &["EVAL", &format!("{HEX}{READ}"), "1", key]);
            lines.push(match kind.as_str() {
                "zset" => json!({ "key": rest, "zset": read.split(',').collect::<Vec<_>>() }).to_string(),
                "string" => json!({ "key": rest, "string": read }).to_string(),
                other => panic!("{key} is a {other}"),
            });
        }
    }
    lines.sort();
    lines.join("\n") + "\n"
}

/// Writes the keys below another prefix. They do not expire, because a test has its own clock.
pub fn load_redis(redis: &RedisCluster, lines: &str, prefix: &str) {
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let key = format!("{{{prefix}:{}", line["key"].as_str().expect("key"));
        let node = redis.primary_of(&key);
        if let Some(text) = line["string"].as_str() {
            redis.cli(node, &["SET", &key, text]);
        }
        for member in line["zset"].as_array().into_iter().flatten() {
            let (member, score) = member.as_str().and_then(|m| m.split_once(' ')).expect("a member");
            redis.cli(node, &["EVAL", ADD, "1", &key, member, score]);
        }
    }
}
