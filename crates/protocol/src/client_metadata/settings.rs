//! The member `settings` of client metadata, in the forms in which it is sent and shown.

use serde_json::Value;

use super::{Metadata, invalid};
use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::pkce::policy;
use crate::refusal::{Details, Reason};
use crate::security_profile;
use crate::settings::ClientOverrides;
use crate::unknown_member::{self, Members};

/// Brings what was sent into one form: every setting stands in `settings`, under its present name.
///
/// A setting is also read beside the members of RFC 7591, as in `{"client_name": "Shop", "require_pkce": false}`, because
/// administrators write it there too.
///
/// # Errors
/// `invalid_request`, naming the setting: two values that contradict each other, or one that is not valid.
pub(super) fn gather(doc: &mut Metadata) -> Result<(), OAuthError> {
    for name in unknown_member::names_of::<ClientOverrides>().iter().copied() {
        let Some(value) = doc.remove(name) else { continue };
        let settings = doc.entry("settings").or_insert(Value::Null);
        if settings.is_null() {
            *settings = Value::Object(Metadata::new());
        }
        let Some(settings) = settings.as_object_mut() else {
            return Err(invalid("settings", "is not valid: it is an object"));
        };
        if settings.get(name).is_some_and(|own| *own != value) {
            return Err(invalid(
                name,
                format!("and settings.{name} contradict each other: send one of them"),
            ));
        }
        settings.insert(name.to_owned(), value);
    }
    match doc.get_mut("settings").and_then(Value::as_object_mut) {
        Some(settings) => policy::read_earlier_name(settings).map_err(|why| {
            let description = format!("settings.{why}");
            OAuthError::with(ErrorCode::InvalidRequest, Reason::ClientMetadataInvalid, description)
                .about(Details::of("settings"))
        }),
        None => Ok(()),
    }
}

/// The members that were sent as `false`, of those that a profile implies. A record does not tell `false` from what was left
/// out.
pub(super) fn denied(doc: &Members) -> Vec<&'static str> {
    let is_denied = |name: &&str| doc.get(name).is_some_and(|value| *value == false);
    security_profile::IMPLIED.into_iter().filter(is_denied).collect()
}

/// Checks a client against its profile. `denied` are the members that were sent as `false`.
///
/// # Errors
/// `invalid_request`, naming the member that contradicts the profile.
pub(super) fn keeps_to_profile(client: &Client, denied: &[&'static str]) -> Result<(), OAuthError> {
    let Some(profile) = client.settings.profile else { return Ok(()) };
    let denied = denied.iter().find(|name| security_profile::implies(client, profile, name));
    let found = denied.map(|name| (*name, "must not be false"));
    match found.or_else(|| security_profile::contradiction(client)) {
        Some((name, why)) => {
            Err(invalid(name, format!("{why}: the client has the profile {}", profile.as_str())))
        }
        None => Ok(()),
    }
}

/// Adds the earlier names of settings to a client that is shown.
pub(super) fn show_earlier_names(shown: &mut Metadata) {
    if let Some(settings) = shown.get_mut("settings").and_then(Value::as_object_mut) {
        policy::show_earlier_name(settings);
    }
}

/// Whether the client has a setting that leaves it less protected than the default does. Public clients have none:
/// the setting `pkce` has no effect on them.
pub fn is_below_default(client: &Client) -> bool {
    !client.is_public() && client.settings.pkce.is_some_and(|policy| policy.is_below_default())
}
