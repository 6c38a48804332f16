//! The applications that use the person's account: listed, and their access ended.

use axum::response::Response;
use serde_json::json;
use symbolon_pages::{AccountNotice, AccountPlace, ApplicationView, ApplicationsPage, ScopeView};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::params::Params;
use symbolon_protocol::third_party_initiated_login;
use symbolon_protocol::time::Timestamp;

use super::{Person, Visitor, by_themselves, done, form, status, told, visitor};
use crate::requesting_client::logo_of;
use crate::sign_in_goal::Freshness;
use symbolon_app::grants::{self, Grant};
use symbolon_app::http::{Call, Context, Failure};

const PLACE: AccountPlace = AccountPlace::Applications;

/// `GET /account/applications`.
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

/// `POST /account/applications`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::parse(&form)?;
    if !person.accepts(call, &params, PLACE)? {
        return page(&call.context, &person, Some(AccountNotice::Expired)).await;
    }
    if params.get("end_all")?.is_some() {
        let Context { app, issuer, .. } = &call.context;
        for client in grants::in_use(app, issuer, &person.user.id).await?.keys() {
            end(&call.context, &person, client).await?;
        }
    } else if let Some(client) = params.get("end")?.and_then(|id| ClientId::parse(id).ok()) {
        end(&call.context, &person, &client).await?;
    }
    Ok(done(call, PLACE, &AccountNotice::AccessEnded))
}

async fn end(context: &Context, person: &Person, client: &ClientId) -> Result<(), Failure> {
    let ended = grants::end(&context.app, &context.issuer, &person.user.id, client).await?;
    let detail = json!({ "consent": ended.consent.is_some(), "refresh_tokens": ended.families });
    context.audit_change(Event::GrantEnded, &person.user.id, Some(client), by_themselves(detail));
    Ok(())
}

async fn page(
    context: &Context,
    person: &Person,
    notice: Option<AccountNotice>,
) -> Result<Response, Failure> {
    let mut applications = Vec::new();
    for (id, grant) in grants::in_use(&context.app, &context.issuer, &person.user.id).await? {
        // Of a document what was read last is enough: a look at this page must not tell others that somebody looks.
        let client = context.app.client_at_hand(&context.issuer, &id).await?;
        // Of a deleted client nothing works any more.
        if let Some(client) = client {
            let logo = logo_of(context, &client).await?;
            let logo = logo.map(|logo| context.issuer.logo_address(&logo, Some(&id)));
            // A deep link into the sign-in is better than the front door, where the client has one.
            let opens_at = third_party_initiated_login::address(&client, &context.issuer.url)
                .or_else(|| client.displayed("client_uri"));
            let host = client.document_host();
            let shown = view(&id, client.display_name(), grant);
            applications.push(ApplicationView { host, logo, opens_at, ..shown });
        } else if let Some(host) = context.app.client_name(&context.issuer, &id).await? {
            applications.push(view(&id, &host, grant));
        }
    }
    let status = status(notice.as_ref());
    let page = ApplicationsPage {
        language: person.language,
        issuer_name: context.issuer.display_name(),
        frame: person.frame(context, PLACE, notice),
        applications,
    };
    person.page(context, status, page.render_for(&context.issuer.prefix, &context.issuer.brand()))
}

fn view(id: &ClientId, name: &str, grant: Grant) -> ApplicationView {
    let scopes = grant.scopes.into_iter().map(|name| ScopeView { name, description: String::new() });
    ApplicationView {
        client_id: id.to_string(),
        name: name.to_owned(),
        host: None,
        logo: None,
        opens_at: None,
        scopes: scopes.collect(),
        since: grant.since.map(Timestamp::millis),
        used: grant.last_used_at.map(Timestamp::millis),
        offline: grant.offline,
    }
}
