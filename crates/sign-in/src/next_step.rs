//! What an authorization request needs next.

use std::sync::Arc;

use axum::response::Response;
use http::HeaderValue;
use symbolon_protocol::authorize::SignedResponse;
use symbolon_protocol::authorize::pushed_request::PushedRequestId;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::Session;
use symbolon_protocol::sign_in::acr::RequestedAcr;

use crate::login_page;

/// What an authorization request needs next.
pub(super) enum NextStep {
    /// Nothing: it is answered.
    Answer(Response),
    /// The signature of its answer.
    Sign(Box<Unsigned>),
    /// Its parameters, which the client has pushed. Only of a request that came to the endpoint itself.
    Pushed(PushedRequestId),
    /// Its parameters are these, which the client has signed. Only of a request that came to the endpoint itself.
    Signed(Box<[u8]>),
    /// The person must choose one of the accounts that are signed in in the browser.
    SelectAccount,
    /// The person must sign in.
    SignIn,
    /// The session's user is to be asked for one factor more, to reach one of these classes.
    StepUp(Arc<Session>, RequestedAcr),
    /// The session's user must consent to these scopes.
    Consent(Arc<Session>, Scope),
}

impl NextStep {
    /// Sets a cookie with the answer.
    pub(super) fn with_cookie(mut self, cookie: Option<HeaderValue>) -> Self {
        match &mut self {
            Self::Answer(response) => login_page::append(response.headers_mut(), cookie),
            Self::Sign(unsigned) => unsigned.cookie = cookie,
            _ => {}
        }
        self
    }
}

/// An answer that is to be signed.
pub(super) struct Unsigned {
    /// The parameters, and where they go.
    pub(super) answer: SignedResponse,
    /// A cookie that goes with it.
    pub(super) cookie: Option<HeaderValue>,
}
