//! The token endpoint (RFC 6749 3.2): finds out who asks, hands over to the grant, signs for winners, answers.

mod authorization_code;
mod client_credentials;
mod exchange;
mod refresh_token;
mod signing;

pub(super) use refresh_token::family_of;

use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::HeaderMap;
use http::request::Parts;
use symbolon_protocol::client::{Client, GrantType};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::params::Params;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token;
use symbolon_store::Durable;

use signing::{Granted, Signing};

use super::client::authenticate;
use super::cors;
use crate::http::{Context, Failure, read_form};
use crate::rate_limit::EndpointClass;
use crate::telemetry::{Endpoint, RequestFacts};
use crate::turn::turn;

/// `POST /token`.
pub fn token(context: Context, request: Request) -> impl Future<Output = Response> + Send {
    // Not an `async fn`: that would keep room for the request whole, and for its parts twice.
    let (Parts { headers, .. }, body) = request.into_parts();
    async move {
        let mut asking = Asking { client: None, endpoint: Endpoint::TokenOther };
        let answered = answer(&context, &headers, body, &mut asking).await;
        let mut response = answered.unwrap_or_else(Failure::into_json);
        let mut facts = RequestFacts::new().endpoint(asking.endpoint);
        if let Some(client) = &asking.client {
            facts = facts.client_id(client.client_id.as_str());
        }
        facts.note();
        cors::allow(&headers, asking.client.as_deref(), &mut response);
        response
    }
}

/// What the log and CORS want to know of a request, however it ends.
struct Asking {
    client: Option<Arc<Client>>,
    endpoint: Endpoint,
}

async fn answer(
    context: &Context,
    headers: &HeaderMap,
    body: Body,
    asking: &mut Asking,
) -> Result<Response, Failure> {
    context.app.store.check_lease()?;
    let (granted, signing) = {
        let form = read_form(headers, body, context.body_limits()).await?;
        grant(context, headers, &form, asking).await?
    };
    deliver(granted, signing).await
}

/// Signs what was granted, and answers once it is durable.
async fn deliver(mut granted: Granted, signing: Signing<'_>) -> Result<Response, Failure> {
    if !granted.durable.is_already() {
        // Whoever else is at hand commits first: then all of it goes to disk together, and while it does, all of it is
        // signed (measured in docs/topics/speed.md).
        turn().await;
    }
    let response = signing.answer(&mut granted).await?;
    granted.durable.wait().await?;
    Ok(response)
}

/// What an authenticated client is granted, and what signs it. It holds no settings any more: a thread has room for a
/// few borrowed ones only, and many requests may wait for the same commit.
async fn grant<'a>(
    context: &'a Context,
    headers: &HeaderMap,
    form: &[u8],
    asking: &mut Asking,
) -> Result<(Granted, Signing<'a>), Failure> {
    let form = Params::parse(form)?;
    // RFC 8693 2.1 lets these two come several times.
    form.refuse_repeated(&["audience", "resource"])?;
    let grant_type = form.get("grant_type")?.and_then(GrantType::parse);
    asking.endpoint = match grant_type {
        Some(GrantType::AuthorizationCode) => Endpoint::TokenAuthorizationCode,
        Some(GrantType::RefreshToken) => Endpoint::TokenRefreshToken,
        Some(GrantType::ClientCredentials) => Endpoint::TokenClientCredentials,
        Some(GrantType::TokenExchange) => Endpoint::TokenTokenExchange,
        None => Endpoint::TokenOther,
    };
    // RFC 6749 4.1.3: the client is authenticated before code or token are touched.
    let mut durable = Durable::already();
    let now = context.app.now();
    let client = authenticate(context, headers, &form, EndpointClass::Token, now, &mut durable).await?;
    asking.client = Some(Arc::clone(&client));
    let settings = context.issuer.settings.load();
    let granting = Granting { context, form: &form, client: &client, settings: &settings, now };
    // Boxed apart from the rest: two small allocations cost less than one beyond the allocator's fast path.
    let granted = match grant_type {
        Some(GrantType::AuthorizationCode) => Box::pin(authorization_code::grant(&granting, durable)).await,
        Some(GrantType::RefreshToken) => Box::pin(refresh_token::grant(&granting, durable)).await,
        Some(GrantType::ClientCredentials) => Box::pin(client_credentials::grant(&granting, durable)).await,
        Some(GrantType::TokenExchange) => Box::pin(exchange::grant(&granting, durable)).await,
        None => Err(unsupported(&form)?.into()),
    }?;
    Ok((granted, Signing::of(context, &granting.rules())))
}

/// RFC 6749 5.2: a missing grant type is `invalid_request`, an unknown one `unsupported_grant_type`.
fn unsupported(form: &Params<'_>) -> Result<OAuthError, OAuthError> {
    form.require("grant_type")?;
    Ok(OAuthError::new(ErrorCode::UnsupportedGrantType, "this grant_type is not supported"))
}

/// A grant request of an authenticated client.
struct Granting<'a> {
    context: &'a Context,
    form: &'a Params<'a>,
    client: &'a Client,
    settings: &'a IssuerSettings,
    now: Timestamp,
}

impl Granting<'_> {
    /// What the grants' rules need to know.
    fn rules(&self) -> token::Context<'_> {
        token::Context {
            issuer: &self.context.issuer.record,
            settings: self.settings,
            client: self.client,
            now: self.now,
            random: &*self.context.app.random,
        }
    }
}
