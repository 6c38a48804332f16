//! The languages of the pages, and how a wish for one is read.

use serde::{Deserialize, Serialize};

/// A language that pages are written in, by its tag (RFC 5646).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UiLocale {
    /// English.
    #[default]
    En,
    /// German.
    De,
    /// Spanish.
    Es,
    /// French.
    Fr,
    /// Japanese.
    Ja,
    /// Arabic.
    Ar,
}

/// The most languages that are read of one wish.
const MOST_WISHES: usize = 32;

impl UiLocale {
    /// Every language, for `ui_locales_supported` (OpenID Connect Discovery 1.0 3).
    pub const ALL: [Self; 6] = [Self::En, Self::De, Self::Es, Self::Fr, Self::Ja, Self::Ar];

    /// Its tag.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Es => "es",
            Self::Fr => "fr",
            Self::Ja => "ja",
            Self::Ar => "ar",
        }
    }

    pub(crate) fn is_english(&self) -> bool {
        *self == Self::En
    }

    /// The language that a range means, by lookup (RFC 4647 3.4): the range is shortened until a language has it as its
    /// tag. The tags of the pages have one subtag, so the first subtag decides.
    pub fn lookup(range: &str) -> Option<Self> {
        let primary = range.trim().split('-').next().unwrap_or_default();
        Self::ALL.into_iter().find(|locale| locale.tag().eq_ignore_ascii_case(primary))
    }

    /// The first that there is of `ui_locales`: tags with spaces between, the most wanted first (OpenID Connect Core
    /// 3.1.2.1). Others are no error.
    pub fn of_ui_locales(value: &str) -> Option<Self> {
        value.split(' ').filter(|tag| !tag.is_empty()).take(MOST_WISHES).find_map(Self::lookup)
    }

    /// The most wanted that there is of an `Accept-Language` field (RFC 9110 12.5.4): by weight, among equals the first.
    /// `*` asks for no language in particular; what cannot be read is left out.
    pub fn of_accept_language(value: &str) -> Option<Self> {
        let mut best: Option<(u16, Self)> = None;
        for item in value.split(',').take(MOST_WISHES) {
            let (range, parameter) =
                item.split_once(';').map_or((item, None), |(range, rest)| (range, Some(rest)));
            let weight = parameter.map_or(Some(1_000), weight);
            if let (Some(weight), Some(locale)) = (weight, Self::lookup(range))
                && weight > best.map_or(0, |(most, _)| most)
            {
                best = Some((weight, locale));
            }
        }
        best.map(|(_, locale)| locale)
    }
}

/// A weight in thousandths: `q=`, 0 to 1, three digits after the point at most (RFC 9110 12.4.2).
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.trim().split_once('=')?;
    let (whole, rest) = value.split_once('.').unwrap_or((value, ""));
    let is_read =
        name.eq_ignore_ascii_case("q") && rest.len() <= 3 && rest.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths = format!("{rest:0<3}").parse::<u16>().ok().filter(|_| is_read)?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_means_the_language_of_its_first_subtag() {
        for (range, locale) in [
            ("de", Some(UiLocale::De)),
            ("DE-at", Some(UiLocale::De)),
            ("fr-Latn-CA-x-q", Some(UiLocale::Fr)),
            (" ja ", Some(UiLocale::Ja)),
            ("den", None),
            ("*", None),
            ("", None),
            ("-de", None),
        ] {
            assert_eq!(UiLocale::lookup(range), locale, "{range}");
        }
    }

    #[test]
    fn the_first_of_ui_locales_that_there_is_wins() {
        assert_eq!(UiLocale::of_ui_locales("it fr-CA fr en"), Some(UiLocale::Fr));
        assert_eq!(UiLocale::of_ui_locales("  tlh  "), None);
        let far = format!("{}de", "it ".repeat(10_000));
        assert_eq!(UiLocale::of_ui_locales(&far), None, "no more than some are read");
    }

    #[test]
    fn the_weight_decides_and_then_the_order() {
        for (field, locale) in [
            ("fr", Some(UiLocale::Fr)),
            ("it, de;q=0.5, ja;q=0.8", Some(UiLocale::Ja)),
            ("es;q=0.7,ar;q=0.7", Some(UiLocale::Es)),
            ("de;q=0, en;q=0.001", Some(UiLocale::En)),
            ("de;q=0", None),
            ("*", None),
            ("*, fr;q=0.1", Some(UiLocale::Fr)),
            ("de ; Q=0.9 , en;q=0.8", Some(UiLocale::De)),
            ("de;q=1.001, en;q=0.1", Some(UiLocale::En)),
            ("de;q=0.1234, de;level=1, de;q, de;q=x", None),
            (",,;;=,\u{fc}", None),
        ] {
            assert_eq!(UiLocale::of_accept_language(field), locale, "{field}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read(field in ".*") {
            let _ = (UiLocale::of_accept_language(&field), UiLocale::of_ui_locales(&field));
        }
    }
}
