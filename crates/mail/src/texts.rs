//! The texts of each language, read from its file once.

use std::collections::HashMap;
use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};
use unic_langid::LanguageIdentifier;

use crate::Language;

/// The texts of one language.
type Bundle = FluentBundle<FluentResource>;

static BUNDLES: LazyLock<HashMap<&'static str, Bundle>> =
    LazyLock::new(|| Language::ALL.into_iter().map(|language| (language.tag(), bundle(language))).collect());

/// Reads a language's file. What Fluent cannot read is left out; a test sees to it that nothing is.
fn bundle(language: Language) -> Bundle {
    let resource = FluentResource::try_new(language.file().to_owned()).unwrap_or_else(|(read, _)| read);
    let identifier: LanguageIdentifier = language.tag().parse().unwrap_or_default();
    let mut bundle = FluentBundle::new_concurrent(vec![identifier]);
    // What is filled in are names, addresses and numbers, which stand in lines of their own where direction matters.
    bundle.set_use_isolating(false);
    bundle.add_resource_overriding(resource);
    bundle
}

/// The text of a message's value, or of one of its attributes, with its arguments filled in; `None` if it has none.
pub(crate) fn text(
    language: Language,
    id: &str,
    attribute: Option<&str>,
    arguments: &FluentArgs<'_>,
) -> Option<String> {
    let bundle = BUNDLES.get(language.tag())?;
    let message = bundle.get_message(id)?;
    let pattern = match attribute {
        None => message.value()?,
        Some(name) => message.get_attribute(name)?.value(),
    };
    let mut errors = Vec::new();
    let text = bundle.format_pattern(pattern, Some(arguments), &mut errors).into_owned();
    errors.is_empty().then_some(text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::BTreeSet;

    use super::*;

    /// Every text of a language by its name, with the names of its arguments.
    fn outline(language: Language) -> BTreeMap<String, BTreeSet<String>> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut name = String::new();
        let mut own = String::new();
        for line in language.file().lines().filter(|line| !line.starts_with('#')) {
            let begins = !line.starts_with(' ') && line.contains('=');
            let attribute = line.trim_start().strip_prefix('.').filter(|_| line.starts_with(' '));
            if begins {
                own = line.split('=').next().unwrap().trim().to_owned();
                name = own.clone();
            } else if let Some(attribute) = attribute {
                name = format!("{own}.{}", attribute.split('=').next().unwrap().trim());
            }
            if line.trim().is_empty() {
                continue;
            }
            let arguments = texts.entry(name.clone()).or_default();
            for part in line.split('$').skip(1) {
                arguments.insert(part.chars().take_while(char::is_ascii_alphanumeric).collect());
            }
        }
        texts
    }

    #[test]
    fn every_file_can_be_read() {
        for language in Language::ALL {
            let read = FluentResource::try_new(language.file().to_owned());
            assert!(read.is_ok(), "{language:?}: {:?}", read.err().map(|(_, errors)| errors));
        }
    }

    #[test]
    fn every_language_has_every_text_with_the_same_arguments() {
        let english = outline(Language::English);
        assert!(english.len() > 30 && english["email-code.note"].contains("lifetime"), "{english:?}");
        for language in Language::ALL {
            assert_eq!(outline(language), english, "{language:?}");
        }
    }
}
