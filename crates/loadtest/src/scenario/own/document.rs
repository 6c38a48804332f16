//! The form of a scenario file. What it means is found out by [`compile`](super::compile); here are the keys.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Value;

/// A whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// Values by name: a text, a number, or `{ env = "NAME", default = "..." }`.
    #[serde(default)]
    pub(super) constants: BTreeMap<String, Value>,
    /// Tables of values by name.
    #[serde(default)]
    pub(super) data: BTreeMap<String, DataForm>,
    /// What visitors do.
    #[serde(rename = "scenario")]
    pub(super) scenarios: Vec<ScenarioForm>,
}

/// A table of values in a file of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DataForm {
    /// CSV with a line of names first, or JSON lines (`.jsonl`, `.ndjson`); relative to the scenario file.
    pub(super) file: PathBuf,
    /// Which row comes next.
    #[serde(default)]
    pub(super) deal: Deal,
    /// For how long a row is kept.
    #[serde(default)]
    pub(super) each: Span,
}

/// Which row of a table comes next.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Deal {
    /// One after the other, over all visitors; from the beginning again after the last.
    #[default]
    InTurn,
    /// Any of them.
    Random,
}

/// For how long something is kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Span {
    /// From a scenario's first request to its last.
    #[default]
    Visit,
    /// For the whole run, by each of its visitors.
    Visitor,
}

/// One scenario.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioForm {
    pub(super) name: String,
    /// Its share of the visits, beside those of the other scenarios.
    #[serde(default = "one")]
    pub(super) weight: u32,
    #[serde(default)]
    pub(super) count: Count,
    #[serde(default)]
    pub(super) cookies: Cookies,
    /// Values that are made at the beginning of each visit.
    #[serde(default)]
    pub(super) set: BTreeMap<String, String>,
    #[serde(rename = "request")]
    pub(super) requests: Vec<RequestForm>,
}

fn one() -> u32 {
    1
}

/// What counts as one request.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Count {
    /// The whole scenario.
    #[default]
    Whole,
    /// Each request of it.
    Each,
}

/// How long cookies are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Cookies {
    /// Each visit begins without any.
    #[default]
    Visit,
    /// For the whole run, by each of its visitors.
    Visitor,
    /// None is kept.
    None,
}

/// One request. It goes to a URL or submits a form, with at most one of `form`, `json` and `body`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestForm {
    pub(super) name: Option<String>,
    pub(super) method: Option<String>,
    pub(super) url: Option<String>,
    /// The name of a form that was taken from an earlier answer.
    pub(super) submit: Option<String>,
    #[serde(default)]
    pub(super) query: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) form: Option<BTreeMap<String, Value>>,
    pub(super) json: Option<Value>,
    pub(super) body: Option<String>,
    /// A client's id and secret (RFC 6749 2.3.1).
    pub(super) basic: Option<[String; 2]>,
    /// An access token (RFC 6750 2.1).
    pub(super) bearer: Option<String>,
    pub(super) follow: Option<bool>,
    pub(super) stop_at: Option<String>,
    pub(super) status: Option<Vec<u16>>,
    #[serde(default)]
    pub(super) take: BTreeMap<String, TakeForm>,
    #[serde(default)]
    pub(super) check: Vec<CheckForm>,
}

/// What is taken out of an answer: one of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TakeForm {
    pub(super) json: Option<String>,
    pub(super) header: Option<String>,
    pub(super) query: Option<String>,
    pub(super) fragment: Option<String>,
    pub(super) cookie: Option<String>,
    pub(super) form: Option<FormChoice>,
    pub(super) regex: Option<String>,
}

/// Which form of a page: the first for which all of this is so.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FormChoice {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    /// A part of its action.
    pub(super) action: Option<String>,
    /// The name of a field.
    pub(super) field: Option<String>,
}

/// What an answer must say: about one of `header`, `json`, `query`, `body_contains` and `redirect`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckForm {
    pub(super) name: Option<String>,
    pub(super) header: Option<String>,
    pub(super) json: Option<String>,
    /// A parameter in the query of the address that the answer redirects to.
    pub(super) query: Option<String>,
    pub(super) body_contains: Option<String>,
    /// What the address begins with that the answer redirects to.
    pub(super) redirect: Option<String>,
    pub(super) equals: Option<Value>,
    pub(super) contains: Option<String>,
    pub(super) exists: Option<bool>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}
