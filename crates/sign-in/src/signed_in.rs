//! What follows when somebody has signed in.

use axum::response::Response;
use symbolon_protocol::session::{Session, SessionId};

use crate::authorize::resume;
use crate::interaction::{Interaction, Page, PendingAuthorization};
use crate::login_page;
use symbolon_app::http::{Call, Failure, set_cookie};

/// Continues the request of an interaction after the person has signed in.
pub(super) async fn signed_in(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    id: SessionId,
    session: &Session,
) -> Result<Response, Failure> {
    interaction.pending.signed_in_at = Some(session.auth_time);
    let (context, now) = (call.context.clone(), call.context.app.now());
    let lives = session.expires_at.since(now);
    let cookie = set_cookie(&context.issuer, &context.issuer.cookie, id.expose(), lives);
    let mut response = resume(call, interaction, Some(id), Page::Login).await?;
    login_page::append(response.headers_mut(), cookie);
    Ok(response)
}
