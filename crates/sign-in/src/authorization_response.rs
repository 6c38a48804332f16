//! The answer of an authorization request as HTTP, in its response mode.

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::FormPostPage;
use symbolon_protocol::authorize::AuthorizationResponse;
use symbolon_protocol::client::Client;

use crate::login_page;
use crate::next_step::{NextStep, Unsigned};
use symbolon_app::http::language::{locale, page_language};
use symbolon_app::http::{Context, Failure, Framing, Policy, Received, html, redirect};
use symbolon_app::issuer::{IssuerState, TokenType};

/// Writes an authorization response in its response mode, unless it must be signed first.
///
/// # Errors
/// [`Failure::Internal`] if the form cannot be made.
pub(super) fn send(
    answer: AuthorizationResponse,
    received: &Received,
    issuer: &IssuerState,
) -> Result<NextStep, Failure> {
    match answer {
        AuthorizationResponse::Redirect(location) => {
            Ok(NextStep::Answer(redirect(received.is_post(), &location)))
        }
        AuthorizationResponse::FormPost { action, fields } => {
            form_post((action, fields), received, issuer).map(NextStep::Answer)
        }
        AuthorizationResponse::Signed(answer) => {
            Ok(NextStep::Sign(Box::new(Unsigned { answer, cookie: None })))
        }
    }
}

/// Signs the parameters of an answer (JARM 2.1), and answers with them.
///
/// # Errors
/// [`Failure::Internal`]: no key may sign, or the form cannot be made.
pub(super) async fn sign_for(
    unsigned: Unsigned,
    (context, received): (&Context, &Received),
    client: &Client,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = context;
    let now = app.now();
    let of_issuer = issuer.keys.load().algorithm(&issuer.settings.load(), now);
    let algorithm = client.signing_algorithm(client.authorization_signed_response_alg, of_issuer);
    let claims = unsigned.answer.claims(&issuer.url, &client.client_id, now);
    let jwt = app.sign(issuer, (algorithm, TokenType::AuthorizationResponse), &claims, now).await?;
    let NextStep::Answer(mut response) = send(unsigned.answer.with(&jwt), received, issuer)? else {
        return Err(Failure::Internal("an answer that is signed twice".to_owned()));
    };
    login_page::append(response.headers_mut(), unsigned.cookie);
    Ok(response)
}

/// OAuth 2.0 Form Post Response Mode 2.
fn form_post(
    (action, fields): (String, Vec<(&'static str, String)>),
    received: &Received,
    issuer: &IssuerState,
) -> Result<Response, Failure> {
    let parameters = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let language = page_language(locale(&received.headers, issuer, None));
    let page = FormPostPage { language, action, parameters };
    let page = page.render_below(&issuer.prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    // An answer to a silent request arrives in a frame of the client's page, as a redirect does, so every site may
    // frame it.
    let policy =
        Policy { leads_to_client: true, framed_by: Framing::Everybody, language, ..Policy::default() };
    Ok(html(StatusCode::OK, page, &policy))
}
