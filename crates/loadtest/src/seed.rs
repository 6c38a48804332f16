//! What scenarios need: a client, users, sessions, access tokens and refresh-token families, made through the
//! admin API (bulk calls where the target has them) and by real flows.

mod command;
mod file;
mod one;
mod passkeys;
mod plant;
mod progress;
mod seen;
mod special;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use symbolon_crypto::{Algorithm, SecretString};

use crate::Target;
use crate::authenticator::Authenticator;
use crate::client::request::{self, Field};

pub use command::{PlantOptions, plant_and_save};
pub(crate) use one::Person;
pub use plant::{SeedOptions, harvest_codes, plant};
pub(crate) use progress::Steps;
pub use seen::Seen;

/// The scope of every seeded token.
pub const SCOPE: &str = "openid profile email";
/// The content type of every form (RFC 6749, appendix B).
pub(crate) const FORM: Field<'static> = ("content-type", "application/x-www-form-urlencoded");

/// A seeded provider. Its credentials are those of a load test, yet they are not printable.
pub struct Seed {
    /// The provider.
    pub target: Target,
    /// The client that all scenarios use.
    pub client: Client,
    /// The name of the session cookie.
    pub cookie: String,
    /// Who can sign in.
    pub users: Vec<User>,
    /// The password of every one of them.
    pub password: SecretString,
    /// Users who have a passkey and no password.
    pub passkeys: Vec<Passkey>,
    /// Live sessions of the users.
    pub sessions: Vec<Session>,
    /// Valid access tokens with [`SCOPE`].
    pub tokens: Vec<AccessToken>,
    /// Refresh-token families, each used by one connection only.
    pub families: Vec<Family>,
    /// Whether a run uses them, or one did that did not end: their tokens are used then.
    pub families_in_use: bool,
    /// Authorization codes to redeem, filled just before the code scenario.
    pub codes: CodePool,
    /// What the provider signs with.
    pub algorithm: Algorithm,
    /// Whether its access tokens can be read.
    pub access_tokens: TokenFormat,
    /// What the reports' mix needs beside, where the seed was planted for it.
    pub special: Option<Special>,
    /// Codes and tokens that the provider handed out lately: none of them may come twice.
    pub seen: Arc<Seen>,
}

impl Seed {
    /// Nothing but the target, for what asks for nothing of a seed.
    pub fn empty(target: Target) -> Self {
        let none = || SecretString::new(String::new());
        Self {
            target,
            client: Client { id: String::new(), secret: none(), redirect_uri: String::new() },
            cookie: String::new(),
            users: Vec::new(),
            password: none(),
            passkeys: Vec::new(),
            sessions: Vec::new(),
            tokens: Vec::new(),
            families: Vec::new(),
            families_in_use: false,
            codes: CodePool::default(),
            algorithm: Algorithm::Rs256,
            access_tokens: TokenFormat::default(),
            special: None,
            seen: Arc::default(),
        }
    }

    /// How many of so many connections can use refresh tokens, one at least: two would rotate the same family.
    pub(crate) fn rotating(&self, connections: usize) -> usize {
        connections.min(self.families.len()).max(1)
    }
}

/// Whether access tokens say what they are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenFormat {
    /// Signed claims (RFC 9068), which are compared with what was asked for.
    #[default]
    Jwt,
    /// Known to the provider alone: only the answer around them is compared.
    Opaque,
}

/// A confidential client with every grant that the scenarios use.
#[derive(Clone)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: SecretString,
    /// Its one redirect URI.
    pub redirect_uri: String,
}

impl Client {
    /// The `Authorization` field of its requests (RFC 6749 2.3.1).
    pub(crate) fn basic(&self) -> String {
        request::basic(&self.id, self.secret.expose())
    }
}

/// Somebody who can sign in.
#[derive(Clone, Serialize, Deserialize)]
pub struct User {
    /// The subject of the tokens.
    pub id: Arc<str>,
    /// What goes into the login page.
    pub username: Arc<str>,
}

