//! Asking somebody who is signed in for one factor more, because the client would like it (`acr_values`, OpenID Connect Core
//! 3.1.2.1).

use symbolon_app::http::{Context, Failure};
use symbolon_protocol::session::Session;
use symbolon_protocol::sign_in::acr::RequestedAcr;
use symbolon_protocol::sign_in::ways_up;

use crate::first_factor::{FirstFactor, Takes};
use crate::interaction::{Interaction, PendingAuthorization};

/// Has the interaction ask for what would bring the session to a class that is asked for. False: the person has nothing of
/// the kind, and goes on as they are.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn begin(
    context: &Context,
    interaction: &mut Interaction<PendingAuthorization>,
    session: &Session,
    asked: RequestedAcr,
) -> Result<bool, Failure> {
    let Context { app, issuer, .. } = context;
    if interaction.pending.first_factor.as_ref().is_some_and(|first| first.is_session(session)) {
        return Ok(true);
    }
    let enrolled = app.store.authenticators(&issuer.id, &session.user).await?.set;
    let ways = ways_up(asked, session.amr, &enrolled);
    if ways.is_empty() {
        interaction.pending.stays_at = Some(session.sid.clone());
        return Ok(false);
    }
    // What follows begins another session than the one that this interaction may have begun already.
    interaction.begin_anew(context);
    let first = FirstFactor::of_session(session, Takes::of(&ways), app.now());
    interaction.pending.first_factor = Some(Box::new(first));
    Ok(true)
}
