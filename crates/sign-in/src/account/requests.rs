//! What applications ask the person to allow while they wait elsewhere (CIBA Core 1.0): listed, allowed and refused.

use std::sync::Arc;

use axum::response::Response;
use serde_json::json;
use symbolon_pages::{AccountNotice, AccountPlace, RequestView, RequestsPage, ScopeView};
use symbolon_protocol::backchannel_authentication::{BackchannelRequestId, allowed};
use symbolon_protocol::client::Client;
use symbolon_protocol::decision::Decision;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::sign_in::is_enough;
use symbolon_store::port::{Decided, Deciding, KeptBackchannelAuthentication};

use super::{Person, Visitor, by_themselves, done, form, status, take_part, told, visitor};
use crate::authorization_details;
use crate::requesting_client::logo_of;
use crate::second_factor_policy;
use crate::sign_in_goal::Freshness;
use symbolon_app::http::{Call, Context, Failure};

const PLACE: AccountPlace = AccountPlace::Requests;

/// `GET /account/requests`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    match visitor(call, PLACE, Freshness::Any).await? {
        Visitor::Person(person) => {
            let notice = told(call);
            page(&call.context, &person, notice).await
        }
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/requests`: the person's decision.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Any).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::parse(&form)?;
    if !person.accepts(call, &params, PLACE)? {
        return page(&call.context, &person, Some(AccountNotice::Expired)).await;
    }
    let id = params.get("request")?.and_then(|id| id.parse::<BackchannelRequestId>().ok());
    let Some(kept) = find(&call.context, &person, id).await? else {
        return gone(&call.context, &person).await;
    };
    match params.get("decision")? {
        Some("allow") => allow(call, &person, &kept).await,
        Some("deny") => decide(call, &person, &kept, Decision::Denied(person.user.id.clone())).await,
        decision => {
            let details = Details::of("decision").sent(decision.unwrap_or_default());
            let description = "decision must be allow or deny";
            Err(OAuthError::invalid_request(Reason::PageFormInvalid, description).about(details).into())
        }
    }
}

/// The request of an id, if it is this person's.
async fn find(
    context: &Context,
    person: &Person,
    id: Option<BackchannelRequestId>,
) -> Result<Option<KeptBackchannelAuthentication>, Failure> {
    let Context { app, issuer, .. } = context;
    let Some(id) = id else { return Ok(None) };
    let kept = app.store.backchannel_authentication(&issuer.id, &id, app.now()).await?;
    Ok(kept.filter(|kept| kept.asked.user == person.user.id))
}

async fn gone(context: &Context, person: &Person) -> Result<Response, Failure> {
    page(context, person, Some(AccountNotice::RequestGone)).await
}

async fn allow(
    call: &mut Call,
    person: &Person,
    kept: &KeptBackchannelAuthentication,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = &call.context;
    let client = app.store.client(&issuer.id, &kept.asked.client).await?;
    let Some(client) = client else { return gone(&call.context, person).await };
    if let Some(answer) = more_is_wanted(call, person, &client, kept).await? {
        return Ok(answer);
    }
    take_part(call, person, &client).await?;
    let Context { app, issuer, .. } = &call.context;
    let grant = allowed(&kept.asked, &issuer.id, &person.session, app.now(), &*app.random);
    decide(call, person, kept, Decision::Allowed(Box::new(grant))).await
}

/// The page for who has to sign in with more than they have, because the client demands a second factor.
async fn more_is_wanted(
    call: &mut Call,
    person: &Person,
    client: &Arc<Client>,
    kept: &KeptBackchannelAuthentication,
) -> Result<Option<Response>, Failure> {
    let wanted = Some((client, kept.asked.acr));
    let policy = second_factor_policy::policy(&call.context, wanted, &person.user.id).await?;
    if is_enough(person.session.amr, policy, &Default::default()) {
        return Ok(None);
    }
    // A fresh sign-in asks for the second factor of whoever has one.
    match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Stranger(answer) => Ok(Some(answer)),
        Visitor::Person(_) => {
            page(&call.context, person, Some(AccountNotice::RequestSecondFactor)).await.map(Some)
        }
    }
}

/// Decides, unless somebody has: whoever sends the form twice comes to the same page.
async fn decide(
    call: &mut Call,
    person: &Person,
    kept: &KeptBackchannelAuthentication,
    decision: Decision,
) -> Result<Response, Failure> {
    let context = &call.context;
    let own = Decided::from(&decision);
    let told = |is_allowed| match is_allowed {
        true => AccountNotice::RequestAllowed,
        false => AccountNotice::RequestDenied,
    };
    match context.app.decide_backchannel(&context.issuer, kept, decision).await? {
        Deciding::Decided => {
            let event = if own.is_allowed { Event::ConsentGranted } else { Event::ConsentDenied };
            let detail = by_themselves(json!({ "backchannel": kept.id }));
            context.audit_change(event, &person.user.id, Some(&kept.asked.client), detail);
            Ok(done(call, PLACE, &told(own.is_allowed)))
        }
        Deciding::Before(before) => Ok(done(call, PLACE, &told(before.is_allowed))),
        Deciding::Unknown => gone(&call.context, person).await,
    }
}

async fn page(
    context: &Context,
    person: &Person,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = context;
    let waiting =
        app.store.waiting_backchannel_authentications(&issuer.id, &person.user.id, app.now()).await?;
    let mut requests = Vec::with_capacity(waiting.len());
    for kept in &waiting {
        // Of a deleted client nothing works any more.
        if let Some(client) = app.store.client(&issuer.id, &kept.asked.client).await? {
            requests.push(view(context, person, &client, kept).await?);
        }
    }
    let status = status(notice.as_ref());
    let page = RequestsPage {
        language: person.language,
        issuer_name: issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        requests,
    };
    person.page(context, status, page.render_for(&issuer.prefix, &issuer.brand()))
}

async fn view(
    context: &Context,
    person: &Person,
    client: &Arc<Client>,
    kept: &KeptBackchannelAuthentication,
) -> Result<RequestView, Failure> {
    let issuer = &context.issuer;
    let logo = logo_of(context, client).await?;
    let asked = &kept.asked;
    let describe = |name: &str| ScopeView { name: name.to_owned(), description: String::new() };
    let details = &asked.authorization_details;
    Ok(RequestView {
        id: kept.id.to_string(),
        client_name: client.display_name_in(person.language.tag()),
        client_logo: logo.map(|logo| issuer.logo_address(&logo, Some(&client.client_id))),
        message: asked.binding_message.clone(),
        scopes: asked.scope.iter().map(describe).collect(),
        details: authorization_details::views(details, &issuer.settings.load(), person.language),
        asked: asked.asked_at.millis(),
        ends: asked.expires_at.millis(),
    })
}
