use proptest::prelude::*;

use super::*;
use crate::random::{SeededRandom, SystemRandom};

/// The password of the hashes that other programs made for these tests.
pub(super) const PASSWORD: &str = "correct horse battery";

pub(super) fn parse(text: &str) -> PasswordHash {
    PasswordHash::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The hash is one of this password and of no other, is kept so that it reads the same again, and wants to be replaced.
pub(super) fn assert_whole(text: &str, password: &str) {
    let hash = parse(text);
    assert!(hash.verify(&password.into()).unwrap(), "{text}");
    for wrong in ["", "correct horse batter", "Correct horse battery", &format!("{password} ")] {
        assert!(!hash.verify(&wrong.into()).unwrap(), "{text}: {wrong:?}");
    }
    assert!(parse(&hash.to_text()) == hash, "{text}");
    assert!(hash.needs_rehash(&PasswordPolicy::default()), "{text}");
}

/// The lowest costs that Argon2 allows.
fn cheap() -> PasswordPolicy {
    PasswordPolicy::new(8, 1, 1).unwrap()
}

/// The reference implementation's test vector (argon2id, v=19, t=2, m=64 MiB, p=1).
const REFERENCE: &str =
    "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

#[test]
fn round_trip() {
    let hash = cheap().hash(&"correct horse".into(), &SystemRandom).unwrap();
    let stored = PasswordHash::parse(&hash.to_text()).unwrap();
    assert!(stored.to_text().starts_with("$argon2id$v=19$m=8,t=1,p=1$"));
    assert!(stored.verify(&"correct horse".into()).unwrap());
    assert!(!stored.verify(&"correct horsf".into()).unwrap());
    assert!(!stored.verify(&"".into()).unwrap());
    assert_eq!(format!("{stored:?}"), "PasswordHash(redacted)");
}

#[test]
fn salts_differ() {
    let random = SeededRandom::new(1);
    let (a, b) = (cheap().hash(&"x".into(), &random).unwrap(), cheap().hash(&"x".into(), &random).unwrap());
    assert_ne!(a.to_text(), b.to_text());
}

#[test]
fn verifies_what_the_reference_implementation_made() {
    let hash = PasswordHash::parse(REFERENCE).unwrap();
    assert!(hash.verify(&"password".into()).unwrap());
    assert!(!hash.verify(&"Password".into()).unwrap());
}

/// The reference implementation's vector from before versions were written (argon2i, v=16).
#[test]
fn a_hash_without_version_is_of_version_1_0() {
    let phc = "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ";
    assert!(PasswordHash::parse(phc).unwrap().verify(&"password".into()).unwrap());
}

#[test]
fn rehash_follows_the_policy() {
    let hash = cheap().hash(&"x".into(), &SystemRandom).unwrap();
    assert!(!hash.needs_rehash(&cheap()));
    assert!(hash.needs_rehash(&PasswordPolicy::default()));
    let phc = hash.to_text();
    for old in [phc.replace("argon2id", "argon2i"), phc.replace("v=19", "v=16")] {
        assert!(PasswordHash::parse(&old).unwrap().needs_rehash(&cheap()), "{old}");
    }
}

/// Made by passlib 1.7 and Django 5.2.
#[test]
fn argon2_of_others_is_verified() {
    for text in [
        "$argon2i$v=19$m=64,t=2,p=1$ltI6Z6xVitEaI+Q8Z4wxhg$GwVUN6C+/6TUYgXrKB1GVCdmiXFfbB+Vv81PWg2JG08",
        "$argon2d$v=19$m=64,t=2,p=1$KGWM0Xrv3ZszRsg5Z0xJyQ$obSpo5eliNo4Pv6Kae45ElqMYdy6fDCAhTMUqm+7iCk",
        "$argon2id$v=19$m=64,t=2,p=1$jFGqVep9T+ldK2XMOaeUMg$sgqvG9e1meEjPt7U6pOk2MeiA9OdLmBat/uqc0+5aAs",
        "argon2$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$wZeUqErRQM9fr7+3IJVQyFsb5QPhYeqkXwNGZgBH/L4",
        "{ARGON2}$argon2id$v=19$m=64,t=2,p=1$jFGqVep9T+ldK2XMOaeUMg$sgqvG9e1meEjPt7U6pOk2MeiA9OdLmBat/uqc0+5aAs",
    ] {
        assert_whole(text, PASSWORD);
        assert!(parse(text).to_text().starts_with("$argon2"), "{text}");
    }
}

#[test]
fn what_is_no_known_form_is_refused_with_the_forms_that_are() {
    for text in
        ["plain", "", "$1$abcdefgh$", "$7$C6..../....", "$y$j9T$", "md5$a$b", "$2b$12$ abc", "\u{e9}", "{X}a"]
    {
        assert_eq!(PasswordHash::parse(text).err(), Some(PasswordError::UnsupportedHash), "{text}");
    }
    let told = PasswordError::UnsupportedHash.to_string();
    for form in [
        "$argon2id$",
        "$2b$",
        "$pbkdf2-sha256$",
        "pbkdf2_sha256$",
        "$scrypt$",
        "$firebase-scrypt$",
        "$5$",
        "{SSHA}",
    ] {
        assert!(told.contains(form), "{told}");
    }
    for beginning in ["$argon2id$", "$2b$04$", "$pbkdf2-sha256$", "{SSHA}", "$6$", "A"] {
        let huge = format!("{beginning}{}", "A".repeat(1 << 20));
        assert_eq!(PasswordHash::parse(&huge).err(), Some(PasswordError::TooLong));
    }
    assert!(PasswordError::TooLong.to_string().contains("1024"));
}

#[test]
fn malformed_or_ruinous_hashes_are_refused() {
    for text in ["$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ", "$argon2id$", "$argon2id$v=19$m=8,t=1,p=1$%$%"] {
        let refused = PasswordHash::parse(text).err();
        assert!(
            matches!(refused, Some(PasswordError::MalformedHash(form)) if form.contains("Argon2")),
            "{text}"
        );
    }
    let ruinous = REFERENCE.replace("m=65536", "m=4194304");
    assert_eq!(PasswordHash::parse(&ruinous).err(), Some(limits::ARGON2));
    assert_eq!(PasswordHash::parse(REFERENCE).unwrap().work_kib(), 2 * 65_536);
    assert_eq!(PasswordPolicy::default().work_kib(), 2 * 19_456);
    assert_eq!(PasswordPolicy::new(8, 1000, 1), Err(limits::ARGON2));
    assert_eq!(PasswordPolicy::new(1, 1, 1), Err(limits::ARGON2));
}

#[test]
fn the_dummy_hash_costs_what_a_real_one_does() {
    let dummy = cheap().dummy_hash(&SystemRandom).unwrap();
    let real = cheap().hash(&"".into(), &SystemRandom).unwrap();
    assert_eq!(dummy.to_text().len(), real.to_text().len());
    assert_eq!(PasswordHash::parse(&dummy.to_text()), Ok(dummy.clone()));
    assert!(!dummy.needs_rehash(&cheap()));
    assert!(!dummy.verify(&"".into()).unwrap());
}

/// Bytes that lead far into the readers: pieces of every form, in any order.
fn hashlike() -> impl Strategy<Value = String> {
    let pieces = [
        "$",
        "argon2id",
        "argon2",
        "v=19",
        "m=64,t=2,p=1",
        "2b",
        "2y",
        "04",
        "31",
        "pbkdf2-sha256",
        "pbkdf2_sha1",
        "pbkdf2:sha1:",
        "i=1000,l=32",
        "1000",
        "4294967295",
        "scrypt",
        "scrypt:16:8:1",
        "ln=10,r=8,p=1",
        "r=4294967295",
        "firebase-scrypt",
        "mem_cost=14,rounds=8,salt_separator=Bw==,signer_key=AAAAAAAAAAAAAAAAAAAAAA==",
        "5",
        "6",
        "rounds=5000",
        "{SSHA}",
        "{CRYPT}",
        "{",
        "}",
        "AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "c29tZXNhbHQ",
        ".",
        "=",
        ",",
    ];
    let piece = proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned);
    proptest::collection::vec(prop_oneof![8 => piece, 1 => ".{0,8}"], 1..12).prop_map(|parts| parts.concat())
}

proptest! {
    /// Whatever comes is read as what reads the same again, at a bounded cost, or refused in words that repeat nothing.
    #[test]
    fn any_text_is_read_or_refused(text in hashlike()) {
        match PasswordHash::parse(&text) {
            Ok(hash) => {
                prop_assert!(parse(&hash.to_text()) == hash);
                // Sixteen GiB of Argon2 are the most that `argon2.import_work` may allow.
                prop_assert!(hash.work_kib() <= 64 << 20);
            }
            Err(error) => prop_assert!(!error.to_string().contains("c29tZXNhbHQ")),
        }
    }

    #[test]
    fn a_hash_that_lost_or_changed_a_character_never_fails_to_answer(at in 0..60_usize, with in ".") {
        let whole = "$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S";
        let (before, after) = whole.split_at(at);
        let changed = [before, &with, after.get(1..).unwrap_or_default()].concat();
        if let Ok(hash) = PasswordHash::parse(&changed) && changed != whole {
            prop_assert!(hash.verify(&PASSWORD.into()).is_ok());
        }
    }
}
