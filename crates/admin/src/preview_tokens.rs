//! A preview of what a client would get for a user: the claims of the ID token, of the access token and of UserInfo.
//! Nothing is issued, signed or stored.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use symbolon_protocol::claim_definition::{ClaimFailure, ClaimInput, ClaimSet, Destination, NO_CLAIMS};
use symbolon_protocol::client::{Client, GrantType};
use symbolon_protocol::id::UserId;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::{Context, IssuePlan, refresh_token, resource};
use symbolon_protocol::user::User;
use symbolon_protocol::user_claims::UserRecords;
use symbolon_protocol::userinfo;

use crate::call::{Call, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, Parameter, wrapped};
use crate::{admin_created, clients};

/// Claims that are drawn when a token is issued, or that only a sign-in determines. A preview has none of them.
const OF_A_SIGN_IN: [&str; 8] = ["jti", "gid", "sid", "auth_time", "acr", "amr", "nonce", "at_hash"];

pub(super) fn operations() -> Vec<Operation> {
    let parameters = [
        Parameter { name: "user", kind: "string", about: "The user's id." },
        Parameter {
            name: "scope",
            kind: "string",
            about: "The scope that the client asks for; all that it registered without.",
        },
        Parameter {
            name: "resource",
            kind: "string",
            about: "The resource that the access token is for (RFC 8707).",
        },
    ];
    vec![
        Operation::get(
            "/clients/{client_id}/preview-tokens",
            "Shows the claims that a client would get for a user, without issuing a token",
            preview,
        )
        .query(&parameters)
        .answers(200, wrapped("preview", "TokenPreview")),
    ]
}

async fn preview(call: Call) -> Answer {
    let client = clients::load(&call).await?;
    if !client.may_use(GrantType::AuthorizationCode) && !client.may_use(GrantType::TokenExchange) {
        let description = "the client gets no tokens of users: it has registered neither the grant type authorization_code nor \
                           token exchange";
        return Err(AdminError::invalid(description));
    }
    let user = user(&call).await?;
    let entitlements = call.app.store.entitlements(call.id(), &user.id).await?;
    let scope = scope(&call, &client)?;
    let resource: Option<String> = call.query("resource")?;
    let asked: Vec<&str> = resource.as_deref().into_iter().collect();
    let settings = call.issuer.settings.load_full();
    let targets = resource::narrowed((&call.issuer.url, &settings), &client, &[], &asked)?;
    let records = UserRecords { user: Some(Arc::clone(&user)), entitlements: Some(entitlements) };
    let claims = call.issuer.claims_for(&settings, &client);
    let defined = (&*settings, claims.as_deref().unwrap_or(&NO_CLAIMS));
    let (plan, failures) = plan(&call, (&*client, defined), &user.id, (scope, &targets), &records);
    Ok(ok(&json!({ "preview": view(&call, &plan, failures, records, defined)? })))
}

/// The user that the query names, who may sign in.
async fn user(call: &Call) -> Result<Arc<User>, AdminError> {
    let id: UserId = call.query("user")?.ok_or_else(|| AdminError::invalid("user is required"))?;
    let found = call.app.store.user(call.id(), &id).await?;
    let user = found.ok_or_else(|| AdminError::not_found("there is no such user"))?;
    if user.may_sign_in() { Ok(user) } else { Err(AdminError::invalid("the user may not sign in")) }
}

/// The scope that the client would be granted: what it asks for, as far as it has registered it (RFC 6749 3.3).
fn scope(call: &Call, client: &Client) -> Result<Scope, AdminError> {
    let Some(text) = call.query::<String>("scope")? else { return Ok(client.scope.clone()) };
    let asked =
        Scope::parse(&text).map_err(|why| AdminError::invalid(format!("scope is not valid: {why}")))?;
    let granted = asked.intersection(&client.scope);
    if granted.is_empty() {
        return Err(AdminError::invalid("the client has registered nothing of this scope"));
    }
    Ok(granted)
}

/// The tokens of a refresh, which are those of a sign-in but for what a preview leaves out, and the claims that failed and are
/// missing from them.
fn plan(
    call: &Call,
    (client, (settings, claims)): (&Client, (&IssuerSettings, &ClaimSet)),
    user: &UserId,
    (scope, targets): (Scope, &[&str]),
    records: &UserRecords,
) -> (IssuePlan, Vec<ClaimFailure>) {
    let context = Context {
        issuer: &call.issuer.record,
        settings,
        client,
        claims,
        now: call.now(),
        pairwise_key: &call.issuer.pairwise_key,
        jkt: None,
        x5t_s256: None,
        random: &*call.app.random,
    };
    let family = admin_created::family_of(call, client, user.clone(), scope.clone());
    let mut plan = refresh_token::issue(&context, &family, scope, false);
    if !client.may_use(GrantType::AuthorizationCode) {
        // Token exchange gives access tokens only.
        plan.id = None;
    }
    plan.access.limit_to(targets);
    let failures = plan.release(&context, records.clone());
    (plan, failures)
}

fn view(
    call: &Call,
    plan: &IssuePlan,
    mut failures: Vec<ClaimFailure>,
    records: UserRecords,
    (settings, defined): (&IssuerSettings, &ClaimSet),
) -> Result<Value, AdminError> {
    let access = &plan.access;
    let is_cut = records.entitlements.as_ref().is_some_and(|held| held.is_cut);
    let introspection = introspection(access, &records, defined, &mut failures)?;
    let id_token = match &plan.id {
        Some(id) => claims(&id.to_json())?,
        None => Value::Null,
    };
    // UserInfo takes only tokens that are for the issuer and have the scope `openid`.
    let info = userinfo::check(access, &call.issuer.url, call.now())
        .and_then(|()| userinfo::claims(access, records, (&settings.attributes, call.now())))
        .map(|info| info.define(defined, &mut failures).to_json());
    let userinfo = match info {
        Ok(info) => claims(&info)?,
        Err(_) => Value::Null,
    };
    Ok(json!({
        "scope": access.scope,
        "id_token": id_token,
        "access_token": claims(&access.to_json())?,
        "userinfo": userinfo,
        "introspection": introspection,
        "is_cut": is_cut,
        "failures": failed(&failures, defined),
    }))
}

/// The claims that are defined, and missing because they failed or cannot be used at all.
fn failed(failures: &[ClaimFailure], defined: &ClaimSet) -> Vec<Value> {
    let of_this_user = failures.iter().map(|failure| {
        json!({ "name": failure.name, "destination": failure.destination.as_str(), "why": failure.why })
    });
    let of_every_user =
        defined.broken().iter().map(|refused| json!({ "name": refused.name, "why": refused.why }));
    of_this_user.chain(of_every_user).collect()
}

/// The claims of definitions that introspection would add to its answer.
fn introspection(
    access: &AccessToken,
    records: &UserRecords,
    defined: &ClaimSet,
    failures: &mut Vec<ClaimFailure>,
) -> Result<Value, AdminError> {
    let input = ClaimInput::for_audience(access, records);
    let claims = defined.write(Destination::Introspection, input, failures);
    claims.to_value().map_err(AdminError::internal)
}

/// The claims of a payload, without those of a sign-in.
fn claims(payload: &[u8]) -> Result<Value, AdminError> {
    let mut claims: Map<String, Value> = serde_json::from_slice(payload).map_err(AdminError::internal)?;
    claims.retain(|name, _| !OF_A_SIGN_IN.contains(&name.as_str()));
    Ok(Value::Object(claims))
}
