//! Authorization details in words, for the pages that ask a person (RFC 9396 3.1: what is asked for must be presented).

use serde_json::Value;

use super::AuthorizationDetails;
use super::definition::{self, AuthorizationDetailsType, Piece, pieces};
use super::detail::{Detail, LOCATIONS, TYPE};
use crate::settings::IssuerSettings;

/// A part of what the person reads. Values are the client's, and words the issuer's: a page must show which is which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Words of the type's text.
    Text(String),
    /// A value.
    Value(String),
    /// The value true.
    Yes,
    /// The value false.
    No,
}

/// One object, as the person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The name of its type.
    pub name: String,
    /// The text of its type with the values in it.
    pub words: Vec<Word>,
    /// The members that the text does not show, by their names.
    pub others: Vec<(String, Vec<Word>)>,
    /// The resource servers that it names.
    pub locations: Vec<String>,
}

/// The details in a language. All that is granted is in it: what the text does not show stands beside it.
pub fn described(
    details: &AuthorizationDetails,
    settings: &IssuerSettings,
    language: &str,
) -> Vec<Described> {
    let one = |detail: &Detail| describe(detail, definition::find(settings, detail.name()), language);
    details.details().iter().map(one).collect()
}

fn describe(detail: &Detail, known: Option<&AuthorizationDetailsType>, language: &str) -> Described {
    let text = known.map(|known| known.text_in(language)).unwrap_or_default();
    let pieces = pieces(text).unwrap_or_default();
    let in_text = |name: &str| pieces.contains(&Piece::Member(name));
    let words = pieces.iter().flat_map(|piece| match *piece {
        Piece::Words(words) => vec![Word::Text(words.to_owned())],
        Piece::Member(name) => detail.member(name).map(words_of).unwrap_or_default(),
    });
    let others = detail.iter().filter(|(name, _)| !matches!(*name, TYPE | LOCATIONS) && !in_text(name));
    Described {
        name: detail.name().to_owned(),
        words: words.collect(),
        others: others.map(|(name, value)| (name.to_owned(), words_of(value))).collect(),
        locations: detail.locations().into_iter().map(str::to_owned).collect(),
    }
}

fn words_of(value: &Value) -> Vec<Word> {
    match value {
        Value::String(text) => vec![Word::Value(text.clone())],
        Value::Bool(true) => vec![Word::Yes],
        Value::Bool(false) => vec![Word::No],
        Value::Array(values) => {
            let separated = values
                .iter()
                .flat_map(|value| std::iter::once(Word::Text(", ".to_owned())).chain(words_of(value)));
            separated.skip(1).collect()
        }
        other => vec![Word::Value(other.to_string())],
    }
}
