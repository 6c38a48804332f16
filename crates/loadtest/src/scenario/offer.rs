//! Whether a target has what a scenario asks for, by its discovery document.

use super::{EXCHANGE, Scenario};
use crate::target::Endpoints;
use crate::{LoadtestError, Target};

impl Scenario {
    /// Whether the target announces what the scenario asks for. Nothing is held against one that does not say which
    /// grants it has: RFC 8414 2 would take that for the code and implicit grants alone, but many leave it out and
    /// have more.
    ///
    /// # Errors
    /// [`LoadtestError::NotOffered`] where it does not.
    pub fn check_offer(self, target: &Target) -> Result<(), LoadtestError> {
        match lacking(self, target.grant_types.as_deref(), &target.endpoints) {
            None => Ok(()),
            Some(Lacking { what, offered }) => {
                let issuer = target.issuer.clone();
                Err(LoadtestError::NotOffered { scenario: self.name(), what, issuer, offered })
            }
        }
    }
}

/// What is needed and not there.
#[derive(Debug, PartialEq, Eq)]
struct Lacking {
    /// What is needed.
    what: String,
    /// What the discovery document says instead.
    offered: String,
}

fn lacking(scenario: Scenario, grants: Option<&[String]>, endpoints: &Endpoints) -> Option<Lacking> {
    match scenario {
        Scenario::Silent
        | Scenario::Code
        | Scenario::Login
        | Scenario::LoginEmailCode
        | Scenario::LoginPasskey => grant(grants, "authorization_code"),
        Scenario::Refresh => grant(grants, "refresh_token"),
        Scenario::ClientCredentials => grant(grants, "client_credentials"),
        Scenario::Exchange => grant(grants, EXCHANGE),
        Scenario::Userinfo => endpoint(endpoints.userinfo.as_deref(), "userinfo_endpoint"),
        Scenario::Introspect => endpoint(endpoints.introspect.as_deref(), "introspection_endpoint"),
        Scenario::Discovery => endpoint(endpoints.jwks.as_deref(), "jwks_uri"),
    }
}

fn grant(offered: Option<&[String]>, needed: &str) -> Option<Lacking> {
    let offered = offered?;
    let lacking = || Lacking {
        what: format!("the grant {needed}"),
        offered: format!("grant_types_supported: {}", offered.join(", ")),
    };
    (!offered.iter().any(|one| one == needed)).then(lacking)
}

fn endpoint(path: Option<&str>, member: &str) -> Option<Lacking> {
    let lacking = || Lacking { what: format!("the {member}"), offered: format!("no {member}") };
    path.is_none().then(lacking)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(optional: Option<&str>) -> Endpoints {
        let optional = optional.map(ToOwned::to_owned);
        Endpoints {
            discovery: "/discovery".into(),
            authorize: "/auth".into(),
            token: "/token".into(),
            userinfo: optional.clone(),
            introspect: optional.clone(),
            revoke: optional.clone(),
            jwks: optional,
        }
    }

    /// The scenarios that are refused.
    fn refused(grants: Option<&[&str]>, endpoints: &Endpoints) -> Vec<Scenario> {
        let grants: Option<Vec<String>> =
            grants.map(|grants| grants.iter().map(|&grant| grant.to_owned()).collect());
        let is_refused = |scenario: &Scenario| lacking(*scenario, grants.as_deref(), endpoints).is_some();
        Scenario::ALL.into_iter().filter(is_refused).collect()
    }

    #[test]
    fn every_grant_that_a_scenario_needs_must_be_offered() {
        let refused = |grants: &[&str]| refused(Some(grants), &endpoints(Some("/there")));
        assert_eq!(
            refused(&["authorization_code", "refresh_token", "client_credentials"]),
            [Scenario::Exchange]
        );
        assert_eq!(
            refused(&["client_credentials", EXCHANGE]),
            [
                Scenario::Silent,
                Scenario::Refresh,
                Scenario::Code,
                Scenario::Login,
                Scenario::LoginEmailCode,
                Scenario::LoginPasskey,
            ]
        );
        assert_eq!(
            refused(&[]),
            [
                Scenario::Silent,
                Scenario::Exchange,
                Scenario::ClientCredentials,
                Scenario::Refresh,
                Scenario::Code,
                Scenario::Login,
                Scenario::LoginEmailCode,
                Scenario::LoginPasskey,
            ]
        );
    }

    #[test]
    fn who_names_no_grants_may_have_all() {
        assert_eq!(refused(None, &endpoints(Some("/there"))), []);
    }

    #[test]
    fn an_endpoint_must_be_announced() {
        let bare = endpoints(None);
        assert_eq!(refused(None, &bare), [Scenario::Discovery, Scenario::Userinfo, Scenario::Introspect]);
        let told = lacking(Scenario::Userinfo, None, &bare).unwrap();
        assert_eq!(
            (told.what, told.offered),
            ("the userinfo_endpoint".into(), "no userinfo_endpoint".into())
        );
    }

    #[test]
    fn what_is_offered_instead_is_told() {
        let grants = ["authorization_code".to_owned(), "implicit".to_owned()];
        let told = lacking(Scenario::Exchange, Some(&grants), &endpoints(None)).unwrap();
        assert_eq!(told.what, format!("the grant {EXCHANGE}"));
        assert_eq!(told.offered, "grant_types_supported: authorization_code, implicit");
    }
}
