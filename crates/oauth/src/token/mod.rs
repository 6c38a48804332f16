//! The token endpoint (RFC 6749 3.2): authenticates the client, calls the grant, signs if it succeeds, answers.

mod authorization_code;
mod ciba;
mod claims;
mod client_credentials;
mod decided;
mod device_code;
mod jwt_bearer;
mod refresh_token;
mod signing;
mod subject;
mod token_exchange;

pub(crate) use refresh_token::family_of;

use std::sync::Arc;

use axum::response::Response;
use symbolon_protocol::claim_definition::{ClaimSet, NO_CLAIMS};
use symbolon_protocol::client::{Client, GrantType};
use symbolon_protocol::dpop::{Proof, missing, replayed};
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::mutual_tls;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token;
use symbolon_store::Durable;

use signing::{GrantResult, Signing};

use crate::client::authenticate;
use crate::dpop;
use symbolon_app::http::{Call, Context, Endpoint, Failure, Received};
use symbolon_app::let_others_run::let_others_run;
use symbolon_telemetry::{self as telemetry, RequestFacts};

/// `POST /token`.
///
/// # Errors
/// [`Failure`]: those of RFC 6749 5.2 and of the grant.
pub(super) async fn token(call: &mut Call) -> Result<Response, Failure> {
    let Call { endpoint, context, received, durable, client, .. } = call;
    let (mut granted, signing) =
        grant(&TokenRequest { endpoint, context, received }, client, durable).await?;
    if let Some(client) = client {
        context.app.note_first_use(&context.issuer.id, client);
    }
    if !durable.is_already() {
        // Lets the other ready requests of this worker write too, so that one commit covers them all. All of them are
        // then signed while that commit goes to disk (measured in docs/topics/speed.md).
        let_others_run().await;
    }
    signing.answer(&mut granted).await
}

/// A token request before the client is authenticated.
struct TokenRequest<'a> {
    endpoint: &'static Endpoint,
    context: &'a Context,
    received: &'a Received,
}

/// What an authenticated client is granted, and the parameters for signing it. The result holds no guard of the
/// settings: `ArcSwap` has only a few fast guards per thread, and many requests may wait for one commit.
async fn grant<'a>(
    request: &TokenRequest<'a>,
    known: &mut Option<Arc<Client>>,
    durable: &mut Durable,
) -> Result<(GrantResult, Signing<'a>), Failure> {
    let TokenRequest { endpoint, context, received } = *request;
    let form = endpoint.params(received)?;
    let grant_type = form.get("grant_type")?.and_then(GrantType::parse);
    RequestFacts::new().endpoint(label(grant_type)).note();
    // RFC 6749 4.1.3: the client is authenticated before code or token are touched.
    let now = context.app.now();
    let client = authenticate(endpoint, context, &received.headers, &form, now, durable).await?;
    *known = Some(Arc::clone(&client));
    let settings = context.issuer.settings.load();
    let proof = proof(request, &client, &settings, now)?;
    let certificate = certificate(context, &client)?;
    let claims = context.issuer.claims_for(&settings, &client);
    let claims = claims.as_deref().unwrap_or(&NO_CLAIMS);
    let proof = proof.as_deref();
    let certificate = certificate.as_deref();
    let call = GrantCall {
        context,
        form: &form,
        client: &client,
        settings: &settings,
        claims,
        proof,
        certificate,
        now,
    };
    // Boxed separately: two small allocations cost less than one that exceeds the allocator's fast path.
    let granted = match grant_type {
        Some(GrantType::AuthorizationCode) => Box::pin(authorization_code::grant(&call, durable)).await,
        Some(GrantType::RefreshToken) => Box::pin(refresh_token::grant(&call, durable)).await,
        Some(GrantType::ClientCredentials) => client_credentials::grant(&call, durable).await,
        Some(GrantType::TokenExchange) => Box::pin(token_exchange::grant(&call, durable)).await,
        Some(GrantType::DeviceCode) => Box::pin(device_code::grant(&call, durable)).await,
        Some(GrantType::Ciba) => Box::pin(ciba::grant(&call, durable)).await,
        Some(GrantType::JwtBearer) => Box::pin(jwt_bearer::grant(&call, durable)).await,
        Some(GrantType::Implicit) | None => Err(unsupported(&form)?.into()),
    }?;
    Ok((granted, Signing::of(context, &call.rules())))
}

