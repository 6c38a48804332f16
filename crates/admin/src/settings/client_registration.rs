//! Validation of the settings about clients that no administrator makes.

use symbolon_protocol::client::GrantType;
use symbolon_protocol::client_registration::document;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::token::resource;

use super::super::error::AdminError;

/// The most clients with which applications may go on to register themselves.
const MOST_REGISTERED: u32 = 1_000_000;
/// The most resources that clients may name that registered themselves. Each request that names one is compared with them.
const MOST_RESOURCES: usize = 256;
/// The most hosts at which clients may publish what they are.
const MOST_HOSTS: usize = 256;
/// The longest time after which an unused registration is deleted, in days.
const MOST_UNUSED_DAYS: u32 = 3_650;

/// Checks what clients may have that register themselves. One that may have no grant type, or no scope, could do nothing.
///
/// # Errors
/// 400 that names the setting.
pub(super) fn check(settings: &IssuerSettings) -> Result<(), AdminError> {
    let most = settings.client_registration_most_clients;
    if !(1..=MOST_REGISTERED).contains(&most) {
        return Err(AdminError::invalid(format!(
            "client_registration_most_clients must be 1 to {MOST_REGISTERED}"
        )));
    }
    if settings.client_registration_unused_days > MOST_UNUSED_DAYS {
        return Err(AdminError::invalid(format!(
            "client_registration_unused_days must be 0 to {MOST_UNUSED_DAYS}"
        )));
    }
    if settings.client_registration_scope.as_ref().is_some_and(Scope::is_empty) {
        return Err(AdminError::invalid("client_registration_scope must name a scope, or be null"));
    }
    if settings.client_registration_grant_types.as_ref().is_some_and(Vec::is_empty) {
        return Err(AdminError::invalid(
            "client_registration_grant_types must name a grant type, or be null",
        ));
    }
    // CIBA Core 7.1: such a client asks anybody whose address it knows, so an administrator makes it.
    let grants = settings.client_registration_grant_types.as_deref().unwrap_or_default();
    if grants.contains(&GrantType::Ciba) {
        return Err(AdminError::invalid(
            "client_registration_grant_types must not have urn:openid:params:grant-type:ciba: an administrator makes such clients",
        ));
    }
    let resources = &settings.client_registration_resources;
    // RFC 8707 2: one that is no absolute URI without fragment could never be asked for.
    let sound = |uri: &String| uri.len() <= 2048 && resource::is_well_formed(uri);
    if resources.len() > MOST_RESOURCES || !resources.iter().all(sound) {
        return Err(AdminError::invalid(format!(
            "client_registration_resources must be {MOST_RESOURCES} absolute URIs without # at most"
        )));
    }
    let hosts = &settings.client_id_metadata_documents;
    if hosts.len() > MOST_HOSTS || !hosts.iter().all(|host| document::is_pattern(host)) {
        return Err(AdminError::invalid(format!(
            "client_id_metadata_documents must be {MOST_HOSTS} hosts at most, such as app.example, app.example:8443, *.app.example or *"
        )));
    }
    Ok(())
}
