//! Why an access token is refused, for the operator.

use super::{AccessToken, NotAnAccessToken, NotValid};
use crate::refusal::{Details, Reason, Refusal};
use crate::scope::OPENID;
use crate::time::Timestamp;

impl From<NotAnAccessToken> for Reason {
    fn from(not: NotAnAccessToken) -> Self {
        match not {
            NotAnAccessToken::Kind => Self::TokenOfOtherKind,
            NotAnAccessToken::Claims => Self::TokenMalformed,
        }
    }
}

impl From<NotValid> for Reason {
    fn from(not: NotValid) -> Self {
        match not {
            NotValid::Issuer => Self::TokenOfOtherIssuer,
            NotValid::Expired => Self::TokenExpired,
            NotValid::NotYet => Self::TokenNotYetValid,
        }
    }
}

impl AccessToken {
    /// A refusal of this token, naming its user.
    pub fn refused(&self, reason: Reason) -> Refusal {
        let details = match reason {
            Reason::TokenScopeInsufficient => {
                Details::of("scope").sent(self.scope.as_str()).expected([OPENID])
            }
            Reason::TokenClientUnknown => Details::of("client_id").sent(self.client_id.as_str()),
            _ => Details::default(),
        };
        self.refused_with(reason, details)
    }

    /// The refusal of a token that is [not valid](Self::check) at the issuer of this URL.
    pub fn refused_as_not_valid(&self, not: NotValid, issuer_url: &str, now: Timestamp) -> Refusal {
        let clock = format!("{} on the provider's clock", now.seconds());
        let details = match not {
            NotValid::Issuer => Details::of("iss").sent(&self.iss).expected([issuer_url]),
            NotValid::Expired => Details::of("exp").sent(&self.exp.to_string()).expected([clock.as_str()]),
            NotValid::NotYet => {
                let nbf = self.nbf.unwrap_or_default().to_string();
                Details::of("nbf").sent(&nbf).expected([clock.as_str()])
            }
        };
        self.refused_with(not.into(), details)
    }

    /// The refusal of a token because of its audience. `accepted`: the audiences of the one that is asked.
    pub fn refused_audience<'v>(&self, accepted: impl IntoIterator<Item = &'v str>) -> Refusal {
        let details = Details::of("aud").sent(&self.audiences()).expected(accepted);
        self.refused_with(Reason::TokenAudienceOther, details)
    }

    /// The refusal of a token that was neither issued to nor made for the client that presents it. `own`: the client's id, and
    /// the clients or audiences whose tokens it may present.
    pub fn refused_to<'v>(&self, own: impl IntoIterator<Item = &'v str>) -> Refusal {
        let sent = format!("{}, of client {}", self.audiences(), self.client_id);
        self.refused_with(Reason::TokenOfOtherClient, Details::of("aud").sent(&sent).registered(own))
    }

    /// The first values of `aud`, separated by spaces.
    fn audiences(&self) -> String {
        self.aud.iter().take(5).collect::<Vec<_>>().join(" ")
    }

    fn refused_with(&self, reason: Reason, details: Details) -> Refusal {
        match self.user() {
            Some(user) => Refusal::about(reason, details.user(&user)),
            None => Refusal::about(reason, details),
        }
    }
}
