//! Whether the configured list of breached passwords can be used.

use symbolon_app::passwords::BreachedPasswords;
use symbolon_config::{Config, Finding};

/// What is wrong with the list, if one is configured.
pub(crate) fn check(config: &Config) -> Option<Finding> {
    let path = config.security.breached_passwords.as_deref()?;
    let fault = BreachedPasswords::open(path).err()?;
    Some(Finding {
        key: "breached_passwords_file",
        problem: fault.to_string(),
        mend: fault.mend().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use symbolon_config::Sources;

    use super::*;

    fn found(file: &str) -> Option<String> {
        let env = [("SYMBOLON_BREACHED_PASSWORDS_FILE".to_owned(), file.to_owned())].into_iter();
        let config = Config::load(Sources { file: None, env, flags: Vec::new() }).unwrap();
        let finding = check(&config)?;
        Some(config.refuse(vec![finding]).unwrap_err().to_string())
    }

    #[test]
    fn a_mistake_names_key_value_and_mend() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("list.txt");
        let path = file.to_str().unwrap();
        std::fs::write(&file, "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:3\n").unwrap();
        assert_eq!(found(path), None);
        std::fs::write(&file, "password\n").unwrap();
        let told = found(path).unwrap();
        for part in ["breached_passwords_file", path, "40 hexadecimal digits", "haveibeenpwned-downloader"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
