//! Consent: the scopes that a user has allowed a client (OpenID Connect Core 3.1.2.4).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::authorization_details::AuthorizationDetails;
use crate::scope::{InvalidScope, Scope};
use crate::settings::{ClientOverrides, IssuerSettings};
use crate::time::Timestamp;

/// A stored consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// All scopes that were allowed and not withdrawn.
    pub scope: Scope,
    /// When it was last given. Where consents have a lifetime: when the earliest of what it holds was given.
    pub granted_at: Timestamp,
    /// The versions of the terms to which it was given. Not in what earlier versions stored, and not written while nobody has
    /// raised one.
    #[serde(default, skip_serializing_if = "ConsentVersion::is_first")]
    pub version: ConsentVersion,
    /// The authorization details that were allowed (RFC 9396), each as the person saw it. Not in what earlier versions stored, and not
    /// written while there are none.
    #[serde(default, skip_serializing_if = "AuthorizationDetails::is_empty")]
    pub authorization_details: AuthorizationDetails,
}

/// The versions of the terms that a person consents to: of the issuer's, and of the client's. Whenever one of them is
/// another than a consent was given to, the person is asked again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentVersion {
    /// The issuer's `consent_version`.
    pub issuer: u32,
    /// The client's `consent_version`.
    pub client: u32,
}

impl ConsentVersion {
    fn is_first(&self) -> bool {
        *self == Self::default()
    }
}

/// What a consent must be to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsentTerms {
    version: ConsentVersion,
    lifetime: Option<Duration>,
}

/// A consent that is being given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenConsent {
    /// What is allowed now.
    pub consent: Consent,
    /// Since when an earlier consent must have been given to count beside it; `None` where consents have no end.
    counts_since: Option<Timestamp>,
    /// Whether it is given to a client that is not stored, because its `client_id` is the URL of its metadata.
    pub is_to_document: bool,
}

impl GivenConsent {
    /// The same, given to a client that is not stored, if that is so.
    #[must_use]
    pub fn for_document(self, is_to_document: bool) -> Self {
        Self { is_to_document, ..self }
    }

    /// The same, given to these authorization details too (RFC 9396).
    #[must_use]
    pub fn with_details(mut self, details: AuthorizationDetails) -> Self {
        self.consent.authorization_details = details;
        self
    }
}

impl From<Consent> for GivenConsent {
    fn from(consent: Consent) -> Self {
        Self { consent, counts_since: None, is_to_document: false }
    }
}

impl Consent {
    /// A consent to the first version of the terms.
    pub const fn new(scope: Scope, granted_at: Timestamp) -> Self {
        Self {
            scope,
            granted_at,
            version: ConsentVersion { issuer: 0, client: 0 },
            authorization_details: AuthorizationDetails::NONE,
        }
    }

    /// The consent after the user has allowed more: the union of both scopes. What was allowed to other terms, or too long
    /// ago, does not count any more, and is left out.
    ///
    /// # Errors
    /// [`InvalidScope`] if the union is longer than a scope may be.
    pub fn joined(&self, given: &GivenConsent) -> Result<Self, InvalidScope> {
        let GivenConsent { consent: now, counts_since, .. } = given;
        let is_over = counts_since.is_some_and(|since| self.granted_at < since);
        if self.version != now.version || is_over {
            return Ok(now.clone());
        }
        let scope = self.scope.union(&now.scope)?;
        // Otherwise a person who is asked for something else now and then would never be asked for the rest again.
        let covers =
            now.scope.covers(&self.scope) && now.authorization_details.covers(&self.authorization_details);
        let keeps_time = counts_since.is_some() && !covers;
        let granted_at = match keeps_time {
            true => self.granted_at.min(now.granted_at),
            false => self.granted_at.max(now.granted_at),
        };
        let authorization_details = self.authorization_details.joined(&now.authorization_details);
        Ok(Self { scope, granted_at, version: now.version, authorization_details })
    }
}

impl ConsentTerms {
    /// The terms of a client. A lifetime of its own takes the place of the issuer's.
    pub fn of(settings: &IssuerSettings, client: &ClientOverrides) -> Self {
        let version = ConsentVersion {
            issuer: settings.consent_version,
            client: client.consent_version.unwrap_or_default(),
        };
        let lifetime = client.consent_lifetime_seconds.or(settings.consent_lifetime_seconds);
        Self { version, lifetime: lifetime.map(Duration::from_secs) }
    }

