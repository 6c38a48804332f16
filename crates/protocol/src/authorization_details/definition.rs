//! Types of authorization details, as an issuer registers them (RFC 9396 2.1), and whether an object conforms to its type.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::detail::{Detail, LOCATIONS, TYPE};
use crate::id::visible_ascii;
use crate::settings::IssuerSettings;
use crate::token::resource;
use crate::translation::{self, MOST_TRANSLATIONS};

/// The most types of an issuer.
pub const MOST_TYPES: usize = 64;
/// The most members of a type.
const MOST_MEMBERS: usize = 32;
/// The most values in the list of a member or of `locations`, in a type and in an object.
const MOST_VALUES: usize = 64;
/// The longest name of a type or a member, in bytes.
const LONGEST_NAME: usize = 128;
/// The longest text for the pages, in characters.
const LONGEST_TEXT: usize = 300;
/// The longest text value, in bytes.
const LONGEST_VALUE: usize = 512;
/// The member with the text for the pages.
const TEXT: &str = "text";

/// What a member of an object holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberType {
    /// A text.
    String,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A list of texts.
    Strings,
}

impl MemberType {
    const fn words(self) -> &'static str {
        match self {
            Self::String => "a text",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Strings => "a list of texts",
        }
    }
}

/// A member that objects of a type may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailMember {
    /// Its name.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: MemberType,
    /// Whether every object must have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The only texts that it may have; any, if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// A type of authorization details (RFC 9396 2.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationDetailsType {
    /// Its name: what `type` of an object says, compared byte by byte (RFC 9396 2).
    #[serde(rename = "type")]
    pub name: String,
    /// What the person is asked, with the values of required members in the places of `{member}`.
    pub text: String,
    /// The members that its objects may have besides `type` and `locations`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DetailMember>,
    /// The resource servers at which it counts, as `resource` names them; everywhere, if there are none. Objects may name some of them in
    /// `locations`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<String>,
    /// Whether access tokens carry its objects, and introspection tells them. The client is told in any case (RFC 9396 7).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub in_access_tokens: bool,
    /// Whether the person is asked each time, also for what they have allowed before: a payment that may be made once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_always: bool,
    /// Whether clients may ask for it that no administrator made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_self_registered: bool,
    /// The text in further languages, as `text#de`. Every other member is refused here.
    #[serde(flatten)]
    pub texts: Texts,
}

/// The texts of a type in further languages, by their members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Texts(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_text = |member: &str| translation::tag_of(member, TEXT).is_some_and(translation::is_tag);
        translation::read_texts(deserializer, is_text).map(Self)
    }
}

const fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_yes(flag: &bool) -> bool {
    *flag
}

/// The type of this name, compared byte by byte (RFC 9396 2: no collation, no normalization).
pub(super) fn find<'s>(settings: &'s IssuerSettings, name: &str) -> Option<&'s AuthorizationDetailsType> {
    settings.authorization_details_types.iter().find(|own| own.name == name)
}

impl AuthorizationDetailsType {
    /// The text for the person in a language, if there is one in it, else that without a language.
    pub(super) fn text_in(&self, language: &str) -> &str {
        let given = || {
            let all = self.texts.0.iter();
            all.filter_map(|(member, text)| Some((translation::tag_of(member, TEXT)?, text.as_str())))
        };
        translation::lookup(given, language).unwrap_or(&self.text)
    }

    /// Whether an object conforms to the type (RFC 9396 5).
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence about the object. It names members, and no values.
    pub(super) fn check(&self, detail: &Detail) -> Result<(), String> {
        for (name, value) in detail.iter() {
            match name {
                TYPE => {}
                LOCATIONS if !self.locations.is_empty() => self.check_locations(value)?,
                name => self.check_member(name, value)?,
            }
        }
        match self.members.iter().find(|own| own.required && detail.member(&own.name).is_none()) {
            Some(missing) => Err(format!("lacks {}", missing.name)),
            None => Ok(()),
        }
    }

    fn check_member(&self, name: &str, value: &Value) -> Result<(), String> {
        let Some(member) = self.members.iter().find(|own| own.name == name) else {
            let shown: String = name.chars().take(64).collect();
            return Err(format!("has a member that its type does not have: {shown}"));
        };
        match (member.takes(value), member.values.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err(format!("must have {} in {name}", member.kind.words())),
            (false, false) => {
                Err(format!("must have in {name} {}: {}", member.kind.words(), member.values.join(", ")))
            }
        }
    }

    fn check_locations(&self, value: &Value) -> Result<(), String> {
        let is_own = |place: &Value| self.locations.iter().any(|own| place == own.as_str());
        match value.as_array() {
            Some(named) if !named.is_empty() && named.iter().all(is_own) => Ok(()),
            _ => Err(format!("must have in {LOCATIONS} some of {}", self.locations.join(", "))),
        }
    }
}

