//! What a provider's record may hold. Each refusal names the member, the value, and what to do.

use std::collections::BTreeMap;

use url::Url;

use super::{GroupMapping, IdentityProvider, MOST_PROVIDERS, ProviderKind, ProviderLogout};
use crate::id::refused_in_paths;

/// The most scopes, domains, and mapped claims.
const MOST_ENTRIES: usize = 50;
/// The most mapped groups.
const MOST_GROUPS: usize = 200;
/// The longest name, in characters: it stands on a button.
const LONGEST_NAME: usize = 60;
/// The longest text of any other kind, in bytes.
const LONGEST: usize = 512;

/// The claims of a user that may be taken from a provider's claim. `email` names the claim with the address.
pub const TAKEN_CLAIMS: [&str; 13] = [
    "email",
    "name",
    "given_name",
    "family_name",
    "middle_name",
    "nickname",
    "preferred_username",
    "profile",
    "picture",
    "website",
    "birthdate",
    "zoneinfo",
    "locale",
];

/// The claims that are taken if nothing else is said: each from the claim of its own name. Not the user name, by which people
/// sign in.
pub fn default_claims() -> BTreeMap<String, String> {
    ["email", "name", "given_name", "family_name", "locale"]
        .into_iter()
        .map(|name| (name.to_owned(), name.to_owned()))
        .collect()
}

/// Checks a record. `may_be_plain`: the configuration lets the server call private addresses, and so by http.
///
/// # Errors
/// What is wrong, by member, and what to do.
pub fn check(provider: &IdentityProvider, may_be_plain: bool) -> Result<(), String> {
    if let Some(why) = refused_in_paths(provider.id.as_str()) {
        return Err(format!("id {why}"));
    }
    let name = provider.name.trim();
    if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
        return Err(format!("name must be 1 to {LONGEST_NAME} characters: it stands on a button"));
    }
    check_issuer(&provider.issuer, may_be_plain)?;
    // RFC 6749 appendix A.1: VSCHAR.
    let is_text = |text: &str| text.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if provider.client_id.is_empty() || provider.client_id.len() > LONGEST || !is_text(&provider.client_id) {
        return Err("client_id must be the 1 to 512 ASCII characters that the provider gave".to_owned());
    }
    if provider.kind == ProviderKind::Github && provider.logout == ProviderLogout::PassedOn {
        return Err("logout cannot be passed_on to GitHub, which has no end_session_endpoint".to_owned());
    }
    check_scopes(provider)?;
    check_claims(&provider.claims)?;
    provider.groups.as_ref().map_or(Ok(()), check_groups)?;
    check_domains(&provider.email_domains)
}

/// Checks that the list of an issuer's providers takes one more.
///
/// # Errors
/// It does not.
pub fn check_room(known: usize) -> Result<(), String> {
    match known < MOST_PROVIDERS {
        true => Ok(()),
        false => Err(format!(
            "there are {MOST_PROVIDERS} identity providers already, and an issuer may not have more: delete one first"
        )),
    }
}

/// Checks an issuer identifier (OpenID Connect Discovery 3): https, without query and fragment.
///
/// # Errors
/// What is wrong, beginning with `issuer`.
pub(crate) fn check_issuer(issuer: &str, may_be_plain: bool) -> Result<(), String> {
    let refused = |why: &str| Err(format!("issuer {:?} {why}", shortened(issuer)));
    let Ok(url) = Url::parse(issuer) else {
        return refused(
            "is no URL: give it as the provider's metadata has it, as https://accounts.example.com",
        );
    };
    match url.scheme() {
        "https" => {}
        "http" if may_be_plain => {}
        "http" => return refused("is not https (`outbound.allow_private` allows http, for tests)"),
        _ => return refused("is not https"),
    }
    let has_user = !url.username().is_empty() || url.password().is_some();
    if issuer.len() > LONGEST
        || url.query().is_some()
        || url.fragment().is_some()
        || has_user
        || !url.has_host()
    {
        return refused("must have a host, and neither query, fragment nor user");
    }
    Ok(())
}

fn check_scopes(provider: &IdentityProvider) -> Result<(), String> {
    // RFC 6749 appendix A.4: NQCHAR.
    let is_token = |text: &String| {
        let is_char =
            |byte: u8| byte == 0x21 || (0x23..=0x5b).contains(&byte) || (0x5d..=0x7e).contains(&byte);
        !text.is_empty() && text.len() <= LONGEST && text.bytes().all(is_char)
    };
    if let Some(bad) = provider.scopes.iter().find(|scope| !is_token(scope)) {
        return Err(format!("scopes has {:?}, which is no scope: give one name an entry", shortened(bad)));
    }
    if provider.scopes.len() > MOST_ENTRIES {
        return Err(format!("scopes has {MOST_ENTRIES} entries at most"));
    }
    // OpenID Connect Core 3.1.2.1: without it there is no ID token.
    if provider.kind == ProviderKind::Openid && !provider.scopes.iter().any(|scope| scope == "openid") {
        return Err("scopes lacks \"openid\", without which an OpenID provider tells nobody's name: add it"
            .to_owned());
    }
    Ok(())
}

