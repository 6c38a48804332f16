//! Time-based one-time passwords (RFC 6238) of a generator on a phone: six digits, a new one every 30 seconds.
//!
//! A code counts once: the step of the latest accepted code is kept, and no code of it or of an earlier step is taken again
//! (RFC 6238 5.2). Whoever uses one replaces the user's authenticators only if nobody else did meanwhile.

use std::time::Duration;

use data_encoding::BASE32_NOPAD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use symbolon_crypto::digest;
use symbolon_crypto::one_time_password::hotp;
use symbolon_crypto::random::Random;
use symbolon_crypto::secret::{SecretBytes, SecretString};

use crate::authenticator::{AuthenticatorSet, Totp};
use crate::time::Timestamp;

/// How long a code is current (RFC 6238 5.2 recommends 30 s).
const STEP: Duration = Duration::from_secs(30);
/// Digits of a code (RFC 4226 4, R4).
const DIGITS: u32 = 6;
/// Bytes of a secret (RFC 4226 4, R6 recommends 160 bits).
const SECRET: usize = 20;
/// Steps before and after the current one whose codes are taken too, for clocks that differ (RFC 6238 5.2, 6).
const TOLERATED: u64 = 1;

/// The secret that a generator and the provider share.
pub struct TotpSecret(SecretBytes);

impl TotpSecret {
    /// Draws a secret.
    pub fn draw(random: &dyn Random) -> Self {
        let mut secret = vec![0; SECRET];
        random.fill(&mut secret);
        Self(SecretBytes::new(secret))
    }

    /// A secret that was sealed or imported.
    pub fn from_bytes(secret: SecretBytes) -> Self {
        Self(secret)
    }

    /// The bytes, to be sealed.
    pub fn expose(&self) -> &[u8] {
        self.0.expose()
    }

    /// The secret in base32, for a person who types it into a generator: groups of four characters.
    pub fn typed_form(&self) -> SecretString {
        let text = BASE32_NOPAD.encode(self.expose());
        let groups: Vec<&str> =
            text.as_bytes().chunks(4).filter_map(|group| str::from_utf8(group).ok()).collect();
        SecretString::new(groups.join(" "))
    }

    /// The address that a generator reads from a QR code (the key URI format of Google Authenticator, which all generators
    /// know). `issuer` and `account` are shown in the generator.
    pub fn key_uri(&self, issuer: &str, account: &str) -> SecretString {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        // A colon parts issuer and account.
        let (issuer, account) = (encoded(&issuer.replace(':', " ")), encoded(&account.replace(':', " ")));
        let secret = BASE32_NOPAD.encode(self.expose());
        SecretString::new(format!("otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}"))
    }

    /// The step whose code was typed, if it is later than `last_step`. White space in the code is ignored.
    pub fn accepted_step(&self, typed: &str, last_step: u64, now: Timestamp) -> Option<u64> {
        let typed: String = typed.chars().filter(|character| !character.is_whitespace()).collect();
        let current = now.millis() / u64::try_from(STEP.as_millis()).unwrap_or(u64::MAX);
        let mut accepted = None;
        // All are compared, so that the time does not tell which one was near.
        for step in current.saturating_sub(TOLERATED)..=current.saturating_add(TOLERATED) {
            let code = format!("{:0width$}", hotp(&self.0, step, DIGITS), width = DIGITS as usize);
            if digest::constant_time_eq(code.as_bytes(), typed.as_bytes()) && step > last_step {
                accepted = Some(step);
            }
        }
        accepted
    }
}

/// The authenticators after a code was used; `None` if it is not accepted. `secret` is that of the set's generator.
pub fn use_code(
    set: &AuthenticatorSet,
    secret: &TotpSecret,
    typed: &str,
    now: Timestamp,
) -> Option<AuthenticatorSet> {
    let totp = set.totp.as_ref()?;
    let last_step = secret.accepted_step(typed, totp.last_step, now)?;
    let used = Totp { last_step, ..totp.clone() };
    Some(AuthenticatorSet { totp: Some(used), ..set.clone() })
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    const AT: Timestamp = Timestamp::from_seconds(1_111_111_109);

    fn secret() -> TotpSecret {
        TotpSecret::from_bytes(SecretBytes::new(b"12345678901234567890".to_vec()))
    }

    fn enrolled() -> AuthenticatorSet {
        let totp = Totp { secret: "sealed".into(), added_at: AT, last_step: 0 };
        AuthenticatorSet { totp: Some(totp), ..AuthenticatorSet::default() }
    }

    /// RFC 6238, appendix B: the last six digits of 07081804.
    #[test]
    fn a_code_is_taken_once_and_none_of_an_earlier_step_after_it() {
        let (before, code, after) = ("731029", "081804", "050471");
        let used = use_code(&enrolled(), &secret(), code, AT).expect("the current code");
        assert_eq!(used.totp.as_ref().map(|totp| totp.last_step), Some(37_037_036));
        assert_eq!(use_code(&used, &secret(), code, AT), None);
        assert_eq!(use_code(&used, &secret(), before, AT), None);
        let later = AT + Duration::from_secs(2);
        assert!(use_code(&used, &secret(), after, later).is_some());
    }

    #[test]
    fn neighbouring_steps_are_taken_and_no_others() {
        let code = "08 18 04";
        for (shift, taken) in [(-60_i64, false), (-29, true), (0, true), (30, true), (31, false), (61, false)]
        {
            let now = Timestamp::from_seconds(1_111_111_109_u64.saturating_add_signed(shift));
            assert_eq!(use_code(&enrolled(), &secret(), code, now).is_some(), taken, "{shift}");
        }
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for typed in ["", "81804", "0818040", "08180a", "０８１８０４", "-81804"] {
            assert_eq!(use_code(&enrolled(), &secret(), typed, AT), None, "{typed}");
        }
        assert_eq!(use_code(&AuthenticatorSet::default(), &secret(), "081804", AT), None);
    }

    #[test]
    fn a_generator_gets_secret_account_and_issuer() {
        let uri = secret().key_uri("Mine & yours: ours", "ann@example.com");
        assert_eq!(
            uri.expose(),
            "otpauth://totp/Mine%20%26%20yours%20%20ours:ann%40example%2Ecom?\
             secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Mine%20%26%20yours%20%20ours"
        );
        assert_eq!(secret().typed_form().expose(), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
        let random = SeededRandom::new(1);
        let (one, other) = (TotpSecret::draw(&random), TotpSecret::draw(&random));
        assert!(one.expose().len() == SECRET && one.expose() != other.expose());
    }
}
