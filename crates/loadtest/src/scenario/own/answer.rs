//! Finds out what is to be taken from an answer, and what it must say.

use regex::Regex;

use super::compile::{counted_as, json};
use super::document::{CheckForm, TakeForm};
use super::names::{Is, Names};
use super::program::{Check, Must, Of, TakeFrom, Type};

fn pointer(pointer: &str) -> Result<String, String> {
    if pointer.is_empty() || pointer.starts_with('/') {
        return Ok(pointer.to_owned());
    }
    Err(format!("json = {pointer:?} is no JSON pointer: it begins with `/` (RFC 6901), as \"/{pointer}\""))
}

pub(super) fn take(form: &TakeForm) -> Result<(TakeFrom, Is), String> {
    let expression = form.regex.as_deref().map(Regex::new).transpose();
    let expression = expression.map_err(|error| format!("regex: {error}"))?;
    let given = [
        form.json.as_deref().map(pointer).transpose()?.map(TakeFrom::Json),
        form.header.clone().map(TakeFrom::Header),
        form.query.clone().map(TakeFrom::Query),
        form.fragment.clone().map(TakeFrom::Fragment),
        form.cookie.clone().map(TakeFrom::Cookie),
        form.form.clone().map(TakeFrom::Form),
        expression.map(TakeFrom::Regex),
    ];
    let mut given = given.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(one @ TakeFrom::Form(_)), None) => Ok((one, Is::Form)),
        (Some(one), None) => Ok((one, Is::Text)),
        _ => Err("give one of json, header, query, fragment, cookie, form and regex".into()),
    }
}

pub(super) fn check(form: &CheckForm, kind: &str, names: &Names<'_>) -> Result<Check, String> {
    let texts = [&form.header, &form.json, &form.query, &form.body_contains, &form.redirect];
    if texts.into_iter().flatten().count() != 1 {
        return Err("give one of header, json, query, body_contains and redirect".into());
    }
    let musts = [form.equals.is_some(), form.contains.is_some(), form.exists.is_some(), form.kind.is_some()];
    let musts = musts.into_iter().filter(|given| *given).count();
    let says_all = form.body_contains.as_ref().or(form.redirect.as_ref());
    match (says_all, musts) {
        (Some(_), 0) | (None, 1) => {}
        (Some(_), _) => return Err("body_contains and redirect say all: leave the rest out".into()),
        (None, _) => return Err("give one of equals, contains, exists and, of json, type".into()),
    }
    if form.kind.is_some() && form.json.is_none() {
        return Err("type goes with json".into());
    }
    let (of, must, named) = if let Some(text) = &form.body_contains {
        (Of::Body, Must::Contain(names.template(text)?), "body".to_owned())
    } else if let Some(prefix) = &form.redirect {
        (Of::Location, Must::Begin(names.template(prefix)?), "redirect".to_owned())
    } else if let Some(name) = &form.header {
        (Of::Header(name.clone()), must(form, names)?, format!("header {name}"))
    } else if let Some(name) = &form.query {
        (Of::Query(name.clone()), must(form, names)?, format!("query {name}"))
    } else {
        let path = pointer(form.json.as_deref().unwrap_or_default())?;
        let named = format!("json {path}");
        (Of::Json(path), must(form, names)?, named)
    };
    let named = form.name.clone().unwrap_or(named);
    Ok(Check { of, must, kind: counted_as(format!("{kind}: {named}")) })
}

fn must(form: &CheckForm, names: &Names<'_>) -> Result<Must, String> {
    if let Some(value) = &form.equals {
        return Ok(Must::Equal(json(value, names).map_err(|reason| format!("equals: {reason}"))?));
    }
    if let Some(text) = &form.contains {
        return Ok(Must::Contain(names.template(text)?));
    }
    if let Some(exists) = form.exists {
        return Ok(Must::Exist(exists));
    }
    let kind = form.kind.as_deref().unwrap_or_default();
    let types = Type::ALL;
    let found = types.iter().find(|(name, _)| *name == kind);
    found.map(|(_, of)| Must::Be(*of)).ok_or_else(|| {
        let known: Vec<_> = types.iter().map(|(name, _)| *name).collect();
        format!("type = {kind:?}: there are {}", known.join(", "))
    })
}
