//! Finds out what a scenario file means, and what is wrong with it.

use std::collections::BTreeMap;
use std::path::Path;

use symbolon_crypto::SecretString;
use toml::Value;

use super::answer;
use super::data::Table;
use super::document::{Count, DataForm, Document, RequestForm, ScenarioForm};
use super::names::{Is, Names, check_name, is_reserved};
use super::program::{Body, Credentials, JsonTemplate, Pairs, Program, Script, Step, Take, To};

/// Shares of scenarios go into one deck of at most so many cards.
const MAX_WEIGHT: u32 = 1_000;

/// A name that is counted by. Counts are kept by names that last as long as the program: those of a file are few, and are
/// made once, when it is read.
pub(super) fn counted_as(name: String) -> &'static str {
    Box::leak(name.into_boxed_str())
}

/// Reads a document whose relative paths begin at `directory`.
///
/// # Errors
/// What is wrong, with its place in the file.
pub(super) fn compile(document: Document, directory: &Path) -> Result<Program, String> {
    let constants = document.constants.into_iter().map(|(name, value)| {
        let constant = constant(&name, value).map_err(|reason| format!("constants.{name}: {reason}"))?;
        Ok((name, constant))
    });
    let constants: BTreeMap<String, SecretString> = constants.collect::<Result<_, String>>()?;
    let tables = document.data.into_iter().map(|(name, form)| {
        table(&name, &form, directory).map_err(|reason| format!("data.{name}: {reason}"))
    });
    let tables: Vec<Table> = tables.collect::<Result<_, _>>()?;
    if let Some(table) = tables.iter().find(|table| constants.contains_key(&table.name)) {
        return Err(format!("data.{0}: constants.{0} has the same name", table.name));
    }
    if document.scenarios.is_empty() {
        return Err("it has no [[scenario]]".into());
    }
    let (mut scripts, mut slots, is_alone) = (Vec::new(), 0, document.scenarios.len() == 1);
    for (place, form) in document.scenarios.iter().enumerate() {
        let within = |reason: String| format!("scenario {} ({}): {reason}", place + 1, form.name);
        if document.scenarios.iter().take(place).any(|other| other.name == form.name) {
            return Err(within("another one has the same name".into()));
        }
        let mut names =
            Names { constants: &constants, tables: &tables, slots: BTreeMap::new(), next_slot: slots };
        scripts.push(script(form, is_alone, &mut names).map_err(within)?);
        slots = names.next_slot;
    }
    Ok(Program { scripts, tables, slots })
}

fn constant(name: &str, value: Value) -> Result<SecretString, String> {
    check_name(name)?;
    if is_reserved(name) {
        return Err("the name stands for something else; choose another one".into());
    }
    let Value::Table(mut table) = value else { return text(&value).map(SecretString::new) };
    let (env, default) = (table.remove("env"), table.remove("default"));
    if let Some(other) = table.keys().next() {
        return Err(format!("unknown key {other:?}; there are env and default"));
    }
    let Some(Value::String(variable)) = env else {
        return Err("a table needs env = \"NAME\", the name of an environment variable".into());
    };
    match (std::env::var(&variable), default) {
        (Ok(value), _) => Ok(SecretString::new(value)),
        (Err(_), Some(default)) => text(&default).map(SecretString::new),
        (Err(_), None) => {
            Err(format!("the environment has no {variable}: set it, or give a default beside env"))
        }
    }
}

fn table(name: &str, form: &DataForm, directory: &Path) -> Result<Table, String> {
    check_name(name)?;
    if is_reserved(name) {
        return Err("the name stands for something else; choose another one".into());
    }
    let path = directory.join(&form.file);
    Table::read(name, &path, (form.deal, form.each)).map_err(|reason| format!("{}: {reason}", path.display()))
}

/// A text, a number or a truth value, as text.
fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => Ok(value.to_string()),
        other => Err(format!("a text or a number is needed, and it is a {}", other.type_str())),
    }
}

