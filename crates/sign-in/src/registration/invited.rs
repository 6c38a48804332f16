//! Somebody who was invited by mail: whoever has the link reads the mail of the address, so no code is needed.

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::{Notice, RegisterError};
use symbolon_protocol::params::Params;

use super::account::{self, NotOpened};
use super::applicant::{Applicant, Typed};
use super::{PendingRegistration, apply, new_password};
use crate::interaction::Interaction;
use crate::notice_page::notice;
use symbolon_app::http::{Call, Failure};

/// Opens the account of somebody who was invited.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(
    call: &mut Call,
    interaction: Interaction<PendingRegistration>,
    (applicant, typed): (Applicant, &Typed),
    params: &Params<'_>,
) -> Result<Response, Failure> {
    let password = match new_password::typed(&call.context, params, &applicant).await? {
        Ok(password) => password,
        Err(why) => {
            let error = Some(RegisterError::from(why));
            return apply::page((&call.context, &call.received), &interaction, typed, error).await;
        }
    };
    let whose = (&applicant, interaction.language);
    match account::open(call, &interaction.pending, whose, password).await? {
        Ok(user) => account::sign_in(call, interaction, &user).await,
        Err(NotOpened::Busy) => {
            apply::page((&call.context, &call.received), &interaction, typed, Some(RegisterError::Busy)).await
        }
        Err(NotOpened::Taken) => {
            apply::page((&call.context, &call.received), &interaction, typed, Some(RegisterError::Taken))
                .await
        }
        Err(NotOpened::Exists) => account::exists(call, &interaction.pending),
        Err(NotOpened::UsedUp) => match account::opened_before(call, &interaction, &applicant.email).await? {
            Some(answer) => Ok(answer),
            None => notice((&call.context, call.language()), StatusCode::GONE, Notice::InvitationOver, None),
        },
    }
}
