//! The rule of signing in: what is proven, the policy and what is enrolled give the next step, or "enough".

use super::acr::{Acr, RequestedAcr};
use super::{Factor, Proven};
use crate::authenticator::AuthenticatorSet;
use crate::session::{Amr, AuthenticationMethod};
use crate::time::Timestamp;

/// What a sign-in has to prove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether everybody needs a second factor. Whoever has enrolled one needs it in any case: otherwise a stolen password
    /// or an open mailbox would do, and the enrolment would protect nobody.
    pub needs_second_factor: bool,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing was proven yet: any first factor.
    Begin,
    /// One of these factors, too. Never empty.
    Prove(Vec<Factor>),
    /// The policy demands a second factor, and the person has enrolled none.
    Enrol,
    /// The person is signed in.
    Enough {
        /// `amr` of the session (RFC 8176).
        amr: Amr,
        /// `acr` of the session (OpenID Connect Core 2).
        acr: Option<Acr>,
        /// `auth_time` of the session (OpenID Connect Core 2).
        auth_time: Timestamp,
    },
}

/// The next step of a sign-in.
pub fn next_step(proven: &Proven, policy: Policy, enrolled: &AuthenticatorSet) -> Step {
    let Some(auth_time) = proven.auth_time() else { return Step::Begin };
    if proven.is_on_remembered_device() || is_enough(proven.amr(), policy, enrolled) {
        return Step::Enough { amr: proven.amr(), acr: proven.acr(), auth_time };
    }
    let ways = second_factors(enrolled);
    if ways.is_empty() { Step::Enrol } else { Step::Prove(ways) }
}

/// The factors that somebody can prove beside a first one. A passkey is one, too: the key is what the person has.
fn second_factors(enrolled: &AuthenticatorSet) -> Vec<Factor> {
    let mut ways = Vec::new();
    if enrolled.totp.is_some() {
        ways.push(Factor::Totp);
        if !enrolled.recovery_codes.is_empty() {
            ways.push(Factor::RecoveryCode);
        }
    }
    for passkey in &enrolled.passkeys {
        let way = Factor::Passkey { is_synced: passkey.is_synced };
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// The factors that would bring a session to one of the classes that a request asks for; empty if the person has none, or
/// the session has such a class already.
pub fn ways_up(asked: RequestedAcr, amr: Amr, enrolled: &AuthenticatorSet) -> Vec<Factor> {
    if asked.is_empty() || asked.satisfied_by(amr).is_some() {
        return Vec::new();
    }
    let mut ways = second_factors(enrolled);
    ways.retain(|way| {
        let reached = Proven::by(*way, Timestamp::EPOCH).amr().with(AuthenticationMethod::Mfa);
        asked.satisfied_by(reached).is_some()
    });
    ways
}

/// Whether these methods are enough to be signed in: with a second factor (`mfa`), or where none is needed. Also for a session
/// that began before a second factor was enrolled or demanded.
pub fn is_enough(amr: Amr, policy: Policy, enrolled: &AuthenticatorSet) -> bool {
    let needs_second = policy.needs_second_factor || enrolled.totp.is_some();
    amr.contains(AuthenticationMethod::Mfa) || !needs_second
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authenticator::{Passkey, RecoveryCode, Totp};

    const NOW: Timestamp = Timestamp::from_seconds(1_000);

    fn with_totp() -> AuthenticatorSet {
        let totp = Totp { secret: "sealed".into(), added_at: NOW, last_step: 0 };
        AuthenticatorSet { totp: Some(totp), ..AuthenticatorSet::default() }
    }

    fn is_enough(step: &Step) -> bool {
        matches!(step, Step::Enough { .. })
    }

    #[test]
    fn one_factor_is_enough_unless_a_second_is_enrolled_or_demanded() {
        let none = AuthenticatorSet::default();
        let strict = Policy { needs_second_factor: true };
        let code = Proven::by(Factor::EmailCode, NOW);
        let passkey = Proven::by(Factor::Passkey { is_synced: true }, NOW);
        assert_eq!(next_step(&Proven::default(), Policy::default(), &none), Step::Begin);
        assert!(is_enough(&next_step(&code, Policy::default(), &none)));
        assert_eq!(next_step(&code, strict, &none), Step::Enrol);
        assert_eq!(next_step(&code, Policy::default(), &with_totp()), Step::Prove(vec![Factor::Totp]));
        for policy in [Policy::default(), strict] {
            assert!(is_enough(&next_step(&passkey, policy, &with_totp())));
            let both = code.clone().and(Factor::Totp, NOW);
            assert!(is_enough(&next_step(&both, policy, &with_totp())));
        }
    }

    #[test]
    fn recovery_codes_stand_in_for_a_second_factor_and_are_none_by_themselves() {
        let codes = vec![RecoveryCode { digest: "d".into() }];
        let lone = AuthenticatorSet { recovery_codes: codes.clone(), ..AuthenticatorSet::default() };
        let both = AuthenticatorSet { recovery_codes: codes, ..with_totp() };
        let password = Proven::by(Factor::Password, NOW);
        assert!(is_enough(&next_step(&password, Policy::default(), &lone)));
        let ways = Step::Prove(vec![Factor::Totp, Factor::RecoveryCode]);
        assert_eq!(next_step(&password, Policy::default(), &both), ways);
    }

    #[test]
    fn a_remembered_device_stands_in_for_a_second_factor_and_for_nothing_else() {
        let strict = Policy { needs_second_factor: true };
        let both = Proven::by(Factor::Password, NOW).and(Factor::RememberedDevice, NOW);
        assert!(is_enough(&next_step(&both, strict, &with_totp())));
        let alone = Proven::by(Factor::RememberedDevice, NOW);
        assert!(!is_enough(&next_step(&alone, strict, &with_totp())));
    }

    #[test]
    fn a_class_is_reached_by_what_is_enrolled() {
        let asked = RequestedAcr::parse;
        let password = Proven::by(Factor::Password, NOW).amr();
        let synced = Passkey {
            id: "id".into(),
            name: String::new(),
            credential: serde_json::Value::Null,
            is_synced: true,
            created_at: NOW,
            last_used_at: None,
        };
        let all = AuthenticatorSet { passkeys: vec![synced.clone(), synced], ..with_totp() };
        let passkey = Factor::Passkey { is_synced: true };
        for (values, ways) in [
            ("urn:symbolon:acr:2", vec![Factor::Totp, passkey]),
            ("phr", vec![passkey]),
            ("phrh", vec![]),
            ("phrh urn:symbolon:acr:2", vec![Factor::Totp, passkey]),
            ("urn:symbolon:acr:1", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(ways_up(asked(values), password, &all), ways, "{values}");
            assert_eq!(ways_up(asked(values), password, &AuthenticatorSet::default()), [], "{values}");
        }
        let two = Proven::by(Factor::Password, NOW).and(Factor::Totp, NOW).amr();
        assert_eq!(ways_up(asked("urn:symbolon:acr:2"), two, &all), []);
        assert_eq!(ways_up(asked("phr"), two, &all), [passkey]);
    }
}
