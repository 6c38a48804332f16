//! The consent page (OpenID Connect Core 3.1.2.4).

use axum::response::Response;
use http::{StatusCode, header};
use symbolon_pages::{ConsentPage, ScopeView};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::Session;
use url::Url;

use crate::authorization_details;
use crate::interaction::{Interaction, Page, PendingAuthorization, address, fits_address, user_name};
use crate::requesting_client::RequestingClient;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};

/// The path of the page and its form.
pub(super) const PATH: &str = "/consent";

/// Asks the person for consent: shows the page if the person is on it already or if the interaction is too long for
/// an address, else redirects to it.
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

async fn page(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    sealed: String,
    session: &Session,
) -> Result<Response, Failure> {
    let client = RequestingClient::of(context, &interaction.pending).await?;
    let describe = |name: &str| ScopeView { name: name.to_owned(), description: String::new() };
    let language = interaction.language.tag();
    let displayed = |member| client.client.displayed_in(member, language);
    let look = client.appearance(context);
    let details = {
        let settings = context.issuer.settings.load();
        let asked = authorization_details::requested(&interaction.pending, &client.client, &settings)?;
        authorization_details::views(&asked, &settings, interaction.language)
    };
    let page = ConsentPage {
        language: interaction.language,
        issuer_name: look.name,
        client_name: client.client.display_name_in(language),
        client_uri: displayed("client_uri"),
        client_logo: client.logo_address(context),
        policy_uri: displayed("policy_uri"),
        tos_uri: displayed("tos_uri"),
        client_host: client.client.document_host(),
        redirect_host: host(&client.redirect_uri),
        user_name: user_name(context, session).await?,
        scopes: interaction.pending.scopes.iter().flat_map(Scope::iter).map(describe).collect(),
        details,
        action: address(context, PATH, &sealed),
        csrf: interaction.csrf_token(context, Purpose::Consent, session.sid.as_str()),
        transaction: sealed,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(html(
        StatusCode::OK,
        page,
        &Policy { leads_to_client: true, language: interaction.language, ..Policy::default() },
    ))
}

/// The host that the person will be redirected to, so that they can compare it with the address bar.
fn host(redirect_uri: &str) -> Option<String> {
    let url = Url::parse(redirect_uri).ok()?;
    let host = url.host_str()?.to_owned();
    Some(url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
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
