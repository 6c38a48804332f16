//! The login page, its form, and the way back to the authorization endpoint.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use symbolon_crypto::secret::SecretString;
use symbolon_pages::{Language, LoginError, LoginPage};
use symbolon_protocol::authorize::AuthorizationRequest;
use symbolon_protocol::authorize::decide::denied;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, Sid};
use symbolon_protocol::params::Params;
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::{Amr, AuthenticationMethod, Session, SessionId};
use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::Durable;
use symbolon_store::shard::{Kind, sid_of};

use super::authorize::Visit;
use super::logout;
use super::transaction::{self, Asked, Asker, Found, go_on, issuer_name, refuse, send_to};
use crate::http::csrf::{Form, Purpose};
use crate::http::{Context, Failure, Policy, html, set_cookie};
use crate::telemetry::{Endpoint, RequestFacts};

const PATH: &str = "/login";

/// `/login`, and `/authorize/continue` behind it.
pub fn routes() -> Router {
    Router::new().route(PATH, get(show).post(submit)).route("/authorize/continue", get(continued))
}

/// Asks the person to sign in on the login page.
///
/// # Errors
/// [`Failure`]
pub async fn ask(
    visit: &Visit<'_>,
    encoded: &[u8],
    _request: &AuthorizationRequest<'_>,
) -> Result<Response, Failure> {
    send_to(PATH, visit, encoded, None).await
}

/// The failure for a transaction that is over or unknown.
pub fn expired() -> Failure {
    transaction::expired()
}

/// `GET /authorize/continue`: the person has been on one of our pages; the request is looked at anew.
async fn continued(context: Context, request: Request) -> Response {
    let (asked, _) = Asked::take(context, request);
    let response = asked.answer(look_again(&asked).await);
    RequestFacts::new().endpoint(Endpoint::Authorize).note();
    response
}

async fn look_again(asked: &Asked) -> Result<Response, Failure> {
    let params = Params::parse(asked.query())?;
    let found = Found::by(&params, asked).await?;
    let transaction = found.authorization()?.transaction.clone();
    let encoded = transaction.request.clone();
    asked.visit(Some((found.id, transaction))).answer(encoded.as_bytes()).await
}

async fn show(context: Context, request: Request) -> Response {
    let (asked, _) = Asked::take(context, request);
    asked.answer(first_look(&asked).await)
}

async fn first_look(asked: &Asked) -> Result<Response, Failure> {
    let params = Params::parse(asked.query())?;
    let found = Found::by(&params, asked).await?;
    let asker = Asker::of(&asked.context, found.authorization()?.transaction.request.as_bytes()).await?;
    let hint = asker.login_hint.clone();
    page(asked, &found, &asker, hint, None)
}

/// The page, for the first time or after an attempt.
fn page(
    asked: &Asked,
    found: &Found,
    asker: &Asker,
    username: Option<String>,
    error: Option<LoginError>,
) -> Result<Response, Failure> {
    let Context { issuer, .. } = &asked.context;
    let action = format!("{}{PATH}", issuer.prefix);
    let page = LoginPage {
        language: Language::English,
        issuer_name: issuer_name(&asked.context),
        client_name: asker.name(),
        client_uri: asker.shown("client_uri"),
        client_logo: asker.shown("logo_uri"),
        cancel_action: action.clone(),
        action,
        transaction: found.id.clone(),
        csrf: found.browser.token(issuer, form(found)),
        login_hint: username,
        error,
    };
    let page = page.render().map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(status(error), page, &Policy { leads_to_client: true, ..Policy::default() });
    if let Some(seconds) = retry_after(error) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(cookie) = found.browser.cookie(issuer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    RequestFacts::new().client_id(asker.client.client_id.as_str()).note();
    Ok(response)
}

fn form(found: &Found) -> Form<'_> {
    Form { purpose: Purpose::Login, transaction: &found.id, sid: "" }
}

/// What browsers and their password keepers are told of an attempt.
const fn status(error: Option<LoginError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        // RFC 9110 15.5.4: the credentials are insufficient. 401 would need a challenge of HTTP authentication.
        Some(LoginError::InvalidCredentials) => StatusCode::FORBIDDEN,
        Some(LoginError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(LoginError::Busy) => StatusCode::SERVICE_UNAVAILABLE,
        Some(LoginError::Expired) => StatusCode::BAD_REQUEST,
    }
}

