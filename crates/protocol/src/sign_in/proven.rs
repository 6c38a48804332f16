//! What a person has proven so far, and which `amr` and `acr` follow from it.

use super::acr::Acr;
use crate::session::{Amr, AuthenticationMethod};
use crate::time::Timestamp;

/// A proof of who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// Knows the password.
    Password,
    /// Reads the mail of the account's address.
    EmailCode,
    /// Has a passkey, whose authenticator verified the person (WebAuthn 6.1, flag UV).
    Passkey {
        /// Whether it is copied between devices, so that no hardware holds it (WebAuthn 6.1.3).
        is_synced: bool,
    },
    /// Has the generator of time-based codes (RFC 6238).
    Totp,
    /// Has a recovery code.
    RecoveryCode,
    /// Is signed in at another provider, which says so.
    IdentityProvider,
    /// Uses a browser in which a second factor was proven some days ago, and which the person let be remembered.
    RememberedDevice,
}

impl Factor {
    /// The `amr` values that it stands for (RFC 8176 2).
    const fn methods(self) -> &'static [AuthenticationMethod] {
        match self {
            Self::RememberedDevice => &[AuthenticationMethod::Device],
            Self::Password => &[AuthenticationMethod::Pwd],
            Self::IdentityProvider => &[AuthenticationMethod::Federated],
            Self::EmailCode | Self::Totp | Self::RecoveryCode => &[AuthenticationMethod::Otp],
            // The key is one factor, and what the authenticator verified (a finger, a PIN) is another.
            Self::Passkey { is_synced: true } => &[AuthenticationMethod::Swk, AuthenticationMethod::Mfa],
            Self::Passkey { is_synced: false } => &[AuthenticationMethod::Hwk, AuthenticationMethod::Mfa],
        }
    }

    /// Whether it proves something beyond a password or the control of a mailbox, each of which often leads to the
    /// other.
    const fn is_second(self) -> bool {
        matches!(self, Self::Totp | Self::RecoveryCode)
    }
}

/// The factors that one person has proven in one sign-in, each with its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proven(Vec<(Factor, Timestamp)>);

impl Proven {
    /// One factor, proven at this time.
    pub fn by(factor: Factor, at: Timestamp) -> Self {
        Self(vec![(factor, at)])
    }

    /// With one more factor.
    #[must_use]
    pub fn and(mut self, factor: Factor, at: Timestamp) -> Self {
        self.0.push((factor, at));
        self
    }

    /// Whether nothing is proven.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether two factors of different kinds are proven.
    pub fn is_multi_factor(&self) -> bool {
        let is = |wanted: fn(Factor) -> bool| self.0.iter().any(|(factor, _)| wanted(*factor));
        let is_first = |factor: Factor| !factor.is_second() && factor != Factor::RememberedDevice;
        is(|factor| matches!(factor, Factor::Passkey { .. })) || (is(is_first) && is(Factor::is_second))
    }

    /// Whether a first factor is proven, and a remembered device stands in for the second one.
    pub fn is_on_remembered_device(&self) -> bool {
        self.0.len() > 1 && self.0.iter().any(|(factor, _)| *factor == Factor::RememberedDevice)
    }

    /// The `amr` values (OpenID Connect Core 2, RFC 8176 2).
    pub fn amr(&self) -> Amr {
        let methods = self.0.iter().flat_map(|(factor, _)| factor.methods());
        let amr = methods.fold(Amr::default(), |amr, method| amr.with(*method));
        if self.is_multi_factor() { amr.with(AuthenticationMethod::Mfa) } else { amr }
    }

    /// The `acr` value (OpenID Connect Core 2).
    pub fn acr(&self) -> Option<Acr> {
        Acr::of(self.amr())
    }

    /// When the person authenticated: the latest proof (`auth_time`, OpenID Connect Core 2).
    pub fn auth_time(&self) -> Option<Timestamp> {
        self.0.iter().map(|(_, at)| *at).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000);

    fn amr(proven: &Proven) -> Vec<&'static str> {
        proven.amr().iter().map(AuthenticationMethod::as_str).collect()
    }

    #[test]
    fn amr_and_acr_follow_from_what_was_proven() {
        let by = |factor| Proven::by(factor, NOW);
        for (proven, methods, acr) in [
            (by(Factor::Password), vec!["pwd"], Some("urn:symbolon:acr:1")),
            (by(Factor::EmailCode), vec!["otp"], Some("urn:symbolon:acr:1")),
            (by(Factor::IdentityProvider), vec!["fed"], Some("urn:symbolon:acr:1")),
            (by(Factor::Passkey { is_synced: false }), vec!["hwk", "mfa"], Some("phrh")),
            (by(Factor::Passkey { is_synced: true }), vec!["mfa", "swk"], Some("phr")),
            (
                by(Factor::Password).and(Factor::Totp, NOW),
                vec!["pwd", "otp", "mfa"],
                Some("urn:symbolon:acr:2"),
            ),
            (
                by(Factor::Password).and(Factor::RememberedDevice, NOW),
                vec!["pwd", "remembered_device"],
                Some("urn:symbolon:acr:1"),
            ),
            // A mailbox resets a password: both together are no second factor.
            (
                by(Factor::Password).and(Factor::EmailCode, NOW),
                vec!["pwd", "otp"],
                Some("urn:symbolon:acr:1"),
            ),
        ] {
            assert_eq!((amr(&proven), proven.acr().map(Acr::as_str)), (methods, acr), "{proven:?}");
        }
    }

    #[test]
    fn the_latest_proof_is_the_time_of_authentication() {
        let later = Timestamp::from_seconds(1_020);
        let proven = Proven::by(Factor::Password, NOW).and(Factor::Totp, later);
        assert_eq!(proven.auth_time(), Some(later));
        assert_eq!(Proven::default().auth_time(), None);
    }
}
