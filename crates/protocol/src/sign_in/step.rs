//! The rule of signing in: what is proven, the policy and what is enrolled give the next step, or "enough".

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
        acr: Option<&'static str>,
        /// `auth_time` of the session (OpenID Connect Core 2).
        auth_time: Timestamp,
    },
}

/// The next step of a sign-in.
pub fn next_step(proven: &Proven, policy: Policy, enrolled: &AuthenticatorSet) -> Step {
    let Some(auth_time) = proven.auth_time() else { return Step::Begin };
    let has_second = enrolled.totp.is_some();
    if is_enough(proven.amr(), policy, enrolled) {
        return Step::Enough { amr: proven.amr(), acr: proven.acr(), auth_time };
    }
    let mut ways = Vec::new();
    if has_second {
        ways.push(Factor::Totp);
        if !enrolled.recovery_codes.is_empty() {
            ways.push(Factor::RecoveryCode);
        }
    }
    ways.extend(enrolled.passkeys.iter().map(|passkey| Factor::Passkey { is_synced: passkey.is_synced }));
    ways.dedup();
    if ways.is_empty() { Step::Enrol } else { Step::Prove(ways) }
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
    use crate::authenticator::{RecoveryCode, Totp};

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
}
