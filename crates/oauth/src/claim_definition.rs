//! The claim definitions of the client of a token that is presented.

use std::sync::Arc;

use symbolon_protocol::claim_definition::ClaimSet;
use symbolon_protocol::id::ClientId;

use symbolon_app::http::{Context, Failure};

/// The claim definitions in force for the client that a token was issued to; `None` if there are none. The client is read
/// only if some client of the issuer has definitions of its own.
pub(super) async fn definitions_for(
    context: &Context,
    client: &ClientId,
) -> Result<Option<Arc<ClaimSet>>, Failure> {
    let Context { app, issuer, .. } = context;
    let settings = {
        let settings = issuer.settings.load();
        match (settings.clients_define_claims, settings.claims.is_empty()) {
            (false, true) => return Ok(None),
            (false, false) => return Ok(issuer.own_claims()),
            (true, _) => Arc::clone(&settings),
        }
    };
    match app.store.client(&issuer.id, client).await? {
        Some(client) => Ok(issuer.claims_for(&settings, &client)),
        None => Ok(issuer.own_claims()),
    }
}