fn script(form: &ScenarioForm, is_alone: bool, names: &mut Names<'_>) -> Result<Script, String> {
    if form.name.is_empty() {
        return Err("name is empty".into());
    }
    if form.weight == 0 || form.weight > MAX_WEIGHT {
        return Err(format!("weight = {}: it must be from 1 to {MAX_WEIGHT}", form.weight));
    }
    if form.requests.is_empty() {
        return Err("it has no [[scenario.request]]".into());
    }
    let mut set = Vec::new();
    for (name, text) in &form.set {
        let within = |reason: String| format!("set.{name}: {reason}");
        // One cannot use the other: they have no order.
        let template = names.template(text).map_err(within)?;
        set.push((name, template));
    }
    let set = set.into_iter().map(|(name, template)| Ok((names.add(name, Is::Text)?, template)));
    let set = set.collect::<Result<_, String>>()?;
    let (mut steps, each) = (Vec::new(), form.count == Count::Each);
    for (place, request) in form.requests.iter().enumerate() {
        let name = request.name.clone().unwrap_or_else(|| format!("request {}", place + 1));
        let within = |reason: String| match &request.name {
            Some(name) => format!("request {} ({name}): {reason}", place + 1),
            None => format!("request {}: {reason}", place + 1),
        };
        let kind = if is_alone { name } else { format!("{}: {name}", form.name) };
        steps.push(step(request, &kind, names).map_err(within)?);
    }
    let kind = if is_alone { "" } else { counted_as(form.name.clone()) };
    let weight = usize::try_from(form.weight).unwrap_or(1);
    let mut script = Script { kind, weight, each, cookies: form.cookies, set, steps, tables: Vec::new() };
    script.tables = (0..names.tables.len()).filter(|table| script.uses(*table)).collect();
    Ok(script)
}

fn step(form: &RequestForm, kind: &str, names: &mut Names<'_>) -> Result<Step, String> {
    let at = |key: &'static str| move |reason: String| format!("{key}: {reason}");
    let to = match (&form.url, &form.submit) {
        (Some(url), None) => To::Url(names.template(url).map_err(at("url"))?),
        (None, Some(name)) => match names.slots.get(name) {
            Some((slot, Is::Form)) => To::Form(*slot),
            _ => {
                return Err(format!(
                    "submit = {name:?}: no earlier request takes a form of that name: take.{name} = {{ form = {{}} }}"
                ));
            }
        },
        _ => return Err("give one of url and submit".into()),
    };
    let body = body(form, names)?;
    let credentials = match (&form.basic, &form.bearer) {
        (Some(_), Some(_)) => return Err("give one of basic and bearer".into()),
        (Some([id, secret]), None) => {
            let both = names.template(id).and_then(|id| Ok((id, names.template(secret)?)));
            both.map(|(id, secret)| Some(Credentials::Basic(id, secret))).map_err(at("basic"))?
        }
        (None, Some(token)) => Some(Credentials::Bearer(names.template(token).map_err(at("bearer"))?)),
        (None, None) => None,
    };
    let query = pairs("query", &form.query, names)?;
    let headers = headers(form, names)?;
    let stop_at = form.stop_at.as_deref().map(|prefix| names.template(prefix)).transpose();
    let status = form.status.clone().unwrap_or_default();
    if let Some(wrong) = status.iter().find(|status| !(200..600).contains(*status)) {
        return Err(format!("status: {wrong} is none; it must be from 200 to 599"));
    }
    let mut checks = Vec::new();
    for (place, check) in form.check.iter().enumerate() {
        let within = |reason: String| format!("check {}: {reason}", place + 1);
        checks.push(answer::check(check, kind, names).map_err(within)?);
    }
    let mut takes = Vec::new();
    // What is taken is known to later requests alone.
    for (name, take) in &form.take {
        let within = |reason: String| format!("take.{name}: {reason}");
        let (from, is) = answer::take(take).map_err(within)?;
        let slot = names.add(name, is).map_err(within)?;
        takes.push(Take { slot, from, kind: counted_as(format!("{kind}: take {name}")) });
    }
    Ok(Step {
        kind: counted_as(kind.to_owned()),
        to,
        method: method(form)?,
        query,
        headers,
        body,
        credentials,
        follow: form.follow.unwrap_or(true),
        stop_at: stop_at.map_err(at("stop_at"))?,
        status,
        status_kind: counted_as(format!("{kind}: status")),
        takes,
        checks,
    })
}

