//! The languages of the pages and the tables of their texts, made of the Fluent files in `texts/` by `build.rs`.

use intl_pluralrules::{PluralCategory, PluralRuleType, PluralRules};
use unic_langid::LanguageIdentifier;

include!(concat!(env!("OUT_DIR"), "/texts.rs"));

/// A language that pages are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Language {
    /// English.
    #[default]
    English,
    /// German.
    German,
    /// Spanish.
    Spanish,
    /// French.
    French,
    /// Japanese.
    Japanese,
    /// Arabic.
    Arabic,
}

impl Language {
    /// Every language, English first.
    pub const ALL: [Self; 6] =
        [Self::English, Self::German, Self::Spanish, Self::French, Self::Japanese, Self::Arabic];

    /// The language tag (RFC 5646), for the `lang` attribute.
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

    /// The texts of the pages.
    pub fn texts(self) -> &'static Texts {
        match self {
            Self::English => &EN,
            Self::German => &DE,
            Self::Spanish => &ES,
            Self::French => &FR,
            Self::Japanese => &JA,
            Self::Arabic => &AR,
        }
    }
}

/// A text with one gap, that a name or a number fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrase {
    before: &'static str,
    after: &'static str,
}

impl Phrase {
    const fn new(before: &'static str, after: &'static str) -> Self {
        Self { before, after }
    }

    /// The text before the gap.
    pub fn before(&self) -> &'static str {
        self.before
    }

    /// The text after the gap.
    pub fn after(&self) -> &'static str {
        self.after
    }

    /// The text with its gap filled.
    pub fn with(&self, value: &str) -> String {
        format!("{}{value}{}", self.before, self.after)
    }
}

/// A text with a number, in the form that the language has for that number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plural {
    language: &'static str,
    /// What stands before the number and after it (`None`: the form has no number), for the plural categories of
    /// Unicode's CLDR: zero, one, two, few, many, other.
    forms: [(&'static str, Option<&'static str>); 6],
}

impl Plural {
    const fn new(language: &'static str, forms: [(&'static str, Option<&'static str>); 6]) -> Self {
        Self { language, forms }
    }

    /// The text for this number.
    pub fn with(&self, number: u64) -> String {
        let language = self.language.parse::<LanguageIdentifier>().ok();
        let rules =
            language.and_then(|language| PluralRules::create(language, PluralRuleType::CARDINAL).ok());
        let [zero, one, two, few, many, other] = self.forms;
        let (before, after) = match rules.and_then(|rules| rules.select(number).ok()) {
            Some(PluralCategory::ZERO) => zero,
            Some(PluralCategory::ONE) => one,
            Some(PluralCategory::TWO) => two,
            Some(PluralCategory::FEW) => few,
            Some(PluralCategory::MANY) => many,
            Some(PluralCategory::OTHER) | None => other,
        };
        match after {
            Some(after) => format!("{before}{number}{after}"),
            None => before.to_owned(),
        }
    }
}
