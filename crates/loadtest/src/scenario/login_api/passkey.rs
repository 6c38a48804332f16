//! By a passkey, which a software authenticator has: its signature is made between two requests, by the generator.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::answer::expect_status;
use super::super::cookies::Jar;
use super::super::{Picker, Wrong};
use super::{Method, call, read};
use crate::client::Response;
use crate::seed::{self, Seed, User};

pub(super) struct Passkey {
    seed: Arc<Seed>,
    picker: Picker,
    passkey: usize,
    answer: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    challenge_id: String,
    options: Value,
}

impl Passkey {
    pub(super) fn new(seed: &Arc<Seed>, index: usize) -> Result<Self, &'static str> {
        if seed.passkeys.is_empty() {
            return Err("users with a passkey");
        }
        Ok(Self { seed: Arc::clone(seed), picker: Picker::new(index), passkey: 0, answer: Value::Null })
    }

    fn passkey(&self) -> Option<&seed::Passkey> {
        self.seed.passkeys.get(self.passkey)
    }

    /// The origin of the page, which the passkey is for.
    fn origin(&self) -> &str {
        self.passkey().map_or("", |passkey| &*passkey.authenticator.origin)
    }
}

impl Method for Passkey {
    const STEPS: [&'static str; 2] = ["options", "verify"];
    const PROMPT: Option<&'static str> = None;

    fn begin(&mut self) {
        self.passkey = self.picker.index(self.seed.passkeys.len());
    }

    fn user(&self) -> Option<&User> {
        self.passkey().map(|passkey| &passkey.user)
    }

    fn ask(&self, out: &mut Vec<u8>) {
        let body = json!({ "email": self.user().map_or("", |user| &*user.username) });
        call(&self.seed, "/api/auth/passkey/login/options", (self.origin(), ""), &body, out);
    }

    fn take(&mut self, response: &Response<'_>, _cookies: &mut Jar) -> Result<(), Wrong> {
        expect_status(response, 200)?;
        let asked: Asked = read(response)?;
        let Some(passkey) = self.passkey() else { return Ok(()) };
        let id = symbolon_crypto::encoding::encode(&passkey.authenticator.id);
        let allowed = asked.options.get("allowCredentials").and_then(Value::as_array);
        if !allowed.is_some_and(|allowed| allowed.iter().any(|one| one.get("id") == Some(&json!(id)))) {
            return Err(Wrong::new("allow_credentials", "without the user's passkey"));
        }
        let credential = passkey.authenticator.get(&asked.options);
        let credential = credential.map_err(|error| Wrong::new("options", error.to_string()))?;
        self.answer = json!({ "challengeId": asked.challenge_id, "credential": credential });
        Ok(())
    }

    fn answer(&self, cookies: &str, out: &mut Vec<u8>) {
        call(&self.seed, "/api/auth/passkey/login/verify", (self.origin(), cookies), &self.answer, out);
    }
}
