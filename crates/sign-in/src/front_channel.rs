//! Tokens from the authorization endpoint (OpenID Connect Core 3.2.2.5, 3.3.2.5): loads what their claims need, and signs them.

use std::sync::Arc;

use symbolon_crypto::seal::SealError;
use symbolon_protocol::authorize::AuthorizationRequest;
use symbolon_protocol::authorize::response::Returned;
use symbolon_protocol::claim_definition::NO_CLAIMS;
use symbolon_protocol::client::Client;
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::response_encryption::NESTED;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token;
use symbolon_protocol::token::front_channel::{FrontChannel, FrontChannelTokens};

use symbolon_app::encrypted_answer::encrypt;
use symbolon_app::http::{Context, Failure};
use symbolon_app::issuer::TokenType;

/// An access token with its life in seconds and its scope.
type SignedAccessToken = (String, u64, Scope);

/// The signed tokens of an authorization response.
#[derive(Default)]
pub(super) struct SignedTokens {
    access_token: Option<SignedAccessToken>,
    id_token: Option<String>,
}

impl SignedTokens {
    /// What the authorization endpoint returns.
    pub(super) fn returned<'a>(&'a self, code: Option<&'a AuthorizationCode>) -> Returned<'a> {
        let access_token = self.access_token.as_ref().map(|(token, life, scope)| (&**token, *life, scope));
        Returned { code, access_token, id_token: self.id_token.as_deref() }
    }
}

/// A request that a person allowed.
pub(super) struct Allowed<'a> {
    pub(super) context: &'a Context,
    pub(super) request: &'a AuthorizationRequest<'a>,
    pub(super) client: &'a Arc<Client>,
    pub(super) settings: &'a Arc<IssuerSettings>,
    pub(super) now: Timestamp,
}

impl Allowed<'_> {
    /// The tokens that the request's response type names. `grant` is what was granted, and what the code stands for, if one
    /// is returned beside them.
    ///
    /// # Errors
    /// [`Failure`]: an unavailable store, or no key that may sign.
    pub(super) async fn sign(
        &self,
        grant: &CodeGrant,
        code: Option<&AuthorizationCode>,
    ) -> Result<SignedTokens, Failure> {
        let Self { request, client, settings, now, .. } = *self;
        let Context { app, issuer, .. } = self.context;
        let FrontChannelTokens { access, id } = self.claims(grant).await?;
        let of_issuer = issuer.keys.load().algorithm(settings, now);
        let mut signed = SignedTokens::default();
        let unsealed = |error: SealError| Failure::Internal(error.to_string());
        if let Some(mut access) = access {
            let algorithm = client.signing_algorithm(client.access_token_signed_response_alg, of_issuer);
            let typ = client.settings.access_token_typ.unwrap_or_default().into();
            let payload = issuer.access_token_payload(&mut access).map_err(unsealed)?;
            let token = app.sign(issuer, (algorithm, typ), &payload, now).await?;
            signed.access_token = Some((token, access.exp.saturating_sub(now.seconds()), access.scope));
        }
        if let Some(mut id) = id {
            let algorithm = client.signing_algorithm(client.id_token_signed_response_alg, of_issuer);
            // OpenID Connect Core 3.2.2.10, 3.3.2.11: the hashes of what is returned beside it are required.
            if let Some((token, ..)) = &signed.access_token {
                id.bind(token.as_bytes(), None, algorithm);
            }
            if let Some(code) = code {
                id.bind_code(code, algorithm);
            }
            if let Some(state) = request.return_to.state {
                id.bind_state(state, algorithm);
            }
            let payload = issuer.id_token_payload(&mut id).map_err(unsealed)?;
            let token = app.sign(issuer, (algorithm, TokenType::IdToken), &payload, now).await?;
            signed.id_token = Some(match client.id_token_encryption {
                None => token,
                Some(encryption) => {
                    let what = (Some(NESTED), token.as_bytes());
                    Box::pin(encrypt((app.shared(), &issuer.id), client, encryption, what)).await?
                }
            });
        }
        app.note_first_use(&issuer.id, client);
        Ok(signed)
    }

    /// The claims of the tokens.
    async fn claims(&self, grant: &CodeGrant) -> Result<FrontChannelTokens, Failure> {
        let Self { request, client, settings, now, .. } = *self;
        let Context { app, issuer, .. } = self.context;
        let claims = issuer.claims_for(settings, client);
        let claims = claims.as_deref().unwrap_or(&NO_CLAIMS);
        let random = &*app.random;
        // Nothing proves a key here, so the access token is a bearer token.
        let rules = token::Context {
            issuer: &issuer.record,
            settings,
            client,
            claims,
            now,
            pairwise_key: &issuer.pairwise_key,
            jkt: None,
            x5t_s256: None,
            random,
        };
        let mut tokens = FrontChannel::issue(&rules, grant, request.response_type);
        let records = app.user_records(&issuer.id, &grant.user, tokens.records_needed(&rules)).await?;
        let failures = tokens.release(&rules, records);
        app.note_failed_claims(issuer, &client.client_id, &failures);
        Ok(tokens.into_tokens())
    }
}