/// Somebody who signs in with a passkey.
#[derive(Clone)]
pub struct Passkey {
    /// The user.
    pub user: User,
    /// What has the passkey.
    pub authenticator: Arc<Authenticator>,
    /// Its private key as PKCS#8 in PEM, to be kept in a file.
    pub private_key: SecretString,
}

/// A session and the user whose it is.
#[derive(Clone, Serialize, Deserialize)]
pub struct Session {
    /// The cookie's value.
    pub id: Arc<str>,
    /// The user.
    pub user_id: Arc<str>,
}

/// An access token and the user whom it is about.
#[derive(Clone, Serialize, Deserialize)]
pub struct AccessToken {
    /// The token.
    pub token: Arc<str>,
    /// The user.
    pub user_id: Arc<str>,
    /// Its `exp`, in seconds since 1970.
    pub expires_at: u64,
}

/// Tokens that are not simply valid, and the services that act for users.
#[derive(Default, Serialize, Deserialize)]
pub struct Special {
    /// Valid tokens that came from an exchange by an actor.
    pub exchanged: Vec<ExchangedToken>,
    /// Expired an hour ago, right in everything else.
    pub expired: Vec<Arc<str>>,
    /// Issued, then revoked.
    pub revoked: Vec<Arc<str>>,
    /// Issued to the client, but meant for somebody else than the issuer.
    pub wrong_audience: Vec<Arc<str>>,
    /// Issued to a client that does not exist.
    pub wrong_client: Vec<Arc<str>>,
    /// Valid but for the signature.
    pub bad_signature: Vec<Arc<str>>,
    /// Clients that act for users.
    pub services: Vec<Service>,
}

impl Special {
    /// How many tokens it holds that are not among the revoked.
    pub(crate) fn len(&self) -> usize {
        let refused = [&self.expired, &self.wrong_audience, &self.wrong_client, &self.bad_signature];
        self.exchanged.len() + refused.iter().map(|tokens| tokens.len()).sum::<usize>()
    }

    /// Whether there is something of every kind.
    pub(crate) fn is_complete(&self) -> bool {
        let refused =
            [&self.expired, &self.revoked, &self.wrong_audience, &self.wrong_client, &self.bad_signature];
        !(self.exchanged.is_empty() || self.services.is_empty())
            && refused.iter().all(|tokens| !tokens.is_empty())
    }
}

/// A token that came from an exchange (RFC 8693).
#[derive(Serialize, Deserialize)]
pub struct ExchangedToken {
    /// The token.
    pub token: Arc<str>,
    /// The user.
    pub user_id: Arc<str>,
    /// The client that acts for the user.
    pub actor: Arc<str>,
    /// The resource that it was asked for (RFC 8707).
    pub resource: String,
}

/// A client that acts for users.
#[derive(Serialize, Deserialize)]
pub struct Service {
    /// Its id.
    pub client_id: Arc<str>,
    /// Its access token by client credentials, to be presented as the actor's.
    pub token: Arc<str>,
}

/// A refresh-token family by its current token.
#[derive(Clone, Serialize, Deserialize)]
pub struct Family {
    /// The token that was issued last.
    pub refresh_token: Arc<str>,
    /// The user.
    pub user_id: Arc<str>,
}

/// An authorization code and what redeems it.
#[derive(Serialize, Deserialize)]
pub struct Code {
    /// The code.
    pub code: String,
    /// The PKCE verifier (RFC 7636 4.1).
    pub verifier: String,
    /// The user who must come out.
    pub user_id: Arc<str>,
}

/// Codes that wait to be redeemed, shared by the connections.
#[derive(Clone, Default)]
pub struct CodePool(Arc<Mutex<VecDeque<Code>>>);

impl CodePool {
    /// Adds a code.
    pub fn put(&self, code: Code) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(code);
    }

    /// Takes the oldest code.
    pub fn take(&self) -> Option<Code> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Drops all codes, before they expire unseen.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// How many codes wait.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no code waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
