//! Asking other providers: for metadata, keys, tokens, and who somebody is.
//!
//! Requests are those of [`App::call_out`]: to public addresses unless the configuration allows others, without redirects, and
//! bounded in time and size. What goes wrong is told to the operator by the log, and to the person as one sentence.

mod github;
mod openid;

use std::sync::Arc;

use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value};
use symbolon_crypto::secret::SecretString;
use symbolon_outbound::{OutboundAnswer, OutboundRequest};
use symbolon_protocol::identity_provider::metadata::{ClientProof, Metadata, url_of};
use symbolon_protocol::identity_provider::token_response::{self, TokenResponse};
use symbolon_protocol::identity_provider::{IdentityProvider, ProviderKind};
use symbolon_protocol::time::Timestamp;
use url::Url;

use crate::app::App;
use crate::issuer::IssuerState;
use crate::upstream_cache::Document;

/// The most bytes of a provider's answer.
const LONGEST: usize = 256 << 10;

/// Why another provider did not say who somebody is.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UpstreamError {
    /// It could not be asked, or did not answer as it must.
    #[error("{0}")]
    Unusable(String),
    /// It answered, and what it said does not hold.
    #[error("{0}")]
    Refused(String),
    /// It was not asked, because too many calls are under way.
    #[error("{0}: too many calls to other providers are under way")]
    Busy(String),
}

fn unusable(what: &str, why: impl std::fmt::Display) -> UpstreamError {
    UpstreamError::Unusable(format!("{what}: {why}"))
}

/// A code that a provider gave, with what proves that it was given for this request.
pub struct UpstreamCode<'a> {
    /// The code.
    pub code: &'a str,
    /// The PKCE verifier (RFC 7636 4.5).
    pub verifier: &'a SecretString,
    /// The nonce of the request.
    pub nonce: &'a str,
    /// When the request was made, if it asked for a new sign-in.
    pub signed_in_since: Option<Timestamp>,
}

/// Asks one provider on behalf of an issuer.
pub struct Upstream<'a> {
    /// The server.
    pub app: &'a App,
    /// The issuer, a client of the provider.
    pub issuer: &'a IssuerState,
    /// The provider.
    pub provider: &'a IdentityProvider,
}

