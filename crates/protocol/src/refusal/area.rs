//! The parts of the protocol, under which the reference lists reasons.

/// The part of the protocol in which a reason occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// Requests of every kind.
    Request,
    /// Client authentication (RFC 6749 2.3, RFC 7523).
    Client,
    /// The authorization endpoint (RFC 6749 4.1.1, OpenID Connect Core 3.1.2).
    Authorization,
    /// The login page.
    SignIn,
    /// The token endpoint's grants (RFC 6749 4.1.3, 4.4, 6).
    Grant,
    /// Token exchange (RFC 8693).
    Exchange,
    /// A presented access token: at UserInfo, introspection, revocation and token exchange.
    Token,
    /// A proof of possession: at the token endpoint and UserInfo (RFC 9449).
    Dpop,
    /// The logout endpoint (OpenID Connect RP-Initiated Logout 1.0).
    Logout,
    /// Registration of clients by themselves (RFC 7591, RFC 7592).
    Registration,
}

impl Area {
    /// Every area, in the order of the reference.
    pub const ALL: [Self; 10] = [
        Self::Request,
        Self::Client,
        Self::Authorization,
        Self::SignIn,
        Self::Grant,
        Self::Exchange,
        Self::Token,
        Self::Dpop,
        Self::Logout,
        Self::Registration,
    ];

    /// The heading in the reference.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Request => "Any request",
            Self::Client => "Client authentication",
            Self::Authorization => "Authorization",
            Self::SignIn => "Sign-in",
            Self::Grant => "Token requests",
            Self::Exchange => "Token exchange",
            Self::Token => "A presented access token",
            Self::Dpop => "DPoP proofs",
            Self::Logout => "Logout",
            Self::Registration => "Registration of clients by themselves",
        }
    }
}
