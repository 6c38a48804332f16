//! A client of another provider, as far as our own metadata (RFC 7591 2) say the same of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use symbolon_protocol::claim_definition::{ClaimDefinition, check};
use symbolon_protocol::client::GrantType;
use symbolon_protocol::redirect_uri;

use super::importer::Importer;
use super::record::{Fault, Object, Origin, Part};
use crate::command::CommandError;

/// The most values of a list (`client_metadata`).
const MOST_VALUES: usize = 256;

/// The most bytes of JSON that claims of a client take: a line of a bulk endpoint has 64 KiB.
const MOST_CLAIM_BYTES: usize = 32 << 10;

/// A client that is being made.
pub(super) struct Draft {
    pub(super) origin: Origin,
    document: Object,
    settings: Object,
    parts: Vec<Part>,
    scope: BTreeSet<String>,
    grants: Vec<&'static str>,
    claims: Vec<ClaimDefinition>,
}

impl Draft {
    /// A client with an id, and a name that people see. A name that is none is replaced by the id.
    pub(super) fn new(place: u64, client_id: &str, name: Option<&str>) -> Self {
        let is_name = |name: &&str| {
            !name.trim().is_empty()
                && name.len() <= 255
                && !name.contains("${")
                && !name.chars().any(char::is_control)
        };
        let client_name = name.filter(is_name).unwrap_or(client_id);
        let mut document = Object::new();
        document.insert("client_id".to_owned(), json!(client_id));
        document.insert("client_name".to_owned(), json!(client_name));
        let origin = Origin { place, id: client_id.to_owned(), name: client_id.to_owned() };
        let (settings, scope) = (Object::new(), BTreeSet::new());
        Self { origin, document, settings, parts: Vec::new(), scope, grants: Vec::new(), claims: Vec::new() }
    }

    /// The id.
    pub(super) fn id(&self) -> &str {
        &self.origin.id
    }

    /// Gives it a member.
    pub(super) fn set(&mut self, member: &str, value: impl Into<Value>) {
        self.document.insert(member.to_owned(), value.into());
    }

    /// Gives it a setting of its own.
    pub(super) fn setting(&mut self, name: &str, value: impl Into<Value>) {
        self.settings.insert(name.to_owned(), value.into());
    }

    /// Something of it that is not taken.
    pub(super) fn part(&mut self, name: &str, why: impl Into<String>, mend: impl Into<String>) {
        self.parts.push(Part::new(name, Fault::new(why, mend)));
    }

    /// Lets it use a grant type.
    pub(super) fn grant(&mut self, grant: &'static str) {
        self.grants.push(grant);
    }

    /// Lets it ask for a scope. A text that is no scope token (RFC 6749 appendix A.4) is left out.
    pub(super) fn scope(&mut self, token: &str) {
        let is_token = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        if !token.is_empty() && token.bytes().all(is_token) {
            self.scope.insert(token.to_owned());
        } else {
            self.part("scope", format!("{token:?} is no scope token"), "");
        }
    }

    /// Defines a claim of its own; or says why the server would refuse it. One that says the same as an earlier one is
    /// not needed.
    pub(super) fn claim(&mut self, definition: ClaimDefinition) -> Result<(), String> {
        if self.claims.contains(&definition) {
            return Ok(());
        }
        let name = definition.name.clone();
        self.claims.push(definition);
        let checked = check(&self.claims).map_err(|refused| refused.to_string());
        let bytes = json!(self.claims).to_string().len();
        let checked = checked.and_then(|()| match bytes {
            0..=MOST_CLAIM_BYTES => Ok(()),
            _ => Err(format!(
                "the claim {name}: the claims of the client take more than {MOST_CLAIM_BYTES} bytes"
            )),
        });
        if checked.is_err() {
            self.claims.pop();
        }
        checked
    }

    /// Whether it defines a claim of a name.
    pub(super) fn defines(&self, claim: &str) -> bool {
        self.claims.iter().any(|definition| definition.name == claim)
    }

