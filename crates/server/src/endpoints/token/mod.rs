//! The token endpoint (RFC 6749 3.2): finds out who asks, hands over to the grant, signs for winners, answers.

mod authorization_code;
mod client_credentials;
mod exchange;
mod refresh_token;

pub(super) use refresh_token::family_of;

use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::sign_compact;
use symbolon_protocol::client::{Client, GrantType};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::params::Params;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::id_token::IdToken;
use symbolon_protocol::token::response::{BEARER, TokenResponse};
use symbolon_protocol::token::{self, IssuePlan};
use symbolon_store::Durable;

use super::client::authenticate;
use super::cors;
use crate::http::{Context, Failure, json, no_store, read_form};
use crate::issuer::TokenType;
use crate::rate_limit::EndpointClass;
use crate::telemetry::{Endpoint, RequestFacts};

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
    let form = read_form(headers, body, context.body_limits()).await?;
    grant(context, headers, &form, asking).await
}

async fn grant(
    context: &Context,
    headers: &HeaderMap,
    form: &[u8],
    asking: &mut Asking,
) -> Result<Response, Failure> {
    let form = Params::parse(form)?;
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
    let client = authenticate(context, headers, &form, EndpointClass::Token, &mut durable).await?;
    asking.client = Some(Arc::clone(&client));
    let settings = context.issuer.settings.load();
    let granting =
        Granting { context, form: &form, client: &client, settings: &settings, now: context.app.now() };
    // Boxed apart from the rest: two small allocations cost less than one beyond the allocator's fast path.
    let granted = match grant_type {
        Some(GrantType::AuthorizationCode) => Box::pin(authorization_code::grant(&granting, durable)).await,
        Some(GrantType::RefreshToken) => Box::pin(refresh_token::grant(&granting, durable)).await,
        Some(GrantType::ClientCredentials) => Box::pin(client_credentials::grant(&granting, durable)).await,
        Some(GrantType::TokenExchange) => Box::pin(exchange::grant(&granting, durable)).await,
        None => Err(unsupported(&form)?.into()),
    }?;
    // A thread has room for a few borrowed settings only, and many requests may wait for the same commit.
    drop(settings);
    granted.durable.wait().await?;
    Ok(granted.response)
}

/// RFC 6749 5.2: a missing grant type is `invalid_request`, an unknown one `unsupported_grant_type`.
fn unsupported(form: &Params<'_>) -> Result<OAuthError, OAuthError> {
    form.require("grant_type")?;
    Ok(OAuthError::new(ErrorCode::UnsupportedGrantType, "this grant_type is not supported"))
}

/// What a grant gives, to be sent once it is durable.
struct Granted {
    response: Response,
    durable: Durable,
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

    /// Signs a payload with the issuer's active key for an algorithm.
    async fn sign(&self, algorithm: Algorithm, typ: TokenType, payload: &[u8]) -> Result<String, Failure> {
        let Context { app, issuer, .. } = self.context;
        let keys = issuer.keys.load();
        let key = keys
            .signing(algorithm)
            .ok_or_else(|| Failure::Internal(format!("no active signing key for {algorithm}")))?;
        app.signatures.increment(algorithm as usize);
        let signed = sign_compact(&*app.signer, &key.key, key.header(typ), payload).await;
        signed.map_err(|error| Failure::Internal(error.to_string()))
    }

    async fn sign_access_token(&self, claims: &AccessToken) -> Result<String, Failure> {
        self.sign(self.rules().access_token_algorithm(), TokenType::AccessToken, &claims.to_json()).await
    }

    async fn sign_id_token(&self, mut claims: Box<IdToken>, access_token: &str) -> Result<String, Failure> {
        let algorithm = self.rules().id_token_algorithm();
        claims.bind(access_token, algorithm);
        self.sign(algorithm, TokenType::IdToken, &claims.to_json()).await
    }

    /// Signs what a grant gives, while its commit is under way.
    async fn respond(
        &self,
        plan: IssuePlan,
        refresh_token: Option<&str>,
        durable: Durable,
    ) -> Result<Granted, Failure> {
        let IssuePlan { access, id, .. } = plan;
        let access_token = self.sign_access_token(&access).await?;
        let id_token = match id {
            Some(claims) => Some(self.sign_id_token(claims, &access_token).await?),
            None => None,
        };
        let body = TokenResponse {
            access_token: &access_token,
            token_type: BEARER,
            expires_in: access.exp.saturating_sub(self.now.seconds()),
            issued_token_type: None,
            refresh_token,
            id_token: id_token.as_deref(),
            scope: &access.scope,
        };
        Ok(Granted { response: no_store(json(StatusCode::OK, body.to_json())), durable })
    }
}
