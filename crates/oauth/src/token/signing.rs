//! Signs the tokens of a grant and writes the token response.

use axum::response::Response;
use http::StatusCode;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::{append_compact, append_compact_digested};
use symbolon_crypto::seal::SealError;
use symbolon_crypto::signer::SignError;
use symbolon_protocol::client::Client;
use symbolon_protocol::dpop::{DPOP, DpopNonce};
use symbolon_protocol::response_encryption::{NESTED, ResponseEncryption};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::id_jag;
use symbolon_protocol::token::id_token::IdToken;
use symbolon_protocol::token::refresh_token::RefreshToken;
use symbolon_protocol::token::response::{BEARER, Issued, TokenResponse};

use crate::dpop;
use symbolon_app::encrypted_answer;
use symbolon_app::http::{Context, Failure, json, no_store};
use symbolon_app::issuer::{ActiveKey, KeyRing, TokenType};

/// The result of a grant: what the token response will contain.
pub(super) struct GrantResult {
    pub(super) access: Box<AccessToken>,
    pub(super) id: Option<Box<IdToken>>,
    pub(super) refresh_token: Option<RefreshToken>,
    /// Set by token exchange only (RFC 8693 2.2.1).
    pub(super) issued_token_type: Option<&'static str>,
}

/// The parameters for signing, fixed once the grant's rule has decided.
pub(super) struct Signing<'a> {
    context: &'a Context,
    access_token: Algorithm,
    access_token_type: TokenType,
    id_token: Algorithm,
    /// The client, if its ID tokens are encrypted for it, and how. Most clients' are not.
    encrypted_for: Option<Box<(Client, ResponseEncryption)>>,
    /// Whether the answer has a nonce for the client's next proof.
    sends_nonce: bool,
    now: Timestamp,
}

impl GrantResult {
    /// Whether it is an ID-JAG, which is returned where an access token would be.
    fn is_id_jag(&self) -> bool {
        self.issued_token_type == Some(id_jag::TOKEN_TYPE)
    }
}

impl<'a> Signing<'a> {
    pub(super) fn of(context: &'a Context, rules: &token::Context<'_>) -> Self {
        let (client, now) = (rules.client, rules.now);
        let keys = context.issuer.keys.load();
        let of_issuer = keys.algorithm(rules.settings, now);
        Self {
            context,
            access_token: client.signing_algorithm(client.access_token_signed_response_alg, of_issuer),
            access_token_type: client.settings.access_token_typ.unwrap_or_default().into(),
            // OpenID Connect Registration 2.
            id_token: client.signing_algorithm(client.id_token_signed_response_alg, of_issuer),
            encrypted_for: client.id_token_encryption.map(|how| Box::new((client.clone(), how))),
            sends_nonce: rules.jkt.is_some()
                && rules.settings.dpop_nonce_for(&client.settings) == DpopNonce::Required,
            now,
        }
    }

    /// The token response. It is signed while what it rests on becomes durable.
    pub(super) async fn answer(&self, granted: &mut GrantResult) -> Result<Response, Failure> {
        let (typ, token_type) = match (granted.is_id_jag(), granted.access.cnf.jkt.is_some()) {
            (true, _) => (TokenType::IdJag, id_jag::NOT_APPLICABLE),
            // RFC 9449 5.
            (false, true) => (self.access_token_type, DPOP),
            (false, false) => (self.access_token_type, BEARER),
        };
        let GrantResult { access, id, refresh_token, issued_token_type } = granted;
        let mut answer = TokenResponse::begin();
        let claims = self.context.issuer.access_token_payload(access).map_err(unsealed)?;
        let sha256 = if id.is_some() {
            self.sign_digested(&mut answer, self.access_token, typ, &claims).await?
        } else {
            self.sign(&mut answer, self.access_token, typ, &claims).await?;
            None
        };
        answer.issued(Issued {
            token_type,
            expires_in: access.exp.saturating_sub(self.now.seconds()),
            issued_token_type: *issued_token_type,
            refresh_token: refresh_token.as_ref().map(RefreshToken::expose),
        });
        if let Some(claims) = id {
            claims.bind(answer.access_token(), sha256, self.id_token);
            answer.open_id_token();
            let claims = self.context.issuer.id_token_payload(claims).map_err(unsealed)?;
            match &self.encrypted_for {
                None => self.sign(&mut answer, self.id_token, TokenType::IdToken, &claims).await?,
                Some(recipient) => {
                    let token = Box::pin(self.encrypted(recipient, &claims)).await?;
                    answer.token().extend_from_slice(token.as_bytes());
                }
            }
            answer.close_id_token();
        }
        let response = no_store(json(StatusCode::OK, answer.to_json(&access.scope, &access.granted_details)));
        Ok(if self.sends_nonce { dpop::with_next_nonce(self.context, response, self.now) } else { response })
    }

    /// An ID token that is signed, and then encrypted for the client (OpenID Connect Core 10.2: in this order).
    async fn encrypted(
        &self,
        (client, encryption): &(Client, ResponseEncryption),
        payload: &[u8],
    ) -> Result<String, Failure> {
        let Context { app, issuer, .. } = self.context;
        let signed = app.sign(issuer, (self.id_token, TokenType::IdToken), payload, self.now).await?;
        let what = (Some(NESTED), signed.as_bytes());
        encrypted_answer::encrypt((app.shared(), &issuer.id), client, *encryption, what).await
    }

    /// Signs a payload with the issuer's key for an algorithm, and appends the token to the response.
    async fn sign(
        &self,
        answer: &mut TokenResponse,
        algorithm: Algorithm,
        typ: TokenType,
        payload: &[u8],
    ) -> Result<(), Failure> {
        let keys = self.context.issuer.keys.load();
        let key = self.key(&keys, algorithm)?;
        let signer = &*self.context.app.signer;
        append_compact(answer.token(), signer, &key.key, key.header(typ), payload).await.map_err(failed)
    }

    /// Like [`sign`](Self::sign), and returns the token's SHA-256 if the signature algorithm computed it anyway.
    async fn sign_digested(
        &self,
        answer: &mut TokenResponse,
        algorithm: Algorithm,
        typ: TokenType,
        payload: &[u8],
    ) -> Result<Option<[u8; 32]>, Failure> {
        let keys = self.context.issuer.keys.load();
        let key = self.key(&keys, algorithm)?;
        let signer = &*self.context.app.signer;
        append_compact_digested(answer.token(), signer, &key.key, key.header(typ), payload)
            .await
            .map_err(failed)
    }

    /// The key that signs with an algorithm. Counts the signature.
    fn key<'k>(&self, keys: &'k KeyRing, algorithm: Algorithm) -> Result<&'k ActiveKey, Failure> {
        let key = keys
            .signing(algorithm, self.now)
            .ok_or_else(|| Failure::Internal(format!("no active signing key for {algorithm}")))?;
        self.context.app.signatures.increment(algorithm as usize);
        Ok(key)
    }
}

fn unsealed(error: SealError) -> Failure {
    Failure::Internal(error.to_string())
}

fn failed(error: SignError) -> Failure {
    Failure::Internal(error.to_string())
}
