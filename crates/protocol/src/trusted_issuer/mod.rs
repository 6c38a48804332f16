//! Other issuers whose assertions are believed (RFC 7521 3: an issuer that is no client): platforms that give workloads tokens, such as
//! Kubernetes and GitHub Actions, and other providers.
//!
//! An issuer's setting lists them. Being in that list proves nothing by itself: a client says of whom it accepts assertions in its place
//! ([`AssertionIssuer`]).

mod assertion;
mod assertion_issuer;

pub use assertion::{Expected, IssuedAssertion, Vouched};
pub use assertion_issuer::AssertionIssuer;
pub(crate) use assertion_issuer::check as check_assertion_issuers;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::id::visible_ascii;
use crate::identity_provider::bounds::check_issuer;
use crate::refusal::{Details, Reason, Refusal};
use crate::token::id_jag;

/// The most trusted issuers of one issuer.
pub const MOST_TRUSTED: usize = 32;
/// The longest `issuer`, `jwks_uri` and `audience`, in bytes.
const LONGEST: usize = 512;

/// What the assertions of a trusted issuer are believed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustedUse {
    /// Client authentication (RFC 7523 2.2).
    ClientAuthentication,
    /// The JWT bearer grant (RFC 7523 2.1).
    JwtBearer,
    /// The same grant, by an ID-JAG (draft-ietf-oauth-identity-assertion-authz-grant).
    IdJag,
    /// The subject of a token exchange (RFC 8693 2.1).
    TokenExchange,
    /// Software statements of clients that register themselves (RFC 7591 2.3).
    SoftwareStatement,
}

impl TrustedUse {
    /// How far ahead an assertion may end. Workload tokens live for hours; what is used once leaves a mark until it ends, so it ends
    /// sooner. Of a statement nobody asks: it is no assertion, and may be as old as its software.
    pub const fn most_ahead(self) -> Duration {
        match self {
            Self::ClientAuthentication | Self::SoftwareStatement => Duration::from_secs(24 * 3_600),
            Self::JwtBearer | Self::IdJag | Self::TokenExchange => Duration::from_secs(600),
        }
    }

    /// The values of `typ` that an assertion may have (RFC 8725 3.11: a JWT for another purpose is refused).
    pub(crate) const fn types(self) -> &'static [&'static str] {
        match self {
            Self::ClientAuthentication => &["JWT", "at+jwt", "client-authentication+jwt"],
            Self::JwtBearer => &["JWT", "at+jwt", "authorization-grant+jwt"],
            Self::IdJag => &[id_jag::TYP],
            Self::TokenExchange => &["JWT", "at+jwt"],
            Self::SoftwareStatement => &["JWT", "software-statement+jwt", "software_statement+jwt"],
        }
    }

    /// Whether its `sub` is a user.
    const fn is_about_user(self) -> bool {
        matches!(self, Self::JwtBearer | Self::IdJag | Self::TokenExchange)
    }

    /// Whether an assertion may come without `typ`.
    const fn needs_no_type(self) -> bool {
        !matches!(self, Self::IdJag)
    }
}

/// Whom the `sub` of an assertion about a user names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssertionSubject {
    /// Whoever has that identity of an identity provider with the same issuer.
    #[default]
    Identity,
    /// The same, and where there is none the user with this id.
    UserId,
}

impl AssertionSubject {
    const fn is_identity(&self) -> bool {
        matches!(self, Self::Identity)
    }
}

/// Another issuer whose assertions are believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedIssuer {
    /// The `iss` of its assertions.
    pub issuer: String,
    /// Where it publishes its keys. Without it, where its metadata says (OpenID Connect Discovery 4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// An `aud` that is accepted besides the own URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// What its assertions are believed for.
    #[serde(rename = "for")]
    pub uses: Vec<TrustedUse>,
    /// Whom their `sub` names, where they are about users.
    #[serde(default, skip_serializing_if = "AssertionSubject::is_identity")]
    pub subject: AssertionSubject,
}

