//! The configuration of the process: read once and passed down as values.
//!
//! Every key is a row of one table ([`keys`]). The file, environment variables, command-line flags, JSON schema
//! ([`json_schema`]) and reference ([`reference()`]) are derived from the table. A flag overrides the environment,
//! the environment overrides the file, and the file overrides the default. An unknown name is refused with the
//! nearest known one. All mistakes are reported at once, before a port opens.
//!
//! To add a key: a row in its section's file, a field in the section's struct, one line in its `build`, and
//! `UPDATE_GENERATED=1 cargo test -p symbolon-config` for the generated documents.

mod engine;
mod environment;
mod error;
mod file;
mod files;
mod key;
mod reader;
mod reference;
mod reload;
mod schema;
mod sections;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod tls;
mod units;
mod value;
mod warning;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use environment::IGNORED_ENV;
pub use error::{ConfigError, ConfigErrors, Finding};
pub use key::{Key, Reload, ValueKind, Weakens, keys};
pub use reference::reference;
pub use reload::ReloadDiff;
pub use schema::json_schema;
pub use sections::cluster::Cluster;
pub use sections::issuer::{IssuerUrl, Mode};
pub use sections::limits::{Cap, EndpointLimit, LoginLimits, RateLimits};
pub use sections::listen::{Http, Listen, TlsFiles};
pub use sections::mail::{Mail, Sender, SmtpServer, SmtpTls};
pub use sections::mutual_tls::MutualTls;
pub use sections::outbound::OutboundCalls;
pub use sections::security::{Argon2, Security};
pub use sections::storage::{ShardCounts, Storage};
pub use sections::telemetry::{LogFormat, Telemetry, TraceparentOf};
pub use source::{Source, Sources, process_env};
pub use tls::{ClientAuthorities, TlsError, chain as certificate_chain};
pub use units::Rate;
pub use warning::Warning;

use symbolon_protocol::settings::IssuerSettings;

use reader::Reader;
use settings::Settings;

/// The configuration of one process.
pub struct Config {
    /// Development or production.
    pub mode: Mode,
    /// The URL of the `default` issuer.
    pub issuer: IssuerUrl,
    /// Listeners.
    pub listen: Listen,
    /// Limits of connections and requests.
    pub http: Http,
    /// Where state is stored.
    pub storage: Storage,
    /// Secrets and protective settings.
    pub security: Security,
    /// Rate limits.
    pub rate_limits: RateLimits,
    /// Mail to users.
    pub mail: Mail,
    /// Calls to addresses that others named.
    pub outbound: OutboundCalls,
    /// Logs, metrics, traces.
    pub telemetry: Telemetry,
    /// The settings of a newly created issuer.
    pub initial: IssuerSettings,
    settings: Settings,
    warnings: Vec<Warning>,
}

/// One line of `config show`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: &'static str,
    /// The value as written in a file, `<redacted>` for a secret, `None` if nothing is set.
    pub value: Option<String>,
    /// Where it was set.
    pub source: Source,
}

impl Config {
    /// Reads the configuration from `sources` and the files that these name.
    ///
    /// # Errors
    /// Every mistake at once, each with its key, its value (unless that may be a secret) and how to mend it.
    pub fn load<E>(sources: Sources<E>) -> Result<Self, ConfigErrors>
    where
        E: Iterator<Item = (String, String)>,
    {
        let mut errors = Vec::new();
        let (flags, flag_file) = environment::flags(sources.flags, &mut errors);
        let (env, env_file) = environment::environment(sources.env);
        let file = flag_file.map(PathBuf::from).or(sources.file).or(env_file.map(PathBuf::from));
        let with_file = file.is_some();
        let mut settings = Settings::defaults();
        let read = file.as_deref().map_or_else(|| Ok(Vec::new()), file::read);
        let unread = read.is_err();
        match read {
            Ok(given) => settings.lay(given, &mut errors),
            Err(error) => errors.push(*error),
        }
        settings.lay(env, &mut errors);
        settings.lay(flags, &mut errors);
        if unread {
            // The file's contents are unknown, so no key is reported as missing.
            ConfigErrors::check(std::mem::take(&mut errors))?;
        }
        Self::build(Reader { settings, errors, warnings: Vec::new() }, with_file)
    }

