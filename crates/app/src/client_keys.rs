//! The keys that clients publish at their `jwks_uri` (RFC 7591 2), and those of trusted issuers, fetched when an assertion or a request
//! object needs them.
//!
//! Requests are those of [`App::call_out`]: to public addresses unless the configuration allows others, and bounded in time and size.
//! A redirect is not followed.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use symbolon_crypto::jwk::{Jwk, JwkSet};
use symbolon_crypto::jws::Header;
use symbolon_protocol::client::{Client, TokenEndpointAuthMethod};
use symbolon_protocol::client_authentication::{Assertion, AuthenticationFailed};
use symbolon_protocol::client_key::{KeysUnreachable, fits, parse_published};
use symbolon_protocol::client_registration::software_statement::SoftwareStatement;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::identity_provider::metadata::{keys_address, url_of};
use symbolon_protocol::mutual_tls::ClientCertificate;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Refusal;
use symbolon_protocol::request_object;
use symbolon_protocol::response_encryption::ResponseEncryption;
use symbolon_protocol::trusted_issuer::{self, IssuedAssertion, TrustedIssuer, TrustedUse};
use url::Url;

use crate::app::App;
use crate::http::Context;
use crate::published::{NotObtained, believed, obtain};

/// The most bytes of a key set, and of metadata.
const LONGEST: usize = 64 << 10;

/// Where keys are published.
#[derive(Clone)]
enum PublishedAt {
    /// At this `jwks_uri`.
    JwksUri(String),
    /// Where the metadata of this issuer say (OpenID Connect Discovery 4).
    MetadataOf(String),
}

impl PublishedAt {
    /// The name by which they are kept. No `jwks_uri` has a space, so no client's keys have the name of an issuer's.
    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::JwksUri(uri) => Cow::Borrowed(uri.as_str()),
            Self::MetadataOf(issuer) => Cow::Owned(format!("metadata of {issuer}")),
        }
    }
}

/// For what keys are looked up: if the known ones have none for it, the client may have published another since.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// One that may have signed a token with this header.
    Signer(&'a Header),
    /// That of a certificate.
    Certificate(&'a ClientCertificate),
    /// One to encrypt for.
    Recipient(ResponseEncryption),
}

impl Wanted<'_> {
    fn is_among(self, keys: &[Jwk]) -> bool {
        match self {
            Self::Signer(header) => fits(keys, header),
            Self::Certificate(certificate) => certificate.has_one_of(keys),
            Self::Recipient(encryption) => encryption.has_key_among(keys),
        }
    }
}

/// A trusted issuer, and its keys that may have signed an assertion.
pub struct IssuerKeys {
    /// The issuer, as the settings have it.
    pub trusted: TrustedIssuer,
    /// Its keys.
    pub keys: Arc<JwkSet>,
}

/// The issuer of an assertion, if it is trusted for this, and its keys. Nobody makes this server call an address that is not in its
/// settings.
///
/// # Errors
/// The keys cannot be fetched, and none are known that were fetched lately.
pub async fn of_issued_assertion(
    context: &Context,
    assertion: &IssuedAssertion<'_>,
    purpose: TrustedUse,
) -> Result<Option<Box<IssuerKeys>>, Refusal> {
    of_trusted(context, (assertion.issuer(), assertion.header()), purpose).await
}

/// The issuer of a software statement, if its statements are believed, and its keys.
///
/// # Errors
/// As [`of_issued_assertion`].
pub async fn of_software_statement(
    context: &Context,
    statement: &SoftwareStatement<'_>,
) -> Result<Option<Box<IssuerKeys>>, Refusal> {
    let signed = (statement.issuer(), statement.header());
    of_trusted(context, signed, TrustedUse::SoftwareStatement).await
}

async fn of_trusted(
    context: &Context,
    (iss, header): (&str, &Header),
    purpose: TrustedUse,
) -> Result<Option<Box<IssuerKeys>>, Refusal> {
    let trusted = {
        let settings = context.issuer.settings.load();
        trusted_issuer::find(&settings.trusted_issuers, iss, purpose).cloned()
    };
    let Some(trusted) = trusted else { return Ok(None) };
    let at = match &trusted.jwks_uri {
        Some(uri) => PublishedAt::JwksUri(uri.clone()),
        None => PublishedAt::MetadataOf(trusted.issuer.clone()),
    };
    match look_up((context.app.shared(), &context.issuer.id), &at, Wanted::Signer(header), false).await {
        Ok(keys) => Ok(Some(Box::new(IssuerKeys { trusted, keys }))),
        Err(why) => Err(trusted_issuer::keys_unreachable(&trusted, &why)),
    }
}

/// The keys at the client's `jwks_uri` that may have signed an assertion; `None` if the client has registered the keys themselves, or
/// authenticates by something else.
///
/// # Errors
/// `invalid_client`: they cannot be fetched, and none are known that were fetched lately.
pub async fn of_assertion(
    context: &Context,
    client: &Client,
    assertion: &Assertion<'_>,
) -> Result<Option<Arc<JwkSet>>, AuthenticationFailed> {
    // RFC 7591 2: a client authenticates by the method that it registered, so no other makes this server call an address.
    if client.token_endpoint_auth_method != TokenEndpointAuthMethod::PrivateKeyJwt {
        return Ok(None);
    }
    let fetched = fetched(context, client, Wanted::Signer(assertion.header())).await;
    fetched.map_err(|unreachable| unreachable.of_assertion().into())
}

