//! The attributes that an issuer's users may have.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{
    AggregatedClaims, AttributeDefinition, AttributeFault, AttributeName, AttributeType, AttributeValue,
    Attributes, MOST_BYTES, Party, Pattern,
};
use crate::scope::Scope;
use crate::time::Timestamp;

/// How many names an error lists.
const LISTED: usize = 10;

/// The definitions of an issuer's attributes, in the order in which they are shown. A setting of the issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AttributeSchema(Vec<AttributeDefinition>);

/// Why a schema cannot be saved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSchema {
    /// There are too many definitions.
    #[error("attributes must be at most {} definitions", AttributeSchema::MOST)]
    TooMany,
    /// Two definitions have one name.
    #[error("attributes.{0} is defined twice")]
    Twice(AttributeName),
    /// A definition contradicts itself, or takes a name that it cannot have.
    #[error("attributes.{0} {1}")]
    Definition(AttributeName, String),
}

/// Why attributes of a user cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributeError {
    /// One of them is at fault.
    #[error("attributes.{0} {1}")]
    One(AttributeName, AttributeFault),
    /// All of them together take so many bytes.
    #[error("attributes take {} bytes of JSON; all of a user's together may take {}: shorten some", .0, MOST_BYTES)]
    TooLarge(usize),
}

impl AttributeSchema {
    /// How many definitions a schema may have.
    pub const MOST: usize = 100;

    /// A schema of these definitions.
    pub fn new(definitions: Vec<AttributeDefinition>) -> Self {
        Self(definitions)
    }

    /// Whether it defines nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The definitions.
    pub fn definitions(&self) -> &[AttributeDefinition] {
        &self.0
    }

    /// The definition of a name.
    pub fn definition(&self, name: &str) -> Option<&AttributeDefinition> {
        self.0.iter().find(|definition| definition.name.as_str() == name)
    }

    /// Adds a definition, or replaces the one of its name.
    pub fn define(&mut self, definition: AttributeDefinition) {
        match self.0.iter_mut().find(|own| own.name == definition.name) {
            Some(own) => *own = definition,
            None => self.0.push(definition),
        }
    }

