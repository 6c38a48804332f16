//! What a handler tells the telemetry layer about its request.

use std::net::IpAddr;

use http::Response;
use smol_str::SmolStr;
use symbolon_protocol::id::IssuerId;

use super::endpoint::Endpoint;
use super::request_id::RequestId;

/// Facts of one request for its figures and its log line. Put into the response with
/// [`attach`](Self::attach); the layer takes them out again, so they never leave the process.
///
/// Nothing secret belongs here: no token, code, cookie, password or query string. `client_id` is the id of a
/// registered client, not whatever the request claimed.
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

    /// The endpoint, where the path does not tell it (the grant type of a token request).
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

    /// The client's address where it is not the connection's (a trusted proxy forwarded it).
    #[must_use]
    pub const fn remote(mut self, address: IpAddr) -> Self {
        self.remote = Some(address);
        self
    }

    /// Puts the facts into a response. Facts that are there already stay, unless these say otherwise: the error
    /// mapping may attach the code and the handler the client, in any order.
    pub fn attach<B>(self, response: &mut Response<B>) {
        let extensions = response.extensions_mut();
        match extensions.get_mut::<Self>() {
            Some(present) => present.merge(self),
            None => {
                extensions.insert(self);
            }
        }
    }

    /// Notes the issuer that a request was for, unless the answer names another one, and the scheme of its URL.
    pub fn note_issuer<B>(response: &mut Response<B>, issuer: &IssuerId, scheme: &'static str) {
        let facts = response.extensions_mut().get_or_insert_default::<Self>();
        facts.scheme = Some(scheme);
        if facts.issuer.is_none() {
            facts.issuer = Some(issuer.clone());
        }
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

/// What is known of a request when it arrives, in its extensions: one entry, because each costs allocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The request's id.
    pub id: RequestId,
    /// The peer's address.
    pub remote: Option<IpAddr>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_issuer_of_the_request_gives_way_to_that_of_the_answer() {
        let mut response = Response::new(());
        let [asked, meant] = ["asked", "meant"].map(IssuerId::trusted);
        RequestFacts::note_issuer(&mut response, &asked, "https");
        assert_eq!(response.extensions().get::<RequestFacts>().unwrap().known_issuer(), Some("asked"));
        RequestFacts::new().issuer(meant).attach(&mut response);
        RequestFacts::note_issuer(&mut response, &asked, "https");
        assert_eq!(response.extensions().get::<RequestFacts>().unwrap().known_issuer(), Some("meant"));
    }

    #[test]
    fn facts_attached_later_fill_gaps_and_correct() {
        let mut response = Response::new(());
        RequestFacts::new().oauth_error("invalid_grant").client_id("first").attach(&mut response);
        RequestFacts::new().endpoint(Endpoint::TokenRefreshToken).client_id("second").attach(&mut response);
        let facts = response.extensions().get::<RequestFacts>().unwrap();
        let expected = RequestFacts::new()
            .endpoint(Endpoint::TokenRefreshToken)
            .oauth_error("invalid_grant")
            .client_id("second");
        assert_eq!(*facts, expected);
    }
}