/// The keys at the `jwks_uri` of a client that authenticates by a certificate of its own making (RFC 8705 2.2.2); `None` if the client has
/// registered the keys themselves, or authenticates by something else.
///
/// # Errors
/// As [`of_assertion`].
pub async fn of_certificate(
    context: &Context,
    client: &Client,
    certificate: &ClientCertificate,
) -> Result<Option<Arc<JwkSet>>, AuthenticationFailed> {
    if client.token_endpoint_auth_method != TokenEndpointAuthMethod::SelfSignedTlsClientAuth {
        return Ok(None);
    }
    let fetched = fetched(context, client, Wanted::Certificate(certificate)).await;
    fetched.map_err(|unreachable| unreachable.of_assertion().into())
}

/// The keys at the client's `jwks_uri` that may have signed the request object of a request; `None` if there is none, or the client has
/// registered the keys themselves.
///
/// # Errors
/// `invalid_request_object`: as [`of_assertion`].
pub async fn of_request(
    context: &Context,
    client: &Client,
    params: &Params<'_>,
) -> Result<Option<Arc<JwkSet>>, OAuthError> {
    let header = client.jwks_uri.as_ref().and_then(|_| request_object::header(params));
    let Some(header) = header else { return Ok(None) };
    // Boxed, because most requests have no such object.
    let fetched = Box::pin(fetched(context, client, Wanted::Signer(&header))).await;
    fetched.map_err(|unreachable| unreachable.of_request_object())
}

/// The keys at the client's `jwks_uri` for which an answer may be encrypted; `None` if the client has registered the keys themselves.
///
/// # Errors
/// `invalid_request`: as [`of_assertion`].
pub(crate) async fn of_recipient(
    (app, issuer): (&Arc<App>, &IssuerId),
    client: &Client,
    encryption: ResponseEncryption,
) -> Result<Option<Arc<JwkSet>>, OAuthError> {
    let Some(uri) = &client.jwks_uri else { return Ok(None) };
    let at = PublishedAt::JwksUri(uri.clone());
    let found = look_up((app, issuer), &at, Wanted::Recipient(encryption), client.is_of_stranger()).await;
    found.map(Some).map_err(|why| KeysUnreachable::new(client, why).of_recipient())
}

/// The keys at the client's `jwks_uri`.
async fn fetched(
    context: &Context,
    client: &Client,
    wanted: Wanted<'_>,
) -> Result<Option<Arc<JwkSet>>, KeysUnreachable> {
    let Some(uri) = &client.jwks_uri else { return Ok(None) };
    let at = PublishedAt::JwksUri(uri.clone());
    let found =
        look_up((context.app.shared(), &context.issuer.id), &at, wanted, client.is_of_stranger()).await;
    found.map(Some).map_err(|why| KeysUnreachable::new(client, why))
}

/// The keys at an address. `of_stranger`: no administrator made its client.
async fn look_up(
    (app, issuer): (&Arc<App>, &IssuerId),
    at: &PublishedAt,
    wanted: Wanted<'_>,
    of_stranger: bool,
) -> Result<Arc<JwkSet>, String> {
    let name = at.name();
    let read = || {
        let (reader, by, at) = (Arc::clone(app), issuer.clone(), at.clone());
        async move { reader.read_client_keys(&by, &at, of_stranger).await }
    };
    let fits = |set: &JwkSet| wanted.is_among(&set.keys);
    match obtain(app, &app.client_keys, (&name, of_stranger), fits, read).await {
        Ok(keys) => Ok(keys),
        Err(NotObtained::Unusable(why)) => Err(why),
        Err(NotObtained::NotAsked(why)) => app.client_keys.last_known(&name, app.now()).ok_or(why),
    }
}

impl App {
    /// Asks an address for keys, and keeps what it answered, or why it did not.
    ///
    /// # Errors
    /// It was not asked, because too many calls are under way.
    async fn read_client_keys(
        &self,
        issuer: &IssuerId,
        at: &PublishedAt,
        of_stranger: bool,
    ) -> Result<(), String> {
        let name = at.name();
        let calls = match of_stranger {
            true => &self.client_keys.calls_of_strangers,
            false => &self.client_keys.calls,
        };
        let Some(_one_of_many) = calls.begin(issuer, &name) else {
            return Err("too many calls to clients are under way".to_owned());
        };
        let read = self.get_client_keys(at).await;
        if let Err(why) = &read {
            tracing::info!(%issuer, jwks_uri = &*name, %why, "the keys of a client or a trusted issuer could not be read");
        }
        self.client_keys.note_read(&name, read, self.now());
        Ok(())
    }

    /// The keys at an address, and for how long they are believed.
    async fn get_client_keys(&self, at: &PublishedAt) -> Result<(JwkSet, Duration), String> {
        let url = match at {
            PublishedAt::JwksUri(uri) => Url::parse(uri).map_err(|error| error.to_string())?,
            PublishedAt::MetadataOf(issuer) => self.keys_address_of(issuer).await?,
        };
        let kinds = HeaderValue::from_static("application/jwk-set+json, application/json");
        let answer = self.get_published(url, kinds, LONGEST).await?;
        Ok((parse_published(&answer.body)?, believed(&answer)))
    }

    /// Where an issuer's keys are, by its metadata. Asked whenever the keys are, so that an issuer may move them.
    async fn keys_address_of(&self, issuer: &str) -> Result<Url, String> {
        let url = url_of(issuer).ok_or_else(|| "the issuer is no URL".to_owned())?;
        let answer = self.get_published(url, HeaderValue::from_static("application/json"), LONGEST).await;
        let answer = answer.map_err(|why| format!("its metadata: {why}"))?;
        keys_address(&answer.body, issuer).map_err(|error| error.to_string())
    }
}
