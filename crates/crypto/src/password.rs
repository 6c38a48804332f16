//! Password hashing by Argon2id (RFC 9106), stored as PHC strings; and verification of the hashes that other systems
//! made, which are stored as they came until the first right password replaces them.
//!
//! Which forms are taken, and within which bounds: `docs/reference/password-hashes.md`. Hashing and verifying block the
//! thread for tens of milliseconds and more, so call them on a bounded pool of threads.

mod argon2;
mod aspnet_identity;
mod bcrypt;
mod error;
mod firebase;
mod limits;
mod pbkdf2;
mod policy;
mod salted_sha;
mod scrypt;
mod sha_crypt;
mod text;
mod work;

use std::fmt;

use self::argon2::Argon2Hash;
use self::bcrypt::Bcrypt;
use self::firebase::Firebase;
use self::pbkdf2::Pbkdf2;
use self::salted_sha::SaltedSha;
use self::scrypt::Scrypt;
use self::sha_crypt::ShaCrypt;
pub use error::PasswordError;
pub use policy::PasswordPolicy;
pub use work::{HashFunction, Work};

use crate::secret::SecretString;

/// A stored hash that can be verified: one of our own, or one that another system made. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    text: String,
    form: Form,
}

#[derive(Clone, PartialEq, Eq)]
enum Form {
    Argon2(Box<Argon2Hash>),
    Bcrypt(Bcrypt),
    Firebase(Firebase),
    Pbkdf2(Pbkdf2),
    SaltedSha(SaltedSha),
    Scrypt(Scrypt),
    ShaCrypt(ShaCrypt),
}

type Reader = fn(&str) -> Result<Form, PasswordError>;

/// The forms by how they begin. The first that fits is the only one that is tried, so an error names the form that was
/// meant.
static FORMS: [(&str, Reader); 16] = [
    ("$argon2", |text| argon2(text)),
    // Django's.
    ("argon2$", |text| argon2(text.strip_prefix("argon2").unwrap_or(text))),
    ("$2", |text| Bcrypt::read(text).map(Form::Bcrypt)),
    ("bcrypt$", |text| Bcrypt::read_django(text).map(Form::Bcrypt)),
    ("bcrypt_sha256$", |text| Bcrypt::read_django(text).map(Form::Bcrypt)),
    ("$pbkdf2", |text| Pbkdf2::read_phc(text).map(Form::Pbkdf2)),
    ("pbkdf2_", |text| Pbkdf2::read_django(text).map(Form::Pbkdf2)),
    ("pbkdf2:", |text| Pbkdf2::read_werkzeug(text).map(Form::Pbkdf2)),
    ("$scrypt$", |text| Scrypt::read_phc(text).map(Form::Scrypt)),
    ("scrypt$", |text| Scrypt::read_django(text).map(Form::Scrypt)),
    ("scrypt:", |text| Scrypt::read_werkzeug(text).map(Form::Scrypt)),
    ("$firebase-scrypt$", |text| Firebase::read(text).map(Form::Firebase)),
    ("$5$", |text| ShaCrypt::read(text).map(Form::ShaCrypt)),
    ("$6$", |text| ShaCrypt::read(text).map(Form::ShaCrypt)),
    ("{", with_scheme),
    // So begins base64 whose first byte is 0 or 1.
    ("A", |text| aspnet_identity::read(text).map(Form::Pbkdf2)),
];

/// The form of a text, by how it begins.
fn read(text: &str) -> Result<Form, PasswordError> {
    match FORMS.iter().find(|(beginning, _)| text.starts_with(*beginning)) {
        Some((_, reader)) => reader(text),
        None => Err(PasswordError::UnsupportedHash),
    }
}

fn argon2(text: &str) -> Result<Form, PasswordError> {
    Argon2Hash::read(text).map(|hash| Form::Argon2(Box::new(hash)))
}

/// What a directory stores (RFC 2307 5.3): the scheme in braces, in letters of either case, and the hash. `{CRYPT}` and
/// OpenLDAP's `{ARGON2}` only stand before a text that says its form itself.
fn with_scheme(text: &str) -> Result<Form, PasswordError> {
    let parts = text.strip_prefix('{').and_then(|text| text.split_once('}'));
    let (scheme, rest) = parts.ok_or(PasswordError::UnsupportedHash)?;
    match &*scheme.to_ascii_uppercase() {
        "CRYPT" | "ARGON2" if rest.starts_with('$') => read(rest),
        scheme => SaltedSha::read(scheme, rest).map(Form::SaltedSha),
    }
}

impl PasswordHash {
    /// Reads a hash of any form that is taken.
    ///
    /// # Errors
    /// [`PasswordError`], never [`Failed`](PasswordError::Failed)
    pub fn parse(text: &str) -> Result<Self, PasswordError> {
        if text.len() > limits::TEXT {
            return Err(PasswordError::TooLong);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(PasswordError::UnsupportedHash);
        }
        Ok(match read(text)? {
            // In one spelling: one of our own, come back from a copy, then equals itself.
            Form::Argon2(hash) => Self::of_argon2(*hash),
            form => Self { text: text.to_owned(), form },
        })
    }

    /// A hash of Argon2, in the form in which we write it.
    fn of_argon2(hash: Argon2Hash) -> Self {
        Self { text: hash.0.to_string(), form: Form::Argon2(Box::new(hash)) }
    }

    /// The text, for the store: a PHC string for Argon2, any other form as it came.
    pub fn to_text(&self) -> String {
        self.text.clone()
    }

    /// What verifying takes.
    pub fn work(&self) -> Work {
        match &self.form {
            Form::Argon2(hash) => hash.work(),
            Form::Bcrypt(hash) => hash.work(),
            Form::Firebase(hash) => hash.work(),
            Form::Pbkdf2(hash) => hash.work(),
            Form::SaltedSha(hash) => hash.work(),
            Form::Scrypt(hash) => hash.work(),
            Form::ShaCrypt(hash) => hash.work(),
        }
    }

    /// The work of verifying, as the memory in KiB, times the passes over it, that would take Argon2 as long.
    pub fn work_kib(&self) -> u64 {
        self.work().kib
    }

    /// Whether this is the password. Blocks.
    ///
    /// # Errors
    /// [`PasswordError::Failed`] if this could not be determined, for lack of memory for example.
    pub fn verify(&self, password: &SecretString) -> Result<bool, PasswordError> {
        let password = password.expose().as_bytes();
        match &self.form {
            Form::Argon2(hash) => hash.verify(password),
            Form::Bcrypt(hash) => hash.verify(password),
            Form::Firebase(hash) => hash.verify(password),
            Form::Pbkdf2(hash) => Ok(hash.verify(password)),
            Form::SaltedSha(hash) => Ok(hash.verify(password)),
            Form::Scrypt(hash) => hash.verify(password),
            Form::ShaCrypt(hash) => hash.verify(password),
        }
    }

    /// Whether the hash has another function, version or costs than the policy asks for, so that the password should be
    /// hashed again at the next login.
    pub fn needs_rehash(&self, policy: &PasswordPolicy) -> bool {
        match &self.form {
            Form::Argon2(hash) => hash.needs_rehash(policy),
            _ => true,
        }
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(redacted)")
    }
}

#[cfg(test)]
mod tests;
