//! Operations: routes and documentation are generated from the same list, so they always agree.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;
use serde_json::Value;
use symbolon_protocol::params::Params;

use crate::call::{Call, Payload};
use crate::error::{AdminError, Answer};
use crate::fields::clipped;

type Running = Pin<Box<dyn Future<Output = Answer> + Send>>;
pub(super) type Run = Arc<dyn Fn(Call, Payload) -> Running + Send + Sync>;

/// A query parameter of an operation.
#[derive(Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// The type as JSON Schema names it.
    pub(super) kind: &'static str,
    pub(super) about: &'static str,
}

impl Parameter {
    /// Whether a query's parameter is this one. A name with `{name}` at its end stands for every name that begins as it does.
    fn takes(&self, name: &str) -> bool {
        match self.name.strip_suffix("{name}") {
            Some(prefix) => name.len() > prefix.len() && name.starts_with(prefix),
            None => name == self.name,
        }
    }
}

/// `page` and `limit` of every listing.
pub(super) const PAGE: [Parameter; 2] = [
    Parameter { name: "page", kind: "integer", about: "Counts from 1." },
    Parameter { name: "limit", kind: "integer", about: "Entries on a page, 1 to 100; 20 without." },
];

/// The format of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One JSON document.
    Json,
    /// Lines of JSON, streamed.
    Ndjson,
    /// An image of one of the kinds of logos.
    Image,
}

/// One method on one path.
#[derive(Clone)]
pub(super) struct Operation {
    pub(super) method: Method,
    /// The path relative to `/api/admin`.
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Vec<Parameter>,
    /// The schema and format of the request body.
    pub(super) body: Option<(&'static str, Format)>,
    pub(super) status: u16,
    /// The schema of a successful answer.
    pub(super) answer: Value,
    pub(super) answer_format: Format,
    /// Whether it concerns the installation rather than one issuer.
    pub(super) global: bool,
    pub(super) run: Run,
}

impl Operation {
    fn new(method: Method, path: &'static str, summary: &'static str, run: Run) -> Self {
        Self {
            method,
            path,
            summary,
            query: Vec::new(),
            body: None,
            status: 200,
            answer: Value::Null,
            answer_format: Format::Json,
            global: false,
            run,
        }
    }

    /// An operation that needs no request body. A body may be an empty object, but have no members: they would go unseen, as
    /// an `expires_at` for a membership. The body of a `GET` is not read (RFC 9110 9.3.1: it has no meaning).
    pub(super) fn plain<F, Fut>(method: Method, path: &'static str, summary: &'static str, run: F) -> Self
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        let reads_body = method != Method::GET;
        let run: Run = Arc::new(move |call, payload: Payload| {
            let (running, payload) = (run(call), reads_body.then_some(payload));
            Box::pin(async move {
                if let Some(payload) = payload {
                    payload.optional_fields().await?.finish()?;
                }
                running.await
            })
        });
        Self::new(method, path, summary, run)
    }

    /// A `GET`.
    pub(super) fn get<F, Fut>(path: &'static str, summary: &'static str, run: F) -> Self
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        Self::plain(Method::GET, path, summary, run)
    }

    /// A `DELETE`.
    pub(super) fn delete<F, Fut>(path: &'static str, summary: &'static str, run: F) -> Self
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        Self::plain(Method::DELETE, path, summary, run)
    }

    /// An operation with a JSON request body.
    pub(super) fn taking<F, Fut>(
        method: Method,
        path: &'static str,
        schema: &'static str,
        summary: &'static str,
        run: F,
    ) -> Self
    where
        F: Fn(Call, Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        let run: Run = Arc::new(move |call, payload| Box::pin(run(call, payload)));
        Self { body: Some((schema, Format::Json)), ..Self::new(method, path, summary, run) }
    }

    /// A `PUT` whose body is an image.
    pub(super) fn taking_image<F, Fut>(path: &'static str, summary: &'static str, run: F) -> Self
    where
        F: Fn(Call, Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        let operation = Self::taking(Method::PUT, path, "Image", summary, run);
        Self { body: Some(("Image", Format::Image)), ..operation }
    }

    /// A `POST` that takes NDJSON and answers with NDJSON, one line per line.
    pub(super) fn bulk<F, Fut>(
        path: &'static str,
        schemas: [&'static str; 2],
        summary: &'static str,
        run: F,
    ) -> Self
    where
        F: Fn(Call, Payload) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        let [line, result] = schemas;
        let operation = Self::taking(Method::POST, path, line, summary, run).answers(200, reference(result));
        Self { body: Some((line, Format::Ndjson)), answer_format: Format::Ndjson, ..operation }
    }

    /// Sets the status and schema of a successful answer.
    pub(super) fn answers(mut self, status: u16, schema: Value) -> Self {
        self.status = status;
        self.answer = schema;
        self
    }

    /// Says that the answer is an image.
    pub(super) fn answers_image(self) -> Self {
        Self { answer_format: Format::Image, ..self.answers(200, reference("Image")) }
    }

    /// Marks the answer as NDJSON.
    pub(super) fn streamed(mut self) -> Self {
        self.answer_format = Format::Ndjson;
        self
    }

    /// Adds query parameters.
    pub(super) fn query(mut self, parameters: &[Parameter]) -> Self {
        self.query.extend_from_slice(parameters);
        self
    }

    /// Refuses unknown query parameters: a misspelt filter would otherwise match everything, and a change that somebody
    /// only wanted to try would be made. Reads without query parameters ignore the query.
    pub(super) fn check_query(&self, query: &str) -> Result<(), AdminError> {
        if self.query.is_empty() && (query.is_empty() || self.method == Method::GET) {
            return Ok(());
        }
        let params = Params::parse(query.as_bytes())?;
        let known = |name: &str| self.query.iter().any(|parameter| parameter.takes(name));
        let Some((unknown, _)) = params.iter().find(|(name, _)| !known(name)) else { return Ok(()) };
        let names: Vec<_> = self.query.iter().map(|parameter| parameter.name).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let unknown = clipped(unknown);
        Err(AdminError::invalid(format!(
            "{unknown} is no query parameter of this operation, which has {known}"
        )))
    }

    /// Marks the operation as one on the installation rather than on one issuer.
    pub(super) fn global(mut self) -> Self {
        self.global = true;
        self
    }
}

/// A reference to a schema of the document.
pub(super) fn reference(name: &str) -> Value {
    serde_json::json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// An object with one member of the named schema: `{"client": Client}`.
pub(super) fn wrapped(member: &str, name: &str) -> Value {
    serde_json::json!({ "type": "object", "required": [member], "properties": { member: reference(name) } })
}

/// A page of a listing: `{"clients": [Client], "pagination": Pagination}`.
pub(super) fn page_of(member: &str, name: &str) -> Value {
    serde_json::json!({
        "type": "object",
        "required": [member, "pagination"],
        "properties": {
            member: { "type": "array", "items": reference(name) },
            "pagination": reference("Pagination"),
        },
    })
}
