//! Expressions in the Common Expression Language (<https://cel.dev>), by the crate `cel`.
//!
//! The crate bounds neither time nor memory, and of its two parsers the default one needs more than a gigabyte for some
//! inputs of 125 bytes. So this module uses the other one (`PrattParser`), and admits an expression only if
//! [`bounds`](super::bounds) shows what it costs at most: it has a bounded size and depth, names only what there is, calls
//! only functions of a list, and has no loop within a loop. There is no clock and no randomness in it, and no regular
//! expression.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelNull, CelString, CelUInt};
use cel::common::value::Val;
use cel::parser::PrattParser;
use cel::{Context, Env, ExecutionError, IdedExpr, Value, extensions};

use super::bounds::{self, Uses};
use super::variables::Variables;
use crate::json::{push_name, push_number, push_text};

/// The longest expression, in bytes.
pub const LONGEST_EXPRESSION: usize = 1_000;

/// The longest result of an expression, in bytes of JSON.
pub const LONGEST_RESULT: usize = 4 << 10;

/// How many conditionals (`a ? b : c`) an expression may have. The parser calls itself for each, without counting.
const MOST_CONDITIONALS: usize = 16;

/// How deep parentheses, lists and calls may be nested, for the parser.
const DEEPEST_SOURCE: u16 = 24;

/// How deep a result may be nested.
const DEEPEST_RESULT: usize = 8;

/// The longest reason of a failure, in characters.
const LONGEST_REASON: usize = 200;

/// The functions and types. Only a part of them passes [`bounds`].
static FUNCTIONS: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut functions = Env::stdlib();
    // It fails only for functions that exist already; expressions that call a missing one would fail.
    let added = functions.add_extension(extensions::strings);
    debug_assert!(added.is_ok());
    Arc::new(functions)
});

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Expression {
    root: IdedExpr,
    uses: Uses,
    /// How many steps it takes at most.
    steps: u64,
}

/// What an evaluation came to, if it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evaluated {
    /// The value was written.
    Written,
    /// There is no value: it is `null`, or rests on something that the user does not have. What was written makes no
    /// sense.
    Absent,
}

impl Expression {
    /// Compiles an expression, if it is admitted.
    pub(super) fn compile(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_EXPRESSION {
            return Err(format!("the expression is longer than {LONGEST_EXPRESSION} bytes"));
        }
        if text.bytes().filter(|byte| *byte == b'?').count() > MOST_CONDITIONALS {
            return Err(format!("the expression has more than {MOST_CONDITIONALS} question marks"));
        }
        let parser = PrattParser::new().max_recursion_depth(DEEPEST_SOURCE);
        let root = guarded(|| parser.parse(text))?.map_err(|errors| {
            let first = errors.errors.into_iter().next();
            let (at, why) = first.map_or((0, String::new()), |error| (error.pos.1, error.msg));
            reason(&format!("the expression cannot be read, at character {at}: {why}"))
        })?;
        let (uses, steps) = bounds::admit(&root).map_err(|why| reason(&why))?;
        Ok(Self { root, uses, steps })
    }

    /// How many steps it takes at most.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// The variables that it names.
    pub(super) fn uses(&self) -> Uses {
        self.uses
    }

    /// Evaluates it, and writes its value. Fails with a reason; what was written then makes no sense. `variables` must be
    /// prepared for what it [`uses`](Self::uses).
    pub(super) fn evaluate(
        &self,
        variables: &Variables<'_>,
        json: &mut Vec<u8>,
    ) -> Result<Evaluated, String> {
        let end = json.len() + LONGEST_RESULT;
        guarded(|| {
            let mut context = Context::with_env(Arc::clone(&*FUNCTIONS));
            context.set_variable_resolver(variables);
            match Value::resolve_val(&self.root, &context) {
                Ok(value) if value.downcast_ref::<CelNull>().is_some() => Ok(Evaluated::Absent),
                Ok(value) => write(&*value, json, end, 0).map(|()| Evaluated::Written),
                // What is not there is no mistake of the expression, but a claim without a value.
                Err(ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_)) => {
                    Ok(Evaluated::Absent)
                }
                Err(error) => Err(told(&error)),
            }
        })?
    }
}

/// What is said about a failure. The crate's own messages hold values, which are people's data and belong in no log.
fn told(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload(types) => reason(&types.to_string()),
        ExecutionError::UnexpectedType { got, want } => reason(&format!("{got} where {want} is expected")),
        ExecutionError::UndeclaredReference(name) => reason(&format!("there is no {name}")),
        ExecutionError::FunctionError { function, .. } => reason(&format!("{function} failed")),
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => {
            format!("{operator} cannot take these two values")
        }
        ExecutionError::ValuesNotComparable(..) => "two values cannot be compared".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "a number is too large".to_owned(),
        _ => "the evaluation failed".to_owned(),
    }
}

/// Runs code of the interpreter. A panic in it is a failure of one claim, and of no login.
fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| "the interpreter failed".to_owned())
}

/// A reason as one short line.
fn reason(text: &str) -> String {
    text.chars().take(LONGEST_REASON).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Writes a value as JSON, until it is too large.
fn write<'v>(value: &(dyn Val + 'v), json: &mut Vec<u8>, end: usize, depth: usize) -> Result<(), String> {
    if depth > DEEPEST_RESULT {
        return Err("the result is nested too deep".to_owned());
    }
    if let Some(text) = value.downcast_ref::<CelString>() {
        push_text(json, text.inner());
    } else if let Some(flag) = value.downcast_ref::<CelBool>() {
        json.extend_from_slice(if *flag.inner() { b"true" } else { b"false" });
    } else if let Some(number) = value.downcast_ref::<CelInt>() {
        json.extend_from_slice(number.inner().to_string().as_bytes());
    } else if let Some(number) = value.downcast_ref::<CelUInt>() {
        push_number(json, *number.inner());
    } else if let Some(number) = value.downcast_ref::<CelDouble>() {
        let number = serde_json::Number::from_f64(*number.inner()).ok_or("the result is no number")?;
        json.extend_from_slice(number.to_string().as_bytes());
    } else if value.downcast_ref::<CelNull>().is_some() {
        json.extend_from_slice(b"null");
    } else if let Some(list) = value.downcast_ref::<CelList>() {
        json.push(b'[');
        for (n, item) in list.inner().iter().enumerate() {
            if n > 0 {
                json.push(b',');
            }
            write(&**item, json, end, depth + 1)?;
        }
        json.push(b']');
    } else if let Some(map) = value.downcast_ref::<CelMap>() {
        write_map(map, json, end, depth)?;
    } else {
        return Err("the result is neither text, number, truth value, list nor map".to_owned());
    }
    if json.len() > end { Err(format!("the result is longer than {LONGEST_RESULT} bytes")) } else { Ok(()) }
}

/// Writes a map in the order of its keys, so that equal maps are written alike.
fn write_map(map: &CelMap<'_>, json: &mut Vec<u8>, end: usize, depth: usize) -> Result<(), String> {
    let mut members = Vec::with_capacity(map.inner().len());
    for (key, value) in map.inner() {
        let key = key.inner().downcast_ref::<CelString>().ok_or("a key of the result is no text")?;
        members.push((key.inner(), value));
    }
    members.sort_unstable_by_key(|(key, _)| *key);
    json.push(b'{');
    for (n, (key, value)) in members.into_iter().enumerate() {
        if n > 0 {
            json.push(b',');
        }
        push_name(json, key);
        write(&**value, json, end, depth + 1)?;
    }
    json.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests;
