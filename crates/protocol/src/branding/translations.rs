//! Texts and links of a branding in further languages: members such as `intro#de`, in the form that client metadata has.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::translation;

/// Members that may be given in further languages.
pub const IN_LANGUAGES: [&str; 5] = ["help_uri", "policy_uri", "tos_uri", "intro", "foot"];

/// Whether this member gives one of those in a further language.
pub(super) fn is_translation(member: &str) -> bool {
    IN_LANGUAGES.iter().any(|name| translation::tag_of(member, name).is_some())
}

/// Members in further languages, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Translations(BTreeMap<String, String>);

impl Translations {
    /// The languages in which a member is given, with its texts.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .filter_map(move |(member, text)| Some((translation::tag_of(member, name)?, text.as_str())))
    }

    /// All of them: each member before `#`, the tag behind it, and the text.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().filter_map(|(member, text)| {
            let (name, tag) = member.split_once('#')?;
            Some((name, tag, text.as_str()))
        })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Takes what no other member of the branding took, and refuses what is no translation. `null` means that there is none.
impl<'de> Deserialize<'de> for Translations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        translation::read_texts(deserializer, is_translation).map(Self)
    }
}