    /// Whether a consent counts: it was given to these versions, and not too long ago.
    pub fn are_met_by(&self, consent: &Consent, now: Timestamp) -> bool {
        let is_over = |lifetime| now >= consent.granted_at + lifetime;
        consent.version == self.version && !self.lifetime.is_some_and(is_over)
    }

    /// A consent that is given now.
    pub fn give(&self, scope: Scope, now: Timestamp) -> GivenConsent {
        let counts_since = self.lifetime.map(|lifetime| now - lifetime);
        let consent = Consent { version: self.version, ..Consent::new(scope, now) };
        GivenConsent { counts_since, ..consent.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consent(scope: &str, at: u64) -> Consent {
        Consent::new(Scope::parse(scope).unwrap(), Timestamp::from_seconds(at))
    }

    fn terms(issuer: u32, client: Option<u32>, lifetimes: (Option<u64>, Option<u64>)) -> ConsentTerms {
        let settings = IssuerSettings {
            consent_version: issuer,
            consent_lifetime_seconds: lifetimes.0,
            ..IssuerSettings::default()
        };
        let own = ClientOverrides {
            consent_version: client,
            consent_lifetime_seconds: lifetimes.1,
            ..ClientOverrides::default()
        };
        ConsentTerms::of(&settings, &own)
    }

    #[test]
    fn what_was_allowed_before_stays_allowed() {
        let before = consent("openid email", 7);
        assert_eq!(before.joined(&consent("email api", 9).into()), Ok(consent("openid email api", 9)));
        assert_eq!(before.joined(&consent("openid", 5).into()), Ok(consent("openid email", 7)));
        assert_eq!(before.joined(&consent(&"x".repeat(2_040), 9).into()), Err(InvalidScope));
    }

    #[test]
    fn a_consent_counts_for_the_versions_that_it_was_given_to() {
        let at = Timestamp::from_seconds(9);
        let first = consent("openid", 7);
        assert!(terms(0, None, (None, None)).are_met_by(&first, at));
        assert!(terms(0, Some(0), (None, None)).are_met_by(&first, at));
        for raised in [terms(1, None, (None, None)), terms(0, Some(1), (None, None))] {
            assert!(!raised.are_met_by(&first, at));
            let again = raised.give(Scope::parse("openid email").unwrap(), at);
            assert!(raised.are_met_by(&again.consent, at));
            let joined = consent("openid api", 7).joined(&again).unwrap();
            assert_eq!(joined, again.consent, "what was allowed to other terms is not in it");
        }
        // Raising one and lowering the other is a change, too.
        let moved = terms(0, Some(1), (None, None));
        assert!(!terms(1, Some(0), (None, None)).are_met_by(&moved.give(first.scope, at).consent, at));
    }

    #[test]
    fn a_consent_ends_with_its_lifetime_and_another_one_does_not_prolong_it() {
        let first = consent("openid email", 100);
        let seconds = Timestamp::from_seconds;
        for (lifetimes, met, over) in [
            ((Some(60), None), 159, Some(160)),
            ((Some(60), Some(90)), 189, Some(190)),
            ((None, Some(60)), 159, Some(160)),
            ((None, None), 1_000_000, None),
        ] {
            let terms = terms(0, None, lifetimes);
            assert!(terms.are_met_by(&first, seconds(met)), "{lifetimes:?}");
            assert!(over.is_none_or(|over| !terms.are_met_by(&first, seconds(over))), "{lifetimes:?}");
        }
        let terms = terms(0, None, (Some(60), None));
        let give = |scope: &str, at| terms.give(Scope::parse(scope).unwrap(), seconds(at));
        assert_eq!(first.joined(&give("api", 150)), Ok(consent("openid email api", 100)));
        assert_eq!(first.joined(&give("openid email api", 150)), Ok(consent("openid email api", 150)));
        assert_eq!(first.joined(&give("api", 161)), Ok(consent("api", 161)));
    }

    #[test]
    fn consents_of_earlier_versions_are_read_and_written_as_they_were() {
        let stored = r#"{"scope":"openid","granted_at":7000}"#;
        let read: Consent = serde_json::from_str(stored).unwrap();
        assert_eq!(read, consent("openid", 7));
        assert_eq!(serde_json::to_string(&read).unwrap(), stored);
    }
}
