//! The client credentials grant (RFC 6749 4.4).

use symbolon_protocol::event::Event;
use symbolon_protocol::token::client_credentials as rule;

use super::{Granted, Granting};
use symbolon_app::http::Failure;

pub(super) fn grant(granting: &Granting<'_>) -> Result<Granted, Failure> {
    let audience: Vec<&str> = granting.form.get_all("audience").collect();
    let resource: Vec<&str> = granting.form.get_all("resource").collect();
    let access = rule::issue(&granting.rules(), granting.form.get("scope")?, &audience, &resource)?;
    granting.context.app.audit.count(Event::ClientCredentialsGranted);
    Ok(Granted { access, id: None, refresh_token: None, issued_token_type: None })
}
