//! Backchannel authentication requests (CIBA Core 1.0): listed, and decided in place of the person, who was asked by other means.

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::backchannel_authentication::{BackchannelRequestId, allowed_by_administrator};
use symbolon_protocol::decision::Decision;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::user::User;
use symbolon_store::port::{Deciding, KeptBackchannelAuthentication};

use crate::call::{Call, Concerns, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, Parameter, reference, wrapped};
use symbolon_app::audit::ChangedFields;

pub(super) fn operations() -> Vec<Operation> {
    let query = [Parameter { name: "user_id", kind: "string", about: "The user who is to decide." }];
    let listed = json!({
        "type": "object",
        "required": ["requests"],
        "properties": { "requests": { "type": "array", "items": reference("BackchannelRequest") } },
    });
    vec![
        Operation::get(
            "/ciba/requests",
            "Lists the backchannel authentication requests that wait for a user, those that end first before others; 50 at most",
            list,
        )
        .query(&query)
        .answers(200, listed),
        Operation::get(
            "/ciba/requests/{request_id}",
            "Shows a backchannel authentication request that has not ended",
            show,
        )
        .answers(200, wrapped("request", "BackchannelRequest")),
        Operation::plain(
            Method::POST,
            "/ciba/requests/{request_id}/approve",
            "Allows a backchannel authentication request in place of its user: the tokens name no session and no method",
            approve,
        )
        .answers(204, Value::Null),
        Operation::plain(
            Method::POST,
            "/ciba/requests/{request_id}/deny",
            "Refuses a backchannel authentication request in place of its user",
            deny,
        )
        .answers(204, Value::Null),
    ]
}

/// A request as JSON. Its `auth_req_id` is stored only as a digest, so it is not shown.
fn view(kept: &KeptBackchannelAuthentication) -> Value {
    let asked = &kept.asked;
    json!({
        "id": kept.id,
        "client_id": asked.client,
        "user_id": asked.user,
        "scope": asked.scope,
        "resources": asked.resources,
        "authorization_details": asked.authorization_details,
        "binding_message": asked.binding_message,
        "created_at": asked.asked_at,
        "expires_at": asked.expires_at,
        "decision": kept.decided.as_ref().map(|decided| word(decided.is_allowed)),
    })
}

const fn word(is_allowed: bool) -> &'static str {
    if is_allowed { "approved" } else { "denied" }
}

async fn list(call: Call) -> Answer {
    let user: UserId =
        call.query("user_id")?.ok_or_else(|| AdminError::invalid("user_id is required: whose requests?"))?;
    let found = call.app.store.waiting_backchannel_authentications(call.id(), &user, call.now()).await?;
    Ok(ok(&json!({ "requests": found.iter().map(view).collect::<Vec<_>>() })))
}

fn unknown() -> AdminError {
    AdminError::not_found("there is no such request, or it has ended")
}

async fn load(call: &Call) -> Result<KeptBackchannelAuthentication, AdminError> {
    let id: BackchannelRequestId = call.path("request_id")?;
    call.app.store.backchannel_authentication(call.id(), &id, call.now()).await?.ok_or_else(unknown)
}

async fn show(call: Call) -> Answer {
    Ok(ok(&json!({ "request": view(&load(&call).await?) })))
}

async fn approve(call: Call) -> Answer {
    let kept = load(&call).await?;
    let user = call.app.store.user(call.id(), &kept.asked.user).await?;
    let user = user.filter(|user| user.may_sign_in());
    let user = user.ok_or_else(|| AdminError::conflict("the user may not sign in"))?;
    check_second_factor(&call, &kept, &user).await?;
    let now = call.now();
    let ends = now + call.issuer.settings.load().lifetimes.session;
    let grant = allowed_by_administrator(&kept.asked, call.id(), ends, now, &*call.app.random);
    decide(&call, &kept, Decision::Allowed(Box::new(grant))).await
}

/// A second factor that is demanded is proven by the person alone.
async fn check_second_factor(
    call: &Call,
    kept: &KeptBackchannelAuthentication,
    user: &User,
) -> Result<(), AdminError> {
    let client = call.app.store.client(call.id(), &kept.asked.client).await?;
    let client = client.ok_or_else(|| AdminError::conflict("the client is gone"))?;
    let settings = call.issuer.settings.load_full();
    let roles = &settings.second_factor_roles;
    let mut is_demanded = settings.second_factor_for(&client.settings).is_needed(kept.asked.acr);
    if !is_demanded && !roles.is_empty() {
        let own = call.app.store.entitlements(call.id(), &user.id).await?;
        is_demanded = roles.demand(&own);
    }
    match is_demanded {
        false => Ok(()),
        true => Err(AdminError::conflict(
            "a second factor is demanded, which only the person can prove: let them decide at /account/requests",
        )),
    }
}

async fn deny(call: Call) -> Answer {
    let kept = load(&call).await?;
    let decision = Decision::Denied(kept.asked.user.clone());
    decide(&call, &kept, decision).await
}

async fn decide(call: &Call, kept: &KeptBackchannelAuthentication, decision: Decision) -> Answer {
    let is_allowed = decision.is_allowed();
    match call.app.decide_backchannel(&call.issuer, kept, decision).await? {
        Deciding::Decided => {}
        Deciding::Before(before) => {
            let told = word(before.is_allowed);
            return Err(AdminError::conflict(format!("the request was {told} before")));
        }
        Deciding::Unknown => return Err(unknown()),
    }
    let event = if is_allowed { Event::ConsentGranted } else { Event::ConsentDenied };
    let (user, client) = (Some(&kept.asked.user), Some(&kept.asked.client));
    let concerns = Concerns { user, client, detail: json!({ "backchannel": kept.id }) };
    let made = json!({ "decision": word(is_allowed), "scope": kept.asked.scope });
    call.audit(event, concerns, ChangedFields::made(&made));
    Ok(done())
}
