//! Seeds in files: planted once, used by many runs.
//!
//! A file holds credentials of a load test: it is readable by its owner alone, and worth no more than the provider
//! that it was planted in.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use symbolon_crypto::{Algorithm, SecretBytes, SecretString, encoding};

use super::plant::bulk_families;
use super::{
    AccessToken, Client, CodePool, Family, Passkey, Seed, Session, Special, Steps, TokenFormat, User,
};
use crate::admin::Admin;
use crate::authenticator::Authenticator;
use crate::scenario::{Scenario, origin};
use crate::{LoadtestError, Target};

/// The form of the file.
const VERSION: u32 = 1;

/// What is written. Secrets are told here, and nowhere else.
#[derive(Serialize)]
struct Saving<'a> {
    version: u32,
    issuer: &'a str,
    client: SavingClient<'a>,
    cookie: &'a str,
    password: &'a str,
    users: &'a [User],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passkeys: Vec<SavingPasskey<'a>>,
    sessions: &'a [Session],
    tokens: &'a [AccessToken],
    families: &'a [Family],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    families_in_use: bool,
    special: Option<&'a Special>,
    algorithm: Algorithm,
    access_tokens: TokenFormat,
}

#[derive(Serialize)]
struct SavingClient<'a> {
    id: &'a str,
    secret: &'a str,
    redirect_uri: &'a str,
}

#[derive(Serialize)]
struct SavingPasskey<'a> {
    user: &'a User,
    credential_id: String,
    user_handle: Option<String>,
    private_key: &'a str,
}

impl<'a> SavingPasskey<'a> {
    fn of(Passkey { user, authenticator, private_key }: &'a Passkey) -> Self {
        Self {
            user,
            credential_id: encoding::encode(&authenticator.id),
            user_handle: authenticator.user.as_deref().map(encoding::encode),
            private_key: private_key.expose(),
        }
    }
}

/// What is looked at first: a newer file may have another form.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// What is read.
#[derive(Deserialize)]
struct Saved {
    issuer: String,
    client: SavedClient,
    cookie: String,
    password: SecretString,
    users: Vec<User>,
    #[serde(default)]
    passkeys: Vec<SavedPasskey>,
    sessions: Vec<Session>,
    tokens: Vec<AccessToken>,
    families: Vec<Family>,
    #[serde(default)]
    families_in_use: bool,
    special: Option<Special>,
    algorithm: Algorithm,
    #[serde(default)]
    access_tokens: TokenFormat,
}

#[derive(Deserialize)]
struct SavedClient {
    id: String,
    secret: SecretString,
    redirect_uri: String,
}

#[derive(Deserialize)]
struct SavedPasskey {
    user: User,
    credential_id: String,
    user_handle: Option<String>,
    private_key: SecretString,
}

impl SavedPasskey {
    /// The passkey at this origin; none where it is damaged.
    fn restored(self, origin: &str) -> Option<Passkey> {
        let mut authenticator = Authenticator::of_private_key(origin, &self.private_key).ok()?;
        authenticator.id = encoding::decode(&self.credential_id).ok()?;
        authenticator.user = match self.user_handle {
            Some(handle) => Some(encoding::decode(&handle).ok()?),
            None => None,
        };
        authenticator.is_synced = true;
        Some(Passkey {
            user: self.user,
            authenticator: Arc::new(authenticator),
            private_key: self.private_key,
        })
    }
}

impl Seed {
    /// The part of it that goes to one of `of` generators, number `turn` from 0, in the form of a seed file. No family is in
    /// two parts. Nor is anything else, but for what is fewer than the parts: that is in all of them, as it is only read.
    pub(crate) fn part(&self, turn: usize, of: usize) -> Result<String, serde_json::Error> {
        let families: Vec<_> = self.families.iter().skip(turn).step_by(of.max(1)).cloned().collect();
        serde_json::to_string(&Saving {
            families: &families,
            users: &dealt(&self.users, turn, of),
            passkeys: dealt(&self.passkeys, turn, of).iter().map(SavingPasskey::of).collect(),
            sessions: &dealt(&self.sessions, turn, of),
            tokens: &dealt(&self.tokens, turn, of),
            ..self.saving()
        })
    }

    /// What [`part`](Self::part) gave to another generator, for the same provider.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] where it is none.
    pub(crate) fn of_parts(bytes: &[u8], target: Target) -> Result<Self, LoadtestError> {
        let saved = read(bytes).map_err(|reason| LoadtestError::Options(format!("the seed: {reason}")))?;
        Self::of_saved(saved, target).map_err(|reason| LoadtestError::Options(format!("the seed: {reason}")))
    }