const fn retry_after(error: Option<LoginError>) -> Option<u64> {
    match error {
        Some(LoginError::TooManyAttempts { retry_after_seconds }) => Some(retry_after_seconds),
        Some(LoginError::Busy) => Some(1),
        _ => None,
    }
}

async fn submit(context: Context, request: Request) -> Response {
    let (asked, body) = Asked::take(context, request);
    asked.answer(submitted(&asked, body).await)
}

async fn submitted(asked: &Asked, body: Body) -> Result<Response, Failure> {
    let encoded = asked.form(body).await?;
    let params = Params::parse(&encoded)?;
    let found = Found::by(&params, asked).await?;
    let request = found.authorization()?.transaction.request.as_bytes();
    let asker = Asker::of(&asked.context, request).await?;
    let username = params.get("username")?.unwrap_or_default().trim();
    let typed = (!username.is_empty()).then(|| username.to_owned());
    if !found.browser.accepts(&asked.context.issuer, form(&found), params.get("csrf_token")?) {
        return page(asked, &found, &asker, typed, Some(LoginError::Expired));
    }
    if params.get("cancel")?.is_some() {
        found.use_up(&asked.context).await?;
        let response = refuse(&asked.visit(None), request, &denied()).await?;
        RequestFacts::new().endpoint(Endpoint::Login).note();
        return Ok(response);
    }
    let password = params.get("password")?.unwrap_or_default();
    let attempt = Attempt { context: &asked.context, client: &asker.client.client_id, username, password };
    let error = match attempt.check().await? {
        Ok(right) => match sign_in(asked, &found, &attempt, &right).await? {
            Some(response) => {
                attempt.rehash(&right).await;
                return Ok(response);
            }
            None => LoginError::InvalidCredentials,
        },
        Err(error) => error,
    };
    page(asked, &found, &asker, typed, Some(error))
}

/// A name and a password as they were typed.
struct Attempt<'a> {
    context: &'a Context,
    client: &'a ClientId,
    username: &'a str,
    password: &'a str,
}

/// Whose they are, and the hash that they were checked against.
struct Right {
    user: Arc<User>,
    hash: PasswordHash,
}

impl Attempt<'_> {
    /// Whose name and password these are. Unknown, without a password, inactive, or a wrong password: the same answer
    /// after the same time, so that nobody learns which accounts there are.
    async fn check(&self) -> Result<Result<Right, LoginError>, Failure> {
        let Context { app, issuer, remote, .. } = self.context;
        // By the name that was typed, and before anybody is looked for: were an account's names counted as one, whoever is
        // delayed by another name would learn that they belong together.
        if let Err(limited) = app.rate_limits.may_try_login(&issuer.id, self.username, *remote, app.now()) {
            let retry_after_seconds = limited.retry_after_seconds;
            return Ok(Err(LoginError::TooManyAttempts { retry_after_seconds }));
        }
        let found = app.store.user_by_login(&issuer.id, self.username).await?;
        let hash = found.as_ref().and_then(|(_, hash)| hash.clone());
        let Ok(right) = app.passwords.verify(self.password(), hash).await else {
            return Ok(Err(LoginError::Busy));
        };
        match found {
            Some((user, Some(hash))) if right && user.active => Ok(Ok(Right { user, hash })),
            found => {
                app.rate_limits.failed_login(&issuer.id, self.username, *remote, app.now());
                let user = found.as_ref().map(|(user, _)| &user.id);
                self.context.audit(Event::SignInFailed, user, Some(self.client));
                Ok(Err(LoginError::InvalidCredentials))
            }
        }
    }

    /// Whether it would still be right. A user may be deactivated or deleted, or the password changed, while it is being
    /// checked. The first two end all sessions, a new password only where that is asked for with it; a session that is
    /// about to begin is not among them, and an old password must begin none.
    async fn is_still(&self, right: &Right) -> Result<bool, Failure> {
        let Context { app, issuer, .. } = self.context;
        match app.store.user_by_login(&issuer.id, self.username).await? {
            Some((user, Some(hash))) if user.id == right.user.id && user.active => {
                // Another hash may be of the same password, by newer costs.
                Ok(hash == right.hash || app.passwords.verify(self.password(), Some(hash)).await == Ok(true))
            }
            _ => Ok(false),
        }
    }

    /// Keeps the password by today's costs. Failing at it is no reason to refuse a right password.
    async fn rehash(&self, right: &Right) {
        let Context { app, issuer, .. } = self.context;
        if !app.passwords.needs_rehash(&right.hash) {
            return;
        }
        let hash: PasswordHash = match app.passwords.hash(self.password()).await {
            Ok(hash) => hash,
            Err(busy) => return tracing::debug!(%busy, "a password stays at its old costs"),
        };
        if let Err(error) = app.store.rehash_password(&issuer.id, &right.user.id, &right.hash, hash).await {
            tracing::warn!(%error, "a password stays at its old costs");
        }
    }

    fn password(&self) -> SecretString {
        SecretString::new(self.password.to_owned())
    }
}

