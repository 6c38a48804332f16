//! Logout requested by a relying party (OpenID Connect RP-Initiated Logout 1.0).

use crate::client::Client;
use crate::encoded;
use crate::error::OAuthError;
use crate::id_token_hint::IdTokenHint;
use crate::params::Params;
use crate::redirect_uri;
use crate::refusal::{self, Details, Reason, Refusal};
use crate::session::Session;

/// A logout request; borrowed from its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogoutRequest<'p> {
    /// An ID token of the user to be signed out; not verified yet.
    pub id_token_hint: Option<&'p str>,
    /// The requesting relying party.
    pub client_id: Option<&'p str>,
    /// Where to redirect afterwards.
    pub post_logout_redirect_uri: Option<&'p str>,
    /// Returned unchanged with the redirect.
    pub state: Option<&'p str>,
    /// The user to be signed out, as the client identifies them.
    pub logout_hint: Option<&'p str>,
    /// The languages that the person prefers.
    pub ui_locales: Option<&'p str>,
}

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogoutDecision {
    /// Ask the person, and end the session if they agree.
    Ask {
        /// Where to redirect then; `None` for the provider's own page.
        redirect: Option<String>,
    },
    /// End the session, if there is one, without asking.
    EndNow {
        /// Where to redirect then; `None` for the provider's own page.
        redirect: Option<String>,
    },
    /// Show a page with the error, and keep the session.
    Refuse(OAuthError),
}

impl<'p> LogoutRequest<'p> {
    /// Reads the parameters of a query or form (section 2).
    ///
    /// # Errors
    /// `invalid_request` for a repeated parameter, and for a `state` beyond [`LONGEST_STATE`](encoded::LONGEST_STATE).
    pub fn read(params: &'p Params<'_>) -> Result<Self, OAuthError> {
        let state = params.get("state")?;
        encoded::check_state(state)?;
        Ok(Self {
            id_token_hint: params.get("id_token_hint")?,
            client_id: params.get("client_id")?,
            post_logout_redirect_uri: params.get("post_logout_redirect_uri")?,
            state,
            logout_hint: params.get("logout_hint")?,
            ui_locales: params.get("ui_locales")?,
        })
    }

    /// The client to load: the audience of the hint, else the `client_id` parameter.
    pub fn client<'a>(&self, hint: &'a IdTokenHint) -> Option<&'a str>
    where
        'p: 'a,
    {
        hint.claims().map(|claims| claims.aud.as_str()).or(self.client_id)
    }

    /// Decides what happens. `client` is the record of [`Self::client`], `session` the browser's live session: where it has
    /// several, the one that the hint [is about](is_about), else the one in use.
    pub fn decide(
        &self,
        hint: &IdTokenHint,
        client: Option<&Client>,
        session: Option<&Session>,
    ) -> LogoutDecision {
        // Section 2: the OP MUST verify that client_id is the client that the ID token was issued to.
        if let (Some(claims), Some(named)) = (hint.claims(), self.client_id)
            && claims.aud.as_str() != named
        {
            let details = Details::of("client_id").sent(named).expected([claims.aud.as_str()]);
            let error = OAuthError::invalid_request(
                Reason::ClientIdNotOfHint,
                "client_id is not the client of the id_token_hint",
            );
            return LogoutDecision::Refuse(error.about(details.client(&claims.aud).user(&claims.sub)));
        }
        let redirect = client.and_then(|client| self.redirect(client));
        let goes_astray = redirect.is_none() && self.post_logout_redirect_uri.is_some();
        match session {
            // Without a session nothing can be ended against the person's will, so they are redirected at once.
            None => LogoutDecision::EndNow { redirect },
            // If the requested redirect is not possible, the person is asked, rather than left on a page without
            // explanation.
            Some(session) if is_about(hint, session) && !goes_astray => LogoutDecision::EndNow { redirect },
            // Section 6: without a hint about this session, any site could sign the person out.
            Some(_) => LogoutDecision::Ask { redirect },
        }
    }

    /// Why the person cannot be sent where the request asks, if it asks; they stay at the provider then. `client` is the
    /// record of [`Self::client`].
    pub fn why_astray(&self, client: Option<&Client>) -> Option<Refusal> {
        let uri = self.post_logout_redirect_uri?;
        let details = Details::of("post_logout_redirect_uri").sent_uri(uri);
        let Some(client) = client else {
            return Some(Refusal::about(Reason::PostLogoutClientUnknown, details));
        };
        let registered = &client.post_logout_redirect_uris;
        if registered.iter().any(|own| own == uri) {
            return None;
        }
        let (registered, difference) = refusal::closest(registered, uri);
        let details = details.registered(registered).differing(difference.as_deref());
        Some(Refusal::about(Reason::PostLogoutRedirectUriNotRegistered, details.client(&client.client_id)))
    }

    /// Section 3: the OP MUST NOT redirect unless the URI exactly matches one that the client registered.
    fn redirect(&self, client: &Client) -> Option<String> {
        let uri = self.post_logout_redirect_uri?;
        client.post_logout_redirect_uris.iter().find(|registered| *registered == uri)?;
        Some(match self.state {
            Some(state) => redirect_uri::append_query(uri, &[("state", state)]),
            None => uri.to_owned(),
        })
    }
}

