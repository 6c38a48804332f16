//! Registers a passkey for each of its users, who have neither password nor session: where the test endpoints are on, the login
//! API lets load scripts do so.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::answer::{expect_eq, expect_status};
use super::super::{Next, Right, Visitor, Wrong};
use super::{call, origin, read};
use crate::authenticator::{Authenticator, AuthenticatorError};
use crate::client::Response;
use crate::seed::{Passkey, Seed, User};

/// Where passkeys go that were registered.
pub(crate) type Registered = Arc<Mutex<Vec<Passkey>>>;

pub(crate) struct RegistrationVisitor {
    seed: Arc<Seed>,
    origin: String,
    users: Vec<User>,
    /// Who registers, and what the provider gets to see, once it has said what it wants.
    user: Option<User>,
    made: Option<(Authenticator, Value)>,
    registered: Registered,
}

#[derive(Deserialize)]
struct Asked {
    options: Value,
    #[serde(rename = "userId")]
    user_id: String,
}

impl RegistrationVisitor {
    pub(crate) fn new(
        seed: &Arc<Seed>,
        users: Vec<User>,
        registered: &Registered,
    ) -> Result<Self, &'static str> {
        Ok(Self {
            seed: Arc::clone(seed),
            origin: origin(&seed.target.issuer).ok_or("an issuer that is a URL")?,
            users,
            user: None,
            made: None,
            registered: Arc::clone(registered),
        })
    }

    fn make(&self, options: &Value) -> Result<(Authenticator, Value), AuthenticatorError> {
        let mut authenticator = Authenticator::new(&self.origin)?;
        // As in the reports' runs, whose authenticator attests itself.
        (authenticator.is_synced, authenticator.attests) = (true, true);
        let credential = authenticator.create(options)?;
        Ok((authenticator, credential))
    }

    fn keep(&mut self) -> Result<(), AuthenticatorError> {
        let (Some(user), Some((authenticator, _))) = (self.user.take(), self.made.take()) else {
            return Ok(());
        };
        let private_key = authenticator.private_key()?;
        let passkey = Passkey { user, authenticator: Arc::new(authenticator), private_key };
        self.registered.lock().unwrap_or_else(PoisonError::into_inner).push(passkey);
        Ok(())
    }
}

impl Visitor for RegistrationVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let (path, body) = match (&self.user, &self.made) {
            (Some(user), Some((_, credential))) => (
                "/api/auth/passkey/register/verify",
                json!({ "userId": user.id, "credential": credential, "deviceName": "Load test" }),
            ),
            _ => {
                let Some(user) = self.users.pop() else { return Next::Exhausted };
                let body = json!({ "userId": user.id, "email": user.username });
                self.user = Some(user);
                ("/api/auth/passkey/register/options", body)
            }
        };
        call(&self.seed, path, (&self.origin, ""), &body, out);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        let unusable = |error: AuthenticatorError| Wrong::new("options", error.to_string());
        expect_status(response, 200)?;
        if self.made.is_some() {
            return self.keep().map(|()| Right::default()).map_err(unusable);
        }
        let asked: Asked = read(response)?;
        expect_eq("user_id", &asked.user_id, self.user.as_ref().map_or("", |user| &*user.id))?;
        self.made = Some(self.make(&asked.options).map_err(unusable)?);
        Ok(Right::default())
    }

    fn goes_on(&self) -> bool {
        self.made.is_some()
    }
}
