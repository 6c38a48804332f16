//! `GET /outbox`: in development mode, the last mails.

use axum::response::Response;
use http::StatusCode;
use symbolon_app::http::{Call, Failure, Policy, html};
use symbolon_config::Mode;
use symbolon_pages::{OutboxMailView, OutboxPage};

/// The path.
pub(super) const PATH: &str = "/outbox";

/// `GET /outbox`. Only of the issuer of development mode, whose users exist for tests.
///
/// # Errors
/// [`Failure::NotFound`] outside development mode.
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let (app, issuer) = (&call.context.app, &call.context.issuer);
    let config = app.config.load();
    if config.mode != Mode::Development || *issuer.url != *config.issuer.as_str() {
        return Err(Failure::NotFound);
    }
    let view = |mail: symbolon_app::outbox::OutboxMail| OutboxMailView {
        to: mail.to,
        subject: mail.subject,
        text: mail.text,
    };
    let language = call.language();
    let page = OutboxPage {
        language,
        issuer_name: issuer.display_name(),
        mails: app.outbox.of(&issuer.id).into_iter().map(view).collect(),
    };
    let page = page
        .render_for(&issuer.prefix, &issuer.brand())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(html(StatusCode::OK, page, &Policy { language, ..Policy::default() }))
}
