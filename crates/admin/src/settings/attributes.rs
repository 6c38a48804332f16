//! The schema of users' attributes: a setting of the issuer, definition by definition.

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::attribute::{AttributeDefinition, AttributeName};
use symbolon_protocol::settings::IssuerSettings;

use super::super::call::{Call, Payload, done, ok};
use super::super::error::{AdminError, Answer};
use super::super::fields::clipped;
use super::super::operation::{Operation, wrapped};
use super::change;

pub(super) fn operations() -> Vec<Operation> {
    const ALL: &str = "/settings/attributes";
    const ONE: &str = "/settings/attributes/{name}";
    let all = json!({
        "type": "object",
        "required": ["attributes"],
        "properties": { "attributes": super::super::openapi::list_of("AttributeDefinition") },
    });
    vec![
        Operation::get(ALL, "Lists the attributes that users may have", list).answers(200, all),
        Operation::taking(
            Method::PUT,
            ONE,
            "NewAttributeDefinition",
            "Defines an attribute, or replaces its definition",
            define,
        )
        .answers(200, wrapped("attribute", "AttributeDefinition")),
        Operation::delete(
            ONE,
            "Removes the definition of an attribute; values that users have stay, unseen and unreleased",
            remove,
        )
        .answers(204, Value::Null),
    ]
}

fn unknown() -> AdminError {
    AdminError::not_found("the schema has no such attribute")
}

/// The name in the path.
fn name(call: &Call) -> Result<AttributeName, AdminError> {
    let found = call.path.iter().find(|(own, _)| own == "name");
    let text = found.map_or("", |(_, value)| value.as_str());
    AttributeName::parse(text)
        .map_err(|error| AdminError::invalid(format!("attributes.{}: {error}", clipped(text))))
}

async fn list(call: Call) -> Answer {
    Ok(ok(&json!({ "attributes": call.app.store.settings(call.id()).await?.attributes })))
}

async fn define(call: Call, payload: Payload) -> Answer {
    let name = name(&call)?;
    let mut document = payload.object().await?;
    let own = document.entry("name").or_insert_with(|| json!(name));
    if *own != name.as_str() {
        return Err(AdminError::invalid(format!("name must be {name}, as in the path")));
    }
    let definition: AttributeDefinition = serde_json::from_value(Value::Object(document))
        .map_err(|error| AdminError::invalid(format!("attributes.{name} is not valid: {error}")))?;
    change(&call, |current| {
        let mut attributes = current.attributes.clone();
        attributes.define(definition.clone());
        Ok(IssuerSettings { attributes, ..current.clone() })
    })
    .await?;
    Ok(ok(&json!({ "attribute": definition })))
}

async fn remove(call: Call) -> Answer {
    let name = name(&call).map_err(|_| unknown())?;
    change(&call, |current| {
        let mut attributes = current.attributes.clone();
        match attributes.remove(name.as_str()) {
            true => Ok(IssuerSettings { attributes, ..current.clone() }),
            false => Err(unknown()),
        }
    })
    .await?;
    Ok(done())
}
