//! A request of a file, put together.

use super::super::Wrong;
use super::super::cookies::Jar;
use super::super::redirect::Reference;
use super::program::{Body, Credentials, Step, To};
use super::template::Template;
use super::values::Context;
use crate::client::request;
use crate::seed::FORM;

/// What is sent.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) method: String,
    /// Path and query.
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    /// With its content type, where it has one.
    pub(super) body: Option<(String, Vec<u8>)>,
    /// The client's own address, where it is among the parameters.
    pub(super) callback: Option<String>,
}

/// The hosts that are the target: its own first, and the issuer's, who may stand behind a proxy.
pub(super) struct Hosts(pub(super) Vec<String>);

impl Hosts {
    /// The target's own.
    pub(super) fn own(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Whether HTTP asks the target for it.
    pub(super) fn have(&self, reference: &Reference) -> bool {
        reference.is_http() && self.0.contains(&reference.authority())
    }

    /// What is asked of the target for a URL or a path.
    fn path_of(&self, url: &str) -> Result<String, Wrong> {
        let reference = Reference::resolve(url, (self.own(), "/"))?;
        if self.have(&reference) {
            return Ok(reference.path_and_query());
        }
        Err(Wrong::new("other_origin", format!("{} is not the target", reference.authority())))
    }
}

impl Asked {
    /// Puts it together.
    ///
    /// # Errors
    /// It would go to another host.
    pub(super) fn of(step: &Step, context: &Context<'_>, hosts: &Hosts) -> Result<Self, Wrong> {
        let mut asked = Self::default();
        let mut query = texts(&step.query, context);
        let form = match &step.to {
            To::Url(url) => {
                asked.path = hosts.path_of(&context.text(url))?;
                None
            }
            To::Form(slot) => context.form(*slot),
        };
        match &step.body {
            Body::Json(document) => {
                let filled = document.fill(&|template| context.text(template));
                asked.body = Some(("application/json".into(), filled.to_string().into_bytes()));
            }
            Body::Raw(text) => asked.body = Some((String::new(), context.text(text).into_bytes())),
            Body::Form(_) | Body::None => {}
        }
        let own = match &step.body {
            Body::Form(own) => Some(texts(own, context)),
            _ => None,
        };
        if let Some(form) = form {
            asked.path.clone_from(&form.path);
            let own = own.unwrap_or_default();
            let kept = form.fields.iter().filter(|field| !own.iter().any(|(name, _)| *name == field.name));
            let kept: Vec<_> = kept.map(|field| (field.name.clone(), field.value.clone())).collect();
            let fields: Vec<_> = kept.into_iter().chain(own).collect();
            if form.is_post {
                asked.set_form(&fields);
            } else {
                query.extend(fields);
            }
        } else if let Some(own) = own {
            asked.set_form(&own);
        }
        asked.add_query(&query);
        asked.add_headers(step, context);
        let by_body = if asked.body.is_some() { "POST" } else { "GET" };
        asked.method = step.method.clone().unwrap_or_else(|| by_body.into());
        Ok(asked)
    }

    fn set_form(&mut self, fields: &[(String, String)]) {
        self.body = Some((FORM.1.into(), encoded(fields)));
        self.note_callback(fields);
    }

    fn add_query(&mut self, query: &[(String, String)]) {
        if query.is_empty() {
            return;
        }
        self.path.push(if self.path.contains('?') { '&' } else { '?' });
        self.path.push_str(&String::from_utf8_lossy(&encoded(query)));
        self.note_callback(query);
    }

    fn note_callback(&mut self, parameters: &[(String, String)]) {
        let named = parameters.iter().find(|(name, _)| name == "redirect_uri");
        self.callback = named.map(|(_, value)| value.clone()).or_else(|| self.callback.take());
    }

    fn add_headers(&mut self, step: &Step, context: &Context<'_>) {
        let credentials = step.credentials.as_ref().map(|credentials| match credentials {
            Credentials::Basic(id, secret) => request::basic(&context.text(id), &context.text(secret)),
            Credentials::Bearer(token) => format!("Bearer {}", one_line(&context.text(token))),
        });
        self.headers.extend(credentials.map(|credentials| ("authorization".into(), credentials)));
        let own = texts(&step.headers, context).into_iter();
        self.headers.extend(own.map(|(name, value)| (name, one_line(&value))));
    }

    /// Appends its bytes, with the cookies of a jar.
    pub(super) fn write(&self, authority: &str, jar: Option<&Jar>, out: &mut Vec<u8>) {
        let cookies = jar.map_or_else(String::new, |jar| jar.field(&self.path));
        let mut fields: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        if !cookies.is_empty() {
            fields.push(("cookie", &cookies));
        }
        let (kind, bytes) = match &self.body {
            None if self.method == "GET" => return request::get(out, &self.path, authority, &fields),
            None => ("", &[][..]),
            Some((kind, bytes)) => (&**kind, bytes.as_slice()),
        };
        if !kind.is_empty() && !self.headers.iter().any(|(name, _)| name == "content-type") {
            fields.push(("content-type", kind));
        }
        request::with_body(out, (&self.method, &self.path), authority, &fields, bytes);
    }

    /// The request that a redirect of its answer asks for. RFC 9110 15.4.8 and 15.4.9 keep the method and the body; of the
    /// others browsers make a GET.
    pub(super) fn redirected(&self, status: u16, path: String) -> Self {
        let keeps = matches!(status, 307 | 308) || self.method == "GET";
        let headers = self.headers.iter().filter(|(name, _)| keeps || name != "content-type");
        Self {
            method: if keeps { self.method.clone() } else { "GET".into() },
            path,
            headers: headers.cloned().collect(),
            body: self.body.clone().filter(|_| keeps),
            callback: None,
        }
    }
}

fn texts(pairs: &[(String, Template)], context: &Context<'_>) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (name.clone(), context.text(value))).collect()
}

fn encoded(pairs: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (position, (name, value)) in pairs.iter().enumerate() {
        if position > 0 {
            out.push(b'&');
        }
        request::encode(&mut out, name);
        out.push(b'=');
        request::encode(&mut out, value);
    }
    out
}

/// A value of a header field: a line break would begin another one.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\n', '\0'], " ")
}
