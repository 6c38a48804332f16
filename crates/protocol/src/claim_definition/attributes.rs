//! The typed attributes of a user, as claims see them.

use super::source::Known;
use crate::attribute::{AttributeName, AttributeSchema, AttributeType, AttributeValue};
use crate::user::User;

/// The attributes that the issuer's schema has, with their types.
///
/// A user's record may hold others: the schema was changed, and the stored values stayed as they were. A value without a
/// definition is told to nobody, for it is not known any more who may see it. One that is not of the type that the schema
/// has now is not told either, because applications rely on the type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AttributeTypes(Vec<(AttributeName, AttributeType)>);

/// Those of an issuer without a schema.
pub(super) static NO_ATTRIBUTES: AttributeTypes = AttributeTypes::NONE;

impl AttributeTypes {
    /// None.
    pub(super) const NONE: Self = Self(Vec::new());

    pub(super) fn of(schema: &AttributeSchema) -> Self {
        let definitions = schema.definitions().iter();
        Self(definitions.map(|definition| (definition.name.clone(), definition.kind)).collect())
    }

    /// The attributes that a user has, by name.
    pub(super) fn of_user<'a>(&'a self, user: &'a User) -> impl Iterator<Item = (&'a str, Known<'a>)> {
        self.0.iter().filter_map(|attribute| {
            let value = value(attribute, user)?;
            Some((attribute.0.as_str(), value))
        })
    }

    /// One attribute, if the user has it.
    pub(super) fn one_of_user<'a>(&self, user: &'a User, name: &str) -> Option<Known<'a>> {
        value(self.0.iter().find(|(own, _)| own.as_str() == name)?, user)
    }
}

fn value<'a>((name, kind): &(AttributeName, AttributeType), user: &'a User) -> Option<Known<'a>> {
    match user.profile.attributes.get(name).filter(|value| value.is_of(*kind))? {
        AttributeValue::Text(text) => Some(Known::Text(text)),
        AttributeValue::Boolean(flag) => Some(Known::Flag(*flag)),
        AttributeValue::List(items) => Some(Known::Texts(items.iter().map(String::as_str).collect())),
        AttributeValue::Number(number) => match number.as_i64() {
            Some(number) => Some(Known::Number(number)),
            None => number.as_f64().map(Known::Decimal),
        },
    }
}
