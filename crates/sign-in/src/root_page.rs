//! The issuer's root page. In development mode the walk-through, and the callback of its relying party.

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::{IndexPage, Language, RenderError, SilentCallbackPage, WalkThroughPage};
use symbolon_protocol::discovery;

use crate::demo::{self, Demo};
use symbolon_app::http::{Call, Context, Failure, Framing, Policy, html};

fn rendered(page: Result<String, RenderError>) -> Result<String, Failure> {
    page.map_err(|error| Failure::Internal(error.to_string()))
}

/// `GET /`.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) async fn root(call: &mut Call) -> Result<Response, Failure> {
    match demo::of(&call.context).await? {
        Some(demo) => walk_through(&call.context, &demo),
        None => index(&call.context, call.language()),
    }
}

fn index(context: &Context, language: Language) -> Result<Response, Failure> {
    let page = IndexPage {
        language,
        issuer_name: context.issuer.display_name(),
        issuer: context.issuer.url.to_string(),
        discovery_uri: discovery::endpoint(&context.issuer.url, discovery::path::OPENID_CONFIGURATION),
    };
    let policy = Policy { language, ..Policy::default() };
    Ok(html(
        StatusCode::OK,
        rendered(page.render_for(&context.issuer.prefix, &context.issuer.brand()))?,
        &policy,
    ))
}

fn walk_through(context: &Context, demo: &Demo) -> Result<Response, Failure> {
    let issuer = context.issuer.url.to_string();
    let page = WalkThroughPage {
        language: Language::English,
        issuer_name: "Symbolon".to_owned(),
        issuer: issuer.clone(),
        client_id: demo::CLIENT.to_owned(),
        scope: demo::SCOPE.to_owned(),
        other_site: demo::other_site(&issuer),
        exchange_path: demo::EXCHANGE.to_owned(),
        demo_username: demo.email.clone(),
        demo_password: demo.password.clone(),
    };
    let policy =
        Policy { connect: vec!["'self'", &issuer], frame: vec!["'self'", &issuer], ..Policy::default() };
    Ok(html(StatusCode::OK, rendered(page.render_below(&context.issuer.prefix))?, &policy))
}

/// `GET /callback`: the redirect URI of the walk-through's relying party.
///
/// # Errors
/// [`Failure::NotFound`] outside development mode.
pub(super) async fn callback(call: &mut Call) -> Result<Response, Failure> {
    let demo = demo::of(&call.context).await?.ok_or(Failure::NotFound)?;
    walk_through(&call.context, &demo)
}

/// `GET /callback/silent`: its redirect URI in a frame, for silent authentication.
///
/// # Errors
/// [`Failure::NotFound`] outside development mode.
pub(super) async fn silent_callback(call: &mut Call) -> Result<Response, Failure> {
    demo::of(&call.context).await?.ok_or(Failure::NotFound)?;
    let page = SilentCallbackPage { language: Language::English };
    let page = rendered(page.render_below(&call.context.issuer.prefix))?;
    Ok(html(StatusCode::OK, page, &Policy { framed_by: Framing::Ourselves, ..Policy::default() }))
}