    /// Removes the definition of a name; false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|definition| definition.name.as_str() != name);
        self.0.len() < before
    }

    /// Whether it may be saved.
    ///
    /// # Errors
    /// [`InvalidSchema`]: more than 100 definitions, a name twice, or a definition that cannot be.
    pub fn validate(&self) -> Result<(), InvalidSchema> {
        if self.0.len() > Self::MOST {
            return Err(InvalidSchema::TooMany);
        }
        let mut names = BTreeSet::new();
        for definition in &self.0 {
            let name = || definition.name.clone();
            if !names.insert(&definition.name) {
                return Err(InvalidSchema::Twice(name()));
            }
            if let Some(fault) = definition.fault() {
                return Err(InvalidSchema::Definition(name(), fault));
            }
        }
        Ok(())
    }

    /// Checks the attributes with which a user is written; see [`AttributeChecker::check`].
    ///
    /// # Errors
    /// [`AttributeError`].
    pub fn check(
        &self,
        values: &Attributes,
        stored: Option<&Attributes>,
        by: Party,
    ) -> Result<(), AttributeError> {
        self.checker().check(values, stored, by)
    }

    /// A checker for many users.
    pub fn checker(&self) -> AttributeChecker<'_> {
        AttributeChecker { schema: self, compiled: BTreeMap::new() }
    }

    /// Those of a user's attributes that somebody may see. Values without a definition, which remain after a definition
    /// was removed, are shown to nobody: it is not known any more who may see them.
    pub fn shown_to<'a>(
        &self,
        by: Party,
        attributes: &'a Attributes,
    ) -> impl Iterator<Item = (&'a AttributeName, &'a AttributeValue)> {
        attributes.iter().filter(move |(name, _)| self.may_read(by, name))
    }

    /// Those of a user's stored attributes that somebody may not both see and write. Whoever replaces a user's record
    /// cannot give their values back, so they stay.
    pub fn kept_from<'a>(
        &self,
        by: Party,
        stored: &'a Attributes,
    ) -> impl Iterator<Item = (&'a AttributeName, &'a AttributeValue)> {
        stored.iter().filter(move |(name, _)| !self.may_read(by, name) || !self.may_write(by, name))
    }

    /// Whether somebody may see an attribute. One without a definition nobody may.
    pub fn may_read(&self, by: Party, name: &AttributeName) -> bool {
        self.definition(name.as_str()).is_some_and(|definition| definition.readable_by.contains(&by))
    }

    fn may_write(&self, by: Party, name: &AttributeName) -> bool {
        self.definition(name.as_str()).is_some_and(|definition| definition.writable_by.contains(&by))
    }

    /// Whether a granted scope releases any attribute.
    pub fn releases_by(&self, scope: &Scope) -> bool {
        self.0.iter().any(|definition| definition.is_released_by(scope))
    }

    /// The names of those attributes that a granted scope releases as claims of their names, in the schema's order. A value that is not of the type
    /// that the schema has now is not released: the application relies on the type.
    pub fn released<'a>(
        &'a self,
        scope: &'a Scope,
        attributes: &'a Attributes,
    ) -> impl Iterator<Item = &'a AttributeName> {
        let is_released = move |definition: &&'a AttributeDefinition| {
            definition.kind != AttributeType::Aggregated
                && definition.is_released_by(scope)
                && attributes.get(&definition.name).is_some_and(|value| value.is_of(definition.kind))
        };
        self.0.iter().filter(is_released).map(|definition| &definition.name)
    }

    /// The claims of other providers that a granted scope releases, as far as they have not ended; `None` if there are none.
    pub fn aggregated(
        &self,
        scope: &Scope,
        attributes: &Attributes,
        now: Timestamp,
    ) -> Option<AggregatedClaims> {
        let mut all = AggregatedClaims::default();
        for definition in self.aggregating().filter(|definition| definition.is_released_by(scope)) {
            if let Some(AttributeValue::Text(jwt)) = attributes.get(&definition.name) {
                all.add(&definition.name, jwt, now);
            }
        }
        (!all.is_empty()).then_some(all)
    }

    /// The definitions whose values are JWTs of other providers.
    pub fn aggregating(&self) -> impl Iterator<Item = &AttributeDefinition> {
        self.0.iter().filter(|definition| definition.kind == AttributeType::Aggregated)
    }

    /// The values of a user that no other user may have, each with its name: those of attributes that are unique, as far as
    /// they are of the type that the schema has now.
    pub fn unique<'a>(
        &'a self,
        attributes: &'a Attributes,
    ) -> impl Iterator<Item = (&'a AttributeName, &'a AttributeValue)> {
        let unique = self.0.iter().filter(|definition| definition.unique);
        unique.filter_map(move |definition| {
            let value = attributes.get(&definition.name).filter(|value| value.is_of(definition.kind))?;
            Some((&definition.name, value))
        })
    }

    /// The definitions that are unique here, and were not in `before` with the same type.
    #[must_use]
    pub fn newly_unique(&self, before: &Self) -> Self {
        let was_so = |definition: &AttributeDefinition| {
            let own = before.definition(definition.name.as_str());
            own.is_some_and(|own| own.unique && own.kind == definition.kind)
        };
        let new = self.0.iter().filter(|definition| definition.unique && !was_so(definition));
        Self(new.cloned().collect())
    }
}

/// Checks users against a schema. It compiles a pattern once, when the first value needs it.
pub struct AttributeChecker<'a> {
    schema: &'a AttributeSchema,
    compiled: BTreeMap<&'a AttributeName, Regex>,
}

