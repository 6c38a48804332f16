//! What people read in the place of an attribute's name: `display_name`, and in German `display_name#de`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::translation::{self, MOST_TRANSLATIONS};

/// The member, which may have a language behind it.
const MEMBER: &str = "display_name";

/// The longest of them, in characters.
const LONGEST: usize = 100;

/// The names of an attribute for people, by their members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct DisplayName(BTreeMap<String, String>);

impl DisplayName {
    /// That of a language: by the whole tag, else by the first subtag, else the one without a language.
    pub(super) fn in_language(&self, language: &str) -> Option<&str> {
        let given = || {
            let all = self.0.iter();
            all.filter_map(|(member, text)| Some((translation::tag_of(member, MEMBER)?, text.as_str())))
        };
        translation::lookup(given, language).or_else(|| self.0.get(MEMBER).map(String::as_str))
    }

    /// What makes it one that cannot be saved.
    pub(super) fn fault(&self) -> Option<String> {
        for (member, text) in &self.0 {
            if translation::tag_of(member, MEMBER).is_some_and(|tag| !translation::is_tag(tag)) {
                return Some(format!("has a {MEMBER} whose language is no tag of RFC 5646"));
            }
            if !translation::is_line(text, LONGEST) {
                return Some(format!("has a {member} that is not 1 to {LONGEST} characters on one line"));
            }
        }
        let translations = self.0.keys().filter(|member| translation::tag_of(member, MEMBER).is_some());
        let is_long = translations.count() > MOST_TRANSLATIONS;
        is_long.then(|| format!("has a {MEMBER} in further languages more than {MOST_TRANSLATIONS} times"))
    }
}

/// Takes what no other member of a definition took, and refuses what is none of these. `null` means that there is none.
impl<'de> Deserialize<'de> for DisplayName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_name = |member: &str| member == MEMBER || translation::tag_of(member, MEMBER).is_some();
        translation::read_texts(deserializer, is_name).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::AttributeDefinition;

    fn definition(more: Value) -> Result<AttributeDefinition, String> {
        let mut all = json!({ "name": "team", "type": "string" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).map_err(|error| error.to_string())
    }

    #[test]
    fn people_read_the_name_of_their_language_else_that_of_the_attribute() {
        let names =
            json!({ "display_name#de": "Abteilung", "display_name": "Team", "display_name#fr": null });
        let own = definition(names).unwrap();
        assert_eq!(own.fault(), None);
        assert_eq!(["de-AT", "fr", "en"].map(|language| own.label(language)), ["Abteilung", "Team", "Team"]);
        let written = serde_json::to_value(&own).unwrap();
        assert_eq!(
            (&written["display_name#de"], written.get("display_name#fr")),
            (&json!("Abteilung"), None)
        );
        assert_eq!(serde_json::from_value::<AttributeDefinition>(written).unwrap(), own);
        let german = definition(json!({ "display_name#de": "Abteilung" })).unwrap();
        assert_eq!(german.label("en"), "team");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for (more, why) in [
            (json!({ "display_name": " " }), "has a display_name that is not 1 to 100 characters"),
            (json!({ "display_name#de": "a\nb" }), "has a display_name#de that is not 1 to 100 characters"),
            (json!({ "display_name#d_e": "x" }), "has a display_name whose language is no tag"),
        ] {
            let fault = definition(more).unwrap().fault().unwrap();
            assert!(fault.starts_with(why), "{fault}");
        }
        for (more, why) in [
            (json!({ "display_name": 7 }), "display_name must be a text"),
            (json!({ "displayname": "x" }), "unknown field `displayname`"),
            (json!({ "pattern#de": "x" }), "unknown field `pattern#de`"),
        ] {
            let told = definition(more).unwrap_err();
            assert!(told.starts_with(why), "{told}");
        }
    }

    #[test]
    fn names_are_in_64_further_languages_at_most() {
        let fault = |languages: usize| {
            let tagged = (0..languages).map(|number| format!("display_name#x{number}"));
            let members = tagged.chain(["display_name".to_owned()]);
            let names = members.map(|member| (member, Value::from("Team"))).collect();
            definition(Value::Object(names)).unwrap().fault()
        };
        assert_eq!(fault(64), None);
        assert_eq!(fault(65).unwrap(), "has a display_name in further languages more than 64 times");
    }
}