    /// Gives it URIs of a member; those that cannot be registered are told under the name that the file has for them.
    pub(super) fn uris(&mut self, member: &str, theirs: &str, uris: impl IntoIterator<Item = String>) {
        let mut good: Vec<String> = Vec::new();
        for uri in uris {
            let why = if uri.contains('*') {
                "has a wildcard, and URIs are compared as they are (RFC 9700 2.1)".to_owned()
            } else if let Err(why) = redirect_uri::check_registration(&uri) {
                why.to_string()
            } else if good.contains(&uri) {
                continue;
            } else if good.len() >= MOST_VALUES {
                format!("is one more than the {MOST_VALUES} that a client may have")
            } else {
                good.push(uri);
                continue;
            };
            let option = if member == "redirect_uris" { "redirect-uri" } else { "post-logout-redirect-uri" };
            let mend = self.mend_of_uri(option);
            self.part(theirs, format!("{uri} {why}"), mend);
        }
        self.set(member, good);
    }

    /// Gives it an address that is told of logouts, by the server's own checks. Call it after [`Self::uris`].
    pub(super) fn logout_uri(&mut self, member: &str, theirs: &str, uri: &str) {
        let own = redirect_uri::origin(uri);
        let is_at_redirect_uri =
            || self.redirect_uris().iter().any(|registered| redirect_uri::origin(registered) == own);
        let why = if let Err(why) = redirect_uri::check_registration(uri) {
            why.to_string()
        } else if own.is_none() {
            "must be an http or https URL".to_owned()
        } else if member == "frontchannel_logout_uri" && !is_at_redirect_uri() {
            "must have scheme, host and port of one of the redirect URIs (Front-Channel Logout 2)".to_owned()
        } else {
            return self.set(member, uri);
        };
        self.part(theirs, format!("{uri} {why}"), "");
    }

    /// What to do about a URI that is not taken.
    pub(super) fn mend_of_uri(&self, option: &str) -> String {
        let update = format!("symbolon client update {}", self.id());
        if option != "redirect-uri" {
            // A logout ends at exactly a registered URI, whatever the forms (RP-Initiated Logout 3).
            return format!("name each URI that is used: {update} --{option} URI");
        }
        format!(
            "name each URI that is used: {update} --{option} URI; or allow its form (docs/topics/redirect-uris.md): {update} \
             --redirect-uri-form FORM --{option} URI"
        )
    }

    /// The registered redirect URIs.
    pub(super) fn redirect_uris(&self) -> Vec<String> {
        let uris = self.document.get("redirect_uris").and_then(Value::as_array);
        uris.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Gives it origins whose scripts may call the token endpoint, beside those of its redirect URIs.
    pub(super) fn origins(&mut self, theirs: &str, origins: impl IntoIterator<Item = String>) {
        let mut good = Vec::new();
        for origin in origins {
            let own = redirect_uri::origin(&origin);
            match own {
                Some(own) if own == origin.trim_end_matches('/') && !origin.contains('*') => good.push(own),
                _ => self.part(
                    theirs,
                    format!("{origin} is no origin such as https://app.example.com"),
                    "name each origin in allowed_redirect_origins",
                ),
            }
        }
        if good.len() > MOST_VALUES {
            self.part(theirs, format!("there are more than {MOST_VALUES}"), "");
            good.truncate(MOST_VALUES);
        }
        if !good.is_empty() {
            self.set("allowed_redirect_origins", good);
        }
    }

    /// Gives it a URL that is a link on pages, if it is one.
    pub(super) fn link(&mut self, member: &str, url: &str) {
        if url.len() <= 2048 && redirect_uri::origin(url).is_some() {
            self.set(member, url);
        }
    }

    /// Gives the client to an importer.
    pub(super) fn finish(mut self, importer: &mut Importer<'_>) -> Result<(), CommandError> {
        // RFC 6749 3.1.2.2: a client that receives codes must register where to. Without that it comes in as it is but
        // for this grant, so that its secret and its roles need not be made anew.
        if self.grants.contains(&CODE) && self.redirect_uris().is_empty() {
            self.grants.retain(|grant| *grant != CODE && *grant != REFRESH);
            let mend = format!(
                "symbolon client update {} --redirect-uri URI --grant-type {CODE} --grant-type {REFRESH}",
                self.id()
            );
            self.part("grant_types", format!("{CODE} needs a redirect URI, and none was taken"), mend);
        }
        let scope: Vec<String> = self.scope.into_iter().collect();
        self.document.insert("scope".to_owned(), json!(scope.join(" ")));
        self.document.insert("grant_types".to_owned(), json!(self.grants));
        if !self.claims.is_empty() {
            self.settings.insert("claims".to_owned(), json!(self.claims));
        }
        if !self.settings.is_empty() {
            self.document.insert("settings".to_owned(), Value::Object(self.settings));
        }
        importer.client(self.origin, self.document, self.parts)
    }
}

pub(super) const CODE: &str = GrantType::AuthorizationCode.as_str();
pub(super) const REFRESH: &str = GrantType::RefreshToken.as_str();
pub(super) const CREDENTIALS: &str = GrantType::ClientCredentials.as_str();
pub(super) const DEVICE: &str = GrantType::DeviceCode.as_str();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::import::testing::{Noted, reasons};