    fn saving(&self) -> Saving<'_> {
        Saving {
            version: VERSION,
            issuer: &self.target.issuer,
            client: SavingClient {
                id: &self.client.id,
                secret: self.client.secret.expose(),
                redirect_uri: &self.client.redirect_uri,
            },
            cookie: &self.cookie,
            password: self.password.expose(),
            users: &self.users,
            passkeys: self.passkeys.iter().map(SavingPasskey::of).collect(),
            sessions: &self.sessions,
            tokens: &self.tokens,
            families: &self.families,
            families_in_use: self.families_in_use,
            special: self.special.as_ref(),
            algorithm: self.algorithm,
            access_tokens: self.access_tokens,
        }
    }

    /// # Errors
    /// What is damaged.
    fn of_saved(saved: Saved, target: Target) -> Result<Self, String> {
        let SavedClient { id, secret, redirect_uri } = saved.client;
        let origin = origin(&target.issuer).unwrap_or_default();
        let passkeys = saved.passkeys.into_iter().enumerate().map(|(place, passkey)| {
            passkey.restored(&origin).ok_or_else(|| format!("its passkey number {} is damaged", place + 1))
        });
        Ok(Self {
            passkeys: passkeys.collect::<Result<_, _>>()?,
            target,
            client: Client { id, secret, redirect_uri },
            cookie: saved.cookie,
            users: saved.users,
            password: saved.password,
            sessions: saved.sessions,
            tokens: saved.tokens,
            families: saved.families,
            families_in_use: saved.families_in_use,
            codes: CodePool::default(),
            algorithm: saved.algorithm,
            access_tokens: saved.access_tokens,
            special: saved.special,
            seen: Arc::default(),
        })
    }

    /// Writes everything but the codes and what belongs to the target, as JSON, in place of what the file held. Only
    /// its owner may read it (mode 0600).
    ///
    /// A run that rotates the families writes the file twice: before it with [`Self::families_in_use`], after it with the
    /// newest tokens.
    ///
    /// # Errors
    /// [`LoadtestError::SeedFile`] where it cannot be written; the file is then what it was.
    pub fn save(&self, path: &Path) -> Result<(), LoadtestError> {
        let failed = |error: std::io::Error| unusable(path, format!("it cannot be written: {error}"));
        let saving = self.saving();
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        // Such files are their owner's alone from the first byte on.
        let file = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new("."))).map_err(failed)?;
        let mut out = BufWriter::new(file);
        serde_json::to_writer(&mut out, &saving).map_err(|error| failed(error.into()))?;
        out.flush().map_err(failed)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Reads what [`Self::save`] wrote, for the same provider. `now` is in seconds since 1970
    /// ([`crate::clock::unix_seconds`]).
    ///
    /// # Errors
    /// [`LoadtestError::SeedFile`] for a file that cannot be read, is damaged, or of a newer version; that was planted
    /// in another issuer; whose tokens have ended.
    pub fn load(path: &Path, target: Target, now: u64) -> Result<Self, LoadtestError> {
        let bytes = std::fs::read(path).map(SecretBytes::new);
        let bytes = bytes.map_err(|error| unusable(path, format!("it cannot be read: {error}")))?;
        let saved = read(bytes.expose()).map_err(|reason| unusable(path, reason))?;
        if saved.issuer != target.issuer {
            let reason = format!("it was planted in {}, and the target is {}", saved.issuer, target.issuer);
            return Err(unusable(path, reason));
        }
        let ends = saved.tokens.iter().map(|token| token.expires_at).min();
        if let Some(ends) = ends.filter(|ends| *ends <= now) {
            let reason = format!("its tokens ended {} s ago; seed again", now - ends);
            return Err(unusable(path, reason));
        }
        Self::of_saved(saved, target).map_err(|reason| unusable(path, reason))
    }

    /// Whether its tokens live until then, in seconds since 1970, and its families were not used by a run that did not end.
    /// Otherwise the provider would be blamed for what is the seed's fault.
    ///
    /// # Errors
    /// [`LoadtestError::SeedUnfit`]
    pub fn check(&self, scenario: Scenario, until: u64) -> Result<(), LoadtestError> {
        let unfit = |reason: String| Err(LoadtestError::SeedUnfit { scenario: scenario.name(), reason });
        let uses_tokens = matches!(scenario, Scenario::Userinfo | Scenario::Introspect | Scenario::Exchange);
        let ends = self.tokens.iter().map(|token| token.expires_at).min();
        match ends.filter(|ends| uses_tokens && *ends < until) {
            Some(ends) => unfit(format!("its first token ends {} s before the load does", until - ends)),
            None if scenario == Scenario::Refresh && self.families_in_use => {
                unfit("its refresh tokens were used by a run that did not end".into())
            }
            None => Ok(()),
        }
    }

    /// Begins so many refresh-token families anew: a token that was used before ends its family (RFC 9700 4.14.2).
    ///
    /// # Errors
    /// What the admin API refuses; [`LoadtestError::Options`] where it has no bulk call for families.
    pub async fn renew_families(&mut self, count: usize) -> Result<(), LoadtestError> {
        let users: Vec<_> = self.users.iter().map(|user| user.id.clone()).collect();
        let mut admin = Admin::connect(&self.target).await?;
        let mut unseen = std::io::sink();
        let mut steps = Steps::new(&mut unseen);
        let families = bulk_families((&mut admin, &mut steps), &users, &self.client, count).await?;
        drop(admin);
        self.families_in_use = false;
        self.families = families.ok_or_else(|| {
            LoadtestError::Options(
                "the target has no bulk call for refresh-token families; seed again".into(),
            )
        })?;
        Ok(())
    }
}

/// Every one of `of` in turn; all where there are fewer.
fn dealt<T: Clone>(all: &[T], turn: usize, of: usize) -> Vec<T> {
    match all.len() < of {
        true => all.to_vec(),
        false => all.iter().skip(turn).step_by(of.max(1)).cloned().collect(),
    }
}

fn read(bytes: &[u8]) -> Result<Saved, String> {
    let damaged = |error: serde_json::Error| {
        let (line, column, words) = (error.line(), error.column(), error.to_string());
        // Of the error's own words only the name of a member: others may quote what they stumbled over.
        let missing = words.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
        match missing {
            Some((member, _)) => format!("it lacks the member {member}, by line {line}, column {column}"),
            None => format!("it is damaged at line {line}, column {column}, or no seed"),
        }
    };
    let Versioned { version } = serde_json::from_slice(bytes).map_err(damaged)?;
    match version {
        VERSION => serde_json::from_slice(bytes).map_err(damaged),
        _ => Err(format!("it has version {version}, and this program reads version {VERSION}; seed again")),
    }
}

fn unusable(path: &Path, reason: String) -> LoadtestError {
    LoadtestError::SeedFile { path: path.to_owned(), reason }
}
