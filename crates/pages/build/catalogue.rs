//! The texts of one language, read from a file in Fluent's format, and what is wrong with them.
//!
//! Of Fluent's format the pages use three kinds of messages: a text, a text with one variable, and a selection by the
//! plural category of one number. Everything else (terms, attributes, functions, two variables) is a mistake here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fluent_syntax::ast::{
    Entry, Expression, Identifier, InlineExpression, Message, Pattern, PatternElement, Variant, VariantKey,
};
use fluent_syntax::parser;
use intl_pluralrules::{PluralRuleType, PluralRules};

/// The plural categories of Unicode's CLDR, in the order of the table's forms.
pub(crate) const CATEGORIES: [&str; 6] = ["zero", "one", "two", "few", "many", "other"];

/// The pieces of a text: what stands before its gap and after it, or all of it if it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// The text up to the gap.
    pub(crate) before: String,
    /// The text after the gap; `None` if there is no gap.
    pub(crate) after: Option<String>,
}

/// A text by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// A text without a variable.
    Plain(String),
    /// A text with one variable, which has this name.
    Phrase(String, Pieces),
    /// A text for each plural category of this variable.
    Plural(String, BTreeMap<&'static str, Pieces>),
}

impl Text {
    /// Its kind in words, with the name of its variable.
    fn kind(&self) -> String {
        match self {
            Self::Plain(_) => "a text without a variable".to_owned(),
            Self::Phrase(variable, _) => format!("a text with the variable ${variable}"),
            Self::Plural(variable, _) => format!("a choice by the number ${variable}"),
        }
    }
}

/// A mistake in a file: which, in which line, at which key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    file: String,
    line: usize,
    what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// The texts of one language, with their lines, in the order of the file.
pub(crate) struct Catalogue {
    /// The language tag.
    pub(crate) language: String,
    /// Key, line and text.
    pub(crate) texts: Vec<(String, usize, Text)>,
    /// The keys of messages that are no text, and whose mistakes are told already.
    refused: BTreeSet<String>,
    file: String,
    lines: usize,
}

impl Catalogue {
    /// Reads a file; what is wrong with it is left out and told.
    pub(crate) fn read(language: &str, file: &str, source: &str) -> (Self, Vec<Mistake>) {
        let mut catalogue = Self {
            language: language.to_owned(),
            texts: Vec::new(),
            refused: BTreeSet::new(),
            file: file.to_owned(),
            lines: source.lines().count(),
        };
        let mut mistakes = Vec::new();
        let resource = match parser::parse(source) {
            Ok(resource) => resource,
            Err((resource, errors)) => {
                let told = errors.into_iter().map(|error| {
                    catalogue
                        .mistake(line_at(source, error.pos.start), format!("not Fluent's format: {error}"))
                });
                mistakes.extend(told);
                resource
            }
        };
        for entry in &resource.body {
            match entry {
                Entry::Message(message) => {
                    let line = line_of(source, message.id.name);
                    match catalogue.text(message) {
                        Ok(text) => catalogue.texts.push((message.id.name.to_owned(), line, text)),
                        Err(why) => {
                            catalogue.refused.insert(message.id.name.to_owned());
                            mistakes.push(catalogue.mistake(line, format!("{}: {why}", message.id.name)));
                        }
                    }
                }
                Entry::Term(term) => {
                    let why = format!("-{}: the pages use no terms", term.id.name);
                    mistakes.push(catalogue.mistake(line_of(source, term.id.name), why));
                }
                Entry::Comment(_)
                | Entry::GroupComment(_)
                | Entry::ResourceComment(_)
                | Entry::Junk { .. } => {}
            }
        }
        (catalogue, mistakes)
    }

    /// What this language has otherwise than English: keys that lack, that are unknown, and other variables.
    pub(crate) fn differences(&self, english: &Self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let lacks = |key: &String| self.get(key).is_none() && !self.refused.contains(key);
        for (key, _, _) in english.texts.iter().filter(|(key, ..)| lacks(key)) {
            mistakes.push(self.mistake(self.lines, format!("{key} lacks")));
        }
        for (key, line, text) in &self.texts {
            let what = match english.get(key) {
                None => format!("{key} is unknown: English does not have it"),
                Some(original) if original.kind() != text.kind() => {
                    format!("{key} is {}, in English it is {}", text.kind(), original.kind())
                }
                Some(_) => continue,
            };
            mistakes.push(self.mistake(*line, what));
        }
        mistakes
    }

    fn get(&self, key: &str) -> Option<&Text> {
        self.texts.iter().find(|(known, ..)| known == key).map(|(_, _, text)| text)
    }