impl TrustedIssuer {
    /// Whether its assertions are believed for this.
    pub fn is_for(&self, purpose: TrustedUse) -> bool {
        self.uses.contains(&purpose)
    }
}

/// The trusted issuer of assertions with this `iss`, if they are believed for this. Issuers are compared as texts (RFC 7523 3, item 1:
/// Simple String Comparison).
pub fn find<'t>(trusted: &'t [TrustedIssuer], iss: &str, purpose: TrustedUse) -> Option<&'t TrustedIssuer> {
    trusted.iter().find(|own| own.issuer == iss).filter(|own| own.is_for(purpose))
}

/// Checks the setting `trusted_issuers` of an issuer with the URL `own`. `may_be_plain`: the configuration lets the server call private
/// addresses, and so by http.
///
/// # Errors
/// What is wrong, beginning with the setting's name.
pub fn check(trusted: &[TrustedIssuer], own: &str, may_be_plain: bool) -> Result<(), String> {
    if trusted.len() > MOST_TRUSTED {
        return Err(format!("trusted_issuers has {MOST_TRUSTED} entries at most"));
    }
    for (at, entry) in trusted.iter().enumerate() {
        check_one(entry, own, may_be_plain).map_err(|why| format!("trusted_issuers: {why}"))?;
        if trusted.iter().take(at).any(|before| before.issuer == entry.issuer) {
            return Err(format!("trusted_issuers has the issuer {} twice", entry.issuer));
        }
    }
    Ok(())
}

fn check_one(entry: &TrustedIssuer, own: &str, may_be_plain: bool) -> Result<(), String> {
    // Also the name of its marks of use, whose parts are separated by spaces.
    if !visible_ascii(&entry.issuer) {
        return Err("issuer must be a URL of visible ASCII characters".to_owned());
    }
    check_issuer(&entry.issuer, may_be_plain)?;
    // Its own tokens prove who the user is, and not that a client is the one that it names.
    if entry.issuer.trim_end_matches('/') == own.trim_end_matches('/') {
        return Err(format!("issuer {} is this issuer itself", entry.issuer));
    }
    if let Some(uri) = &entry.jwks_uri {
        let url = Url::parse(uri).ok().filter(|url| url.has_host() && url.fragment().is_none());
        let may = |url: &Url| url.scheme() == "https" || (may_be_plain && url.scheme() == "http");
        if uri.len() > LONGEST || !visible_ascii(uri) || !url.as_ref().is_some_and(may) {
            return Err("jwks_uri must be an https URL without fragment".to_owned());
        }
    }
    let is_sound = |text: &String| (1..=LONGEST).contains(&text.len()) && !text.chars().any(char::is_control);
    if !entry.audience.as_ref().is_none_or(is_sound) {
        return Err(format!("audience must be 1 to {LONGEST} bytes without control characters"));
    }
    if entry.uses.is_empty() {
        let uses = "client_authentication, jwt_bearer, id_jag, token_exchange or software_statement";
        return Err(format!("for must name {uses}"));
    }
    let is_about_users = entry.uses.iter().any(|own| own.is_about_user());
    if !entry.subject.is_identity() && !is_about_users {
        return Err("subject is of use only if for names jwt_bearer, id_jag or token_exchange".to_owned());
    }
    Ok(())
}

/// The refusal of an assertion of an issuer that is not trusted for this, or of which the client accepts none. `accepted`: of whom it does.
pub fn untrusted<'v>(iss: &str, accepted: impl IntoIterator<Item = &'v str>) -> Refusal {
    Refusal::about(Reason::AssertionIssuerUntrusted, Details::of("iss").sent(iss).registered(accepted))
}

