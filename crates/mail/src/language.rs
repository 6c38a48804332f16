//! The languages that mail is written in.

use serde::{Deserialize, Serialize};

/// A language with a file of texts. Another one is a variant here and a file in `languages/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// German.
    #[serde(rename = "de")]
    German,
    /// Spanish.
    #[serde(rename = "es")]
    Spanish,
    /// French.
    #[serde(rename = "fr")]
    French,
    /// Japanese.
    #[serde(rename = "ja")]
    Japanese,
    /// Arabic.
    #[serde(rename = "ar")]
    Arabic,
    /// English. It stands in for languages that a newer version put into the queue.
    #[default]
    #[serde(rename = "en", other)]
    English,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 6] =
        [Self::English, Self::German, Self::Spanish, Self::French, Self::Japanese, Self::Arabic];

    /// The language tag (RFC 5646).
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::Spanish => "es",
            Self::French => "fr",
            Self::Japanese => "ja",
            Self::Arabic => "ar",
        }
    }

    /// The direction of its writing, for the `dir` attribute.
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Arabic => "rtl",
            Self::English | Self::German | Self::Spanish | Self::French | Self::Japanese => "ltr",
        }
    }

    /// The first of these language tags that there are texts for, by its primary subtag (RFC 4647 section 3.4); English if
    /// there are none. The tags come from the user's `locale`, then from the page, the most wanted first.
    pub fn wanted<'t>(tags: impl IntoIterator<Item = &'t str>) -> Self {
        let known = |tag: &str| {
            let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
            Self::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(primary))
        };
        tags.into_iter().find_map(known).unwrap_or_default()
    }

    /// Its texts, in Fluent's format.
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::English => include_str!("../languages/en.ftl"),
            Self::German => include_str!("../languages/de.ftl"),
            Self::Spanish => include_str!("../languages/es.ftl"),
            Self::French => include_str!("../languages/fr.ftl"),
            Self::Japanese => include_str!("../languages/ja.ftl"),
            Self::Arabic => include_str!("../languages/ar.ftl"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_tag_wins() {
        assert_eq!(Language::wanted(["it", "de-AT", "en"]), Language::German);
        assert_eq!(Language::wanted(["en_GB", "de"]), Language::English);
        assert_eq!(Language::wanted(["den", "x"]), Language::English);
        assert_eq!(Language::wanted([]), Language::English);
    }

    #[test]
    fn a_language_of_a_newer_version_is_read_as_english() {
        let read = |text| serde_json::from_str::<Language>(text).unwrap();
        assert_eq!(
            ["\"de\"", "\"en\"", "\"tlh\""].map(read),
            [Language::German, Language::English, Language::English]
        );
        for language in Language::ALL {
            assert_eq!(serde_json::to_string(&language).unwrap(), format!("\"{}\"", language.tag()));
        }
    }
}
