//! What follows when somebody has signed in.

use axum::response::Response;
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::session::SessionId;

use crate::authorize::resume;
use crate::interaction::{Interaction, Page, PendingAuthorization, address, fits_address};
use crate::session_begin::Begun;
use crate::{login_page, passkey_offer_page, upstream_logout};
use symbolon_app::http::{Call, Failure, redirect};

/// Continues the request of an interaction after the person has signed in.
pub(super) async fn signed_in(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    begun: Begun,
) -> Result<Response, Failure> {
    interaction.pending.signed_in_at = Some(begun.session.auth_time);
    interaction.pending.wants = AnotherAccount::No;
    let context = call.context.clone();
    let [cookie, others, known] = begun.cookies(&context, &call.received);
    let provider = match &interaction.pending.first_factor {
        Some(first) => upstream_logout::cookie_after((&context, &call.received), first, &begun.session)?,
        None => None,
    };
    let mut response = match interaction.pending.offer_passkey {
        true => offer_passkey(call, interaction, begun.id).await?,
        false => resume(call, interaction, Some(begun.id), Page::Login).await?,
    };
    for cookie in [cookie, others, known, provider] {
        login_page::append(response.headers_mut(), cookie);
    }
    Ok(response)
}

/// Leads to the offer of a passkey. It is no more than an offer: a request that is too long for an address goes on.
async fn offer_passkey(
    call: &mut Call,
    mut interaction: Interaction<PendingAuthorization>,
    id: SessionId,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(&call.context)?;
    if fits_address(&sealed) {
        let to = address(&call.context, passkey_offer_page::PATH, &sealed);
        return Ok(redirect(call.received.is_post(), &to));
    }
    interaction.pending.offer_passkey = false;
    resume(call, interaction, Some(id), Page::Login).await
}
