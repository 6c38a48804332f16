//! The software statement of a registration (RFC 7591 2.3, 3.1.1).

use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata::Metadata;
use symbolon_protocol::client_registration::software_statement::{self as rule, Expected, SoftwareStatement};
use symbolon_protocol::discovery::{self, path};

use symbolon_app::client_keys;
use symbolon_app::http::{Context, Failure};

/// Takes the statement out of what was sent, and puts what it says in the place of the members beside it. `own`: the client whose
/// registration is changed; one that had a statement keeps it unless another comes. Returns the statement that came, if it
/// is new.
///
/// # Errors
/// [`Failure`]: `invalid_software_statement`, `unapproved_software_statement` (RFC 7591 3.2.2); `invalid_client_metadata` where one is needed
/// and none came; 503 while the keys of its issuer cannot be had.
pub(super) async fn settle(
    context: &Context,
    metadata: &mut Metadata,
    own: Option<&Client>,
) -> Result<Option<String>, Failure> {
    let Context { app, issuer, .. } = context;
    let stored = own.and_then(rule::of_client);
    let sent = rule::take(metadata)?;
    // RFC 7592 2.2: a client sends back what it was shown. That was verified when it came.
    let Some(text) = sent.filter(|sent| Some(sent.as_str()) != stored) else {
        match (stored, own) {
            (Some(stored), _) => rule::put_stored_over(metadata, stored),
            (None, None) => rule::check_none_is_needed(&issuer.settings.load())?,
            (None, Some(_)) => {}
        }
        return Ok(None);
    };
    rule::check_any_is_trusted(&issuer.settings.load())?;
    let statement = SoftwareStatement::read(&text)?;
    let found = client_keys::of_software_statement(context, &statement).await;
    let Some(issued) = found.map_err(rule::unreachable)? else {
        return Err(statement.of_stranger(&issuer.settings.load()).into());
    };
    let endpoint = discovery::endpoint(&issuer.url, path::REGISTRATION);
    let expected =
        Expected { trusted: &issued.trusted, issuer: &issuer.url, endpoint: &endpoint, now: app.now() };
    statement.verify(&issued.keys.keys, &expected)?;
    statement.put_over(metadata);
    Ok(Some(text))
}
