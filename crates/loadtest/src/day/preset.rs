//! Days by name, as files with the reasons for their figures.

use super::Day;
use crate::LoadtestError;

const PRESETS: [(&str, &str); 4] = [
    ("shop", include_str!("presets/shop.toml")),
    ("company", include_str!("presets/company.toml")),
    ("api-platform", include_str!("presets/api-platform.toml")),
    ("agents", include_str!("presets/agents.toml")),
];

/// The names of all presets.
pub fn presets() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// A preset by its name, with the text of its file, to begin one's own with.
///
/// # Errors
/// [`LoadtestError::Options`] where there is none of that name.
pub fn preset(name: &str) -> Result<(Day, &'static str), LoadtestError> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok((Day::parse(text)?, text)),
        None => {
            let names: Vec<_> = presets().collect();
            Err(LoadtestError::Options(format!("no day is called {name}; there are {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::run::Traffic;

    #[test]
    fn every_preset_is_a_day_that_can_be_run() {
        for name in presets() {
            let (day, text) = preset(name).unwrap();
            assert_eq!(day.title(), name);
            let group = day.group().unwrap();
            let Traffic::Mixture(mixture) = &group.plans[0].traffic else { panic!("{name} is a mixture") };
            assert!(mixture.duration <= Duration::from_secs(600), "{name}: codes live ten minutes");
            assert!((5.0..500.0).contains(&mixture.rate()), "{name}: {}", mixture.rate());
            // Each part says why it is so.
            let unexplained =
                text.split("\n\n").filter(|part| part.starts_with('[') && !part.starts_with("[[limit"));
            assert!(unexplained.count() <= 2, "{name}");
        }
        assert!(preset("bank").unwrap_err().to_string().contains("shop, company, api-platform, agents"));
    }
}
