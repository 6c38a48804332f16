//! Clients of a realm.

use serde_json::Value;

use super::super::client::{CODE, CREDENTIALS, DEVICE, Draft, REFRESH};
use super::super::importer::Importer;
use super::super::record::{Fault, Kind, Origin, is_empty, number};
use super::super::schema::Schema;
use super::claims::{self, ClientScopes};
use super::is_own_client;
use crate::command::CommandError;

/// The algorithms of tokens that there are here too.
const ALGORITHMS: [&str; 4] = ["RS256", "PS256", "ES256", "EdDSA"];

/// Reads a client and gives it to an importer.
pub(super) fn take(
    place: u64,
    client: Value,
    scopes: &ClientScopes,
    schema: &Schema,
    importer: &mut Importer<'_>,
) -> Result<(), CommandError> {
    let text = |member: &str| client.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(id) = text("clientId") else {
        let origin = Origin { place, ..Origin::default() };
        return importer.refuse(Kind::Client, &origin, &"it has no clientId".into());
    };
    if is_own_client(id) {
        return Ok(());
    }
    let mut draft = Draft::new(place, id, text("name"));
    match authentication(&client, &mut draft) {
        Ok(()) => {}
        Err(fault) => return importer.refuse_client(&draft.origin, &fault),
    }
    grants(&client, &mut draft);
    addresses(&client, &mut draft);
    settings(&client, &mut draft);
    claims::give(&client, scopes, schema, &mut draft);
    draft.finish(importer)
}

fn flag(client: &Value, member: &str) -> bool {
    client.get(member).and_then(Value::as_bool).unwrap_or(false)
}

/// An entry of `attributes`, whose values are texts.
fn attribute<'a>(client: &'a Value, name: &str) -> Option<&'a str> {
    client.get("attributes")?.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// How the client authenticates; or why it cannot be taken at all.
fn authentication(client: &Value, draft: &mut Draft) -> Result<(), Fault> {
    let text = |member: &str| client.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(protocol) = text("protocol").filter(|protocol| *protocol != "openid-connect") {
        return Err(Fault::new(format!("its protocol is {protocol}"), "connect it by OpenID Connect"));
    }
    match client.get("enabled") {
        None | Some(Value::Null | Value::Bool(true)) => {}
        Some(Value::Bool(false)) => {
            return Err(Fault::new(
                "it is disabled, and a client here cannot be",
                "enable it, if it is to come in",
            ));
        }
        Some(_) => return Err("enabled is neither true nor false".into()),
    }
    if flag(client, "publicClient") {
        draft.set("token_endpoint_auth_method", "none");
        return Ok(());
    }
    match text("clientAuthenticatorType").unwrap_or("client-secret") {
        "client-secret" => {
            match text("secret") {
                Some(secret) if secret.bytes().all(|byte| byte == b'*') => draft.part(
                    "secret",
                    "the export hides it, so that a new one is drawn",
                    format!("show a new one by symbolon client new-secret {}", draft.id()),
                ),
                Some(secret) => draft.set("client_secret", secret),
                None => draft.part(
                    "secret",
                    "it has none, so that one is drawn",
                    format!("show a new one by symbolon client new-secret {}", draft.id()),
                ),
            }
            Ok(())
        }
        "client-jwt" => {
            let keys =
                attribute(client, "jwks.string").and_then(|text| serde_json::from_str::<Value>(text).ok());
            let keys = keys.ok_or_else(|| {
                Fault::new(
                    "it signs assertions, and its keys do not stand in the file as jwks.string",
                    "register it by hand with its keys as jwks",
                )
            })?;
            draft.set("token_endpoint_auth_method", "private_key_jwt");
            draft.set("jwks", keys);
            Ok(())
        }
        other => Err(Fault::new(
            format!("it authenticates by {other}, which is not supported"),
            "let it authenticate by a secret or by signed assertions (client-jwt)",
        )),
    }
}

