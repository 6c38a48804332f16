//! Lua scripts, which a server runs atomically, on keys of one slot.

use redis::Cmd;

use super::Key;

/// A script and its digest, by which servers know it.
pub(crate) struct Script {
    source: &'static str,
    digest: String,
}

/// The keys and arguments of one run of a script.
pub(crate) struct ScriptCall<'a> {
    /// Keys of one hash tag.
    pub(crate) keys: &'a [&'a Key],
    /// Arguments, in order.
    pub(crate) arguments: &'a [&'a [u8]],
}

impl Script {
    /// A script in Lua.
    pub(crate) fn new(source: &'static str) -> Self {
        Self { source, digest: redis::Script::new(source).get_hash().to_owned() }
    }

    fn command(name: &str, script: &str, call: &ScriptCall<'_>) -> Cmd {
        let mut cmd = redis::cmd(name);
        cmd.arg(script).arg(call.keys.len());
        for key in call.keys {
            cmd.arg(key.as_bytes());
        }
        for argument in call.arguments {
            cmd.arg(*argument);
        }
        cmd
    }

    /// The command that runs the script if the server has it cached.
    pub(super) fn by_digest(&self, call: &ScriptCall<'_>) -> Cmd {
        Self::command("EVALSHA", &self.digest, call)
    }

    /// The command that runs the script on any server, and makes the server cache it.
    pub(super) fn by_source(&self, call: &ScriptCall<'_>) -> Cmd {
        Self::command("EVAL", self.source, call)
    }
}
