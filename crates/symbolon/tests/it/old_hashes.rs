//! Hashes as other providers make them, each of a password and with a salt of its own. They are made by the crates themselves,
//! not by the code that verifies them, and with the least work that the forms allow.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::{Value, json};

/// What a Firebase project has for all of its users: the key of `HASH_CONFIG`, and its separator.
const SIGNER_KEY: &str =
    "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==";
const SEPARATOR: u8 = 7;

/// The parameters of the hashes of [`firebase`], as Firebase's console shows them.
pub(crate) fn hash_config() -> String {
    format!(
        "hash_config {{\n  algorithm: SCRYPT,\n  base64_signer_key: {SIGNER_KEY},\n  base64_salt_separator: Bw==,\n  \
         rounds: 1,\n  mem_cost: 4,\n}}\n"
    )
}

/// The password of a user of a number.
pub(crate) fn password(number: u64) -> String {
    format!("correct horse battery {number}")
}

fn salt(number: u64) -> [u8; 16] {
    (u128::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes()
}

fn pbkdf2_sha256(number: u64, iterations: u32, salt: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    let iterations = NonZeroU32::new(iterations).unwrap();
    pbkdf2::derive(PBKDF2_HMAC_SHA256, iterations, salt, password(number).as_bytes(), &mut hash);
    hash
}

/// The credential of a user of Keycloak: PBKDF2, as it was before Keycloak 24, for even numbers, Argon2id for odd ones.
pub(crate) fn keycloak(number: u64) -> Value {
    let salt = salt(number);
    let (hash, data) = if number.is_multiple_of(2) {
        (pbkdf2_sha256(number, 10, &salt), json!({ "hashIterations": 10, "algorithm": "pbkdf2-sha256" }))
    } else {
        let parameters = json!({
            "hashLength": ["32"], "memory": ["64"], "type": ["id"], "version": ["1.3"], "parallelism": ["1"],
        });
        let data = json!({ "hashIterations": 1, "algorithm": "argon2", "additionalParameters": parameters });
        (argon2id(number, &salt), data)
    };
    let secret = json!({ "value": STANDARD.encode(hash), "salt": STANDARD.encode(salt) });
    json!({ "type": "password", "secretData": secret.to_string(), "credentialData": data.to_string() })
}

fn argon2id(number: u64, salt: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    let costs = argon2::Params::new(64, 1, 1, Some(hash.len())).unwrap();
    let argon2 = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, costs);
    argon2.hash_password_into(password(number).as_bytes(), salt, &mut hash).unwrap();
    hash
}

/// bcrypt with cost 4, as Auth0 exports it with cost 10.
pub(crate) fn auth0(number: u64) -> String {
    bcrypt::hash_with_salt(password(number), 4, salt(number))
        .unwrap()
        .format_for_version(bcrypt::Version::TwoB)
}

/// Firebase's scrypt, and the user's salt.
pub(crate) fn firebase(number: u64) -> (String, String) {
    let salt = salt(number);
    let mut key = [0; 32];
    let costs = scrypt::Params::new(4, 1, 1).unwrap();
    scrypt::scrypt(password(number).as_bytes(), &[&salt[..], &[SEPARATOR]].concat(), &costs, &mut key)
        .unwrap();
    let mut encrypted = STANDARD.decode(SIGNER_KEY).unwrap();
    let key = EncryptingKey::ctr(UnboundCipherKey::new(&AES_256, &key).unwrap()).unwrap();
    let from_zero = EncryptionContext::Iv128(FixedLength::from([0; 16]));
    key.less_safe_encrypt(&mut encrypted, from_zero).unwrap();
    (STANDARD.encode(encrypted), STANDARD.encode(salt))
}

/// Django's PBKDF2, which authentik has.
pub(crate) fn django(number: u64) -> String {
    let salt = STANDARD_NO_PAD.encode(salt(number)).replace(['+', '/'], "x");
    let hash = STANDARD.encode(pbkdf2_sha256(number, 10, salt.as_bytes()));
    format!("pbkdf2_sha256$10${salt}${hash}")
}

/// `{SSHA}` of RFC 2307 and OpenLDAP.
pub(crate) fn ldap(number: u64) -> String {
    let salt = salt(number);
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[password(number).as_bytes(), &salt].concat());
    format!("{{SSHA}}{}", STANDARD.encode([hash.as_ref(), &salt].concat()))
}