impl Upstream<'_> {
    /// The provider's metadata, read again after a while.
    ///
    /// # Errors
    /// [`UpstreamError`]
    pub async fn metadata(&self) -> Result<Arc<Metadata>, UpstreamError> {
        let Self { app, issuer, provider } = self;
        if let Some(known) = app.upstreams.metadata(&issuer.id, provider, app.now()) {
            return Ok(known);
        }
        let what = "its metadata";
        let metadata = match provider.kind {
            ProviderKind::Github => {
                Metadata::of_github(&provider.issuer).map_err(|error| unusable(what, error))?
            }
            ProviderKind::Openid => {
                let url = url_of(&provider.issuer).ok_or_else(|| unusable(what, "its issuer is no URL"))?;
                let parse = |body: &[u8]| {
                    Metadata::parse(body, &provider.issuer).map_err(|error| unusable(what, error))
                };
                self.read((what, Document::Metadata), url, parse).await?
            }
        };
        Ok(app.upstreams.keep(&issuer.id, provider, metadata, app.now()))
    }

    /// Reads and parses a document that the provider publishes, unless that failed a moment ago.
    async fn read<T>(
        &self,
        (what, document): (&str, Document),
        url: Url,
        parse: impl FnOnce(&[u8]) -> Result<T, UpstreamError>,
    ) -> Result<T, UpstreamError> {
        let Self { app, issuer, provider } = self;
        let of = (&issuer.id, *provider);
        if let Err(why) = app.upstreams.may_read(of, document, app.now()) {
            return Err(UpstreamError::Unusable(format!("{why} (a moment ago)")));
        }
        let read = self.get(what, OutboundRequest::get(url)).await.and_then(|body| parse(&body));
        match &read {
            Ok(_) => app.upstreams.note_read(of, document, (None, app.now())),
            // Says nothing of the provider.
            Err(UpstreamError::Busy(_)) => {}
            Err(error) => app.upstreams.note_read(of, document, (Some(error.to_string()), app.now())),
        }
        read
    }

    /// Redeems a code, and returns what the provider says of the person, verified.
    ///
    /// # Errors
    /// [`UpstreamError`]
    pub async fn claims(&self, code: UpstreamCode<'_>) -> Result<Map<String, Value>, UpstreamError> {
        let metadata = self.metadata().await?;
        let tokens = self.redeem(&metadata, &code).await?;
        match self.provider.kind {
            ProviderKind::Openid => openid::claims(self, &metadata, tokens, &code).await,
            ProviderKind::Github => github::claims(self, &metadata, &tokens).await,
        }
    }

    /// The token request (RFC 6749 4.1.3, RFC 7636 4.5).
    async fn redeem(
        &self,
        metadata: &Metadata,
        code: &UpstreamCode<'_>,
    ) -> Result<TokenResponse, UpstreamError> {
        let what = "its token endpoint";
        let callback = self.issuer.callback_of(&self.provider.id);
        let sealed = self.provider.sealed_secret.as_deref();
        let secret = sealed.map(|sealed| self.issuer.open_provider_secret(sealed)).transpose();
        let secret =
            secret.map_err(|_| unusable(what, "the client secret cannot be opened: set it again"))?;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code.code),
            ("redirect_uri", &callback),
            ("code_verifier", code.verifier.expose()),
        ];
        let is_basic = secret.is_some() && metadata.client_proof == ClientProof::Basic;
        if !is_basic {
            fields.push(("client_id", &self.provider.client_id));
        }
        if let Some(secret) = secret.as_ref().filter(|_| !is_basic) {
            fields.push(("client_secret", secret.expose()));
        }
        let json = HeaderValue::from_static("application/json");
        let mut request = OutboundRequest::post_form(metadata.token_endpoint.clone(), &fields)
            .with_header(header::ACCEPT, json);
        if let Some(secret) = secret.as_ref().filter(|_| is_basic) {
            request = request.with_header(header::AUTHORIZATION, basic(&self.provider.client_id, secret)?);
        }
        let answer = self.call(what, request).await?;
        if answer.status != StatusCode::OK {
            let error = token_response::error_of(&answer.body).unwrap_or_default();
            return Err(UpstreamError::Refused(format!("{what} answered {} {error}", answer.status)));
        }
        token_response::parse(&answer.body).map_err(|why| UpstreamError::Refused(format!("{what}: {why}")))
    }

    /// Reads a document.
    async fn get(&self, what: &str, request: OutboundRequest) -> Result<bytes::Bytes, UpstreamError> {
        let json = HeaderValue::from_static("application/json");
        let answer = self.call(what, request.with_header(header::ACCEPT, json)).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            status => Err(unusable(what, format_args!("it answered {status}"))),
        }
    }

    /// Reads a document that is behind an access token (RFC 6750 2.1).
    async fn get_with(
        &self,
        what: &str,
        url: Url,
        token: &SecretString,
    ) -> Result<bytes::Bytes, UpstreamError> {
        let bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()));
        let mut bearer = bearer.map_err(|_| unusable(what, "the access token cannot be in a header"))?;
        bearer.set_sensitive(true);
        self.get(what, OutboundRequest::get(url).with_header(header::AUTHORIZATION, bearer)).await
    }

    async fn call(&self, what: &str, request: OutboundRequest) -> Result<OutboundAnswer, UpstreamError> {
        let Some(_one_of_many) = self.app.upstreams.calls.begin(&self.issuer.id, &self.provider.key) else {
            return Err(UpstreamError::Busy(what.to_owned()));
        };
        self.app.call_out(request.at_most(LONGEST)).await.map_err(|error| unusable(what, error))
    }
}

fn basic(client_id: &str, secret: &SecretString) -> Result<HeaderValue, UpstreamError> {
    let credentials = token_response::basic_credentials(client_id, secret);
    let header = HeaderValue::try_from(format!("Basic {}", credentials.expose()));
    let mut header = header.map_err(|error| unusable("the client secret", error))?;
    header.set_sensitive(true);
    Ok(header)
}
