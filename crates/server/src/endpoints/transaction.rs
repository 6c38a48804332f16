//! What waits for a person: kept on the server as a challenge, bound to one browser, for ten minutes.
//!
//! The browser carries the challenge's id and a cookie, nothing else: what is asked, who signed in and what was
//! allowed never pass through it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Method, Uri, header};
use serde::{Deserialize, Serialize};
use symbolon_protocol::authorize::request::{self, AuthorizationRequest, Rejection};
use symbolon_protocol::authorize::response;
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id::Sid;
use symbolon_protocol::params::Params;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_store::Durable;
use symbolon_store::shard::Kind;

use super::authorize::{Transaction, Visit};
use crate::http::csrf::{Browser, INTERACTION_LIVES};
use crate::http::{Context, Failure, read_form, redirect, session_cookie};

/// The longest request that waits for a person, in bytes. Whoever sends one needs no login, and it is kept for minutes.
const LONGEST_KEPT: usize = 8 * 1024;

/// A challenge as it is stored.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    /// The digest of the cookie of the browser that it belongs to.
    browser: String,
    /// What it is about.
    pub(super) matter: Matter,
}

/// What a person is asked for.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Matter {
    /// To sign in, or to allow a client something.
    Authorization(Authorization),
    /// To confirm a logout.
    Logout(Logout),
}

/// An authorization request that waits.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Authorization {
    /// The request, and what has happened in it.
    pub(super) transaction: Transaction,
    /// What the consent page asks for.
    pub(super) asked: Option<Scope>,
}

/// A logout that waits for the person's word.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Logout {
    /// The session that the page was shown for.
    pub(super) sid: Sid,
    /// Where to go then; checked already.
    pub(super) redirect: Option<String>,
}

/// The failure for a transaction that is over, unknown, or another browser's: which one is nobody's business.
pub(super) fn expired() -> Failure {
    Failure::OAuth(OAuthError::invalid_request(
        "this sign-in took too long, was finished already, or was begun in another browser, or cookies are off: \
         go back to the application and begin again",
    ))
}

/// A request to one of our pages.
pub(super) struct Asked {
    pub(super) context: Context,
    pub(super) headers: HeaderMap,
    pub(super) method: Method,
    uri: Uri,
}

impl Asked {
    /// Takes a request apart.
    pub(super) fn take(context: Context, request: Request) -> (Self, Body) {
        let (parts, body) = request.into_parts();
        (Self { context, headers: parts.headers, method: parts.method, uri: parts.uri }, body)
    }

    /// The query.
    pub(super) fn query(&self) -> &[u8] {
        self.uri.query().unwrap_or_default().as_bytes()
    }

    /// The form.
    pub(super) async fn form(&self, body: Body) -> Result<Bytes, Failure> {
        read_form(&self.headers, body, self.context.body_limits()).await
    }

    /// The answer, a failure as a page.
    pub(super) fn answer(&self, answered: Result<Response, Failure>) -> Response {
        answered.unwrap_or_else(|failure| failure.into_page(&self.headers, Some(self.context.id.to_string())))
    }

    /// The browser's live session.
    pub(super) async fn session(
        &self,
        durable: &mut Durable,
    ) -> Result<Option<(SessionId, Arc<Session>)>, Failure> {
        let Context { app, issuer, .. } = &self.context;
        let Some(id) = session_cookie(&self.headers, issuer) else { return Ok(None) };
        let session = app.store.session(&issuer.id, &id, app.now()).await?.take(durable);
        Ok(session.map(|session| (id, session)))
    }

    /// A visit to the authorization endpoint from one of our pages.
    pub(super) fn visit(&self, transaction: Option<(String, Transaction)>) -> Visit<'_> {
        Visit {
            context: &self.context,
            headers: &self.headers,
            session: session_cookie(&self.headers, &self.context.issuer),
            after_post: self.method == Method::POST,
            transaction,
        }
    }
}

/// A transaction that was found, in the browser that it belongs to.
pub(super) struct Found {
    pub(super) id: String,
    pub(super) browser: Browser,
    kept: Kept,
}

impl Found {
    /// The transaction that the parameters name.
    pub(super) async fn by(params: &Params<'_>, asked: &Asked) -> Result<Self, Failure> {
        let Context { app, issuer, .. } = &asked.context;
        let id = params.get("transaction")?.ok_or_else(expired)?;
        let browser = Browser::of(&asked.headers, issuer).ok_or_else(expired)?;
        let kept = app.store.challenge(&issuer.id, id, app.now()).await?.ok_or_else(expired)?;
        let kept: Kept = serde_json::from_slice(&kept).map_err(|_| expired())?;
        if !browser.is(&kept.browser) {
            return Err(expired());
        }
        Ok(Self { id: id.to_owned(), browser, kept })
    }

