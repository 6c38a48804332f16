//! The client metadata `id_jag_audiences`: for which authorization servers a client may get an ID-JAG, and what it may ask for there.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::id::{ClientId, visible_ascii};
use crate::scope::Scope;

/// The most entries of one client.
const MOST_ENTRIES: usize = 32;
/// The most resources of one entry.
const MOST_RESOURCES: usize = 64;
/// The longest text, in bytes.
const LONGEST: usize = 512;

/// An authorization server of another domain, and what a client may ask for there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdJagAudience {
    /// Its issuer identifier (RFC 8414 2), the `aud`.
    pub audience: String,
    /// The id of the client there (draft-ietf-oauth-identity-assertion-authz-grant 5), the `client_id`.
    pub client_id: ClientId,
    /// The client of this issuer by which it signs people in: `sub` is as that client knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relying_party: Option<ClientId>,
    /// The scope that the client may ask for there.
    #[serde(default, skip_serializing_if = "Scope::is_empty")]
    pub scope: Scope,
    /// The resources that it may name (RFC 8707).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
}

/// Checks the entries of a client.
///
/// # Errors
/// What is wrong, as the end of a sentence that begins with the member's name.
pub(crate) fn check(entries: &[IdJagAudience]) -> Result<(), String> {
    if entries.len() > MOST_ENTRIES {
        return Err(format!("has more than {MOST_ENTRIES} entries"));
    }
    for (at, entry) in entries.iter().enumerate() {
        check_one(entry)?;
        if entries.iter().take(at).any(|before| before.audience == entry.audience) {
            return Err("has an audience twice".to_owned());
        }
    }
    Ok(())
}

fn check_one(entry: &IdJagAudience) -> Result<(), String> {
    let is_sound = |text: &str| (1..=LONGEST).contains(&text.len()) && visible_ascii(text);
    // RFC 8414 2: an issuer identifier is a URL without query and fragment.
    let is_issuer = |url: &Url| url.has_host() && url.query().is_none() && url.fragment().is_none();
    let url = Url::parse(&entry.audience).ok();
    if !is_sound(&entry.audience) || !url.as_ref().is_some_and(is_issuer) {
        return Err("must have as audience the URL of an issuer, without query and fragment".to_owned());
    }
    if entry.resources.len() > MOST_RESOURCES {
        return Err(format!("has an entry with more than {MOST_RESOURCES} resources"));
    }
    // RFC 8707 2: an absolute URI without a fragment.
    let is_resource = |text: &String| is_sound(text) && !text.contains('#') && Url::parse(text).is_ok();
    match entry.resources.iter().all(is_resource) {
        true => Ok(()),
        false => Err("has a resource that is no absolute URI without fragment".to_owned()),
    }
}