impl<'a> AttributeChecker<'a> {
    /// Checks the attributes with which a user is written by `by`, against those that are stored; `None` for a new user.
    /// If nothing differs from what is stored, nothing is checked: a user whose values a newer schema would refuse can
    /// still be changed otherwise, above all be disabled.
    ///
    /// # Errors
    /// [`AttributeError`]: an attribute that is new or another is unknown, or not written by `by`; one that the schema
    /// knows is not of its type, out of bounds or does not match its pattern; a required one is missing; all together are
    /// too large.
    pub fn check(
        &mut self,
        values: &Attributes,
        stored: Option<&Attributes>,
        by: Party,
    ) -> Result<(), AttributeError> {
        if stored == Some(values) {
            return Ok(());
        }
        let none = Attributes::new();
        let stored = stored.unwrap_or(&none);
        self.check_changes(values, stored, by)?;
        self.check_values(values, stored, by)?;
        // Writing to memory cannot fail.
        let bytes = serde_json::to_vec(values).map_or(0, |json| json.len());
        if bytes > MOST_BYTES { Err(AttributeError::TooLarge(bytes)) } else { Ok(()) }
    }

    /// Checks that whatever differs is known, and is written by `by`.
    fn check_changes(
        &self,
        values: &Attributes,
        stored: &Attributes,
        by: Party,
    ) -> Result<(), AttributeError> {
        let removed = stored.keys().filter(|name| !values.contains_key(*name));
        for name in values.keys().chain(removed).filter(|name| values.get(*name) != stored.get(*name)) {
            let refused = |fault| Err(AttributeError::One(name.clone(), fault));
            match self.schema.definition(name.as_str()) {
                Some(definition) if !definition.writable_by.contains(&by) => {
                    return refused(AttributeFault::NotWritable(by.plural()));
                }
                None if values.contains_key(name) => return refused(AttributeFault::Unknown(self.known())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks the values of all attributes that the schema knows, but for those that stay as they are stored because `by` may
    /// not write them: whoever cannot mend a value must still be able to change the others.
    fn check_values(
        &mut self,
        values: &Attributes,
        stored: &Attributes,
        by: Party,
    ) -> Result<(), AttributeError> {
        for definition in self.schema.definitions() {
            let stays = values.get(&definition.name) == stored.get(&definition.name);
            if stays && !definition.writable_by.contains(&by) {
                continue;
            }
            let fault = match values.get(&definition.name).filter(|value| !value.is_nothing()) {
                Some(value) => self.fault(definition, value),
                None => definition.required.then_some(AttributeFault::Missing),
            };
            if let Some(fault) = fault {
                return Err(AttributeError::One(definition.name.clone(), fault));
            }
        }
        Ok(())
    }

    fn known(&self) -> String {
        let names = self.schema.definitions().iter().map(|definition| definition.name.as_str());
        let more = if names.len() > LISTED { ", ..." } else { "" };
        match self.schema.is_empty() {
            true => "no attribute".to_owned(),
            false => format!("{}{more}", names.take(LISTED).collect::<Vec<_>>().join(", ")),
        }
    }

    fn fault(
        &mut self,
        definition: &'a AttributeDefinition,
        value: &AttributeValue,
    ) -> Option<AttributeFault> {
        if let Err(fault) = value.check(definition.kind) {
            return Some(fault);
        }
        let pattern = definition.pattern.as_ref()?;
        match self.compiled(&definition.name, pattern) {
            Ok(regex) if value.texts().iter().all(|text| regex.is_match(text)) => None,
            Ok(_) => Some(AttributeFault::Mismatch(pattern.as_str().to_owned())),
            Err(fault) => Some(fault),
        }
    }

    fn compiled(&mut self, name: &'a AttributeName, pattern: &Pattern) -> Result<&Regex, AttributeFault> {
        Ok(match self.compiled.entry(name) {
            Entry::Occupied(compiled) => compiled.into_mut(),
            Entry::Vacant(free) => {
                let regex = pattern.compile();
                free.insert(regex.map_err(|error| AttributeFault::BadPattern(error.to_string()))?)
            }
        })
    }
}

#[cfg(test)]
mod tests;