    /// Loads the configuration from the text of a file, without other sources.
    pub fn of_text(text: &str) -> Result<Self, ConfigErrors> {
        let (mut settings, mut errors) = (Settings::defaults(), Vec::new());
        match file::parse(text, std::path::Path::new("symbolon.toml")) {
            Ok(given) => settings.lay(given, &mut errors),
            Err(error) => ConfigErrors::check(vec![*error])?,
        }
        Self::build(Reader { settings, errors, warnings: Vec::new() }, true)
    }

    fn build(mut reader: Reader, with_file: bool) -> Result<Self, ConfigErrors> {
        let r = &mut reader;
        let listen = sections::listen::build(r);
        let http = sections::listen::build_http(r);
        let (mode, issuer) = sections::issuer::build(r, with_file, listen.public, listen.management);
        sections::issuer::refuse_http_on_tls(r, mode, &issuer, listen.tls.is_some());
        let storage = sections::storage::build(r);
        let security = sections::security::build(r, mode, &issuer);
        let rate_limits = sections::limits::build(r);
        let mail = sections::mail::build(r);
        let outbound = sections::outbound::build(r);
        let telemetry = sections::telemetry::build(r, mode);
        let initial = sections::lifetimes::build(r);
        warning::of_the_table(r);
        let Reader { settings, errors, warnings } = reader;
        ConfigErrors::check(errors)?;
        Ok(Self {
            mode,
            issuer,
            listen,
            http,
            storage,
            security,
            rate_limits,
            mail,
            outbound,
            telemetry,
            initial,
            settings,
            warnings,
        })
    }

    /// Reports the mistakes that the caller found, if any.
    ///
    /// # Errors
    /// Like [`Config::load`].
    pub fn refuse(&self, found: Vec<Finding>) -> Result<(), ConfigErrors> {
        ConfigErrors::check(found.into_iter().map(|one| self.mistake(one)).collect())
    }

    /// Which of two keys sets a secret, such as `postgres.url` and `postgres.url_file`.
    pub fn secret_from(&self, value: &'static str, file: &'static str) -> &'static str {
        self.settings.secret_from(value, file)
    }

    /// The key that determines the master key: the one for its value or its file, or the data directory that holds
    /// it.
    pub fn master_key_from(&self) -> &'static str {
        match self.security.master_key {
            Some(_) => self.secret_from("master_key", "master_key_file"),
            None => "data_dir",
        }
    }

    fn mistake(&self, found: Finding) -> ConfigError {
        self.settings.mistake(found.key, error::Mistake::new(found.problem, found.mend))
    }

    /// All settings that give up a protection, for the log at startup.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// All keys with values and sources, in the order of the reference. Secrets are redacted.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.settings.iter().map(|setting| Entry {
            key: setting.key.path,
            value: setting.value.as_ref().map(ToString::to_string),
            source: setting.source.clone(),
        })
    }

    /// The text of `symbolon config show`: one line per key with its value and its source.
    pub fn show(&self) -> String {
        let width = keys().map(|key| key.path.len()).max().unwrap_or(0);
        let line = |entry: Entry| {
            let value = entry.value.map_or_else(|| "(unset)".to_owned(), |value| format!("{value:?}"));
            format!("{:width$}  {value}  [{}]\n", entry.key, entry.source)
        };
        self.entries().map(line).collect()
    }

    /// Sets the address to which the public listener was bound, which differs if port 0 was configured. In
    /// development mode the issuer's URL contains that port.
    pub fn bound(&mut self, public: SocketAddr) {
        self.listen.public = public;
        if self.mode == Mode::Development {
            self.issuer = IssuerUrl::development(public.port());
            self.settings.fill("issuer", value::Value::Text(self.issuer.as_str().to_owned()));
        }
    }

    /// The differences between `old` and `new`, by when they take effect. Keys that need a restart are compared with
    /// the configuration with which the process `started`.
    pub fn reloadable_diff(started: &Self, old: &Self, new: &Self) -> ReloadDiff {
        reload::diff(started, old, new)
    }
}

/// Prints what [`Config::show`] prints, without secrets.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show())
    }
}
