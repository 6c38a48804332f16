//! Which passwords a person may choose (NIST SP 800-63B 5.1.1.2): long enough, not among the most common ones, and not
//! the person's own name. There is no rule about kinds of characters: such rules make passwords easier to guess.

use symbolon_crypto::digest::sha256;

use crate::precis::{login_key, opaque_string};
use crate::user::User;

/// The shortest password, in characters.
pub const SHORTEST: usize = 8;

/// The longest password, in bytes.
pub const LONGEST: usize = 1_024;

/// The shortest word of a person's name that a password must not consist of, in characters.
const SHORTEST_WORD: usize = 3;

/// Bytes of each digest in [`COMMON`].
const DIGEST: usize = 5;

/// The beginnings of the SHA-256 digests of common passwords in lower case, ascending; see README.md beside the file.
static COMMON: &[u8] = include_bytes!("common.bin");

/// Why a person may not choose a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordFault {
    /// It has fewer than [`SHORTEST`] characters.
    TooShort,
    /// It has more than [`LONGEST`] bytes.
    TooLong,
    /// It is one of the most common passwords.
    Common,
    /// It is the user's own name or address.
    OwnName,
}

/// Checks a password that a person chose, in the form in which it is hashed (RFC 8265 4.2.2).
///
/// # Errors
/// [`PasswordFault`]
pub fn check(password: &str, user: &User) -> Result<(), PasswordFault> {
    // As it was sent, before anything is computed from it.
    if password.len() > LONGEST {
        return Err(PasswordFault::TooLong);
    }
    let password = opaque_string(password);
    if password.chars().count() < SHORTEST {
        return Err(PasswordFault::TooShort);
    }
    let lower = password.to_lowercase();
    if is_common(&lower) {
        return Err(PasswordFault::Common);
    }
    let key = login_key(&lower);
    match own_names(user).iter().any(|own| is_made_of(&key, own)) {
        true => Err(PasswordFault::OwnName),
        false => Ok(()),
    }
}

/// Whether a password in lower case is one of the most common ones.
fn is_common(lower: &str) -> bool {
    let digest = sha256(&[lower.as_bytes()]);
    let (known, _) = COMMON.as_chunks::<DIGEST>();
    digest.first_chunk::<DIGEST>().is_some_and(|wanted| known.binary_search(wanted).is_ok())
}

/// Names and addresses of a user in the form in which they are compared.
fn own_names(user: &User) -> Vec<String> {
    let profile = &user.profile;
    let local = user.email.as_deref().and_then(|email| email.rsplit_once('@')).map(|(local, _)| local);
    let names = [
        Some(user.id.as_str()),
        user.email.as_deref(),
        local,
        profile.preferred_username.as_deref(),
        profile.name.as_deref(),
        profile.given_name.as_deref(),
        profile.family_name.as_deref(),
        profile.nickname.as_deref(),
        profile.phone_number.as_deref(),
    ];
    let words = |name: &str| name.chars().count() >= SHORTEST_WORD;
    names.into_iter().flatten().map(login_key).filter(|name| words(name)).collect()
}

/// Whether a password is a name with nothing around it but digits and punctuation, or the name again: `ann.smith2026!`.
fn is_made_of(password: &str, name: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic();
    let bare = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let (password, name) = (bare(password), bare(name));
    !name.is_empty() && password.contains(&name) && !password.replace(&name, "").contains(is_letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ann() -> User {
        let text = r#"{"id":"u1","email":"ann.smith@example.com","given_name":"Ann","family_name":"Smithersby",
            "preferred_username":"m\u00fcller","created_at":1,"updated_at":1}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn length_is_counted_in_characters_and_bounded_in_bytes() {
        assert_eq!(check("1234567", &ann()), Err(PasswordFault::TooShort));
        assert_eq!(check("\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}", &ann()), Err(PasswordFault::TooShort));
        assert_eq!(
            check("a\u{308}a\u{308}a\u{308}a\u{308}", &ann()),
            Err(PasswordFault::TooShort),
            "composed first"
        );
        assert_eq!(check(&"x".repeat(1_025), &ann()), Err(PasswordFault::TooLong));
        assert_eq!(check("tangerine mills 4", &ann()), Ok(()));
    }

    #[test]
    fn common_passwords_are_refused_in_any_case() {
        for common in ["password", "Password", "12345678", "qwertyuiop", "ILOVEYOU", "football1"] {
            assert_eq!(check(common, &ann()), Err(PasswordFault::Common), "{common}");
        }
        assert!(COMMON.len() / DIGEST > 30_000 && COMMON.len().is_multiple_of(DIGEST));
        let (known, _) = COMMON.as_chunks::<DIGEST>();
        assert!(known.windows(2).all(|pair| pair[0] < pair[1]), "the search needs the order");
    }

    #[test]
    fn the_users_own_names_are_refused_with_digits_around_them() {
        for own in [
            "ann.smith@example.com",
            "ann.smith",
            "Smithersby",
            "smithersby2026!",
            "M\u{dc}LLER-77",
            "Smithersby smithersby",
        ] {
            assert_eq!(check(own, &ann()), Err(PasswordFault::OwnName), "{own}");
        }
        for other in ["smithersby likes tangerines", "annular eclipse", "muellerin 77"] {
            assert_eq!(check(other, &ann()), Ok(()), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in any::<String>()) {
            let _ = check(&text, &ann());
        }
    }
}
