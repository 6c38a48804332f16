//! Settings with endpoints of their own.

use http::Method;
use serde_json::{Map, Value, json};
use symbolon_protocol::settings::{IssuerSettings, SubjectTokenTypes};

use super::super::call::{Call, Payload, ok};
use super::super::error::{AdminError, Answer};
use super::super::fields::Fields;
use super::super::operation::{Operation, reference};
use super::super::script_members;
use super::change;

pub(super) fn operations() -> Vec<Operation> {
    const INTROSPECTION: &str = "/settings/introspection-validation";
    const EXCHANGE: &str = "/settings/token-exchange";
    let introspection = || reference("IntrospectionValidation");
    vec![
        Operation::get(INTROSPECTION, "Shows how introspection validates tokens", introspection_validation)
            .answers(200, introspection()),
        Operation::taking(
            Method::PUT,
            INTROSPECTION,
            "IntrospectionValidation",
            "Sets how introspection validates tokens",
            set_introspection_validation,
        )
        .answers(200, introspection()),
        Operation::delete(
            INTROSPECTION,
            "Puts introspection back to its default",
            reset_introspection_validation,
        )
        .answers(200, introspection()),
        Operation::get(EXCHANGE, "Shows what token exchange allows", token_exchange)
            .answers(200, reference("TokenExchangeSettings")),
        Operation::taking(
            Method::PUT,
            EXCHANGE,
            "TokenExchangeSettings",
            "Switches token exchange and bounds it",
            set_token_exchange,
        )
        .answers(200, reference("TokenExchangeSettings")),
    ]
}

fn introspection_view(settings: &IssuerSettings) -> Value {
    json!({
        "strictValidation": settings.introspection_strict,
        "expectedAudience": settings.introspection_audience,
    })
}

async fn introspection_validation(call: Call) -> Answer {
    Ok(ok(&introspection_view(&call.app.store.settings(call.id()).await?)))
}

async fn set_introspection_validation(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.fields().await?;
    let strict: bool = fields.require("strictValidation")?;
    let audience = fields.text("expectedAudience")?;
    fields.finish()?;
    let settings = change(&call, |current| {
        let (introspection_strict, introspection_audience) = (strict, audience.clone());
        Ok(IssuerSettings { introspection_strict, introspection_audience, ..current.clone() })
    });
    Ok(ok(&introspection_view(&settings.await?)))
}

async fn reset_introspection_validation(call: Call) -> Answer {
    let settings = change(&call, |current| {
        let IssuerSettings { introspection_strict, introspection_audience, .. } = IssuerSettings::default();
        Ok(IssuerSettings { introspection_strict, introspection_audience, ..current.clone() })
    });
    Ok(ok(&introspection_view(&settings.await?)))
}

fn exchange_view(settings: &IssuerSettings) -> Value {
    json!({
        "enabled": settings.token_exchange,
        "allowedSubjectTokenTypes": settings.token_exchange_subject_token_types,
        "maxResourceParams": settings.token_exchange_max_targets,
        "maxAudienceParams": settings.token_exchange_max_targets,
        "idJag": { "enabled": settings.token_exchange_id_jag },
    })
}

async fn token_exchange(call: Call) -> Answer {
    Ok(ok(&exchange_view(&call.app.store.settings(call.id()).await?)))
}

/// Reads `idJag`: whether clients may get an ID-JAG for the audiences in their metadata.
fn id_jag(fields: &mut Fields) -> Result<Option<bool>, AdminError> {
    let Some(options) = fields.take::<Map<String, Value>>("idJag")? else { return Ok(None) };
    let mut options = Fields::within("idJag", options);
    let enabled: Option<bool> = options.take("enabled")?;
    if enabled != Some(true) {
        options.ignore(&script_members::ID_JAG);
    }
    options.finish()?;
    Ok(enabled)
}

async fn set_token_exchange(call: Call, payload: Payload) -> Answer {
    let mut fields = payload.fields().await?;
    let enabled: Option<bool> = fields.take("enabled")?;
    let types: Option<SubjectTokenTypes> = fields.take("allowedSubjectTokenTypes")?;
    let id_jag = id_jag(&mut fields)?;
    // The setting is one limit for both parameters, so it becomes the higher of the two requested ones.
    let resources = fields.bounded("maxResourceParams", 1..=100)?;
    let audiences = fields.bounded("maxAudienceParams", 1..=100)?;
    fields.finish()?;
    let targets = resources.max(audiences).and_then(|most| u16::try_from(most).ok());
    let settings = change(&call, |current| {
        let token_exchange = enabled.unwrap_or(current.token_exchange);
        let token_exchange_max_targets = targets.unwrap_or(current.token_exchange_max_targets);
        let token_exchange_subject_token_types = types.unwrap_or(current.token_exchange_subject_token_types);
        let token_exchange_id_jag = id_jag.unwrap_or(current.token_exchange_id_jag);
        Ok(IssuerSettings {
            token_exchange,
            token_exchange_max_targets,
            token_exchange_subject_token_types,
            token_exchange_id_jag,
            ..current.clone()
        })
    });
    Ok(ok(&exchange_view(&settings.await?)))
}
