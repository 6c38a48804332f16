//! What an application is told of somebody who has proven who they are.

use std::sync::Arc;

use axum::response::Response;
use http::{StatusCode, header};
use serde_json::{Map, Value, json};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::authorize::request::unknown_client;
use symbolon_protocol::client::Client;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::sign_in::acr::RequestedAcr;
use symbolon_protocol::sign_in::{Proven, Step, ways_up};
use symbolon_protocol::user::User;

use super::second_factor;
use crate::first_factor::{FirstFactor, Proof, Takes};
use crate::passkey_challenge::unproven;
use crate::second_factor::{Assessed, assess_enrolled};
use crate::session_begin::{self, Begun, SignIn};
use symbolon_app::client_documents;
use symbolon_app::http::{Call, Failure, json as json_response, no_store};

/// What the authorization request that follows will want, as far as the application says so.
#[derive(Default)]
pub(super) struct Wanted {
    /// Its client.
    client: Option<Arc<Client>>,
    /// The classes that it asks for.
    acr: RequestedAcr,
}

impl Wanted {
    /// By the members `client_id` and `acr_values`, which mean what they mean in an authorization request (OpenID Connect Core
    /// 3.1.2.1). Whoever leaves them out is asked for what the issuer asks of everybody. They can only ask for more.
    ///
    /// # Errors
    /// 400 for a client that is not registered.
    pub(super) async fn of(
        call: &mut Call,
        client_id: Option<&ClientId>,
        acr_values: Option<&str>,
    ) -> Result<Self, Failure> {
        let Call { context, client, .. } = call;
        if let Some(id) = client_id {
            let found = client_documents::client(context, id).await?;
            *client = Some(found.or_refused(|| unknown_client(Some(id)))?);
        }
        let client = client.clone();
        let registered = client.as_ref().map(|client| client.default_acr_values).unwrap_or_default();
        Ok(Self { client, acr: RequestedAcr::requested(acr_values, registered) })
    }
}

/// What somebody has proven at first.
pub(super) struct FirstStep {
    /// The factors.
    pub(super) proven: Proven,
    /// How, and what must not change while one factor more is asked for; `None` for what needs no other beside it.
    pub(super) proof: Option<Proof>,
    /// What the user has enrolled.
    pub(super) enrolled: AuthenticatorSet,
}

/// Begins a session for what was proven, if that is enough, and answers with it; else asks for a second factor. `origin`: of
/// the page that calls.
///
/// # Errors
/// 400 if the user was deactivated meanwhile.
pub(super) async fn signed_in(
    call: &mut Call,
    (origin, wanted): (&str, &Wanted),
    (user, first): (&User, FirstStep),
    mut about: Value,
) -> Result<Response, Failure> {
    let FirstStep { proven, proof, enrolled } = first;
    let client = wanted.client.as_ref();
    // Whoever calls is an application: the account pages look at `amr` by themselves.
    let asked = client.map(|client| (client, wanted.acr));
    let assessed = assess_enrolled(call, asked, user, (proven, enrolled), true).await?;
    let Assessed { step, set, .. } = assessed;
    let (client, now) = (client.map(|client| &client.client_id), call.context.app.now());
    let amr = match (step, proof) {
        (Step::Enough { amr, .. }, _) => amr,
        (Step::Prove(ways), Some(proof)) => {
            let first = FirstFactor::new(user, proof, now, (Takes::of(&ways), None));
            let asked = second_factor::ask(call, origin, (client, first), (&ways, &set))?;
            return Ok(second_factor::needed(asked));
        }
        _ => return Ok(second_factor::not_set_up(call, user, client)),
    };
    let Some(begun) = session_begin::begin(call, SignIn { user, amr, client }).await? else {
        return Err(unproven(Reason::SignInOvertaken, "sign in again", Details::of_user(&user.id)));
    };
    let ways = ways_up(wanted.acr, amr, &set);
    if ways.is_empty() {
        return Ok(with_session(call, user, &begun, about));
    }
    // A class is voluntary (OpenID Connect Core 3.1.2.1): the person is signed in, and may step up.
    let first = FirstFactor::of_session(&begun.session, Takes::of(&ways), now);
    let asked = second_factor::ask(call, origin, (client, first), (&ways, &set))?;
    if let Value::Object(about) = &mut about {
        about.insert(second_factor::MEMBER.to_owned(), asked.told);
    }
    let mut response = with_session(call, user, &begun, about);
    response.headers_mut().extend(asked.cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// The answer with the cookie of a session that has begun.
pub(super) fn with_session(call: &Call, user: &User, begun: &Begun, about: Value) -> Response {
    let app = &call.context.app;
    let mut answer = told(user, about);
    // Scripts of load tests build their own cookie. No other script may know the session's secret: the cookie is out of
    // its reach (RFC 6265 5.2.6), so a page that runs a foreign script does not give the session away.
    if app.config.load().security.test_endpoints {
        answer.insert("sessionId".to_owned(), begun.id.expose().into());
    }
    let mut response = ok(answer);
    for cookie in begun.cookies(&call.context, &call.received).into_iter().flatten() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// An answer about a user.
pub(super) fn told(user: &User, about: Value) -> Map<String, Value> {
    let mut answer = match about {
        Value::Object(about) => about,
        _ => Map::new(),
    };
    answer.insert("userId".to_owned(), json!(user.id));
    let shown = json!({
        "id": user.id,
        "email": user.email,
        "name": user.profile.name,
        "email_verified": user.email_verified,
    });
    answer.insert("user".to_owned(), shown);
    answer
}

/// 200 with a JSON object that no cache keeps.
pub(super) fn ok(answer: Map<String, Value>) -> Response {
    no_store(json_response(StatusCode::OK, Value::Object(answer).to_string()))
}