    fn mistake(&self, line: usize, what: String) -> Mistake {
        Mistake { file: self.file.clone(), line, what }
    }

    /// The text of a message, or why it is none.
    fn text(&self, message: &Message<&str>) -> Result<Text, String> {
        if self.get(message.id.name).is_some() {
            return Err("the key occurs twice".to_owned());
        }
        if !message.attributes.is_empty() {
            return Err("the pages use no attributes".to_owned());
        }
        let pattern = message.value.as_ref().ok_or("there is no text")?;
        if let [PatternElement::Placeable { expression: Expression::Select { selector, variants } }] =
            pattern.elements.as_slice()
        {
            return self.plural(selector, variants);
        }
        let (variable, pieces) = pieces(pattern)?;
        Ok(match variable {
            Some(variable) => Text::Phrase(variable.to_owned(), pieces),
            None => Text::Plain(pieces.before),
        })
    }

    /// A choice by plural category. Each category that the language has must be there, and no other.
    fn plural(&self, selector: &InlineExpression<&str>, variants: &[Variant<&str>]) -> Result<Text, String> {
        let InlineExpression::VariableReference { id: Identifier { name } } = selector else {
            return Err("a choice must be by a variable".to_owned());
        };
        let mut forms = BTreeMap::new();
        for variant in variants {
            let VariantKey::Identifier { name: key } = variant.key else {
                return Err("a form must be a plural category, not a number".to_owned());
            };
            let category = CATEGORIES.into_iter().find(|known| *known == key);
            let category = category.ok_or_else(|| format!("{key} is no plural category"))?;
            let (variable, pieces) = pieces(&variant.value)?;
            if variable.is_some_and(|variable| variable != *name) {
                return Err(format!("the form {key} has another variable than ${name}"));
            }
            if forms.insert(category, pieces).is_some() {
                return Err(format!("the form {key} occurs twice"));
            }
        }
        let categories = self.categories()?;
        if let Some(lacks) = categories.iter().find(|category| !forms.contains_key(*category)) {
            return Err(format!("the form {lacks} lacks, which {} has", self.language));
        }
        let unused = forms.keys().find(|given| !categories.contains(*given));
        match unused {
            Some(unused) => Err(format!("the form {unused} is never used in {}", self.language)),
            None => Ok(Text::Plural((*name).to_owned(), forms)),
        }
    }

    /// The plural categories of the language, of the numbers that occur.
    fn categories(&self) -> Result<BTreeSet<&'static str>, String> {
        let unknown = || format!("the plural rules of {} are not known", self.language);
        let language = self.language.parse::<unic_langid::LanguageIdentifier>().map_err(|_| unknown())?;
        let rules = PluralRules::create(language, PluralRuleType::CARDINAL).map_err(|_| unknown())?;
        let category = |number: u64| {
            let name = format!("{:?}", rules.select(number).ok()?).to_lowercase();
            CATEGORIES.into_iter().find(|known| *known == name)
        };
        let mut categories: BTreeSet<_> = (0..=1_000).filter_map(category).collect();
        categories.insert("other");
        Ok(categories)
    }
}

/// The pieces of a text and the name of its variable.
fn pieces<'a>(pattern: &Pattern<&'a str>) -> Result<(Option<&'a str>, Pieces), String> {
    let mut variable = None;
    let mut pieces = Pieces { before: String::new(), after: None };
    for element in &pattern.elements {
        let literal = match element {
            PatternElement::TextElement { value } => *value,
            PatternElement::Placeable {
                expression: Expression::Inline(InlineExpression::StringLiteral { value }),
            } => *value,
            PatternElement::Placeable {
                expression: Expression::Inline(InlineExpression::VariableReference { id }),
            } => {
                if variable.replace(id.name).is_some() {
                    return Err("there is more than one variable".to_owned());
                }
                pieces.after = Some(String::new());
                continue;
            }
            PatternElement::Placeable { .. } => {
                return Err("only a variable or a text may stand in braces".to_owned());
            }
        };
        pieces.after.as_mut().unwrap_or(&mut pieces.before).push_str(literal);
    }
    let empty = pieces.before.trim().is_empty() && pieces.after.is_none();
    if empty { Err("the text is empty".to_owned()) } else { Ok((variable, pieces)) }
}

/// The line, from 1, of a part of the source.
fn line_of(source: &str, part: &str) -> usize {
    line_at(source, (part.as_ptr() as usize).saturating_sub(source.as_ptr() as usize))
}

/// The line, from 1, of an offset in the source.
fn line_at(source: &str, offset: usize) -> usize {
    1 + source.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