/// Begins a session; none where the attempt is not right any more.
async fn sign_in(
    asked: &Asked,
    found: &Found,
    attempt: &Attempt<'_>,
    right: &Right,
) -> Result<Option<Response>, Failure> {
    let (Context { app, issuer, .. }, client, user) = (&asked.context, attempt.client, &right.user);
    let now = app.now();
    let lives = issuer.settings.load().lifetimes.session;
    // A new id whatever the browser had: an id that somebody planted or knows is never signed in.
    let id = SessionId::new(app.store.place(Kind::Session).draw::<16>(Kind::Session, &*app.random));
    let mut session = Session {
        user: user.id.clone(),
        sid: sid_of(&issuer.id, &id),
        auth_time: now,
        created_at: now,
        expires_at: now + lives,
        amr: Amr::of(AuthenticationMethod::Pwd),
        clients: Box::default(),
        predecessors: Default::default(),
    };
    let mut durable = Durable::already();
    let old = asked.session(&mut durable).await?;
    let dropped = match &old {
        Some((_, old)) if old.user == user.id => session.succeed(old),
        _ => None,
    };
    app.store.open_session(&issuer.id, &id, session.clone()).await?.take(&mut durable);
    // Now that whoever ends the user's sessions finds it: either they see it, or this sees what they did before.
    if !attempt.is_still(right).await? {
        logout::end_session(app, issuer, &id, &session, &mut durable).await?;
        durable.wait().await?;
        return Ok(None);
    }
    if let Some((id, old)) = old {
        replace(asked, user, (&id, &old), dropped, &mut durable).await?;
    }
    let mut authorization = found.authorization()?.clone();
    authorization.transaction.signed_in_at = Some(now);
    found.keep(&asked.context, authorization).await?;
    durable.wait().await?;
    asked.context.audit(Event::SignedIn, Some(&user.id), Some(client));
    let mut response = go_on(asked, &found.id);
    append(response.headers_mut(), set_cookie(issuer, &issuer.cookie, id.expose(), lives));
    append(response.headers_mut(), found.browser.cookie(issuer));
    RequestFacts::new().client_id(client.as_str()).note();
    Ok(Some(response))
}

/// Ends the session that the browser had. Another user's ends with everything that hangs on it. The same user's only
/// loses its id to the new one, which stands for it from now on: applications where the user is signed in go on until
/// that one ends. `dropped`: an earlier one that it cannot stand for any more.
async fn replace(
    asked: &Asked,
    user: &User,
    (id, old): (&SessionId, &Session),
    dropped: Option<Sid>,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let Context { app, issuer, .. } = &asked.context;
    if old.user != user.id {
        logout::end_session(app, issuer, id, old, durable).await?;
        asked.context.audit(Event::SessionEnded, Some(&old.user), None);
        return Ok(());
    }
    let dropped = match dropped {
        Some(sid) => {
            let longest = logout::longest_of(app, issuer, old).await?;
            Some(Tombstone::session(&issuer.id, sid, &old.user, app.now(), longest))
        }
        None => None,
    };
    app.store.end_session(&issuer.id, id, &SessionEnd::Succeeded { dropped }).await?.take(durable);
    Ok(())
}

fn append(headers: &mut HeaderMap, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        headers.append(header::SET_COOKIE, cookie);
    }
}
