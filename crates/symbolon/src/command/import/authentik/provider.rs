//! OAuth2 providers of authentik, each with its application: clients here.

use std::collections::HashMap;

use serde_json::Value;

use super::super::client::{CODE, CREDENTIALS, Draft, REFRESH};
use super::super::importer::Importer;
use super::super::record::{Kind, Object, Origin, is_empty, take_text};
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
    } else if let Some(secret) =
        take_text(&mut provider, "client_secret").or_else(|| take_text(&mut provider, "_client_secret"))
    {
        draft.set("client_secret", secret);
    } else {
        let mend = format!("show a new one by symbolon client new-secret {id}");
        draft.part("client_secret", "it has none, so that one is drawn", mend);
    }
    grants(provider.get("grant_types"), is_public, &mut draft);
    addresses(&provider, &mut draft);
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
    tokens(&provider, &mut draft);
    draft.finish(importer)
}

/// The grant types. A provider of an older release has no list of them, and every confidential client may act for
/// itself.
fn grants(listed: Option<&Value>, is_public: bool, draft: &mut Draft) {
    let Some(Value::Array(listed)) = listed else {
        draft.grant(CODE);
        draft.grant(REFRESH);
        if !is_public {
            draft.grant(CREDENTIALS);
        }
        return;
    };
    for grant in listed {
        match grant.as_str().unwrap_or("without a name") {
            CODE => draft.grant(CODE),
            REFRESH => draft.grant(REFRESH),
            CREDENTIALS if !is_public => draft.grant(CREDENTIALS),
            CREDENTIALS => {
                draft.part("grant_types", format!("{CREDENTIALS} needs a client with a secret"), "");
            }
            other => {
                draft.part("grant_types", format!("{other:?} is not taken"), "let it use the code grant");
            }
        }
    }
}

/// The URIs of sign-in and of logout.
fn addresses(provider: &Object, draft: &mut Draft) {
    // The column of rows; blueprints and older rows have the other name.
    let column = provider.get("_redirect_uris").filter(|uris| !is_empty(uris));
    let (uris, logouts) = redirect_uris(column.or_else(|| provider.get("redirect_uris")), draft);
    draft.uris("redirect_uris", "redirect_uris", uris);
    if !logouts.is_empty() {
        draft.uris("post_logout_redirect_uris", "redirect_uris", logouts);
    }
}

/// How its tokens were signed and encrypted, and by what `sub` it knew users.
fn tokens(provider: &Object, draft: &mut Draft) {
    let is_absent = |member: &str| provider.get(member).is_none_or(is_empty);
    if is_absent("signing_key") {
        draft.part(
            "signing_key",
            "it has none, so that its tokens were signed by HS256 with its secret; here the issuer's key signs them",
            "let the application verify tokens by the keys of jwks_uri",
        );
    }
    if !is_absent("encryption_key") {
        draft.part("encryption_key", "its tokens were encrypted, and tokens here are not", "");
    }
    // What authentik does where the member is not there.
    let mode = provider.get("sub_mode").and_then(Value::as_str).unwrap_or("hashed_user_id");
    if mode != "user_uuid" {
        draft.part(
            "sub_mode",
            format!("{mode}: the application knew users by another sub than the id that they have here"),
            "let it find users by e-mail address once, or set user_uuid in authentik before you move",
        );
    }
}

/// The URIs of sign-in and those of logout, as a list of objects or as lines of a text. Patterns are told.
fn redirect_uris(value: Option<&Value>, draft: &mut Draft) -> (Vec<String>, Vec<String>) {
    let (mut uris, mut logouts) = (Vec::new(), Vec::new());
    match value {
        Some(Value::String(lines)) => {
            uris.extend(lines.lines().map(str::trim).filter(|uri| !uri.is_empty()).map(str::to_owned))
        }
        Some(Value::Array(list)) => {
            for entry in list {
                let text = |member: &str| entry.get(member).and_then(Value::as_str);
                let is_logout = text("redirect_uri_type") == Some("logout");
                match (text("url").or_else(|| entry.as_str()), text("matching_mode").unwrap_or("strict")) {
                    (Some(uri), "strict") if is_logout => logouts.push(uri.to_owned()),
                    (Some(uri), "strict") => uris.push(uri.to_owned()),
                    (Some(uri), mode) => {
                        let why = format!("{uri} is compared by {mode}, and URIs here as they are");
                        let option = if is_logout { "post-logout-redirect-uri" } else { "redirect-uri" };
                        draft.part("redirect_uris", why, draft.mend_of_uri(option));
                    }
                    (None, _) => draft.part("redirect_uris", "an entry has no url", ""),
                }
            }
        }
        _ => {}
    }
    (uris, logouts)
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
