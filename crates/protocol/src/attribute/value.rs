//! Values of attributes, and what makes one valid.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::aggregated::ClaimsJwt;

/// The longest text, and the longest item of a list, in characters.
const LONGEST_TEXT: usize = 2_000;

/// The most items of a list.
pub(crate) const MOST_ITEMS: usize = 100;

/// The greatest number, and without its sign the least: beyond it readers of JSON do not agree on the value of an
/// integer (RFC 8259 6).
const GREATEST: f64 = 9_007_199_254_740_991.0;

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttributeType {
    /// A text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list of texts.
    List,
    /// A day, as RFC 3339 writes it: `2026-11-28`.
    Date,
    /// The JWT of another provider that vouches for claims about the user (OpenID Connect Core 5.6.2).
    Aggregated,
}

impl AttributeType {
    /// Every type.
    pub const ALL: [Self; 6] =
        [Self::String, Self::Number, Self::Boolean, Self::List, Self::Date, Self::Aggregated];

    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::Date => "date",
            Self::Aggregated => "aggregated",
        }
    }

    /// The value that a text stands for where there is only text, as in the query of an address. A list has no such
    /// form.
    ///
    /// # Errors
    /// [`AttributeFault::Type`] if the text is no value of this type.
    pub fn value_of(self, text: &str) -> Result<AttributeValue, AttributeFault> {
        let value = match self {
            Self::String | Self::Date | Self::Aggregated => Some(AttributeValue::Text(text.to_owned())),
            Self::Number => serde_json::from_str(text).ok().map(AttributeValue::Number),
            Self::Boolean => text.parse().ok().map(AttributeValue::Boolean),
            Self::List => None,
        };
        let value = value.ok_or(AttributeFault::Type(self))?;
        value.check(self)?;
        Ok(value)
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::String => "a text",
            Self::Number => "a number from -9007199254740991 to 9007199254740991",
            Self::Boolean => "true or false",
            Self::List => "a list of texts",
            Self::Date => "a date such as 2026-11-28",
            Self::Aggregated => "a signed JWT of at most 8192 bytes, with 1 to 50 claims about the user",
        }
    }
}

/// What is wrong with the value of an attribute, and what mends it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttributeFault {
    /// It is of no type that an attribute may have.
    #[error("must be a text, a number, true, false or a list of texts")]
    NoType,
    /// It is not of the attribute's type.
    #[error("must be {}", .0.wanted())]
    Type(AttributeType),
    /// It is a text, or has an item, without a character.
    #[error("must not be empty or have an empty item; null removes the attribute")]
    Empty,
    /// It is, or has, a text that is too long.
    #[error("must have at most 2000 characters, and so must each item of a list")]
    TooLong,
    /// It is, or has, a text with a character that cannot be shown.
    #[error("must have no control characters but line breaks and tabs")]
    Control,
    /// It is a list with too many items.
    #[error("must have at most 100 items")]
    TooMany,
    /// It does not match the pattern of the schema.
    #[error("must match the pattern {0}")]
    Mismatch(String),
    /// The schema's pattern cannot be used, so that no value can be checked against it.
    #[error("has a pattern in the issuer's schema that cannot be used ({0}): mend the schema first")]
    BadPattern(String),
    /// The schema requires it.
    #[error("is required by the issuer's schema: give it a value")]
    Missing,
    /// The schema does not know it.
    #[error("is not in the issuer's schema, which has {0}: mend the name, or define the attribute first")]
    Unknown(String),
    /// The schema does not let these write it.
    #[error("is not written by {0}: writable_by in the issuer's schema does not name them")]
    NotWritable(&'static str),
}

/// The value of an attribute. In JSON: a text, a number, `true` or `false`, or a list of texts; a date is a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum AttributeValue {
    /// A text, a date, or a JWT.
    Text(String),
    /// A number.
    Number(Number),
    /// `true` or `false`.
    Boolean(bool),
    /// A list of texts.
    List(Vec<String>),
}

impl TryFrom<Value> for AttributeValue {
    type Error = AttributeFault;

    fn try_from(value: Value) -> Result<Self, AttributeFault> {
        let text = |item| match item {
            Value::String(text) => Ok(text),
            _ => Err(AttributeFault::NoType),
        };
        match value {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Number(number) => Ok(Self::Number(number)),
            Value::Bool(flag) => Ok(Self::Boolean(flag)),
            Value::Array(items) => items.into_iter().map(text).collect::<Result<_, _>>().map(Self::List),
            Value::Null | Value::Object(_) => Err(AttributeFault::NoType),
        }
    }
}

impl AttributeValue {
    /// Whether it is a value of a type. A stored value may not be, after the type was changed in the schema.
    pub fn is_of(&self, kind: AttributeType) -> bool {
        match (kind, self) {
            (AttributeType::String, Self::Text(_))
            | (AttributeType::Boolean, Self::Boolean(_))
            | (AttributeType::List, Self::List(_)) => true,
            (AttributeType::Date, Self::Text(text)) => is_full_date(text),
            (AttributeType::Aggregated, Self::Text(text)) => ClaimsJwt::read(text).is_some(),
            (AttributeType::Number, Self::Number(number)) => {
                number.as_f64().is_some_and(|number| number.abs() <= GREATEST)
            }
            _ => false,
        }
    }

    /// The text by which values that must be unique are compared; `None` for a list and for `true` and `false`, which
    /// cannot be unique. Equal numbers have one text, however they were written.
    pub fn unique_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            // Adding zero makes -0 to 0.
            Self::Number(number) => number.as_f64().map(|number| Cow::Owned((number + 0.0).to_string())),
            Self::Boolean(_) | Self::List(_) => None,
        }
    }

    /// Its texts: itself, or its items.
    pub(super) fn texts(&self) -> &[String] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::List(items) => items,
            Self::Number(_) | Self::Boolean(_) => &[],
        }
    }

    /// Whether it says nothing: a list without an item.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::List(items) if items.is_empty())
    }

    /// Checks type and bounds.
    pub(super) fn check(&self, kind: AttributeType) -> Result<(), AttributeFault> {
        if !self.is_of(kind) {
            return Err(AttributeFault::Type(kind));
        }
        // A JWT has bounds of its own.
        if kind == AttributeType::Aggregated {
            return Ok(());
        }
        if self.texts().len() > MOST_ITEMS {
            return Err(AttributeFault::TooMany);
        }
        self.texts().iter().try_for_each(|text| check_text(text))
    }
}

fn check_text(text: &str) -> Result<(), AttributeFault> {
    if text.is_empty() {
        return Err(AttributeFault::Empty);
    }
    // The bytes first: a character has at most four, so a longer text need not be counted.
    if text.len() > 4 * LONGEST_TEXT || text.chars().count() > LONGEST_TEXT {
        return Err(AttributeFault::TooLong);
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(AttributeFault::Control);
    }
    Ok(())
}

/// Whether a text is a day of the calendar (RFC 3339 5.6, full-date).
fn is_full_date(text: &str) -> bool {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0_u32, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
        })
    };
    match (number(&[y1, y2, y3, y4]), number(&[m1, m2]), number(&[d1, d2])) {
        (Some(year), Some(month), Some(day)) => (1..=days_of(year, month)).contains(&day),
        _ => false,
    }
}

/// How many days a month has (RFC 3339 5.7, appendix C); none if there is no such month.
fn days_of(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 0,
    }
}
