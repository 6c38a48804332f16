//! OAuth2 providers of authentik, each with its application: clients here.

use std::collections::HashMap;

use serde_json::Value;

use super::super::client::{CODE, CREDENTIALS, Draft, REFRESH};
use super::super::importer::Importer;
use super::super::record::{Kind, Object, Origin, take_text};
use super::{Row, key_of};
use crate::command::CommandError;

/// The most providers and applications that are held.
const MOST: usize = 20_000;

/// Providers that wait for the names of their applications.
#[derive(Default)]
pub(super) struct Applications {
    providers: Vec<(u64, Row)>,
    /// Name and address of the application of a provider, by the provider's key.
    applications: HashMap<String, (Option<String>, Option<String>)>,
    unreadable: u64,
}

impl Applications {
    pub(super) fn read_application(&mut self, row: Row) {
        let mut members = row.members;
        let name = take_text(&mut members, "name");
        let url = take_text(&mut members, "meta_launch_url");
        if let Some(provider) =
            members.get("provider").and_then(key_of).filter(|_| self.applications.len() < MOST)
        {
            self.applications.insert(provider, (name, url));
        }
    }

    pub(super) fn read_provider(&mut self, place: u64, row: Row) {
        if self.providers.len() < MOST { self.providers.push((place, row)) } else { self.unreadable += 1 }
    }

    /// Gives the providers to an importer.
    pub(super) fn import(&mut self, importer: &mut Importer<'_>) -> Result<(), CommandError> {
        for (place, row) in std::mem::take(&mut self.providers) {
            let (name, url) = self.applications.remove(&row.key).unwrap_or_default();
            take(place, row.members, name, url, importer)?;
        }
        if self.unreadable > 0 {
            let why = format!("{} providers are beyond the {MOST} that are taken at once", self.unreadable);
            importer.refuse(Kind::Client, &Origin::default(), &why.into())?;
        }
        Ok(())
    }
}

fn take(
    place: u64,
    mut provider: Object,
    name: Option<String>,
    url: Option<String>,
    importer: &mut Importer<'_>,
) -> Result<(), CommandError> {
    let own_name = take_text(&mut provider, "name");
    let Some(id) = take_text(&mut provider, "client_id") else {
        let origin = Origin { place, id: String::new(), name: own_name.unwrap_or_default() };
        return importer.refuse(Kind::Client, &origin, &"it has no client_id".into());
    };
    let mut draft = Draft::new(place, &id, name.or(own_name).as_deref());
    let is_public = provider.get("client_type").and_then(Value::as_str) == Some("public");
    if is_public {
        draft.set("token_endpoint_auth_method", "none");
    } else if let Some(secret) = take_text(&mut provider, "client_secret") {
        draft.set("client_secret", secret);
    } else {
        let mend = format!("show a new one by symbolon client new-secret {id}");
        draft.part("client_secret", "it has none, so that one was drawn", mend);
    }
    draft.grant(CODE);
    draft.grant(REFRESH);
    if !is_public {
        // authentik lets every confidential client act for itself.
        draft.grant(CREDENTIALS);
    }
    let uris = redirect_uris(provider.get("redirect_uris"), &mut draft);
    draft.uris("redirect_uris", "redirect_uris", uris);
    // Its scope `profile` has the groups.
    for scope in ["openid", "profile", "email", "offline_access", "groups"] {
        draft.scope(scope);
    }
    if let Some(url) = url {
        draft.link("client_uri", &url);
    }
    for (theirs, ours) in [
        ("access_code_validity", "code_lifetime"),
        ("access_token_validity", "access_token_lifetime"),
        ("refresh_token_validity", "refresh_token_absolute_lifetime"),
    ] {
        let Some(text) = take_text(&mut provider, theirs) else { continue };
        // RFC 6749 4.1.2: a code lives ten minutes at most.
        let most = if ours == "code_lifetime" { 600 } else { u64::MAX };
        match seconds(&text).filter(|seconds| *seconds <= most) {
            Some(seconds) => draft.setting(ours, seconds),
            None => {
                draft.part(theirs, format!("{text:?} is not taken"), "the client gets the issuer's lifetime")
            }
        }
    }
    if provider.get("include_claims_in_id_token") == Some(&Value::Bool(false)) {
        draft.setting("id_token_claims", "minimal");
    }
    match provider.get("sub_mode").and_then(Value::as_str) {
        None | Some("user_uuid") => {}
        Some(mode) => draft.part(
            "sub_mode",
            format!("{mode}: the application knew users by another sub than the id that they have here"),
            "let it find users by e-mail address once, or set user_uuid in authentik before you move",
        ),
    }
    draft.finish(importer)
}

/// The redirect URIs, as a list of objects or as lines of a text. Patterns are told.
fn redirect_uris(value: Option<&Value>, draft: &mut Draft) -> Vec<String> {
    let mut uris = Vec::new();
    match value {
        Some(Value::String(lines)) => {
            uris.extend(lines.lines().map(str::trim).filter(|uri| !uri.is_empty()).map(str::to_owned))
        }
        Some(Value::Array(list)) => {
            for entry in list {
                let text = |member: &str| entry.get(member).and_then(Value::as_str);
                match (text("url").or_else(|| entry.as_str()), text("matching_mode").unwrap_or("strict")) {
                    (Some(uri), "strict") => uris.push(uri.to_owned()),
                    (Some(uri), mode) => {
                        let mend =
                            "name each URI that is used: symbolon client update CLIENT --redirect-uri URI";
                        draft.part(
                            "redirect_uris",
                            format!("{uri} is compared by {mode}, and URIs here as they are"),
                            mend,
                        );
                    }
                    (None, _) => draft.part("redirect_uris", "an entry has no url", ""),
                }
            }
        }
        _ => {}
    }
    uris
}

/// A length of time such as `hours=1;minutes=30`, in seconds.
fn seconds(text: &str) -> Option<u64> {
    let mut sum: u64 = 0;
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (unit, count) = part.split_once('=')?;
        let unit = match unit.trim() {
            "weeks" => 604_800,
            "days" => 86_400,
            "hours" => 3_600,
            "minutes" => 60,
            "seconds" => 1,
            _ => return None,
        };
        sum = sum.checked_add(count.trim().parse::<u64>().ok()?.checked_mul(unit)?)?;
    }
    (sum > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_summed() {
        assert_eq!((seconds("minutes=5"), seconds("hours=1; minutes=30")), (Some(300), Some(5_400)));
        assert_eq!((seconds("days=999999999999999999"), seconds("moons=1"), seconds("")), (None, None, None));
    }
}