/// The request's proof of a key, to which its tokens will be bound; `None` if it has none.
fn proof(
    request: &TokenRequest<'_>,
    client: &Client,
    settings: &IssuerSettings,
    now: Timestamp,
) -> Result<Option<Box<Proof>>, Failure> {
    let TokenRequest { context, received, .. } = *request;
    if !dpop::is_sent(&received.headers) {
        // RFC 9449 5.2: the token requests of such a client MUST have a proof.
        return if client.requires_proof() { Err(missing().into()) } else { Ok(None) };
    }
    let asked = dpop::Asked {
        uri: &context.issuer.token_endpoint,
        access_token: None,
        nonce: settings.dpop_nonce_for(&client.settings),
        profile: client.settings.profile,
        now,
    };
    dpop::check(context, received, &asked).map(Some)
}

/// The thumbprint of the request's TLS certificate, to which its tokens will be bound (RFC 8705 3); `None` for a client whose
/// tokens are not.
fn certificate(context: &Context, client: &Client) -> Result<Option<String>, Failure> {
    if !client.tls_client_certificate_bound_access_tokens {
        return Ok(None);
    }
    match context.certificate_thumbprint()? {
        None => Err(mutual_tls::missing().into()),
        thumbprint => Ok(thumbprint),
    }
}

/// The metric label of a grant type.
const fn label(grant_type: Option<GrantType>) -> telemetry::Endpoint {
    match grant_type {
        Some(GrantType::AuthorizationCode) => telemetry::Endpoint::TokenAuthorizationCode,
        Some(GrantType::RefreshToken) => telemetry::Endpoint::TokenRefreshToken,
        Some(GrantType::ClientCredentials) => telemetry::Endpoint::TokenClientCredentials,
        Some(GrantType::TokenExchange) => telemetry::Endpoint::TokenTokenExchange,
        Some(GrantType::DeviceCode) => telemetry::Endpoint::TokenDeviceCode,
        Some(GrantType::Ciba) => telemetry::Endpoint::TokenCiba,
        Some(GrantType::JwtBearer) => telemetry::Endpoint::TokenJwtBearer,
        Some(GrantType::Implicit) | None => telemetry::Endpoint::TokenOther,
    }
}

/// RFC 6749 5.2: a missing grant type is `invalid_request`, an unknown one `unsupported_grant_type`.
fn unsupported(form: &Params<'_>) -> Result<OAuthError, OAuthError> {
    let sent = form.require("grant_type")?;
    let details = Details::of("grant_type").sent(sent).expected(GrantType::of_token_endpoint());
    let (code, reason) = (ErrorCode::UnsupportedGrantType, Reason::GrantTypeUnsupported);
    Ok(OAuthError::new(code, reason, "this grant_type is not supported").about(details))
}

/// A grant request of an authenticated client.
struct GrantCall<'a> {
    context: &'a Context,
    form: &'a Params<'a>,
    client: &'a Client,
    settings: &'a IssuerSettings,
    claims: &'a ClaimSet,
    proof: Option<&'a Proof>,
    /// The thumbprint of the certificate to which tokens will be bound.
    certificate: Option<&'a str>,
    now: Timestamp,
}

impl GrantCall<'_> {
    /// The thumbprint of the key that the request proved.
    fn thumbprint(&self) -> Option<&str> {
        self.proof.map(|proof| proof.thumbprint.as_str())
    }

    /// Uses the request's proof up. Call it once the client has proven what it is granted, so that nobody else leaves
    /// marks, and before the store changes anything, so that a replayed request changes nothing.
    async fn use_proof(&self, durable: &mut Durable) -> Result<(), Failure> {
        let Some(proof) = self.proof else { return Ok(()) };
        // Boxed, because most requests have no proof.
        match Box::pin(dpop::use_once(self.context, (proof, &self.client.client_id), self.now, durable))
            .await?
        {
            true => Ok(()),
            // RFC 9449 11.1.
            false => Err(replayed().into()),
        }
    }

    /// The input of the grants' rules.
    fn rules(&self) -> token::Context<'_> {
        token::Context {
            issuer: &self.context.issuer.record,
            settings: self.settings,
            client: self.client,
            claims: self.claims,
            now: self.now,
            pairwise_key: &self.context.issuer.pairwise_key,
            jkt: self.thumbprint(),
            x5t_s256: self.certificate,
            random: &*self.context.app.random,
        }
    }
}
