//! The typed attributes of a user, as claims see them.

use super::source::Known;
use crate::attribute::{AttributeName, AttributeValue};
use crate::user::User;

/// The attributes that a user has, by name.
pub(super) fn attributes(user: &User) -> impl Iterator<Item = (&str, Known<'_>)> {
    user.profile.attributes.iter().filter_map(|(name, value)| Some((name.as_str(), known(value)?)))
}

/// One attribute, if the user has it.
pub(super) fn attribute<'a>(user: &'a User, name: &str) -> Option<Known<'a>> {
    let name = AttributeName::parse(name).ok()?;
    user.profile.attributes.get(&name).and_then(known)
}

fn known(value: &AttributeValue) -> Option<Known<'_>> {
    match value {
        AttributeValue::Text(text) => Some(Known::Text(text)),
        AttributeValue::Number(number) => match number.as_i64() {
            Some(whole) => Some(Known::Number(whole)),
            None => number.as_f64().map(Known::Decimal),
        },
        AttributeValue::Boolean(flag) => Some(Known::Flag(*flag)),
        AttributeValue::List(texts) => Some(Known::Texts(texts.iter().map(String::as_str).collect())),
    }
}
