//! Proof that somebody reads the mail of an address, before the address counts as theirs: a six-digit code, and a link that
//! stands for it in the browser that asked (NIST SP 800-63B 5.1.3).
//!
//! What is known about a code is a [`MailedCode`], which is sealed and waits in that browser. It is the same whether a mail
//! with the code was sent or another one (to an address that has an account already): then no code is right. The store keeps
//! only one-time marks: one for each try, and one for the use.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use super::email_code::EmailCode;
use crate::precis::login_key;
use crate::time::Timestamp;

/// How long a code that proves an address may be used.
pub const LIVES: Duration = Duration::from_secs(30 * 60);
/// How often a code may be tried.
pub const TRIES: u8 = 5;

/// A code for an address, as the browser keeps it, sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailedCode {
    id: String,
    /// The address as it was typed.
    email: String,
    /// HMAC of the code.
    digest: String,
    expires_at: Timestamp,
}

impl MailedCode {
    /// Notes a code for an address, that may be used until `expires_at`.
    pub fn new(
        email: &str,
        code: &EmailCode,
        key: &HmacKey,
        expires_at: Timestamp,
        random: &dyn Random,
    ) -> Self {
        let (id, email) = (random::base64url::<16>(random), email.to_owned());
        let mut mailed = Self { id, email, digest: String::new(), expires_at };
        mailed.digest = encoding::encode(&key.sign(&mailed.parts(code)));
        mailed
    }

    /// The address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// Whether this is its address, in any spelling that is looked up as the same (RFC 8265 3.3.2).
    pub fn is_for(&self, email: &str) -> bool {
        login_key(&self.email) == login_key(email)
    }

    /// When it expires.
    pub const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Whether it may still be used.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Whether this is the code. Call it once for each try that was won. Constant time in the code.
    pub fn check(&self, typed: &str, key: &HmacKey) -> bool {
        let tag = encoding::decode_array::<32>(&self.digest).unwrap_or_default();
        // A text that is no code is compared like one.
        let (typed, none) = (EmailCode::parse(typed), SecretString::new(String::new()));
        let none = EmailCode::unusable(none);
        key.verify(&self.parts(typed.as_ref().unwrap_or(&none)), &tag)
    }

    /// The name of the mark of a try, from 0 to [`TRIES`] - 1. Whoever sets it has this try.
    pub fn try_mark(&self, number: u8) -> String {
        format!("{}.try{number}", self.id)
    }

    /// The name of the mark of its use.
    pub fn use_mark(&self) -> String {
        format!("{}.use", self.id)
    }

    /// The signed parts. Neither id nor code can contain NUL.
    fn parts<'a>(&'a self, code: &'a EmailCode) -> [&'a [u8]; 6] {
        [b"mailed code\0", self.id.as_bytes(), &[0], code.expose().as_bytes(), &[0], self.email.as_bytes()]
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

    fn mailed() -> (EmailCode, MailedCode, HmacKey) {
        let (random, key) = (SeededRandom::new(1), HmacKey::new(&[7; 32]));
        let code = EmailCode::draw(&random);
        let mailed = MailedCode::new("Ann@Example.com", &code, &key, NOW + LIVES, &random);
        (code, mailed, key)
    }

    #[test]
    fn only_the_code_that_was_drawn_is_right() {
        let (code, mailed, key) = mailed();
        assert!(mailed.check(&format!(" {}\n", code.expose()), &key));
        for wrong in ["", "000000", "12345", "abcdef", "1234567"] {
            assert!(!mailed.check(wrong, &key), "{wrong}");
        }
        assert!(!mailed.check(code.expose(), &HmacKey::new(&[8; 32])));
        let mut of_another: MailedCode = mailed.clone();
        of_another.email = "bob@example.com".to_owned();
        assert!(!of_another.check(code.expose(), &key), "the address is part of it");
    }

    #[test]
    fn it_ends_and_its_address_is_known_in_every_spelling() {
        let (_, mailed, _) = mailed();
        assert!(mailed.is_live(NOW) && !mailed.is_live(NOW + LIVES));
        assert!(mailed.is_for("ANN@example.com") && !mailed.is_for("bob@example.com"));
        assert_ne!(mailed.try_mark(0), mailed.try_mark(1));
        let json = serde_json::to_string(&mailed).unwrap();
        assert_eq!(serde_json::from_str::<MailedCode>(&json).unwrap(), mailed);
    }
}