fn method(form: &RequestForm) -> Result<Option<String>, String> {
    let Some(method) = &form.method else { return Ok(None) };
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    if !known.contains(&&**method) {
        return Err(format!("method = {method:?}: there are {}", known.join(", ")));
    }
    if method == "HEAD" {
        return Err("method = \"HEAD\": an answer without its body cannot be checked; use GET".into());
    }
    let has_body = form.form.is_some() || form.json.is_some() || form.body.is_some();
    if method == "GET" && has_body && form.submit.is_none() {
        return Err("method = \"GET\": it has no body; leave the method out, or put values into query".into());
    }
    Ok(Some(method.clone()))
}

fn body(form: &RequestForm, names: &Names<'_>) -> Result<Body, String> {
    let given = [form.form.is_some(), form.json.is_some(), form.body.is_some()];
    if given.into_iter().filter(|given| *given).count() > 1 {
        return Err("give one of form, json and body".into());
    }
    if form.submit.is_some() && form.form.is_none() && given.contains(&true) {
        return Err("submit sends the fields of a form: give form, not json or body".into());
    }
    if let Some(fields) = &form.form {
        return pairs("form", fields, names).map(Body::Form);
    }
    if let Some(document) = &form.json {
        return json(document, names).map(Body::Json).map_err(|reason| format!("json: {reason}"));
    }
    match &form.body {
        Some(raw) => names.template(raw).map(Body::Raw).map_err(|reason| format!("body: {reason}")),
        None => Ok(Body::None),
    }
}

/// Parameters; one with a list of values stands there several times.
fn pairs(key: &str, parameters: &BTreeMap<String, Value>, names: &Names<'_>) -> Result<Pairs, String> {
    let mut pairs = Vec::new();
    for (name, value) in parameters {
        let within = |reason: String| format!("{key}.{name}: {reason}");
        let several = match value {
            Value::Array(values) => values.iter().collect(),
            one => vec![one],
        };
        for value in several {
            let template = text(value).and_then(|text| names.template(&text)).map_err(within)?;
            pairs.push((name.clone(), template));
        }
    }
    Ok(pairs)
}

fn headers(form: &RequestForm, names: &Names<'_>) -> Result<Pairs, String> {
    let mut headers = Vec::new();
    for (name, value) in &form.headers {
        let within = |reason: String| format!("headers.{name}: {reason}");
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(within("it is no name of a header field".into()));
        }
        if ["host", "content-length", "transfer-encoding", "connection"]
            .contains(&&*name.to_ascii_lowercase())
        {
            return Err(within("the load generator sends it itself; leave it out".into()));
        }
        headers.push((name.to_ascii_lowercase(), names.template(value).map_err(within)?));
    }
    Ok(headers)
}

/// A document of TOML as JSON.
pub(super) fn json(value: &Value, names: &Names<'_>) -> Result<JsonTemplate, String> {
    Ok(match value {
        Value::String(text) => JsonTemplate::Text(names.template(text)?),
        Value::Integer(number) => JsonTemplate::Plain((*number).into()),
        Value::Float(number) => JsonTemplate::Plain((*number).into()),
        Value::Boolean(truth) => JsonTemplate::Plain((*truth).into()),
        Value::Datetime(_) => return Err("JSON has no times; write it as a text".into()),
        Value::Array(items) => {
            JsonTemplate::List(items.iter().map(|item| json(item, names)).collect::<Result<_, _>>()?)
        }
        Value::Table(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.clone(), json(value, names)?)));
            JsonTemplate::Object(members.collect::<Result<_, String>>()?)
        }
    })
}
