//! Answers that are a page with one thing to say.

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::{Language, Notice, NoticePage};

use symbolon_app::http::{Context, Failure, Policy, html};

/// A page that says one thing. `onward`: where its link leads.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn notice(
    context: &Context,
    status: StatusCode,
    notice: Notice,
    onward: Option<String>,
) -> Result<Response, Failure> {
    let issuer_name = context.issuer.display_name().to_owned();
    let page = NoticePage { language: Language::English, issuer_name, notice, onward };
    let page =
        page.render_below(&context.issuer.prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(html(status, page, &Policy::default()))
}
