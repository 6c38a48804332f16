//! Whether an answer says what it must, and what is taken out of it.

use serde_json::Value;

use super::super::Wrong;
use super::super::cookies::Jar;
use super::super::page::{Form, forms};
use super::super::redirect::Reference;
use super::asked::Hosts;
use super::document::FormChoice;
use super::program::{Check, Must, Of, Step, Take, TakeFrom, Type};
use super::values::{Context, FoundForm, Slot};
use crate::client::Response;
use crate::executor::shown;

/// An answer, looked at as often as checks and takes want.
pub(super) struct Answer<'a> {
    response: &'a Response<'a>,
    /// The path that was asked for.
    path: &'a str,
    /// The body as JSON, where somebody looks for that.
    json: Option<Result<Value, String>>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(response: &'a Response<'a>, path: &'a str, step: &Step) -> Self {
        let takes = step.takes.iter().any(|take| matches!(take.from, TakeFrom::Json(_)));
        let checks = step.checks.iter().any(|check| matches!(check.of, Of::Json(_)));
        let parse = || serde_json::from_slice(response.body).map_err(|error| error.to_string());
        Self { response, path, json: (takes || checks).then(parse) }
    }

    /// The status, and every check.
    ///
    /// # Errors
    /// The first that does not hold.
    pub(super) fn check(&self, step: &Step, context: &Context<'_>) -> Result<(), Wrong> {
        let status = self.response.status;
        let is_right = if step.status.is_empty() { status < 400 } else { step.status.contains(&status) };
        if !is_right {
            let body: String = self.response.text().chars().take(200).collect();
            return Err(Wrong::new(step.status_kind, shown(&format!("{status} {body}"))));
        }
        step.checks.iter().try_for_each(|check| self.holds(check, context))
    }

    fn holds(&self, check: &Check, context: &Context<'_>) -> Result<(), Wrong> {
        match &check.of {
            Of::Body => self.text_holds("the body", Some(self.response.text()), check, context),
            Of::Location => {
                let location = self.response.header("location");
                self.text_holds("location", location, check, context)
            }
            Of::Query(name) => {
                let value = self.location().and_then(|url| parameter(url.query()?, name));
                self.text_holds(name, value.as_deref(), check, context)
            }
            Of::Header(name) => self.text_holds(name, self.response.header(name), check, context),
            Of::Json(pointer) => self.json_holds(pointer, check, context),
        }
    }

    fn json_holds(&self, pointer: &str, check: &Check, context: &Context<'_>) -> Result<(), Wrong> {
        let wrong = |what: String| Err(Wrong::new(check.kind, shown(&what)));
        let document = match &self.json {
            Some(Ok(document)) => document,
            Some(Err(error)) => return wrong(format!("the body is no JSON: {error}")),
            None => return Ok(()),
        };
        match (&check.must, document.pointer(pointer)) {
            (Must::Exist(must), value) if *must == value.is_some() => Ok(()),
            (Must::Exist(false), _) => wrong(format!("{pointer} is there")),
            (_, None) => wrong(format!("{pointer} is missing")),
            (Must::Be(of), Some(value)) if Type::of(value) == *of => Ok(()),
            (Must::Be(of), Some(value)) => {
                wrong(format!("{pointer} is of type {} instead of {}", Type::of(value).name(), of.name()))
            }
            (Must::Equal(expected), Some(value)) => {
                let expected = expected.fill(&|template| context.text(template));
                if *value == expected {
                    return Ok(());
                }
                wrong(format!("{pointer} is {value} instead of {expected}"))
            }
            (_, Some(Value::String(text))) => self.text_holds(pointer, Some(text), check, context),
            (_, Some(value)) => self.text_holds(pointer, Some(&value.to_string()), check, context),
        }
    }

    fn text_holds(
        &self,
        what: &str,
        text: Option<&str>,
        check: &Check,
        context: &Context<'_>,
    ) -> Result<(), Wrong> {
        let wrong = |reason: String| Err(Wrong::new(check.kind, shown(&reason)));
        let Some(text) = text else {
            let must_be_missing = matches!(check.must, Must::Exist(false));
            return if must_be_missing { Ok(()) } else { wrong(format!("{what} is missing")) };
        };
        let (holds, told) = match &check.must {
            Must::Equal(expected) => {
                let expected = expected.fill(&|template| context.text(template));
                let expected = expected.as_str().map_or_else(|| expected.to_string(), ToOwned::to_owned);
                (text == expected, format!("is {text} instead of {expected}"))
            }
            Must::Contain(part) => {
                let part = context.text(part);
                (text.contains(&part), format!("does not contain {part}"))
            }
            Must::Begin(prefix) => {
                let prefix = context.text(prefix);
                (text.starts_with(&prefix), format!("is {text} and does not begin with {prefix}"))
            }
            Must::Exist(must) => (*must, "is there".to_owned()),
            Must::Be(of) => (*of == Type::String, format!("is a text, not of type {}", of.name())),
        };
        if holds { Ok(()) } else { wrong(format!("{what} {told}")) }
    }

    /// What is to be taken.
    ///
    /// # Errors
    /// It is not there, or it is a form that goes elsewhere.
    pub(super) fn take(&self, take: &Take, jar: &Jar, hosts: &Hosts) -> Result<Slot, Wrong> {
        let missing = |what: String| Wrong::new(take.kind, shown(&what));
        let (found, what) = match &take.from {
            TakeFrom::Json(pointer) => {
                let document = match &self.json {
                    Some(Ok(document)) => Some(document),
                    Some(Err(error)) => return Err(missing(format!("the body is no JSON: {error}"))),
                    None => None,
                };
                let value = document.and_then(|document| document.pointer(pointer));
                let text = value.map(|value| value.as_str().map_or_else(|| value.to_string(), Into::into));
                (text, format!("{pointer} is not in the body"))
            }
            TakeFrom::Header(name) => {
                (self.response.header(name).map(Into::into), format!("the answer has no field {name}"))
            }
            TakeFrom::Query(name) => {
                let query = self.location().and_then(|url| parameter(url.query()?, name));
                (query, format!("the answer redirects to nothing with {name} in its query"))
            }
            TakeFrom::Fragment(name) => {
                let fragment = self.location().and_then(|url| parameter(url.fragment()?, name));
                (fragment, format!("the answer redirects to nothing with {name} in its fragment"))
            }
            TakeFrom::Cookie(name) => (self.cookie(name, jar), format!("there is no cookie {name}")),
            TakeFrom::Regex(expression) => {
                let groups = expression.captures(self.response.text());
                let found = groups.and_then(|groups| groups.get(1).or_else(|| groups.get(0)));
                (found.map(|found| found.as_str().to_owned()), format!("nothing matches {expression}"))
            }
            TakeFrom::Form(choice) => return self.form(choice, take.kind, hosts).map(Slot::Form),
        };
        found.map(Slot::Text).ok_or_else(|| missing(what))
    }

    fn location(&self) -> Option<url::Url> {
        let location = self.response.header("location")?;
        let base = url::Url::parse("http://relative.invalid").ok()?;
        base.join(location).ok()
    }

    /// A cookie that this answer sets, or an earlier one set; without a jar only the former.
    fn cookie(&self, name: &str, jar: &Jar) -> Option<String> {
        let mut own = Jar::default();
        own.keep(self.response, self.path);
        own.value(name).or_else(|| jar.value(name)).map(ToOwned::to_owned)
    }

    fn form(&self, choice: &FormChoice, kind: &'static str, hosts: &Hosts) -> Result<FoundForm, Wrong> {
        let page = String::from_utf8_lossy(self.response.body);
        let found = forms(&page).into_iter().find(|form| is_chosen(form, choice));
        let form = found.ok_or_else(|| Wrong::new(kind, "the page has no such form"))?;
        let action = form.action.as_deref().unwrap_or_default();
        let goes_to = Reference::resolve(action, (hosts.own(), self.path))?;
        if !hosts.have(&goes_to) {
            let reason = format!("the form goes to {}, which is not the target", goes_to.authority());
            return Err(Wrong::new(kind, shown(&reason)));
        }
        Ok(FoundForm { path: goes_to.path_and_query(), is_post: form.is_post, fields: form.fields })
    }
}

fn is_chosen(form: &Form, choice: &FormChoice) -> bool {
    let FormChoice { id, name, action, field } = choice;
    id.as_ref().is_none_or(|id| *id == form.id)
        && name.as_ref().is_none_or(|name| *name == form.name)
        && action.as_ref().is_none_or(|part| form.action.as_ref().is_some_and(|own| own.contains(part)))
        && field.as_ref().is_none_or(|name| form.fields.iter().any(|field| field.name == *name))
}

/// A parameter of a query or a fragment, decoded.
fn parameter(text: &str, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs.find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
}
