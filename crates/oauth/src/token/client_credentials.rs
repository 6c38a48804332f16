//! The client credentials grant (RFC 6749 4.4).

use symbolon_protocol::authorization_details;
use symbolon_protocol::event::Event;
use symbolon_protocol::token::client_credentials as rule;
use symbolon_store::Durable;

use super::{GrantCall, GrantResult};
use symbolon_app::http::Failure;

pub(super) async fn grant(call: &GrantCall<'_>, durable: &mut Durable) -> Result<GrantResult, Failure> {
    let audience: Vec<&str> = call.form.get_all("audience").collect();
    let resource: Vec<&str> = call.form.get_all("resource").collect();
    let mut access = rule::issue(&call.rules(), call.form.get("scope")?, &audience, &resource)?;
    if let Some(asked) = call.form.get(authorization_details::PARAMETER)? {
        let details = authorization_details::requested(Some(asked), call.client, call.settings)?;
        access.carry(details, &[audience, resource].concat(), call.settings);
    }
    call.use_proof(durable).await?;
    call.context.app.audit.count(Event::ClientCredentialsGranted);
    Ok(GrantResult { access, id: None, refresh_token: None, issued_token_type: None })
}
