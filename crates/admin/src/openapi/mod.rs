//! The OpenAPI document, generated from the list of operations that is also routed.

mod schema;

use http::Method;
use serde_json::{Map, Value, json};
use symbolon_protocol::logo::LogoType;

use crate::call::{Call, ok};
use crate::error::Answer;
use crate::operation::{Format, Operation, Parameter, reference};

pub(super) fn operations() -> Vec<Operation> {
    let any = json!({ "type": "object" });
    vec![Operation::get("/openapi.json", "This document", show).answers(200, any).global()]
}

async fn show(_call: Call) -> Answer {
    Ok(ok(&document()))
}

/// The admin API as an OpenAPI 3.1 document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for operation in super::operations() {
        add(&mut paths, operation.path.to_owned(), &operation);
        if !operation.global {
            add(&mut paths, format!("/issuers/{{issuer}}{}", operation.path), &operation);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Symbolon admin API",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            "description": "Paths without `/issuers/{issuer}` are about the issuer `default`. Times are milliseconds \
                            since 1970-01-01T00:00:00Z, lifetimes are seconds.",
        },
        "servers": [{ "url": "/api/admin" }],
        "security": [{ "adminSecret": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "adminSecret": { "type": "http", "scheme": "bearer" } },
            "schemas": closed(schema::all()),
            "responses": { "Error": {
                "description": "Refused",
                "content": { "application/json": { "schema": reference("Error") } },
            } },
        },
    })
}

/// The schemas, of which those of request bodies allow no further members: what nobody knows is refused.
fn closed(mut schemas: Value) -> Value {
    for (name, _) in super::operations().iter().filter_map(|operation| operation.body) {
        if let Some(schema) = schemas.get_mut(name) {
            close(schema);
        }
    }
    schemas
}

/// Closes a schema and those of its members, as far as they say which members they have.
fn close(schema: &mut Value) {
    let Value::Object(parts) = schema else { return };
    if let Some(Value::Object(properties)) = parts.get_mut("properties") {
        properties.values_mut().for_each(close);
        parts.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(Value::Array(alternatives)) = parts.get_mut("oneOf") {
        alternatives.iter_mut().for_each(close);
    }
}

fn add(paths: &mut Map<String, Value>, path: String, operation: &Operation) {
    let described = describe(&path, operation);
    let methods = paths.entry(path).or_insert_with(|| json!({}));
    if let Value::Object(methods) = methods {
        methods.insert(operation.method.as_str().to_ascii_lowercase(), described);
    }
}

fn describe(path: &str, operation: &Operation) -> Value {
    let in_path = names(path)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let in_query = operation.query.iter().map(|Parameter { name, kind, about }| {
        json!({ "name": name, "in": "query", "description": about, "schema": { "type": kind } })
    });
    let mut described = json!({
        "operationId": operation_id(path, &operation.method),
        "summary": operation.summary,
        "tags": [tag(operation.path)],
        "parameters": in_path.chain(in_query).collect::<Vec<Value>>(),
        "responses": responses(operation),
    });
    if let (Some((schema, format)), Value::Object(members)) = (operation.body, &mut described) {
        let body = json!({ "required": true, "content": content(&reference(schema), format) });
        members.insert("requestBody".to_owned(), body);
    }
    described
}

fn content(schema: &Value, format: Format) -> Value {
    match format {
        Format::Json => json!({ "application/json": { "schema": schema } }),
        // The schema describes one line.
        Format::Ndjson => json!({ "application/x-ndjson": { "schema": schema } }),
        Format::Image => LogoType::ALL
            .into_iter()
            .map(|kind| (kind.media_type().to_owned(), json!({ "schema": schema })))
            .collect::<Map<String, Value>>()
            .into(),
    }
}

fn responses(operation: &Operation) -> Value {
    let mut success = json!({ "description": "Done" });
    if let (false, Value::Object(members)) = (operation.answer.is_null(), &mut success) {
        members.insert("content".to_owned(), content(&operation.answer, operation.answer_format));
    }
    let mut responses = Map::new();
    responses.insert(operation.status.to_string(), success);
    responses.insert("default".to_owned(), json!({ "$ref": "#/components/responses/Error" }));
    Value::Object(responses)
}

/// The names of a path's parameters.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// A list of what a schema describes.
pub(super) fn list_of(name: &str) -> Value {
    json!({ "type": "array", "items": reference(name) })
}

/// The path's first segment.
fn tag(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

/// `GET /users/{user_id}/sessions` is `get_users_user_id_sessions`: unique because method and path are.
fn operation_id(path: &str, method: &Method) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(method.as_str().to_ascii_lowercase())
        .chain(words.map(str::to_owned))
        .collect::<Vec<_>>()
        .join("_")
}

#[cfg(test)]
mod tests;
