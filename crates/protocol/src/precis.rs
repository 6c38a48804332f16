//! Normal forms of names and passwords (RFC 8265), so that the same text typed on two keyboards is equal.
//!
//! A text is stored and shown as the person wrote it. These forms are used for comparing and hashing.

use std::borrow::Cow;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// The form of a password that is hashed (RFC 8265 4.2.2, the OpaqueString profile; NIST SP 800-63B 5.1.1.2): all
/// spaces become ASCII spaces, and characters are composed (NFC). ASCII text is unchanged.
pub fn opaque_string(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let spaced: String = text.chars().map(|c| if is_space(c) { ' ' } else { c }).collect();
    Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize(&spaced).into_owned())
}

/// Space separators (the Unicode category Zs).
fn is_space(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// The form of a user name or e-mail address that is looked up and must be unique (RFC 8265 3.3.2, the
/// UsernameCaseMapped profile): width-mapped, lower-case, composed. Compatibility characters are mapped too (NFKC),
/// because a name that differs only by them could be chosen to be mistaken for another.
pub fn login_key(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mapped = ComposingNormalizerBorrowed::new_nfkc().normalize(text).to_lowercase();
    ComposingNormalizerBorrowed::new_nfc().normalize(&mapped).into_owned()
}

/// The keys under which a name may be stored, in the order of look-up. Records are stored under their [`login_key`].
/// If two users of an earlier version have names with the same `login_key`, one of them is stored under its
/// lower-case name as written instead. So the lower-case text as typed comes first, and its composed and decomposed
/// forms come last. ASCII text has a single key.
pub fn login_keys(text: &str) -> Vec<String> {
    let typed = text.to_lowercase();
    if text.is_ascii() {
        return vec![typed];
    }
    let composed = ComposingNormalizerBorrowed::new_nfc().normalize(text).to_lowercase();
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(text).to_lowercase();
    // Records of earlier versions were moved to the key of their lower-case name.
    let brought = login_key(&typed);
    let mut keys = Vec::with_capacity(5);
    for key in [typed, login_key(text), brought, composed, decomposed] {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMPOSED: &str = "p\u{e4}ssword";
    const DECOMPOSED: &str = "pa\u{308}ssword";

    #[test]
    fn a_password_is_the_same_on_every_keyboard() {
        assert_eq!(opaque_string(DECOMPOSED), COMPOSED);
        assert_eq!(opaque_string("a\u{a0}b\u{3000}c"), "a b c");
        assert_eq!(
            opaque_string("Case stays \u{fb01}"),
            "Case stays \u{fb01}",
            "nothing that was told apart is merged"
        );
        assert!(matches!(opaque_string("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn a_name_is_the_same_in_every_spelling() {
        for name in ["\u{c4}nn@Example.com", "A\u{308}nn@example.com", "\u{ff21}\u{308}nn\u{ff20}example.com"]
        {
            assert_eq!(login_key(name), "\u{e4}nn@example.com", "{name}");
        }
        assert_eq!(login_key("Ann"), "ann");
        assert_eq!(login_keys("Ann"), ["ann"]);
        assert!(login_keys("\u{c4}nn").contains(&"a\u{308}nn".to_owned()), "records of before are found");
    }

    proptest! {
        #[test]
        fn forms_are_stable(text in any::<String>()) {
            let (password, key) = (opaque_string(&text).into_owned(), login_key(&text));
            prop_assert_eq!(&opaque_string(&password), &password);
            prop_assert_eq!(&login_keys(&text)[0], &text.to_lowercase());
            prop_assert!(login_keys(&text).contains(&key));
            prop_assert!(login_keys(&text).contains(&login_key(&text.to_lowercase())));
        }
    }
}
