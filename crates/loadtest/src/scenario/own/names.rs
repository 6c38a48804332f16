//! The names that stand for values in a file, and where each is known.

use std::collections::BTreeMap;

use symbolon_crypto::SecretString;

use super::data::Table;
use super::template::{self, BuiltIn, Source, Template};

/// What a value is that was set or taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    Text,
    Form,
}

/// The names that a text may use.
pub(super) struct Names<'a> {
    pub(super) constants: &'a BTreeMap<String, SecretString>,
    pub(super) tables: &'a [Table],
    /// What was set or taken so far, by name.
    pub(super) slots: BTreeMap<String, (usize, Is)>,
    pub(super) next_slot: usize,
}

impl Names<'_> {
    pub(super) fn template(&self, text: &str) -> Result<Template, String> {
        template::parse(text, |name| self.find(name))
    }

    fn find(&self, name: &str) -> Result<Source, String> {
        if let Some(built_in) = BuiltIn::find(name) {
            return Ok(Source::BuiltIn(built_in));
        }
        if let Some(value) = self.constants.get(name) {
            return Ok(Source::Constant(value.clone()));
        }
        match self.slots.get(name) {
            Some((slot, Is::Text)) => return Ok(Source::Slot(*slot)),
            Some((_, Is::Form)) => {
                return Err(format!(
                    "{{{{{name}}}}} is a form: use {{{{{name}.action}}}}, {{{{{name}.FIELD}}}} or submit = {name:?}"
                ));
            }
            None => {}
        }
        let (of, part) = name.split_once('.').unwrap_or((name, ""));
        if let Some((slot, Is::Form)) = self.slots.get(of) {
            return Ok(match part {
                "action" => Source::FormAction(*slot),
                field => Source::FormField(*slot, field.to_owned()),
            });
        }
        if let Some((number, table)) = self.tables.iter().enumerate().find(|(_, table)| table.name == of) {
            let column = table.columns.iter().position(|column| column == part);
            return column.map(|column| Source::Data(number, column)).ok_or_else(|| {
                format!("{{{{{name}}}}}: data.{of} has no {part:?}; it has {}", table.columns.join(", "))
            });
        }
        Err(format!("{{{{{name}}}}} is not known here; there are {}", self.known()))
    }

    fn known(&self) -> String {
        let tables = self
            .tables
            .iter()
            .flat_map(|table| table.columns.iter().map(|column| format!("{}.{column}", table.name)));
        let built_ins = BuiltIn::ALL.into_iter().map(|(name, _)| name.to_owned());
        let own = self.constants.keys().chain(self.slots.keys()).cloned();
        own.chain(tables).chain(built_ins).collect::<Vec<_>>().join(", ")
    }

    /// Makes a name known.
    pub(super) fn add(&mut self, name: &str, is: Is) -> Result<usize, String> {
        check_name(name)?;
        let taken = self.constants.contains_key(name) || self.tables.iter().any(|table| table.name == name);
        if taken || is_reserved(name) {
            return Err(format!("{name:?} is the name of something else; choose another one"));
        }
        if let Some((slot, before)) = self.slots.get(name) {
            return if *before == is {
                Ok(*slot)
            } else {
                Err(format!("{name:?} is a form here and a text there; choose another name"))
            };
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        self.slots.insert(name.to_owned(), (slot, is));
        Ok(slot)
    }
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    if !name.is_empty() && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(format!("{name:?} is no name: letters, digits, `_` and `-` are allowed"))
}

/// The first parts of what needs not be told in a file.
pub(super) fn is_reserved(name: &str) -> bool {
    BuiltIn::ALL.iter().any(|(own, _)| own.split('.').next() == Some(name))
}