fn check_claims(claims: &BTreeMap<String, String>) -> Result<(), String> {
    for (own, theirs) in claims {
        if !TAKEN_CLAIMS.contains(&own.as_str()) {
            let known = TAKEN_CLAIMS.join(", ");
            return Err(format!("claims has {:?}, which cannot be taken: choose of {known}", shortened(own)));
        }
        if theirs.is_empty() || theirs.len() > LONGEST || theirs.chars().any(char::is_control) {
            return Err(format!("claims.{own} must name a claim of the provider"));
        }
    }
    Ok(())
}

fn check_groups(mapping: &GroupMapping) -> Result<(), String> {
    if mapping.claim.is_empty() || mapping.claim.len() > LONGEST {
        return Err(
            "groups.claim must name the claim that lists the provider's groups, as \"groups\"".to_owned()
        );
    }
    if mapping.groups.is_empty() || mapping.groups.len() > MOST_GROUPS {
        return Err(format!(
            "groups.groups must have 1 to {MOST_GROUPS} members; leave groups out to map none"
        ));
    }
    match mapping.groups.keys().find(|name| name.is_empty() || name.len() > LONGEST) {
        Some(bad) => Err(format!("groups.groups has {:?}, which is no name of a group", shortened(bad))),
        None => Ok(()),
    }
}

fn check_domains(domains: &[String]) -> Result<(), String> {
    let is_domain = |text: &String| {
        let is_char =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
        let is_sound = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
        text.len() <= 253
            && text.bytes().all(is_char)
            && text.split('.').count() > 1
            && text.split('.').all(is_sound)
    };
    if domains.len() > MOST_ENTRIES {
        return Err(format!("email_domains has {MOST_ENTRIES} entries at most"));
    }
    match domains.iter().find(|domain| !is_domain(domain)) {
        Some(bad) => Err(format!(
            "email_domains has {:?}, which is no domain: write it in small letters without @, as \"example.com\", and \
             an international one as xn--…",
            shortened(bad)
        )),
        None => Ok(()),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::provider;
    use super::*;
    use crate::id::{GroupId, IdentityProviderId};

    fn told(change: impl FnOnce(&mut IdentityProvider)) -> String {
        let mut own = provider();
        change(&mut own);
        check(&own, false).expect_err("refused")
    }

    #[test]
    fn mistakes_are_named_with_what_to_do() {
        assert_eq!(check(&provider(), false), Ok(()));
        assert!(told(|own| own.id = IdentityProviderId::trusted("bulk")).starts_with("id must not be"));
        assert!(told(|own| own.name = " ".into()).starts_with("name must be"));
        for bad in
            ["acme", "ftp://a.example", "http://a.example", "https://a.example?x=1", "https://a.example#x"]
        {
            assert!(told(|own| own.issuer = bad.into()).starts_with(&format!("issuer {bad:?}")), "{bad}");
        }
        assert!(check(&IdentityProvider { issuer: "http://127.0.0.1:1".into(), ..provider() }, true).is_ok());
        assert!(told(|own| own.client_id.clear()).starts_with("client_id must"));
        assert!(told(|own| own.scopes = vec!["email".into()]).contains("\"openid\""));
        assert!(told(|own| own.scopes.push("a b".into())).contains("\"a b\""));
        assert!(told(|own| drop(own.claims.insert("sub".into(), "x".into()))).contains("choose of email"));
        assert!(told(|own| drop(own.claims.insert("name".into(), String::new()))).starts_with("claims.name"));
        for bad in ["Example.com", "@example.com", "example", "a..b", "ex ample.com"] {
            assert!(told(|own| own.email_domains.push(bad.into())).contains("as \"example.com\""), "{bad}");
        }
        let none = GroupMapping { claim: "groups".into(), groups: BTreeMap::new() };
        assert!(told(|own| own.groups = Some(none.clone())).starts_with("groups.groups"));
        let nameless = [(String::new(), GroupId::trusted("g"))].into();
        assert!(told(|own| own.groups = Some(GroupMapping { groups: nameless, ..none })).contains("no name"));
        assert!(check_room(MOST_PROVIDERS - 1).is_ok() && check_room(MOST_PROVIDERS).is_err());
    }
}
