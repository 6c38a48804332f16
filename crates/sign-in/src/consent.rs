//! The consent page (OpenID Connect Core 3.1.2.4).

use std::sync::Arc;

use axum::response::Response;
use http::{StatusCode, header};
use symbolon_pages::{ConsentPage, Language, ScopeView};
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Session, SessionId};
use url::Url;

use crate::authorize::{Page, go_on, refuse};
use crate::interaction::{
    Interaction, PendingAuthorization, RequestingClient, address, fits_address, session_of, to_root,
};
use crate::login;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect, session_cookie};

/// The path of the page and its form.
pub(super) const PATH: &str = "/consent";

/// Asks the person whether the client may have this: shows the page where they are on it, or it is too long for an
/// address, else sends them there.
///
/// # Errors
/// [`Failure`]
pub(super) async fn ask(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    (session, scopes): (&Session, Scope),
    on: Page,
) -> Result<Response, Failure> {
    interaction.pending.scopes = Some(scopes);
    let sealed = interaction.seal(&call.context)?;
    let is_shown_here = on == Page::Consent && !call.received.is_post();
    let mut response = if is_shown_here || !fits_address(&sealed) {
        page(&call.context, &interaction, sealed, session).await?
    } else {
        redirect(call.received.is_post(), &address(&call.context, PATH, &sealed))
    };
    if let Some(cookie) = interaction.browser.cookie(&call.context.issuer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// `GET /consent`: the page, unless the person has to sign in first or need not be asked any more.
///
/// # Errors
/// [`Failure`]
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let params = Params::parse(call.received.encoded())?;
    if params.get("transaction")?.is_none() {
        return Ok(to_root(&call.context));
    }
    let interaction = Interaction::<PendingAuthorization>::open(&call.context, &call.received, &params)?;
    let session = session_cookie(&call.received.headers, &call.context.issuer);
    go_on(call, interaction, session, Page::Consent).await
}

async fn page(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    sealed: String,
    session: &Session,
) -> Result<Response, Failure> {
    let client = RequestingClient::of(context, &interaction.pending).await?;
    let describe = |name: &str| ScopeView { name: name.to_owned(), description: String::new() };
    let page = ConsentPage {
        language: Language::English,
        issuer_name: context.issuer.display_name().to_owned(),
        client_name: client.client.display_name().to_owned(),
        client_uri: client.client.displayed("client_uri"),
        client_logo: client.client.displayed("logo_uri"),
        redirect_host: host(&client.redirect_uri),
        user_name: user_name(context, session).await?,
        scopes: interaction.pending.scopes.iter().flat_map(Scope::iter).map(describe).collect(),
        action: address(context, PATH, &sealed),
        csrf: interaction.csrf_token(context, Purpose::Consent, session.sid.as_str()),
        transaction: sealed,
    };
    let page =
        page.render_below(&context.issuer.prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(html(StatusCode::OK, page, &Policy { leads_to_client: true, ..Policy::default() }))
}

/// Where the person will be taken, in words that they can compare with the address bar.
fn host(redirect_uri: &str) -> Option<String> {
    let url = Url::parse(redirect_uri).ok()?;
    let host = url.host_str()?.to_owned();
    Some(url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
}

/// How a session's user is called: by the e-mail address, since it tells accounts apart.
pub(super) async fn user_name(context: &Context, session: &Session) -> Result<String, Failure> {
    let user = context.app.store.user(&context.issuer.id, &session.user).await?;
    let name = user.and_then(|user| {
        let profile = &user.profile;
        user.email.clone().or_else(|| profile.preferred_username.clone()).or_else(|| profile.name.clone())
    });
    Ok(name.unwrap_or_else(|| session.user.to_string()))
}

/// `POST /consent`: the person's word.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingAuthorization>::open(context, received, &params)?;
    let Some((id, session)) = session_of(context, received, durable).await? else {
        return go_on(call, interaction, None, Page::Consent).await;
    };
    let sid = session.sid.as_str();
    if !interaction.accepts((context, received), &params, Purpose::Consent, sid)? {
        // Another user signed in since the page was shown, or the form is forged: look again who asks whom.
        return go_on(call, interaction, Some(id), Page::Consent).await;
    }
    match params.get("decision")? {
        Some("allow") => allow(call, interaction, (id, &session)).await,
        Some("deny") => deny(call, &interaction.pending, &session).await,
        // The page is in front of somebody else than the session is of.
        Some("switch") => login::show_to_another(&call.context, interaction).await,
        _ => Err(OAuthError::invalid_request("decision must be allow, deny or switch").into()),
    }
}

async fn allow(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    (id, session): (SessionId, &Session),
) -> Result<Response, Failure> {
    let Call { context, .. } = &mut *call;
    let Context { app, issuer, .. } = &*context;
    let client = RequestingClient::of(context, &interaction.pending).await?.client;
    // None in an interaction that was sealed before it was known what to ask for.
    if let Some(scopes) = interaction.pending.scopes.clone() {
        let consent = Consent { scope: scopes.clone(), granted_at: app.now() };
        if app.store.allow(&issuer.id, &session.user, &client.client_id, consent).await? {
            context.audit(Event::ConsentGranted, Some(&session.user), Some(&client.client_id));
            interaction.pending.allowed = Some((session.user.clone(), scopes));
        }
    }
    // Where user or client was deleted since they were looked up, it is looked again who asks whom.
    go_on(call, interaction, Some(id), Page::Consent).await
}

async fn deny(
    call: &mut Call,
    pending: &PendingAuthorization,
    session: &Session,
) -> Result<Response, Failure> {
    let client = RequestingClient::of(&call.context, pending).await?.client;
    call.context.audit(Event::ConsentDenied, Some(&session.user), Some(&client.client_id));
    call.client = Some(Arc::clone(&client));
    refuse(call, pending, &denied()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_person_sees_the_host_that_they_are_taken_to() {
        assert_eq!(host("https://app.example/cb?x=1").as_deref(), Some("app.example"));
        assert_eq!(host("http://127.0.0.1:8080/callback").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(host("com.example.app:/cb"), None);
    }
}