    /// The authorization request that waits.
    pub(super) fn authorization(&self) -> Result<&Authorization, Failure> {
        match &self.kept.matter {
            Matter::Authorization(authorization) => Ok(authorization),
            Matter::Logout(_) => Err(expired()),
        }
    }

    /// The logout that waits.
    pub(super) fn logout(&self) -> Result<&Logout, Failure> {
        match &self.kept.matter {
            Matter::Logout(logout) => Ok(logout),
            Matter::Authorization(_) => Err(expired()),
        }
    }

    /// Keeps what has happened in it; the person has ten minutes again. Where it was used up meanwhile it stays so, and
    /// whoever [goes on](go_on) is told that it is over.
    pub(super) async fn keep(&self, context: &Context, authorization: Authorization) -> Result<(), Failure> {
        replace(context, &self.id, &self.browser, Matter::Authorization(authorization)).await.map(drop)
    }

    /// Uses it up: exactly one caller goes on.
    pub(super) async fn use_up(&self, context: &Context) -> Result<(), Failure> {
        let Context { app, issuer, .. } = context;
        app.store.take_challenge(&issuer.id, &self.id, app.now()).await?.ok_or_else(expired)?;
        Ok(())
    }
}

fn kept(browser: &Browser, matter: Matter) -> Result<Arc<[u8]>, Failure> {
    let kept = Kept { browser: browser.digest(), matter };
    let kept = serde_json::to_vec(&kept).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(kept.into())
}

/// Writes a transaction back that was looked up; whether it was still there.
async fn replace(context: &Context, id: &str, browser: &Browser, matter: Matter) -> Result<bool, Failure> {
    let (Context { app, issuer, .. }, kept) = (context, kept(browser, matter)?);
    let now = app.now();
    Ok(app.store.replace_challenge(&issuer.id, id, kept, now + INTERACTION_LIVES, now).await?)
}

/// Keeps a new transaction; its id.
pub(super) async fn begin(context: &Context, browser: &Browser, matter: Matter) -> Result<String, Failure> {
    let (Context { app, issuer, .. }, kept) = (context, kept(browser, matter)?);
    let id = app.store.place(Kind::Challenge).draw::<16>(Kind::Challenge, &*app.random).to_string();
    app.store.keep_challenge(&issuer.id, &id, kept, app.now() + INTERACTION_LIVES).await?;
    Ok(id)
}