/// The refusal of an assertion whose issuer's keys cannot be had, and none are known of before. `why`: as the end of a sentence.
pub fn keys_unreachable(trusted: &TrustedIssuer, why: &str) -> Refusal {
    let registered = trusted.jwks_uri.as_deref();
    let details = Details::of("iss").sent(&trusted.issuer).differing(Some(why));
    let details = if registered.is_some() { details.registered(registered) } else { details };
    Refusal::about(Reason::TrustedIssuerKeysUnreachable, details)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(crate) fn trusted(more: Value) -> TrustedIssuer {
        let mut entry = json!({ "issuer": "https://k8s.example", "for": ["client_authentication"] });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(entry).unwrap()
    }

    fn told(more: Value) -> String {
        check(&[trusted(more)], "https://op.example", false).expect_err("refused")
    }

    #[test]
    fn the_setting_is_checked_when_it_is_saved() {
        let full = trusted(json!({
            "jwks_uri": "https://k8s.example/openid/v1/jwks", "audience": "urn:op", "for": ["client_authentication", "jwt_bearer"],
            "subject": "user_id",
        }));
        let other = trusted(json!({ "issuer": "https://ci.example/" }));
        assert_eq!(check(&[full.clone(), other.clone()], "https://op.example", false), Ok(()));
        assert!(
            check(&[full, other.clone(), other], "https://op.example", false).unwrap_err().contains("twice")
        );
        let many: Vec<TrustedIssuer> = (0..=MOST_TRUSTED)
            .map(|at| trusted(json!({ "issuer": format!("https://{at}.example") })))
            .collect();
        assert!(check(&many, "https://op.example", false).unwrap_err().contains("32 entries"));
        for own in ["https://op.example", "https://op.example/"] {
            assert!(told(json!({ "issuer": own })).contains("this issuer itself"), "{own}");
        }
        for bad in [
            "k8s",
            "http://k8s.example",
            "https://k8s.example?x=1",
            "https://k8s.example/a b",
            "https://u@k8s.example",
        ] {
            assert!(told(json!({ "issuer": bad })).starts_with("trusted_issuers: issuer"), "{bad}");
        }
        for bad in
            ["keys", "http://k8s.example/keys", "https://k8s.example/keys#x", "https://k8s.example/a b"]
        {
            assert!(told(json!({ "jwks_uri": bad })).contains("jwks_uri must be"), "{bad}");
        }
        for bad in ["", "a\nb"] {
            assert!(told(json!({ "audience": bad })).contains("audience must be"), "{bad}");
        }
        assert!(told(json!({ "for": [] })).contains("for must name"));
        assert!(told(json!({ "subject": "user_id" })).contains("subject is of use"));
        let plain = trusted(json!({ "issuer": "http://127.0.0.1:1", "jwks_uri": "http://127.0.0.1:1/jwks" }));
        assert_eq!(check(&[plain], "https://op.example", true), Ok(()));
        for bad in [json!({ "for": ["all"] }), json!({ "extra": 1 }), json!({ "issuer": 5 })] {
            let mut entry = json!({ "issuer": "https://k8s.example", "for": ["jwt_bearer"] });
            entry.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
            assert!(serde_json::from_value::<TrustedIssuer>(entry).is_err(), "{bad}");
        }
    }

    #[test]
    fn statements_are_a_use_of_their_own() {
        let vendor = trusted(json!({ "for": ["software_statement"] }));
        assert_eq!(check(std::slice::from_ref(&vendor), "https://op.example", false), Ok(()));
        assert!(
            !vendor.is_for(TrustedUse::ClientAuthentication) && vendor.is_for(TrustedUse::SoftwareStatement)
        );
    }

    #[test]
    fn an_issuer_is_found_by_its_exact_name_and_for_its_use() {
        let list = [trusted(json!({}))];
        let is_found = |iss: &str, purpose| find(&list, iss, purpose).is_some();
        assert!(is_found("https://k8s.example", TrustedUse::ClientAuthentication));
        assert!(!is_found("https://k8s.example", TrustedUse::JwtBearer));
        for other in ["https://k8s.example/", "https://K8s.example", "k8s.example", ""] {
            assert!(!is_found(other, TrustedUse::ClientAuthentication), "{other}");
        }
    }
}
