//! Passwords as Keycloak stores them: `secretData` with the hash and its salt, `credentialData` with its function.

use serde_json::Value;

use super::super::record::{Fault, Object, number, take_text};

/// What the credentials of a user come to.
pub(super) struct Credentials {
    /// The member of the user and its value, where there is a password; or why it cannot be taken.
    pub(super) password: Result<Option<(&'static str, String)>, Fault>,
    /// Credentials of other types.
    pub(super) left_out: Vec<String>,
}

/// Reads the credentials of a user.
pub(super) fn read(credentials: Option<Value>) -> Credentials {
    let (mut password, mut left_out) = (Ok(None), Vec::new());
    let Some(Value::Array(credentials)) = credentials else { return Credentials { password, left_out } };
    for credential in credentials {
        let Value::Object(mut credential) = credential else { continue };
        match take_text(&mut credential, "type").as_deref() {
            // The one that counts stands first.
            Some("password") if matches!(password, Ok(None)) => password = of_password(credential).map(Some),
            Some("password" | "password-history") => {}
            other => left_out.push(format!("credential of type {}", other.unwrap_or("none"))),
        }
    }
    Credentials { password, left_out }
}

/// What leads to a user who cannot be taken as the file has it.
const MEND: &str = "take the credential out of the file: the user comes in without a password then";

fn of_password(mut credential: Object) -> Result<(&'static str, String), Fault> {
    // As people write files by hand.
    if let Some(plain) = take_text(&mut credential, "value") {
        return Ok(("password", plain));
    }
    let mut parts =
        [credential.remove("secretData"), credential.remove("credentialData")].map(|part| match part {
            Some(Value::String(text)) => serde_json::from_str::<Object>(&text).unwrap_or_default(),
            Some(Value::Object(part)) => part,
            _ => Object::new(),
        });
    let [secret, data] = &mut parts;
    // Before Keycloak 6 all of it stood in the credential.
    let mut first = |names: [&str; 2]| {
        let [now, before] = names;
        take_text(secret, now).or_else(|| take_text(&mut credential, before))
    };
    let (hash, salt) = (first(["value", "hashedSaltedValue"]), first(["salt", "salt"]));
    let hash = hash.ok_or_else(|| Fault::new("the credential of type password has no value", MEND))?;
    let salt = salt.unwrap_or_default();
    let algorithm = take_text(data, "algorithm").or_else(|| take_text(&mut credential, "algorithm"));
    let algorithm = algorithm.unwrap_or_else(|| "pbkdf2".to_owned());
    let rounds = data.remove("hashIterations").or_else(|| credential.remove("hashIterations"));
    let rounds = rounds.as_ref().and_then(number);
    let form = match (&*algorithm, rounds) {
        ("pbkdf2", Some(rounds)) => Some(pbkdf2("pbkdf2-sha1", rounds, &salt, &hash)),
        ("pbkdf2-sha256" | "pbkdf2-sha512", Some(rounds)) => Some(pbkdf2(&algorithm, rounds, &salt, &hash)),
        ("argon2", Some(rounds)) => argon2(data.get("additionalParameters"), rounds, &salt, &hash),
        // What extensions for bcrypt store is the whole text.
        (_, _) if hash.starts_with('$') => Some(hash),
        _ => None,
    };
    let form = form.ok_or_else(|| {
        let shown: String = algorithm.chars().filter(|c| !c.is_control()).take(40).collect();
        Fault::new(format!("the password's algorithm {shown:?} is not taken, or lacks a parameter"), MEND)
    })?;
    Ok(("password_hash", form))
}

/// A PHC string (docs/reference/password-hashes.md).
fn pbkdf2(function: &str, rounds: u64, salt: &str, hash: &str) -> String {
    // Base64 has four characters for three bytes.
    let length = hash.trim_end_matches('=').len() * 3 / 4;
    format!("${function}$i={rounds},l={length}${salt}${hash}")
}

/// A PHC string, whose base64 has no padding.
fn argon2(parameters: Option<&Value>, rounds: u64, salt: &str, hash: &str) -> Option<String> {
    // Each parameter is a list with one text.
    let parameter = |name: &str| {
        let value = parameters?.get(name)?;
        value.as_array().map_or(Some(value), |values| values.first())
    };
    let kind = parameter("type").and_then(Value::as_str).unwrap_or("id");
    let version = match parameter("version").and_then(Value::as_str).unwrap_or("1.3") {
        "1.3" => 19,
        "1.0" => 16,
        _ => return None,
    };
    let memory = parameter("memory").and_then(number)?;
    let lanes = parameter("parallelism").and_then(number)?;
    let (salt, hash) = (salt.trim_end_matches('='), hash.trim_end_matches('='));
    matches!(kind, "id" | "i" | "d")
        .then(|| format!("$argon2{kind}$v={version}$m={memory},t={rounds},p={lanes}${salt}${hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use symbolon_crypto::password::PasswordHash;

    fn text(credential: Value) -> Result<String, String> {
        match read(Some(json!([credential]))).password {
            Ok(Some((_, text))) => Ok(text),
            Ok(None) => Ok(String::new()),
            Err(fault) => Err(fault.why),
        }
    }

    /// 64 bytes, and 16, as Keycloak writes them.
    const HASH: &str =
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==";
    const SALT: &str = "AAECAwQFBgcICQoLDA0ODw==";

    fn credential(data: &Value) -> Value {
        let secret = json!({ "value": HASH, "salt": SALT, "additionalParameters": {} });
        json!({ "type": "password", "secretData": secret.to_string(), "credentialData": data.to_string() })
    }

    #[test]
    fn every_function_of_keycloak_is_a_form_that_we_verify() {
        let pbkdf2 =
            |name: &str| json!({ "hashIterations": 27500, "algorithm": name, "additionalParameters": {} });
        let parameters = json!({
            "hashLength": ["64"], "memory": ["7168"], "type": ["id"], "version": ["1.3"], "parallelism": ["1"],
        });
        let argon2 =
            json!({ "hashIterations": 5, "algorithm": "argon2", "additionalParameters": parameters });
        for (data, begins) in [
            (pbkdf2("pbkdf2"), "$pbkdf2-sha1$i=27500,l=64$AAEC"),
            (pbkdf2("pbkdf2-sha256"), "$pbkdf2-sha256$i=27500,l=64$AAEC"),
            (pbkdf2("pbkdf2-sha512"), "$pbkdf2-sha512$i=27500,l=64$AAEC"),
            (argon2, "$argon2id$v=19$m=7168,t=5,p=1$AAECAwQFBgcICQoLDA0ODw$AAEC"),
        ] {
            let text = text(credential(&data)).unwrap();
            assert!(text.starts_with(begins), "{text}");
            assert!(PasswordHash::parse(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn older_forms_and_plain_texts_are_read() {
        let old = json!({
            "type": "password", "hashedSaltedValue": HASH, "salt": SALT, "hashIterations": 20000, "algorithm": "pbkdf2",
        });
        assert!(text(old).unwrap().starts_with("$pbkdf2-sha1$i=20000,l=64$"));
        let read_plain = read(Some(json!([{ "type": "password", "value": "correct horse" }])));
        assert_eq!(read_plain.password, Ok(Some(("password", "correct horse".to_owned()))));
        let bcrypt = json!({
            "type": "password", "secretData": { "value": "$2a$10$x" }, "credentialData": { "algorithm": "bcrypt" },
        });
        assert_eq!(text(bcrypt).unwrap(), "$2a$10$x");
    }

    #[test]
    fn what_cannot_be_verified_is_told_without_the_hash() {
        for data in [
            json!({ "hashIterations": 1, "algorithm": "scrypt" }),
            json!({ "algorithm": "pbkdf2-sha256" }),
            json!({ "hashIterations": 1, "algorithm": "argon2", "additionalParameters": { "memory": ["x"] } }),
        ] {
            let why = text(credential(&data)).unwrap_err();
            assert!(why.contains("is not taken") && !why.contains("AAEC"), "{why}");
        }
        assert!(text(json!({ "type": "password", "secretData": "{", "credentialData": 5 })).is_err());
        let all =
            read(Some(json!([{ "type": "otp" }, { "type": "password-history" }, 5, { "type": "webauthn" }])));
        assert_eq!(
            (all.password, all.left_out),
            (Ok(None), vec!["credential of type otp".into(), "credential of type webauthn".into()])
        );
    }
}