    fn made(fill: impl FnOnce(&mut Draft)) -> (Value, Vec<String>) {
        let server = Noted::default();
        let (done, report) = server.import(false, |importer| {
            let mut draft = Draft::new(1, "app", Some("${client_app}"));
            fill(&mut draft);
            draft.finish(importer)
        });
        assert_eq!(done, Ok(()));
        (server.to("/clients/bulk").remove(0), reasons(&report))
    }

    #[test]
    fn uris_that_cannot_be_registered_are_told_one_by_one() {
        let (client, told) = made(|draft| {
            let uris =
                ["https://a.example/cb", "https://a.example/*", "http://a.example/", "https://a.example/cb"];
            draft.uris("redirect_uris", "redirectUris", uris.map(str::to_owned));
            draft.origins("webOrigins", ["https://b.example/", "*", "b.example"].map(str::to_owned));
            draft.grant(CODE);
            draft.scope("openid");
            draft.scope("a\"b");
            draft.link("client_uri", "javascript:alert(1)");
        });
        assert_eq!(client["redirect_uris"], json!(["https://a.example/cb"]));
        assert_eq!(client["allowed_redirect_origins"], json!(["https://b.example"]));
        assert_eq!((&client["client_name"], &client["scope"]), (&json!("app"), &json!("openid")));
        assert!(client.get("client_uri").is_none() && client["grant_types"] == json!([CODE]));
        for part in [
            "/* has a wildcard",
            "http://a.example/ must use https",
            "* is no origin",
            "b.example is no origin",
        ] {
            assert!(told.iter().any(|it| it.contains(part)), "{part}: {told:?}");
        }
        assert_eq!(told.len(), 5);
        let wildcard = told.iter().find(|it| it.contains("has a wildcard")).unwrap();
        assert!(wildcard.contains("symbolon client update app --redirect-uri-form FORM"), "{wildcard}");
    }

    #[test]
    fn a_claim_that_the_server_would_refuse_costs_nothing_else() {
        let claim = |name: &str, value: Value| {
            serde_json::from_value::<ClaimDefinition>(json!({ "name": name, "value": value })).unwrap()
        };
        let (client, _) = made(|draft| {
            assert_eq!(draft.claim(claim("tier", json!("gold"))), Ok(()));
            assert_eq!(draft.claim(claim("tier", json!("gold"))), Ok(()), "the same again");
            for (refused, why) in [
                (claim("tier", json!("silver")), "it is defined twice"),
                (claim("iss", json!("x")), "the name is reserved"),
                (claim("long", json!("x".repeat(5_000))), "longer than 4 KiB"),
            ] {
                assert!(draft.claim(refused).is_err_and(|told| told.contains(why)), "{why}");
            }
            for n in 0..7 {
                assert_eq!(draft.claim(claim(&format!("long{n}"), json!("x".repeat(4_080)))), Ok(()));
            }
            let more = draft.claim(claim("more", json!("x".repeat(4_080)))).unwrap_err();
            assert!(more.contains("32768 bytes"), "{more}");
            for n in 8..50 {
                assert_eq!(draft.claim(claim(&format!("c{n}"), json!(n))), Ok(()));
            }
            let more = draft.claim(claim("c50", json!(50))).unwrap_err();
            assert!(more.contains("50 definitions"), "{more}");
        });
        let claims = client["settings"]["claims"].as_array().unwrap();
        assert_eq!((claims.len(), &claims[0]["value"]), (50, &json!("gold")));
    }

    #[test]
    fn a_client_without_a_redirect_uri_comes_in_without_that_grant() {
        let (client, told) = made(|draft| {
            draft.uris("redirect_uris", "redirectUris", ["https://a.example/*".to_owned()]);
            draft.grant(CODE);
            draft.grant(REFRESH);
            draft.grant(CREDENTIALS);
        });
        assert_eq!(client["grant_types"], json!([CREDENTIALS]));
        assert!(told.iter().any(|it| it.contains("client update app --redirect-uri")), "{told:?}");
    }
}
