//! Short functions that a server runs in one piece, on keys of one slot.

use redis::Cmd;
use symbolon_store::StoreError;

use super::{Answered, Key, NO_SCRIPT};

/// A script and its digest, by which servers know it.
pub(crate) struct Script {
    source: &'static str,
    digest: String,
}

/// What a script is to work on.
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

    /// Runs it by its digest, and by its source where the server does not know it yet.
    pub(super) async fn run(
        &self,
        call: ScriptCall<'_>,
        send: impl AsyncFn(Cmd) -> Result<Answered, StoreError>,
    ) -> Result<Answered, StoreError> {
        match send(Self::command("EVALSHA", &self.digest, &call)).await {
            Err(StoreError::Failed(text)) if text == NO_SCRIPT => {
                send(Self::command("EVAL", self.source, &call)).await
            }
            answered => answered,
        }
    }
}
