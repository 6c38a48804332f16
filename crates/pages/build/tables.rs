//! The Rust source of the tables.

use std::fmt::Write as _;

use super::catalogue::{CATEGORIES, Catalogue, Pieces, Text};

/// The struct `Texts`, made of the first language's texts, and a static of it for each language.
pub(crate) fn rust(catalogues: &[Catalogue]) -> String {
    let mut source = String::new();
    if let Some(english) = catalogues.first() {
        source.push_str(&table(english));
    }
    for catalogue in catalogues {
        let name = catalogue.language.to_uppercase();
        let _ = writeln!(source, "\npub(crate) static {name}: Texts = Texts {{");
        for (key, _, text) in &catalogue.texts {
            let _ = writeln!(source, "    {key}: {},", value(&catalogue.language, text));
        }
        source.push_str("};\n");
    }
    source
}

/// The struct, with the English texts as documentation, and its list of entries.
fn table(english: &Catalogue) -> String {
    let mut source = String::from(
        "/// The texts of the pages in one language. The names of the fields say where each is shown.\n\
         #[derive(Debug)]\npub struct Texts {\n",
    );
    for (key, _, text) in &english.texts {
        let (kind, words) = match text {
            Text::Plain(words) => ("&'static str", words.clone()),
            Text::Phrase(variable, pieces) => ("Phrase", shown(variable, pieces)),
            Text::Plural(variable, forms) => {
                ("Plural", forms.get("other").map_or_else(String::new, |pieces| shown(variable, pieces)))
            }
        };
        let _ = writeln!(source, "    #[doc = {words:?}]\n    pub {key}: {kind},");
    }
    source.push_str(
        "}\n\nimpl Texts {\n    /// Every text with its name, for checks; of a text with forms, the form `other`.\n    \
         pub fn entries(&self) -> Vec<(&'static str, String)> {\n        vec![\n",
    );
    for (key, _, text) in &english.texts {
        let words = match text {
            Text::Plain(_) => format!("self.{key}.to_owned()"),
            Text::Phrase(..) => format!("self.{key}.with(\"\")"),
            Text::Plural(..) => format!("self.{key}.with(100)"),
        };
        let _ = writeln!(source, "            ({key:?}, {words}),");
    }
    source.push_str("        ]\n    }\n}\n");
    source
}

fn shown(variable: &str, pieces: &Pieces) -> String {
    match &pieces.after {
        Some(after) => format!("{}`{variable}`{after}", pieces.before),
        None => pieces.before.clone(),
    }
}

/// The expression of one text. A plural category without a form of its own takes that of `other`.
fn value(language: &str, text: &Text) -> String {
    match text {
        Text::Plain(words) => format!("{words:?}"),
        Text::Phrase(_, pieces) => {
            format!("Phrase::new({:?}, {:?})", pieces.before, pieces.after.as_deref().unwrap_or_default())
        }
        Text::Plural(_, forms) => {
            let form = |category| match forms.get(category).or_else(|| forms.get("other")) {
                Some(Pieces { before, after }) => format!("({before:?}, {after:?})"),
                None => "(\"\", None)".to_owned(),
            };
            format!("Plural::new({language:?}, [{}])", CATEGORIES.map(form).join(", "))
        }
    }
}
