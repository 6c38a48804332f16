//! The load generator's software authenticator, which tests can have answer wrongly.

use std::ops::{Deref, DerefMut};

use serde_json::Value;
use symbolon_crypto::encoding;
use symbolon_loadtest::authenticator::Authenticator as Software;

/// How an answer differs from a good one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flaw {
    /// It does not.
    #[default]
    None,
    /// The person was not verified.
    Unverified,
    /// The signature is of other data.
    BadSignature,
    /// It is for another relying party.
    OtherRelyingParty,
}

/// An authenticator at one origin.
pub struct Authenticator {
    software: Software,
    /// What is wrong with its answers.
    pub flaw: Flaw,
}

impl Authenticator {
    /// A new passkey.
    pub fn new(origin: &str) -> Self {
        Self { software: Software::new(origin).expect("a key"), flaw: Flaw::None }
    }

    /// Answers the options of `register/options`: makes the passkey.
    pub fn create(&mut self, options: &Value) -> Value {
        let options = self.options(options, "/rp/id");
        self.software.create(&options).unwrap_or_else(|error| panic!("{error}: {options}"))
    }

    /// Answers the options of `login/options`. A counter above 0 counts.
    pub fn get(&mut self, options: &Value) -> Value {
        if self.counter > 0 {
            self.counter += 1;
        }
        let options = self.options(options, "/rpId");
        let mut answer = self.software.get(&options).unwrap_or_else(|error| panic!("{error}: {options}"));
        if self.flaw == Flaw::BadSignature {
            let other = self.software.sign(b"other data").expect("a signature");
            answer["response"]["signature"] = encoding::encode(&other).into();
        }
        answer
    }

    /// The options that are answered, which are others where the flaw says so.
    fn options(&mut self, options: &Value, relying_party: &str) -> Value {
        self.software.verifies_user = self.flaw != Flaw::Unverified;
        let mut options = options.clone();
        if self.flaw == Flaw::OtherRelyingParty {
            *options.pointer_mut(relying_party).expect("a relying party") = "evil.example".into();
        }
        options
    }
}

impl Deref for Authenticator {
    type Target = Software;

    fn deref(&self) -> &Software {
        &self.software
    }
}

impl DerefMut for Authenticator {
    fn deref_mut(&mut self) -> &mut Software {
        &mut self.software
    }
}
