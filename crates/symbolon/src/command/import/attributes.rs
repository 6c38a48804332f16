//! The attributes of users that a source defines itself. Those that the schema of the target defines come in, as values of
//! its types; nothing else is taken.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use symbolon_protocol::attribute::{
    AttributeDefinition, AttributeError, AttributeFault, AttributeName, AttributeSchema, AttributeType,
    AttributeValue, MOST_BYTES, Party, Pattern,
};

use super::record::{Custom, Fault, Object, Part};
use super::report::Report;
use super::schema::{Defined, Schema};
use super::server::Server;
use crate::command::CommandError;

/// What the report says once where users have attributes that the issuer does not define.
const MEND: &str = "attributes that the issuer does not define were left out: symbolon attribute set NAME before the import \
                    takes them";

/// Sorts the attributes of the users of an import.
#[derive(Default)]
pub(super) struct Sorter {
    /// What they must be, as the server said when the first user had any.
    rules: Option<Attributes>,
    is_mend_noted: bool,
}

impl Sorter {
    /// Sorts those of a user, and counts those that the issuer does not define.
    pub(super) fn sort(
        &mut self,
        attributes: Vec<Custom>,
        server: &dyn Server,
        report: &mut Report<'_>,
    ) -> Result<Sorted, CommandError> {
        if attributes.is_empty() {
            return Ok(Sorted::default());
        }
        let rules = match self.rules.take() {
            Some(rules) => rules,
            None => Attributes::new(&server.schema()?),
        };
        let mut sorted = self.rules.insert(rules).sort(attributes);
        if !sorted.undefined.is_empty() && !self.is_mend_noted {
            self.is_mend_noted = true;
            report.note(MEND);
        }
        report.note_left_out(std::mem::take(&mut sorted.undefined));
        Ok(sorted)
    }
}

/// What the attributes of users must be.
struct Attributes(HashMap<String, Rule>);

/// What became of the attributes of a user.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// Those that come in, by the names of the schema.
    pub(super) values: Object,
    /// Those that the schema defines, and that do not come in.
    pub(super) parts: Vec<Part>,
    /// Those that the schema does not define, as the report counts them.
    undefined: Vec<String>,
}

impl Attributes {
    fn new(schema: &Schema) -> Self {
        Self(
            schema.definitions().map(|(name, defined)| (name.to_owned(), Rule::new(name, defined))).collect(),
        )
    }

    /// Takes those that the schema defines. Of several of one name the first comes in.
    fn sort(&self, attributes: Vec<Custom>) -> Sorted {
        let mut sorted = Sorted::default();
        let mut bytes = 0;
        for Custom { name, called, value } in attributes {
            let called = format!("attribute {called}");
            let Some(rule) = self.0.get(&name) else {
                sorted.undefined.push(called);
                continue;
            };
            let taken = match sorted.values.contains_key(&name) {
                true => Err("another attribute of the user has this name here".into()),
                false => rule.value_of(value),
            };
            let taken = taken.and_then(|value| {
                // Together with a colon, a comma and the quotes of the name.
                let more = name.len() + 4 + value.to_string().len();
                if bytes + more > MOST_BYTES - 2 {
                    return Err(
                        format!("all of a user's attributes together may take {MOST_BYTES} bytes").into()
                    );
                }
                bytes += more;
                Ok(value)
            });
            match taken {
                Ok(value) => drop(sorted.values.insert(name, value)),
                Err(fault) => sorted.parts.push(Part::new(called, fault)),
            }
        }
        sorted
    }
}

/// Whether a text matches the pattern of a definition.
type Matches = Box<dyn Fn(&str) -> bool>;

/// What the values of one attribute must be.
struct Rule {
    name: AttributeName,
    is_writable: bool,
    /// The type; `None` if it is one that a later release brought.
    kind: Option<AttributeType>,
    /// The pattern, and its expression; `None` if it cannot be used.
    pattern: Option<(String, Option<Matches>)>,
}

impl Rule {
    fn new(name: &str, defined: &Defined) -> Self {
        let pattern = defined.pattern.as_ref().map(|text| {
            let compiled = Pattern::new(text.as_str()).compile().ok();
            (text.clone(), compiled.map(|regex| Box::new(move |text: &str| regex.is_match(text)) as Matches))
        });
        Self {
            name: AttributeName::trusted(name),
            is_writable: defined.is_writable,
            kind: defined.kind,
            pattern,
        }
    }

    /// The value that stands for one of the file.
    fn value_of(&self, value: Value) -> Result<Value, Fault> {
        if !self.is_writable {
            return Err("administrators may not write it here".into());
        }
        let Some(kind) = self.kind else { return Err("its type is one of a later release".into()) };
        let value = converted(kind, value)?;
        self.check(kind, &value).map_err(|fault| Fault::from(fault.to_string()))?;
        serde_json::to_value(value).map_err(|_| Fault::from("it is no value of an attribute"))
    }

    /// Checks what the server would, so that a value at fault does not cost the whole user.
    fn check(&self, kind: AttributeType, value: &AttributeValue) -> Result<(), AttributeFault> {
        let bounds = AttributeSchema::new(vec![AttributeDefinition::new(self.name.clone(), kind)]);
        let values = BTreeMap::from([(self.name.clone(), value.clone())]);
        if let Err(AttributeError::One(_, fault)) = bounds.check(&values, None, Party::Administrator) {
            return Err(fault);
        }
        let Some((pattern, matches)) = &self.pattern else { return Ok(()) };
        let is_match = |text: &String| matches.as_ref().is_some_and(|matches| matches(text));
        let is_good = match value {
            AttributeValue::Text(text) => is_match(text),
            AttributeValue::List(items) => items.iter().all(is_match),
            AttributeValue::Number(_) | AttributeValue::Boolean(_) => true,
        };
        if is_good { Ok(()) } else { Err(AttributeFault::Mismatch(pattern.clone())) }
    }
}

/// A value as one of a type: many sources have texts only, or lists of them.
fn converted(kind: AttributeType, value: Value) -> Result<AttributeValue, Fault> {
    let wrong = || Fault::from(AttributeFault::Type(kind).to_string());
    match (kind, value) {
        (AttributeType::List, Value::Array(items)) => {
            items.into_iter().map(text).collect::<Option<_>>().map(AttributeValue::List).ok_or_else(wrong)
        }
        (AttributeType::List, value) => {
            text(value).map(|text| AttributeValue::List(vec![text])).ok_or_else(wrong)
        }
        (_, Value::Array(mut items)) => match (items.pop(), items.len()) {
            (Some(Value::Array(_)) | None, _) => Err(wrong()),
            (Some(item), 0) => converted(kind, item),
            (Some(_), more) => Err(Fault::new(
                format!("it has {} values, and is no list here", more + 1),
                "define it with --type list before users come in",
            )),
        },
        (AttributeType::String | AttributeType::Date | AttributeType::Aggregated, value) => {
            text(value).map(AttributeValue::Text).ok_or_else(wrong)
        }
        (AttributeType::Number, Value::Number(number)) => Ok(AttributeValue::Number(number)),
        (AttributeType::Boolean, Value::Bool(flag)) => Ok(AttributeValue::Boolean(flag)),
        (AttributeType::Number | AttributeType::Boolean, Value::String(text)) => {
            kind.value_of(&text.trim().to_ascii_lowercase()).map_err(|fault| Fault::from(fault.to_string()))
        }
        (AttributeType::Number | AttributeType::Boolean, _) => Err(wrong()),
    }
}

/// The text of a text, a number, or true or false.
fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
