//! No input makes loading panic, and no secret gets out.

use proptest::prelude::*;

use super::*;
use crate::keys;

/// A name that is a key's, nearly a key's, or anything.
fn name() -> impl Strategy<Value = String> {
    let count = keys().count();
    let known = (0..count).prop_map(|at| keys().nth(at).unwrap().path.to_owned());
    let nearly =
        (0..count, "[a-z._]{1,2}").prop_map(|(at, rest)| keys().nth(at).unwrap().path.to_owned() + &rest);
    prop_oneof![4 => known, 1 => nearly, 1 => "[A-Za-z_.-]{1,20}"]
}

/// A value of TOML, fitting or not.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<f64>().prop_map(|f| format!("{f:?}")),
        "\\PC{0,24}".prop_map(|text| format!("{text:?}")),
        "[0-9]{0,20}(us|ms|s|m|h|d|MiB|/s|/h)?".prop_map(|text| format!("\"{text}\"")),
        "[0-9a-f:.]{0,20}(/[0-9]{1,3})?".prop_map(|text| format!("[\"{text}\"]")),
        "https?://[a-z:@/?#%\\[\\]]{0,16}".prop_map(|text| format!("'{text}'")),
        Just("{ a = 1 }".to_owned()),
        Just("1979-05-27".to_owned()),
    ]
}

fn quiet_load(file: Option<&str>, env: Vec<(String, String)>, flags: Vec<(String, String)>) {
    let text = match file.map(|text| crate::file::parse(text, &missing_file())) {
        Some(Err(error)) => error.to_string(),
        _ => String::new(),
    };
    let loaded = Config::load(Sources { file: None, env: env.into_iter(), flags });
    let text = text + &loaded.map_or_else(|errors| errors.to_string(), |config| config.show());
    assert!(!text.is_empty());
}

proptest! {
    #[test]
    fn random_text_is_no_panic(text in "\\PC{0,200}") {
        quiet_load(Some(&text), Vec::new(), Vec::new());
    }

    #[test]
    fn random_toml_is_no_panic(lines in prop::collection::vec((name(), value()), 0..12)) {
        let text: String = lines.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        let report = match load(Some(&text), &[], &[]) {
            Ok(config) => config.show(),
            Err(errors) => errors.to_string(),
        };
        prop_assert!(!report.is_empty());
    }

    #[test]
    fn random_variables_and_flags_are_no_panic(
        given in prop::collection::vec((name(), "\\PC{0,24}"), 0..8),
        odd in "\\PC{0,20}",
    ) {
        let env = given.iter().map(|(name, value)| {
            (format!("SYMBOLON_{}", name.replace('.', "_").to_uppercase()), value.clone())
        });
        let flags = given.iter().map(|(name, value)| (name.replace(['.', '_'], "-"), value.clone()));
        quiet_load(None, env.collect(), flags.chain([(odd.clone(), odd)]).collect());
    }

    #[test]
    fn a_secret_is_in_no_report(secret in "[a-z]{4}hunter[a-z]{0,24}", bad in value()) {
        let file = format!("admin_secret = \"{secret}\"\nmaster_key = \"{secret}\"\nlisten = {bad}\n");
        let report = match load(Some(&file), &[ISSUER], &[]) {
            Ok(config) => config.show(),
            Err(errors) => format!("{errors} {errors:?}"),
        };
        prop_assert!(!report.contains("hunter"), "{}", report);
    }
}