impl DetailMember {
    fn takes(&self, value: &Value) -> bool {
        match (self.kind, value) {
            (MemberType::String, Value::String(text)) => self.allows(text),
            (MemberType::Number, Value::Number(_)) | (MemberType::Boolean, Value::Bool(_)) => true,
            (MemberType::Strings, Value::Array(texts)) => {
                let is_allowed = |text: &Value| text.as_str().is_some_and(|text| self.allows(text));
                (1..=MOST_VALUES).contains(&texts.len()) && texts.iter().all(is_allowed)
            }
            _ => false,
        }
    }

    /// A text that a page can show whole, and that is one of the allowed ones.
    fn allows(&self, text: &str) -> bool {
        is_value(text) && (self.values.is_empty() || self.values.iter().any(|own| own == text))
    }
}

fn is_value(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= LONGEST_VALUE && !text.chars().any(char::is_control)
}

/// A piece of a text for the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Words.
    Words(&'t str),
    /// The place of a member's value.
    Member(&'t str),
}

/// The pieces of a text; `None` if a brace lacks its other one.
pub(super) fn pieces(text: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((words, after)) = rest.split_once('{') {
        let (member, after) = after.split_once('}')?;
        if words.contains('}') || member.contains('{') {
            return None;
        }
        pieces.push(Piece::Words(words));
        pieces.push(Piece::Member(member));
        rest = after;
    }
    if rest.contains('}') {
        return None;
    }
    pieces.push(Piece::Words(rest));
    pieces.retain(|piece| *piece != Piece::Words(""));
    Some(pieces)
}

/// Checks the setting `authorization_details_types` of an issuer.
///
/// # Errors
/// What is wrong, beginning with the setting's name.
pub fn check_types(types: &[AuthorizationDetailsType]) -> Result<(), String> {
    if types.len() > MOST_TYPES {
        return Err(format!("authorization_details_types has {MOST_TYPES} entries at most"));
    }
    for (at, own) in types.iter().enumerate() {
        // RFC 9396 2: there MUST be no collision between types.
        if types.iter().take(at).any(|before| before.name == own.name) {
            return Err(format!("authorization_details_types has the type {} twice", own.name));
        }
        check_type(own).map_err(|why| format!("authorization_details_types: {why}"))?;
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_shown = visible_ascii(name) && !name.contains(['"', '\\', '{', '}']);
    (1..=LONGEST_NAME).contains(&name.len()) && is_shown
}

fn check_type(own: &AuthorizationDetailsType) -> Result<(), String> {
    if !is_name(&own.name) {
        return Err(format!("type must be 1 to {LONGEST_NAME} visible ASCII characters"));
    }
    let name = &own.name;
    if own.members.len() > MOST_MEMBERS || own.locations.len() > MOST_VALUES {
        return Err(format!("{name} has {MOST_MEMBERS} members and {MOST_VALUES} locations at most"));
    }
    for (at, member) in own.members.iter().enumerate() {
        let is_taken = own.members.iter().take(at).any(|before| before.name == member.name);
        if !is_name(&member.name) || is_taken || matches!(member.name.as_str(), TYPE | LOCATIONS) {
            return Err(format!("{name} has a member whose name is taken or has other than visible ASCII"));
        }
        let takes_values = matches!(member.kind, MemberType::String | MemberType::Strings);
        let are_sound =
            member.values.len() <= MOST_VALUES && member.values.iter().all(|value| is_value(value));
        if !are_sound || (!takes_values && !member.values.is_empty()) {
            return Err(format!("{name}: values of {} must be texts, and it a text or a list", member.name));
        }
    }
    if let Some(place) = own.locations.iter().find(|place| !resource::is_well_formed(place)) {
        return Err(format!("{name}: the location {place} is no absolute URI without fragment"));
    }
    if own.texts.0.len() > MOST_TRANSLATIONS {
        return Err(format!("{name} has {MOST_TRANSLATIONS} further languages at most"));
    }
    std::iter::once(&own.text).chain(own.texts.0.values()).try_for_each(|text| check_text(own, text))
}

/// Only required members have places in a text: without a value it would read as another one. The page lists all others after it.
fn check_text(own: &AuthorizationDetailsType, text: &str) -> Result<(), String> {
    let name = &own.name;
    if !translation::is_line(text, LONGEST_TEXT) {
        return Err(format!("{name}: text must be one line of 1 to {LONGEST_TEXT} characters"));
    }
    let Some(pieces) = pieces(text) else {
        return Err(format!("{name}: text has a brace without its other one"));
    };
    let is_required =
        |placed: &str| own.members.iter().any(|member| member.required && member.name == placed);
    for piece in pieces {
        if let Piece::Member(placed) = piece
            && !is_required(placed)
        {
            return Err(format!("{name}: text has {{{placed}}}, which is no required member"));
        }
    }
    Ok(())
}
