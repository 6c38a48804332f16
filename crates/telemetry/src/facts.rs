//! Facts that handlers report to telemetry about their request.

use std::net::IpAddr;

use smol_str::SmolStr;
use symbolon_protocol::id::IssuerId;

use super::endpoint::Endpoint;

/// Facts about one request for its metrics and log line, [noted](Self::note) where they become known.
///
/// Must not contain secrets: no token, code, cookie, password or query string. `client_id` must be the id of a
/// registered client, not an unchecked request parameter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFacts {
    endpoint: Option<Endpoint>,
    oauth_error: Option<&'static str>,
    client_id: Option<SmolStr>,
    issuer: Option<IssuerId>,
    route: Option<&'static str>,
    remote: Option<IpAddr>,
    scheme: Option<&'static str>,
}

impl RequestFacts {
    /// No facts.
    pub const fn new() -> Self {
        Self {
            endpoint: None,
            oauth_error: None,
            client_id: None,
            issuer: None,
            route: None,
            remote: None,
            scheme: None,
        }
    }

    /// The endpoint, if the path alone does not determine it (the grant type of a token request).
    #[must_use]
    pub const fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    /// The OAuth error code of the answer (RFC 6749 sections 4.1.2.1 and 5.2, and the registry).
    #[must_use]
    pub const fn oauth_error(mut self, code: &'static str) -> Self {
        self.oauth_error = Some(code);
        self
    }

    /// The registered client that the request was for.
    #[must_use]
    pub fn client_id(mut self, client_id: impl Into<SmolStr>) -> Self {
        self.client_id = Some(client_id.into());
        self
    }

    /// The id of the issuer that answered.
    #[must_use]
    pub fn issuer(mut self, issuer: IssuerId) -> Self {
        self.issuer = Some(issuer);
        self
    }

    /// The route's pattern, for example `/api/admin/users/{user_id}`. Never the path itself.
    #[must_use]
    pub const fn route(mut self, pattern: &'static str) -> Self {
        self.route = Some(pattern);
        self
    }

    /// Adds these facts to the [current](super::Current) request. Facts noted before are kept unless these replace
    /// them, so the handler and the error mapping may note theirs in any order.
    pub fn note(self) {
        super::Current::note(|facts| facts.merge(self));
    }

    /// Notes the current request's endpoint and its path.
    pub fn note_endpoint(endpoint: Endpoint, route: &'static str) {
        super::Current::note(|facts| {
            facts.endpoint = Some(endpoint);
            facts.route = Some(route);
        });
    }

    /// Notes the current request's issuer, unless one was noted before, and the scheme of its URL.
    pub fn note_issuer(issuer: &IssuerId, scheme: &'static str) {
        super::Current::note(|facts| {
            facts.scheme = Some(scheme);
            if facts.issuer.is_none() {
                facts.issuer = Some(issuer.clone());
            }
        });
    }

    /// Notes the client's address if a trusted proxy forwarded the request, so that it is not the connection's.
    pub fn note_remote(address: IpAddr) {
        super::Current::note(|facts| facts.remote = Some(address));
    }

    fn merge(&mut self, later: Self) {
        self.endpoint = later.endpoint.or(self.endpoint);
        self.oauth_error = later.oauth_error.or(self.oauth_error);
        self.client_id = later.client_id.or_else(|| self.client_id.take());
        self.issuer = later.issuer.or_else(|| self.issuer.take());
        self.route = later.route.or(self.route);
        self.remote = later.remote.or(self.remote);
        self.scheme = later.scheme.or(self.scheme);
    }

    pub(super) const fn known_endpoint(&self) -> Option<Endpoint> {
        self.endpoint
    }

    pub(super) const fn known_oauth_error(&self) -> Option<&'static str> {
        self.oauth_error
    }

    pub(super) fn known_client_id(&self) -> Option<&str> {
        self.client_id.as_deref()
    }

    pub(super) fn known_issuer(&self) -> Option<&str> {
        self.issuer.as_ref().map(IssuerId::as_str)
    }

    pub(super) const fn known_route(&self) -> Option<&'static str> {
        self.route
    }

    pub(super) const fn known_scheme(&self) -> Option<&'static str> {
        self.scheme
    }

    pub(super) const fn known_remote(&self) -> Option<IpAddr> {
        self.remote
    }
}

#[cfg(test)]
mod tests {
    use super::super::RequestId;
    use super::super::current::{Arrival, Current};
    use super::*;

    fn arrived() -> Current {
        let headers =
            http::HeaderMap::from_iter([("x-request-id".parse().unwrap(), "some-request".parse().unwrap())]);
        Current::of(Arrival { id: RequestId::inbound(&headers).unwrap(), remote: None })
    }

    #[test]
    fn the_issuer_of_the_request_gives_way_to_that_of_the_answer() {
        let [asked, meant] = ["asked", "meant"].map(IssuerId::trusted);
        let mut current = arrived();
        current.within(|| RequestFacts::note_issuer(&asked, "https"));
        assert_eq!(current.facts().known_issuer(), Some("asked"));
        current.within(|| {
            RequestFacts::new().issuer(meant).note();
            RequestFacts::note_issuer(&asked, "https");
        });
        assert_eq!(current.facts().known_issuer(), Some("meant"));
    }

    #[test]
    fn facts_noted_later_fill_gaps_and_correct() {
        let mut current = arrived();
        current.within(|| RequestFacts::new().oauth_error("invalid_grant").client_id("first").note());
        let second = RequestFacts::new().endpoint(Endpoint::TokenRefreshToken).client_id("second");
        current.within(|| second.note());
        let expected = RequestFacts::new()
            .endpoint(Endpoint::TokenRefreshToken)
            .oauth_error("invalid_grant")
            .client_id("second");
        assert_eq!(*current.facts(), expected);
    }
}
