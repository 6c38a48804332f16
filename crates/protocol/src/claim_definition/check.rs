//! What is checked when claim definitions are saved.

use smol_str::SmolStr;

use super::expression::Expression;
use super::form::Form;
use super::source::{ClaimSource, Kind};
use super::{ClaimDefinition, Origin, dry_run, name};
use crate::attribute::{AttributeSchema, AttributeType};
use crate::scope::Scope;

/// How many definitions an issuer, or a client, may have.
pub const MOST_DEFINITIONS: usize = 50;

/// The longest prefix, in bytes.
const LONGEST_PREFIX: usize = 100;

/// The most steps that all expressions of an issuer, or a client, take together: some 100 ms for the largest user, and less
/// than a millisecond for a usual one.
const MOST_STEPS: u64 = 2_000_000;

/// The longest constant, in bytes of JSON.
const LONGEST_CONSTANT: usize = 4 << 10;

/// Why definitions of claims are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the claim {name}: {why}")]
pub struct Refused {
    /// The name of the claim, made printable.
    pub name: SmolStr,
    /// The reason.
    pub why: String,
}

impl Refused {
    fn new(name: &str, why: impl Into<String>) -> Self {
        Self { name: printable(name).collect(), why: why.into() }
    }
}

/// The beginning of a name, as it may stand in the text of an error.
fn printable(name: &str) -> impl Iterator<Item = char> {
    let printable = |c: char| if c.is_control() || matches!(c, '"' | '\\') { '?' } else { c };
    name.chars().take(64).map(printable)
}

/// Whether definitions can be saved: each by itself, and that no two have one name. Expressions are compiled, bounded and
/// tried.
///
/// # Errors
/// [`Refused`] for the first that cannot.
pub fn check(definitions: &[ClaimDefinition]) -> Result<(), Refused> {
    let mut steps = 0_u64;
    for (n, definition) in definitions.iter().enumerate() {
        if n >= MOST_DEFINITIONS {
            return Err(Refused::new(&definition.name, "there may be 50 definitions at most"));
        }
        if definitions.iter().take(n).any(|earlier| earlier.name == definition.name) {
            return Err(Refused::new(&definition.name, "it is defined twice"));
        }
        if let Some(expression) = compiled(definition)? {
            steps = steps.saturating_add(expression.steps());
            if steps > MOST_STEPS {
                let why = "this expression and those before it take more than 2,000,000 steps for a user with 1,000 groups \
                           and roles: let them go through fewer lists";
                return Err(Refused::new(&definition.name, why));
            }
            dry_run::try_out(&expression).map_err(|why| Refused::new(&definition.name, why))?;
        }
    }
    Ok(())
}

/// Whether definitions fit the attributes that users can have.
///
/// # Errors
/// [`Refused`] for the first that is made from an attribute that the schema does not have, or that gives a form or a prefix
/// to a number or a truth value.
pub fn check_attributes(definitions: &[ClaimDefinition], schema: &AttributeSchema) -> Result<(), Refused> {
    definitions.iter().try_for_each(|definition| fits(definition, schema))
}

/// [`check_attributes`] for one definition.
pub(super) fn fits(definition: &ClaimDefinition, schema: &AttributeSchema) -> Result<(), Refused> {
    let Origin::Source { source: ClaimSource::Attribute(name), form, prefix } = &definition.origin else {
        return Ok(());
    };
    let why = match schema.definition(name) {
        None => "which the schema does not have: define the attribute, or remove the claim",
        Some(attribute) if matches!(attribute.kind, AttributeType::Number | AttributeType::Boolean) => {
            if form.is_none() && prefix.is_empty() {
                return Ok(());
            }
            "a number or truth value, which has neither form nor prefix"
        }
        Some(_) => return Ok(()),
    };
    let name: String = printable(name).collect();
    Err(Refused::new(&definition.name, format!("it is made from the attribute {name}, {why}")))
}

/// Checks a definition by itself, and compiles its expression, if it has one. What passed is safe to use for tokens.
pub(super) fn compiled(definition: &ClaimDefinition) -> Result<Option<Expression>, Refused> {
    let refused = |why: &str| Refused::new(&definition.name, why);
    if let Some(why) = name::refuses(&definition.name) {
        return Err(refused(why));
    }
    if definition.origin != Origin::Off && definition.destinations.is_empty() {
        return Err(refused("it has no destination"));
    }
    if let Some(scope) = definition.scope.as_deref() {
        // RFC 6749 appendix A.4.
        let is_token = !scope.contains(' ') && Scope::parse(scope).is_ok_and(|parsed| !parsed.is_empty());
        if !is_token {
            return Err(refused("its scope is not one scope token"));
        }
    }
    match &definition.origin {
        Origin::Source { source, form, prefix } => {
            if let Some(why) = form.and_then(|form: Form| form.refuses(source)) {
                return Err(refused(why));
            }
            if prefix.len() > LONGEST_PREFIX || prefix.chars().any(char::is_control) {
                return Err(refused("its prefix must be at most 100 bytes without control characters"));
            }
            if !prefix.is_empty() && source.kind() == Kind::Scalar {
                return Err(refused("a number or truth value has no prefix"));
            }
            Ok(None)
        }
        Origin::Constant(value) if value.to_string().len() > LONGEST_CONSTANT => {
            Err(refused("its value is longer than 4 KiB"))
        }
        Origin::Expression(text) => Expression::compile(text).map(Some).map_err(|why| refused(&why)),
        Origin::Constant(_) | Origin::Off => Ok(None),
    }
}
