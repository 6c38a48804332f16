//! What a scenario file says, ready to be done.

use regex::Regex;
use serde_json::{Map, Value};

use super::data::Table;
use super::document::{Cookies, FormChoice};
use super::template::{BuiltIn, Piece, Source, Template};

/// A whole file.
pub(super) struct Program {
    pub(super) scripts: Vec<Script>,
    pub(super) tables: Vec<Table>,
    /// How many values may be set or taken, all scenarios together.
    pub(super) slots: usize,
}

/// One scenario.
pub(super) struct Script {
    /// What it is counted as; empty where it is alone.
    pub(super) kind: &'static str,
    pub(super) weight: usize,
    /// Whether each request counts, and not the whole.
    pub(super) each: bool,
    pub(super) cookies: Cookies,
    pub(super) set: Vec<(usize, Template)>,
    pub(super) steps: Vec<Step>,
    /// The tables that it uses, by number.
    pub(super) tables: Vec<usize>,
}

/// One request, with what its answer must be.
pub(super) struct Step {
    /// What it is counted as where each request is.
    pub(super) kind: &'static str,
    pub(super) to: To,
    /// GET, or POST with a body, where it does not say.
    pub(super) method: Option<String>,
    pub(super) query: Pairs,
    pub(super) headers: Pairs,
    pub(super) body: Body,
    pub(super) credentials: Option<Credentials>,
    pub(super) follow: bool,
    pub(super) stop_at: Option<Template>,
    /// Which statuses are right; empty for all below 400.
    pub(super) status: Vec<u16>,
    pub(super) status_kind: &'static str,
    pub(super) takes: Vec<Take>,
    pub(super) checks: Vec<Check>,
}

/// Names and values, in the order of their names.
pub(super) type Pairs = Vec<(String, Template)>;

/// Where a request goes.
pub(super) enum To {
    Url(Template),
    /// A form that was taken.
    Form(usize),
}

pub(super) enum Body {
    None,
    Form(Pairs),
    Json(JsonTemplate),
    Raw(Template),
}

/// A JSON document whose texts have values in them.
pub(super) enum JsonTemplate {
    Plain(Value),
    Text(Template),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl JsonTemplate {
    /// The document, with `text` making the texts.
    pub(super) fn fill(&self, text: &impl Fn(&Template) -> String) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => Value::String(text(template)),
            Self::List(items) => Value::Array(items.iter().map(|item| item.fill(text)).collect()),
            Self::Object(members) => {
                let filled = members.iter().map(|(name, value)| (name.clone(), value.fill(text)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
        }
    }

    fn templates<'a>(&'a self, into: &mut Vec<&'a Template>) {
        match self {
            Self::Plain(_) => {}
            Self::Text(template) => into.push(template),
            Self::List(items) => items.iter().for_each(|item| item.templates(into)),
            Self::Object(members) => members.iter().for_each(|(_, value)| value.templates(into)),
        }
    }
}

pub(super) enum Credentials {
    Basic(Template, Template),
    Bearer(Template),
}

/// Something that is taken out of an answer.
pub(super) struct Take {
    pub(super) slot: usize,
    pub(super) from: TakeFrom,
    /// What it is counted as where it is not there.
    pub(super) kind: &'static str,
}

/// Where it stands.
pub(super) enum TakeFrom {
    /// By its JSON pointer (RFC 6901).
    Json(String),
    Header(String),
    /// A parameter in the query of the address that the answer redirects to.
    Query(String),
    /// The same, in its fragment.
    Fragment(String),
    Cookie(String),
    Form(FormChoice),
    /// The first group of an expression, or all that it matches.
    Regex(Regex),
}

/// Something that an answer must say.
pub(super) struct Check {
    pub(super) of: Of,
    pub(super) must: Must,
    /// What it is counted as where it does not hold.
    pub(super) kind: &'static str,
}

/// What a check is about.
pub(super) enum Of {
    Header(String),
    Json(String),
    /// A parameter of the address that the answer redirects to.
    Query(String),
    Body,
    /// Where the answer redirects to.
    Location,
}

/// What must be so.
pub(super) enum Must {
    Equal(JsonTemplate),
    Contain(Template),
    Begin(Template),
    Exist(bool),
    Be(Type),
}

/// The types of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    String,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

impl Type {
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
        ("null", Self::Null),
    ];

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::String,
            Value::Number(_) => Self::Number,
            Value::Bool(_) => Self::Boolean,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
            Value::Null => Self::Null,
        }
    }

    pub(super) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, own)| *own == self).map_or("", |(name, _)| name)
    }
}

impl Step {
    fn templates(&self) -> Vec<&Template> {
        let mut all: Vec<&Template> = Vec::new();
        if let To::Url(url) = &self.to {
            all.push(url);
        }
        all.extend(self.query.iter().chain(&self.headers).map(|(_, template)| template));
        match &self.body {
            Body::None => {}
            Body::Form(fields) => all.extend(fields.iter().map(|(_, template)| template)),
            Body::Json(document) => document.templates(&mut all),
            Body::Raw(template) => all.push(template),
        }
        match &self.credentials {
            Some(Credentials::Basic(id, secret)) => all.extend([id, secret]),
            Some(Credentials::Bearer(token)) => all.push(token),
            None => {}
        }
        all.extend(self.stop_at.as_ref());
        for check in &self.checks {
            match &check.must {
                Must::Equal(document) => document.templates(&mut all),
                Must::Contain(template) | Must::Begin(template) => all.push(template),
                Must::Exist(_) | Must::Be(_) => {}
            }
        }
        all
    }
}

impl Script {
    fn templates(&self) -> impl Iterator<Item = &Template> {
        let set = self.set.iter().map(|(_, template)| template);
        set.chain(self.steps.iter().flat_map(Step::templates))
    }

    /// Whether it uses a table, whose next row is then dealt at its beginning.
    pub(super) fn uses(&self, table: usize) -> bool {
        let of_table = |piece: &Piece| {
            let Piece::Value { source: Source::Data(of, _), .. } = piece else { return false };
            *of == table
        };
        self.templates().any(|template| template.0.iter().any(of_table))
    }
}

impl Program {
    /// What it uses of what needs not be told in a file.
    pub(super) fn built_ins(&self) -> impl Iterator<Item = BuiltIn> + '_ {
        self.scripts.iter().flat_map(Script::templates).flat_map(Template::built_ins)
    }
}
