//! Checks the files that the configuration names: certificates, keys and the data directory, as the server would use
//! them.

use std::io::ErrorKind;
use std::path::Path;

use rustix::fs::{Access, access};
use rustls::crypto::aws_lc_rs;
use symbolon_crypto::SecretString;
use symbolon_crypto::seal::MasterKey;
use symbolon_protocol::time::Timestamp;
use url::Url;

use super::error::Mistake;
use super::sections::listen::TlsFiles;
use super::tls::{ClientAuthorities, TlsError, doubts};
use super::{Config, ConfigError, ConfigErrors, Finding, Warning};

/// The file in the data directory with the master key that the server generated.
const MASTER_KEY_FILE: &str = "master.key";

/// The keys of a TLS listener.
struct TlsKeys {
    certificate: &'static str,
    key: &'static str,
}

const PUBLIC: TlsKeys = TlsKeys { certificate: "tls.certificate_file", key: "tls.key_file" };
const MANAGEMENT: TlsKeys =
    TlsKeys { certificate: "management_tls.certificate_file", key: "management_tls.key_file" };

impl Config {
    /// Reads the certificates and keys of both listeners, and checks the data directory. Changes nothing. Warnings
    /// name problems with which the server starts but clients fail: an expired certificate, or one for other names.
    /// `found` are mistakes that the caller found; those about a key that is already reported are dropped.
    ///
    /// # Errors
    /// All mistakes at once, like [`Config::load`].
    pub fn check_files(&self, now: Timestamp, found: Vec<Finding>) -> Result<Vec<Warning>, ConfigErrors> {
        let mut errors = Vec::new();
        let warnings = self.look_at_tls(now, &mut errors);
        if self.storage.cluster.is_none() {
            let looked_at = usable_directory(&self.storage.data_dir).and_then(|()| self.kept_master_key());
            errors.extend(looked_at.err().map(|mistake| self.settings.mistake("data_dir", mistake)));
        }
        for one in found {
            if !errors.iter().any(|error| error.key == one.key) {
                errors.push(self.mistake(one));
            }
        }
        ConfigErrors::check(errors).map(|()| warnings)
    }

    /// Like [`Config::check_files`], but only for certificates, which a reload reads again.
    ///
    /// # Errors
    /// As of [`Config::check_files`].
    pub fn check_tls(&self, now: Timestamp) -> Result<Vec<Warning>, ConfigErrors> {
        let mut errors = Vec::new();
        let warnings = self.look_at_tls(now, &mut errors);
        ConfigErrors::check(errors).map(|()| warnings)
    }

    /// Checks the master key in the data directory, which is used if the configuration has none.
    fn kept_master_key(&self) -> Result<(), Mistake> {
        const MEND: &str = "put the right key there again, as base64 or 64 hexadecimal digits, or name it with \
                            `master_key_file`";
        if self.security.master_key.is_some() {
            return Ok(());
        }
        let text = match std::fs::read_to_string(self.storage.data_dir.join(MASTER_KEY_FILE)) {
            Ok(text) => SecretString::new(text),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(Mistake::new(format!("has a {MASTER_KEY_FILE} of raw bytes and no text"), MEND));
            }
            Err(error) => {
                return Err(Mistake::new(
                    format!("has a {MASTER_KEY_FILE} that cannot be read: {error}"),
                    MEND,
                ));
            }
        };
        MasterKey::parse(&SecretString::from(text.expose().trim()))
            .map(drop)
            .map_err(|_| Mistake::new(format!("has a {MASTER_KEY_FILE} that is not a 256-bit key"), MEND))
    }

    fn look_at_tls(&self, now: Timestamp, errors: &mut Vec<ConfigError>) -> Vec<Warning> {
        // Clients of the management listener do not use the issuer's host name.
        let host = Url::parse(self.issuer.as_str()).ok().and_then(|url| url.host_str().map(str::to_owned));
        let mut warnings = Vec::new();
        for (files, keys, host) in
            [(&self.listen.tls, PUBLIC, host.as_deref()), (&self.listen.management_tls, MANAGEMENT, None)]
        {
            let Some(files) = files else { continue };
            let provider = aws_lc_rs::default_provider();
            match files.read(&provider) {
                Ok(certified) => warnings.extend(
                    doubts(&certified, &provider, now, host)
                        .into_iter()
                        .map(|text| Warning { key: keys.certificate, text }),
                ),
                Err(error) => {
                    // Reading stopped at the certificate, so the key file is checked too.
                    let of_key = matches!(error, TlsError::Certificate { .. })
                        .then(|| files.read_key(&provider).err())
                        .flatten();
                    let found = std::iter::once(error).chain(of_key);
                    errors.extend(found.map(|error| self.tls_mistake(&keys, files, error)));
                }
            }
        }
        let authorities = self.security.mutual_tls.as_ref().and_then(|own| own.authorities.as_deref());
        if let Some(Err(error)) = authorities.map(ClientAuthorities::read) {
            let reason = match error {
                TlsError::Authorities { reason, .. } => reason,
                error => error.to_string(),
            };
            let mend = "name a PEM file with the certificates of authorities that the server may read";
            errors.push(self.settings.mistake("tls.client_ca_file", Mistake::new(reason, mend)));
        }
        warnings
    }

    fn tls_mistake(&self, keys: &TlsKeys, files: &TlsFiles, error: TlsError) -> ConfigError {
        let (path, mistake) = match error {
            TlsError::Certificate { reason, .. } => {
                let mend = "name a PEM file with the certificate chain, leaf first, that the server may read";
                (keys.certificate, Mistake::new(reason, mend))
            }
            TlsError::Key { reason, .. } => {
                let mend = "name a PEM file with the certificate's private key, unencrypted, that the server may read";
                (keys.key, Mistake::new(reason, mend))
            }
            TlsError::Mismatch { .. } => {
                let problem = format!("is not the key of the certificate in {}", files.certificate.display());
                (keys.key, Mistake::new(problem, "name both files of the same certificate"))
            }
            error => (keys.certificate, Mistake::new(error.to_string(), "give another certificate")),
        };
        self.settings.mistake(path, mistake)
    }
}

/// Whether the server can write to the data directory, or create it at its first start.
fn usable_directory(path: &Path) -> Result<(), Mistake> {
    const MEND: &str = "name a directory that belongs to the user whom the server runs as";
    let refused = |problem: String| Err(Mistake::new(problem, MEND));
    let there = path.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    for (depth, directory) in there.enumerate() {
        match directory.metadata() {
            Ok(found) if !found.is_dir() => {
                return refused(if depth == 0 {
                    "is not a directory".to_owned()
                } else {
                    format!("cannot be made: {} is not a directory", directory.display())
                });
            }
            Ok(_) => {
                return match access(directory, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
                    Ok(()) => Ok(()),
                    Err(error) if depth == 0 => refused(format!("cannot be written to: {error}")),
                    Err(error) => refused(format!("cannot be made in {}: {error}", directory.display())),
                };
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => return refused(format!("cannot be looked at: {error}")),
        }
    }
    refused("cannot be made".to_owned())
}
