//! Whether the configured table of places can be used.

use symbolon_app::places::PlaceTable;
use symbolon_config::{Config, Finding};

/// What is wrong with the table, if one is configured.
pub(crate) fn check(config: &Config) -> Option<Finding> {
    let path = config.security.places.as_deref()?;
    let fault = PlaceTable::read(path).err()?;
    Some(Finding { key: "places_file", problem: fault.to_string(), mend: fault.mend().to_owned() })
}

#[cfg(test)]
mod tests {
    use symbolon_config::Sources;

    use super::*;

    fn found(file: &str) -> Option<String> {
        let env = [("SYMBOLON_PLACES_FILE".to_owned(), file.to_owned())].into_iter();
        let config = Config::load(Sources { file: None, env, flags: Vec::new() }).unwrap();
        let finding = check(&config)?;
        Some(config.refuse(vec![finding]).unwrap_err().to_string())
    }

    #[test]
    fn a_mistake_names_key_value_and_mend() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("places.mmdb");
        let path = file.to_str().unwrap();
        let told = found(path).unwrap();
        assert!(told.contains("places_file") && told.contains("cannot be read"), "{told}");
        std::fs::write(&file, "127.0.0.1,Graz").unwrap();
        let told = found(path).unwrap();
        for part in ["places_file", path, "MaxMind", "GeoLite2-City.mmdb"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(found(directory.path().to_str().unwrap()).unwrap().contains("is not a file"));
    }
}
