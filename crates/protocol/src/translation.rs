//! Texts and links for people in further languages: members such as `client_name#de` (OpenID Connect Dynamic Client
//! Registration 1.0 2.1).

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The most members in further languages that an object may have.
pub const MOST_TRANSLATIONS: usize = 64;

/// The language of a member that gives `name` in a further language: what stands behind `#`.
pub fn tag_of<'m>(member: &'m str, name: &str) -> Option<&'m str> {
    member.strip_prefix(name)?.strip_prefix('#')
}

/// Whether it has the form of a language tag (RFC 5646).
pub fn is_tag(tag: &str) -> bool {
    let is_subtag =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (1..=35).contains(&tag.len()) && tag.split('-').all(is_subtag)
}

/// The text of a language among tags and their texts: by the whole tag, else by the first subtag.
pub fn lookup<'t, I>(given: impl Fn() -> I, language: &str) -> Option<&'t str>
where
    I: Iterator<Item = (&'t str, &'t str)>,
{
    let primary = |tag: &'t str| tag.split('-').next().unwrap_or_default();
    let wanted = language.split('-').next().unwrap_or_default();
    let whole = given().find(|(tag, _)| tag.eq_ignore_ascii_case(language));
    let found = whole.or_else(|| given().find(|(tag, _)| primary(tag).eq_ignore_ascii_case(wanted)));
    found.map(|(_, text)| text)
}

/// Takes the texts that no other member of an object took, by their members, and refuses a member that is none of these. `null`
/// means that there is none.
///
/// # Errors
/// The member that is not known, or is no text.
pub(crate) fn read_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
    is_known: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, D::Error> {
    let mut texts = BTreeMap::new();
    for (member, value) in BTreeMap::<String, Value>::deserialize(deserializer)? {
        if !is_known(&member) {
            return Err(D::Error::custom(format!("unknown field `{member}`")));
        }
        match value {
            Value::Null => {}
            Value::String(text) => drop(texts.insert(member, text)),
            _ => return Err(D::Error::custom(format!("{member} must be a text"))),
        }
    }
    Ok(texts)
}

/// Whether a text is one line for people: 1 to so many characters, not only spaces, none of them a control character.
pub(crate) fn is_line(text: &str, longest: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= longest && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_tag_goes_before_the_first_subtag() {
        let given = || [("pt-BR", "Loja"), ("de", "Laden"), ("PT", "Loja (PT)")].into_iter();
        for (language, text) in [
            ("de", Some("Laden")),
            ("DE-at", Some("Laden")),
            ("pt", Some("Loja (PT)")),
            ("pt-br", Some("Loja")),
            ("pt-AO", Some("Loja")),
            ("ja", None),
            ("", None),
        ] {
            assert_eq!(lookup(given, language), text, "{language}");
        }
    }

    #[test]
    fn a_member_has_a_language_behind_the_sign_and_a_tag_has_a_form() {
        assert_eq!(tag_of("intro#de", "intro"), Some("de"));
        assert_eq!(tag_of("introduction#de", "intro"), None);
        assert_eq!(tag_of("intro", "intro"), None);
        assert!(["de", "de-CH", "zh-Hant-TW"].into_iter().all(is_tag));
        assert!(!["", "d_e", "toolongsubtag", "de-", "é"].into_iter().any(is_tag));
    }

    #[test]
    fn a_line_is_bounded_in_characters() {
        assert!(is_line("é", 1) && is_line("a b", 3));
        for wrong in ["", " ", "ab", "\n", "\u{0}"] {
            assert!(!is_line(wrong, 1), "{wrong:?}");
        }
    }
}
