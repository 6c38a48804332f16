//! Seeds in files: planted once, used by many runs.
//!
//! A file holds credentials of a load test: it is readable by its owner alone, and worth no more than the provider
//! that it was planted in.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use symbolon_crypto::{Algorithm, SecretBytes, SecretString};

use super::plant::bulk_families;
use super::{AccessToken, Client, CodePool, Family, Seed, Session, Special, Steps, TokenFormat, User};
use crate::admin::Admin;
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
    sessions: &'a [Session],
    tokens: &'a [AccessToken],
    families: &'a [Family],
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
    sessions: Vec<Session>,
    tokens: Vec<AccessToken>,
    families: Vec<Family>,
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

impl Seed {
    /// Writes everything but the codes and what belongs to the target, as JSON, in place of what the file held. Only
    /// its owner may read it (mode 0600).
    ///
    /// Runs use refresh-token families up: what was saved before a refresh run needs [`Self::renew_families`] after.
    ///
    /// # Errors
    /// [`LoadtestError::SeedFile`] where it cannot be written; the file is then what it was.
    pub fn save(&self, path: &Path) -> Result<(), LoadtestError> {
        let failed = |error: std::io::Error| unusable(path, format!("it cannot be written: {error}"));
        let saving = Saving {
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
            sessions: &self.sessions,
            tokens: &self.tokens,
            families: &self.families,
            special: self.special.as_ref(),
            algorithm: self.algorithm,
            access_tokens: self.access_tokens,
        };
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
        let SavedClient { id, secret, redirect_uri } = saved.client;
        Ok(Self {
            target,
            client: Client { id, secret, redirect_uri },
            cookie: saved.cookie,
            users: saved.users,
            password: saved.password,
            sessions: saved.sessions,
            tokens: saved.tokens,
            families: saved.families,
            codes: CodePool::default(),
            algorithm: saved.algorithm,
            access_tokens: saved.access_tokens,
            special: saved.special,
        })
    }

    /// Begins as many refresh-token families anew: every run of the refresh scenario uses them up, and a token that
    /// was used before ends its family (RFC 9700 4.14.2).
    ///
    /// # Errors
    /// What the admin API refuses; [`LoadtestError::Options`] where it has no bulk call for families.
    pub async fn renew_families(&mut self) -> Result<(), LoadtestError> {
        let users: Vec<_> = self.users.iter().map(|user| user.id.clone()).collect();
        let mut admin = Admin::connect(&self.target).await?;
        let mut unseen = std::io::sink();
        let mut steps = Steps::new(&mut unseen);
        let families =
            bulk_families((&mut admin, &mut steps), &users, &self.client, self.families.len()).await?;
        drop(admin);
        self.families = families.ok_or_else(|| {
            LoadtestError::Options(
                "the target has no bulk call for refresh-token families; seed again".into(),
            )
        })?;
        Ok(())
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