/// Keeps a visit's request, or goes on with its transaction, and sends the browser to one of our pages.
pub(super) async fn send_to(
    page: &str,
    visit: &Visit<'_>,
    encoded: &[u8],
    asked: Option<Scope>,
) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = visit.context;
    let browser = Browser::of_or_new(visit.headers, issuer, &*app.random);
    let matter = |transaction| Matter::Authorization(Authorization { transaction, asked });
    let id = match &visit.transaction {
        Some((id, transaction)) => {
            if !replace(visit.context, id, &browser, matter(transaction.clone())).await? {
                return Err(expired());
            }
            id.clone()
        }
        None if encoded.len() > LONGEST_KEPT => {
            let error = OAuthError::invalid_request("a request that needs a login may have 8 KiB at most");
            return refuse(visit, encoded, &error).await;
        }
        None => {
            // The parameters were read from these bytes, so they are UTF-8.
            let request =
                std::str::from_utf8(encoded).map_err(|error| Failure::Internal(error.to_string()))?;
            begin(visit.context, &browser, matter(Transaction::of(request))).await?
        }
    };
    let mut response = redirect(visit.after_post, &with_transaction(visit.context, page, &id));
    if let Some(cookie) = browser.cookie(issuer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// The way back to the authorization endpoint.
pub(super) fn go_on(asked: &Asked, id: &str) -> Response {
    redirect(asked.method == Method::POST, &with_transaction(&asked.context, "/authorize/continue", id))
}

/// Ids that we drew need no escaping; one that came in has been found in the store.
fn with_transaction(context: &Context, path: &str, id: &str) -> String {
    format!("{}{path}?transaction={id}", context.issuer.prefix)
}

/// Who asks, as the pages show it.
pub(super) struct Asker {
    /// The client.
    pub(super) client: Arc<Client>,
    /// Where the answer will go.
    pub(super) redirect_uri: String,
    /// What to put into the login form.
    pub(super) login_hint: Option<String>,
}

impl Asker {
    /// Reads a request that waits once more: its client may have changed or gone meanwhile.
    pub(super) async fn of(context: &Context, encoded: &[u8]) -> Result<Self, Failure> {
        let params = Params::parse(encoded)?;
        let client = client(context, &params).await?;
        let settings = context.issuer.settings.load_full();
        let (redirect_uri, login_hint) = match AuthorizationRequest::check(&params, &client, &settings) {
            Ok(request) => (request.return_to.redirect_uri.to_owned(), request.login_hint.map(str::to_owned)),
            Err(Rejection::Redirect(to, _)) => (to.redirect_uri.to_owned(), None),
            Err(Rejection::Page(error)) => return Err(error.into()),
        };
        Ok(Self { client, redirect_uri, login_hint })
    }

    /// The name to show.
    pub(super) fn name(&self) -> String {
        name(&self.client)
    }

    /// A URI that the client registered to be shown.
    pub(super) fn shown(&self, member: &str) -> Option<String> {
        self.client.display.get(member)?.as_str().map(str::to_owned)
    }
}

/// A client's name for people.
pub(super) fn name(client: &Client) -> String {
    if client.client_name.is_empty() { client.client_id.to_string() } else { client.client_name.clone() }
}

/// The provider's name for people: its URL without the scheme.
pub(super) fn issuer_name(context: &Context) -> String {
    let url = &context.issuer.url;
    url.split_once("://").map_or(&**url, |(_, rest)| rest).to_owned()
}

async fn client(context: &Context, params: &Params<'_>) -> Result<Arc<Client>, Failure> {
    let client_id = request::client_id(params)?;
    let client = context.app.store.client(&context.issuer.id, &client_id).await?;
    client.ok_or_else(|| request::unknown_client().into())
}

/// Tells the client that nothing came of its request, in the response mode that it asked for (RFC 6749 4.1.2.1).
pub(super) async fn refuse(
    visit: &Visit<'_>,
    encoded: &[u8],
    error: &OAuthError,
) -> Result<Response, Failure> {
    let params = Params::parse(encoded)?;
    let client = client(visit.context, &params).await?;
    let settings = visit.context.issuer.settings.load_full();
    let to = match AuthorizationRequest::check(&params, &client, &settings) {
        Ok(request) => request.return_to,
        Err(Rejection::Redirect(to, _)) => to,
        Err(Rejection::Page(error)) => return Err(error.into()),
    };
    visit.send(response::error(&to, error, &visit.context.issuer.url), error.code.as_str(), &client)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round_trip(matter: Matter) -> Kept {
        let kept = Kept { browser: "digest".to_owned(), matter };
        serde_json::from_slice(&serde_json::to_vec(&kept).unwrap()).unwrap()
    }

    #[test]
    fn a_logout_is_no_authorization() {
        let logout = Logout { sid: Sid::trusted("s"), redirect: Some("https://a/".to_owned()) };
        let kept = round_trip(Matter::Logout(logout));
        let cookie = symbolon_crypto::random::base64url::<32>(&symbolon_crypto::random::SeededRandom::new(1));
        let browser = Browser::of_cookie(&cookie).unwrap();
        let found = Found { id: "tx".to_owned(), browser, kept };
        assert!(found.authorization().is_err());
        assert_eq!(found.logout().unwrap().redirect.as_deref(), Some("https://a/"));
    }

    proptest! {
        #[test]
        fn what_is_kept_comes_back(request in ".{0,80}", at: Option<u64>, asked in "[a-z]{1,8}") {
            let transaction = Transaction {
                request: request.clone(),
                signed_in_at: at.map(symbolon_protocol::time::Timestamp::from_millis),
                allowed: None,
            };
            let asked = Scope::parse(&asked).ok();
            let kept = round_trip(Matter::Authorization(Authorization { transaction, asked: asked.clone() }));
            let Matter::Authorization(back) = kept.matter else { panic!("another matter") };
            prop_assert_eq!(back.transaction.request, request);
            prop_assert_eq!(back.transaction.signed_in_at.map(|at| at.millis()), at);
            prop_assert_eq!(back.asked, asked);
        }

        #[test]
        fn foreign_challenges_are_refused(bytes: Vec<u8>) {
            prop_assert!(serde_json::from_slice::<Kept>(&bytes).is_err());
        }
    }
}
