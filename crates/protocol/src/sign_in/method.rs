//! The methods by which an issuer lets people sign in, and how its page asks for them.

use serde::{Deserialize, Serialize};

/// A method of signing in that proves a first factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// User name and password.
    Password,
    /// A passkey (WebAuthn Level 3).
    Passkey,
    /// A code that is sent by e-mail.
    EmailCode,
    /// A link that is sent by e-mail. It signs in only the browser that asked for it.
    MagicLink,
}

impl SignInMethod {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Password, Self::Passkey, Self::EmailCode, Self::MagicLink];
}

/// The methods that an issuer offers: at least one. In JSON: a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<SignInMethod>", into = "Vec<SignInMethod>")]
pub struct SignInMethods(u8);

impl SignInMethods {
    /// What is offered where nothing else is set: a code by e-mail only where mail can arrive.
    pub const fn usual(has_mail: bool) -> Self {
        let always = Self::bit(SignInMethod::Password) | Self::bit(SignInMethod::Passkey);
        Self(if has_mail { always | Self::bit(SignInMethod::EmailCode) } else { always })
    }

    const fn bit(method: SignInMethod) -> u8 {
        1 << method as u8
    }

    /// Whether a method is offered.
    pub const fn offer(self, method: SignInMethod) -> bool {
        self.0 & Self::bit(method) != 0
    }
}

impl TryFrom<Vec<SignInMethod>> for SignInMethods {
    type Error = &'static str;

    fn try_from(methods: Vec<SignInMethod>) -> Result<Self, Self::Error> {
        match methods.into_iter().fold(0, |all, method| all | Self::bit(method)) {
            0 => Err("name one method at least, or nobody can sign in"),
            methods => Ok(Self(methods)),
        }
    }
}

impl From<SignInMethods> for Vec<SignInMethod> {
    fn from(methods: SignInMethods) -> Self {
        SignInMethod::ALL.into_iter().filter(|method| methods.offer(*method)).collect()
    }
}

/// How the sign-in page asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInPage {
    /// One page for name, password and the other methods.
    #[default]
    AllAtOnce,
    /// The name first, then how to prove it.
    IdentifierFirst,
}

impl SignInPage {
    /// Whether it is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_names_one_method_at_least() {
        let read = |list| serde_json::from_value::<SignInMethods>(list);
        assert!(read(json!([])).is_err() && read(json!(["carrier_pigeon"])).is_err());
        let both = read(json!(["email_code", "passkey", "passkey"])).unwrap();
        assert_eq!(json!(both), json!(["passkey", "email_code"]));
        assert!(both.offer(SignInMethod::Passkey) && !both.offer(SignInMethod::Password));
        assert_eq!(json!(SignInMethods::usual(false)), json!(["password", "passkey"]));
        assert!(SignInMethods::usual(true).offer(SignInMethod::EmailCode));
        assert!(!SignInMethods::usual(true).offer(SignInMethod::MagicLink), "a link only where it is wanted");
        assert_eq!(
            json!(read(json!(["magic_link", "password"])).unwrap()),
            json!(["password", "magic_link"])
        );
    }
}