/// Whether an ID token was issued in this session (section 2: if it "does not belong to the current OP session with
/// the RP", the OP MUST ask). An ID token without `sid`, of a grant that outlived its session, identifies no session.
pub fn is_about(hint: &IdTokenHint, session: &Session) -> bool {
    hint.claims().is_some_and(|claims| {
        session.user == claims.sub && claims.sid.as_ref().is_some_and(|sid| session.is_named(sid.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::digest::HmacKey;
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use crate::client_metadata;
    use crate::id::{ClientId, Sid, UserId};
    use crate::id_token_hint::IdTokenHintClaims;
    use crate::session::Amr;
    use crate::time::Timestamp;

    const AFTER: &str = "https://rp.example/bye?x=1";

    fn client() -> Client {
        let metadata = serde_json::json!({
            "client_id": "rp", "client_name": "RP", "redirect_uris": ["https://rp.example/cb"],
            "post_logout_redirect_uris": [AFTER],
        });
        let serde_json::Value::Object(metadata) = metadata else { panic!("an object") };
        let key = HmacKey::new(b"key");
        let made = client_metadata::create(metadata, &key, Timestamp::EPOCH, &SeededRandom::new(1));
        made.map(|made| made.client).unwrap()
    }

    fn session() -> Session {
        Session {
            user: UserId::trusted("alice"),
            sid: Sid::trusted("s1"),
            auth_time: Timestamp::EPOCH,
            created_at: Timestamp::EPOCH,
            expires_at: Timestamp::FOREVER,
            amr: Amr::default(),
            clients: Box::default(),
            predecessors: Default::default(),
            by_time: Default::default(),
        }
    }

    fn hint(sub: &str, sid: Option<&str>) -> IdTokenHint {
        IdTokenHint::IdToken(Box::new(IdTokenHintClaims {
            sub: UserId::trusted(sub),
            sid: sid.map(Sid::trusted),
            aud: ClientId::trusted("rp"),
            pairwise_sub: None,
        }))
    }

    fn decide(query: &str, hint: &IdTokenHint, signed_in: bool) -> LogoutDecision {
        let params = Params::parse(query.as_bytes()).unwrap();
        let request = LogoutRequest::read(&params).unwrap();
        let client = request.client(hint).filter(|id| *id == "rp").map(|_| client());
        request.decide(hint, client.as_ref(), signed_in.then(session).as_ref())
    }

    #[test]
    fn only_a_hint_about_this_session_spares_the_question() {
        use LogoutDecision::{Ask, EndNow};
        let table = [
            (hint("alice", Some("s1")), true, EndNow { redirect: None }),
            (hint("alice", None), true, Ask { redirect: None }),
            (hint("alice", Some("s2")), true, Ask { redirect: None }),
            (hint("bob", Some("s1")), true, Ask { redirect: None }),
            (IdTokenHint::Unverifiable, true, Ask { redirect: None }),
            (IdTokenHint::Absent, true, Ask { redirect: None }),
            (IdTokenHint::Absent, false, EndNow { redirect: None }),
        ];
        for (hint, signed_in, expected) in table {
            assert_eq!(decide("", &hint, signed_in), expected, "{hint:?}");
        }
    }

    #[test]
    fn redirects_go_to_registered_places_of_a_known_client_only() {
        let to = |query: &str, hint| match decide(query, hint, true) {
            LogoutDecision::Ask { redirect } | LogoutDecision::EndNow { redirect } => redirect,
            LogoutDecision::Refuse(error) => panic!("{error}"),
        };
        let uri = "post_logout_redirect_uri=https%3A%2F%2Frp.example%2Fbye%3Fx%3D1";
        let good = &hint("alice", Some("s1"));
        assert_eq!(to(uri, good).as_deref(), Some(AFTER));
        assert_eq!(to(&format!("{uri}&state=a%26b"), good), Some(format!("{AFTER}&state=a%26b")));
        assert_eq!(to(&format!("{uri}&client_id=rp"), &IdTokenHint::Absent).as_deref(), Some(AFTER));
        assert_eq!(to(uri, &IdTokenHint::Absent), None, "no client");
        assert_eq!(to(&format!("{uri}&client_id=other"), &IdTokenHint::Absent), None, "an unknown client");
        assert_eq!(to(&format!("{uri}%26y"), good), None, "not exactly registered");
        let asked = LogoutDecision::Ask { redirect: None };
        assert_eq!(decide(&format!("{uri}%26y"), good, true), asked, "whoever cannot get back is asked");
    }

    #[test]
    fn a_client_id_that_contradicts_the_hint_is_refused() {
        let refused = decide("client_id=other", &hint("alice", Some("s1")), true);
        assert!(matches!(refused, LogoutDecision::Refuse(_)));
        let named = decide("client_id=rp", &hint("alice", Some("s1")), true);
        assert!(matches!(named, LogoutDecision::EndNow { .. }));
        let params = Params::parse(b"state=a&state=b").unwrap();
        assert!(LogoutRequest::read(&params).is_err());
        for (state, is_read) in [("%01".repeat(1_365), true), ("%01".repeat(1_366), false)] {
            let query = format!("state={state}");
            let params = Params::parse(query.as_bytes()).unwrap();
            assert_eq!(LogoutRequest::read(&params).is_ok(), is_read);
        }
    }
}
