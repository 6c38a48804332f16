//! Recovery codes (look-up secrets, NIST SP 800-63B 5.1.2): a list that a person keeps on paper for the day on which the other
//! authenticators are lost. Each counts once.
//!
//! A code has 50 random bits, and its digest is made with a secret key: without the key, the stored digests of a stolen
//! database cannot be tried out.

use symbolon_crypto::digest::{self, HmacKey};
use symbolon_crypto::encoding;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use crate::authenticator::{AuthenticatorSet, RecoveryCode};
use crate::id::UserId;

/// Codes of a new list.
pub const CODES: usize = 10;
/// Characters of a code, each of five bits.
const LENGTH: usize = 10;
/// Letters and digits that nobody takes for others (Crockford's base32, in lower case).
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A new list: what is stored, and the codes as the person gets them, once.
pub fn draw(user: &UserId, key: &HmacKey, random: &dyn Random) -> (Vec<RecoveryCode>, Vec<SecretString>) {
    (0..CODES)
        .map(|_| {
            let bytes = random::bytes::<LENGTH>(random);
            let characters = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32)));
            let code: String = characters.map(|character| char::from(*character)).collect();
            let (first, second) = code.split_at(LENGTH / 2);
            (stored(user, &code, key), SecretString::new(format!("{first}-{second}")))
        })
        .unzip()
}

fn stored(user: &UserId, code: &str, key: &HmacKey) -> RecoveryCode {
    let parts = [b"recovery code\0", user.as_str().as_bytes(), &[0], code.as_bytes()];
    RecoveryCode { digest: encoding::encode(&key.sign(&parts)) }
}

/// The authenticators without the code that was used; `None` if it is none of them. Case, white space and hyphens do not
/// matter, and letters that are taken for digits count as these.
pub fn use_code(
    set: &AuthenticatorSet,
    user: &UserId,
    typed: &str,
    key: &HmacKey,
) -> Option<AuthenticatorSet> {
    let code = read(typed)?;
    let wanted = stored(user, &code, key);
    let mut found = None;
    for (place, kept) in set.recovery_codes.iter().enumerate() {
        if digest::constant_time_eq(kept.digest.as_bytes(), wanted.digest.as_bytes()) {
            found = Some(place);
        }
    }
    let mut left = set.clone();
    left.recovery_codes.remove(found?);
    Some(left)
}

/// The characters of a code as typed; `None` if it cannot be one.
fn read(typed: &str) -> Option<String> {
    let meant = |character: char| match character.to_ascii_lowercase() {
        'o' => '0',
        'i' | 'l' => '1',
        other => other,
    };
    let characters = typed.chars().filter(|character| !character.is_whitespace() && *character != '-');
    let code: String = characters.map(meant).take(LENGTH + 1).collect();
    let is_code = code.len() == LENGTH && code.bytes().all(|byte| ALPHABET.contains(&byte));
    is_code.then_some(code)
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    fn key() -> HmacKey {
        HmacKey::new(&[7; 32])
    }

    fn ann() -> UserId {
        UserId::trusted("ann")
    }

    fn list() -> (AuthenticatorSet, Vec<SecretString>) {
        let (recovery_codes, shown) = draw(&ann(), &key(), &SeededRandom::new(1));
        (AuthenticatorSet { recovery_codes, ..AuthenticatorSet::default() }, shown)
    }

    #[test]
    fn each_code_is_taken_once_however_it_is_typed() {
        let (mut set, shown) = list();
        assert_eq!((set.recovery_codes.len(), shown.len()), (CODES, CODES));
        for (number, code) in shown.iter().enumerate() {
            let typed = match number % 3 {
                0 => code.expose().to_owned(),
                1 => format!("  {} ", code.expose().to_uppercase().replace('-', " ")),
                _ => code.expose().replace('-', "").replace('0', "O").replace('1', "l"),
            };
            set = use_code(&set, &ann(), &typed, &key()).expect("a code of the list");
            assert_eq!(use_code(&set, &ann(), &typed, &key()), None, "a second time");
        }
        assert!(set.recovery_codes.is_empty());
    }

    #[test]
    fn codes_of_others_and_what_is_none_are_refused() {
        let (set, shown) = list();
        let code = shown[0].expose();
        assert_eq!(use_code(&set, &UserId::trusted("bob"), code, &key()), None);
        assert_eq!(use_code(&set, &ann(), code, &HmacKey::new(&[8; 32])), None);
        for typed in ["", "-", &code[..10], &format!("{code}0"), "uuuuu-uuuuu", "ääääää-ääää"] {
            assert_eq!(use_code(&set, &ann(), typed, &key()), None, "{typed}");
        }
        let digests: std::collections::BTreeSet<_> =
            set.recovery_codes.iter().map(|code| &code.digest).collect();
        assert_eq!(digests.len(), CODES);
    }
}