fn grants(client: &Value, draft: &mut Draft) {
    let is_api = flag(client, "bearerOnly");
    let is_public = flag(client, "publicClient");
    // What Keycloak does where the member is not there.
    let standard = client.get("standardFlowEnabled").and_then(Value::as_bool).unwrap_or(true);
    if standard && !is_api {
        draft.grant(CODE);
        if attribute(client, "use.refresh.tokens") != Some("false") {
            draft.grant(REFRESH);
        }
    }
    if flag(client, "serviceAccountsEnabled") && !is_public && !is_api {
        draft.grant(CREDENTIALS);
    }
    if attribute(client, "oauth2.device.authorization.grant.enabled") == Some("true") && !is_api {
        draft.grant(DEVICE);
    }
    for (is_on, name, mend) in [
        (flag(client, "implicitFlowEnabled"), "implicitFlowEnabled", "use the code flow with PKCE"),
        (flag(client, "directAccessGrantsEnabled"), "directAccessGrantsEnabled", "use the code flow"),
        (
            attribute(client, "oidc.ciba.grant.enabled") == Some("true"),
            "oidc.ciba.grant.enabled",
            "use the code flow",
        ),
        (
            attribute(client, "standard.token.exchange.enabled") == Some("true"),
            "standard.token.exchange.enabled",
            "allow it by hand, with the targets that the client may name",
        ),
    ] {
        if is_on && !is_api {
            draft.part(name, "the grant is not taken", mend);
        }
    }
}

/// URIs and origins.
fn addresses(client: &Value, draft: &mut Draft) {
    let root = client.get("rootUrl").and_then(Value::as_str).unwrap_or_default().trim_end_matches('/');
    // A path is below the root URL.
    let absolute = |uri: &str| {
        if uri.starts_with('/') && !root.is_empty() { format!("{root}{uri}") } else { uri.to_owned() }
    };
    let texts = |member: &str| -> Vec<&str> {
        client.get(member).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    };
    draft.uris("redirect_uris", "redirectUris", texts("redirectUris").into_iter().map(absolute));
    match attribute(client, "post.logout.redirect.uris") {
        None | Some("-") => {}
        // The same as those of sign-in.
        Some("+") => draft.set("post_logout_redirect_uris", draft.redirect_uris()),
        Some(uris) => {
            let uris: Vec<String> = uris.split("##").map(absolute).collect();
            draft.uris("post_logout_redirect_uris", "post.logout.redirect.uris", uris);
        }
    }
    // `+` stands for the origins of the redirect URIs, which may call the token endpoint anyway.
    let origins = texts("webOrigins").into_iter().filter(|origin| *origin != "+").map(str::to_owned);
    draft.origins("webOrigins", origins.collect::<Vec<_>>());
    for (member, url) in [
        ("client_uri", client.get("baseUrl").and_then(Value::as_str).map(absolute)),
        ("logo_uri", attribute(client, "logoUri").map(str::to_owned)),
        ("policy_uri", attribute(client, "policyUri").map(str::to_owned)),
        ("tos_uri", attribute(client, "tosUri").map(str::to_owned)),
    ] {
        if let Some(url) = url {
            draft.link(member, &url);
        }
    }
}

fn settings(client: &Value, draft: &mut Draft) {
    // Whatever is not clearly no asks people.
    let is_asked =
        client.get("consentRequired").is_some_and(|said| !matches!(said, Value::Null | Value::Bool(false)));
    draft.set("skip_consent", !is_asked);
    let lifespan = client.get("attributes").and_then(|all| all.get("access.token.lifespan")).and_then(number);
    // Keycloak writes -1 or 0 where the realm's holds.
    if let Some(seconds) = lifespan.filter(|seconds| *seconds > 0) {
        draft.setting("access_token_lifetime", seconds);
    }
    match attribute(client, "pkce.code.challenge.method") {
        Some("S256") if !flag(client, "publicClient") => draft.setting("pkce", "required"),
        Some("plain") => draft.part("pkce.code.challenge.method", "plain is not taken", "let it send S256"),
        _ => {}
    }
    for (theirs, ours) in [
        ("access.token.signed.response.alg", "access_token_signed_response_alg"),
        ("id.token.signed.response.alg", "id_token_signed_response_alg"),
    ] {
        match attribute(client, theirs) {
            Some(algorithm) if ALGORITHMS.contains(&algorithm) => draft.set(ours, algorithm),
            Some(algorithm) => {
                draft.part(
                    theirs,
                    format!("{algorithm} is not taken"),
                    "the client gets the issuer's algorithm",
                );
            }
            None => {}
        }
    }
    for (theirs, ours) in [
        ("backchannel.logout.url", "backchannel_logout_uri"),
        ("frontchannel.logout.url", "frontchannel_logout_uri"),
    ] {
        if let Some(uri) = attribute(client, theirs).filter(|uri| !uri.is_empty()) {
            draft.logout_uri(ours, theirs, uri);
        }
    }
    for name in ["authorizationSettings", "authenticationFlowBindingOverrides"] {
        if client.get(name).is_some_and(|value| !is_empty(value)) {
            draft.part(name, "has no counterpart", "");
        }
    }
}
