//! What tokens of clients with pairwise subjects seal, and how it is read again (OpenID Connect Core 8.1).

use symbolon_crypto::seal::SealError;
use symbolon_protocol::client::Client;
use symbolon_protocol::id_token_hint::{IdTokenHint, sealed_for};
use symbolon_protocol::pairwise::{Pairwise, Veiled};
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::token::access_token::AccessToken;
use symbolon_protocol::token::id_token::IdToken;
use symbolon_protocol::token::token_exchange::subject;

use super::IssuerState;

impl IssuerState {
    /// How a client knows its users; `None` if its subjects are public.
    #[inline]
    pub fn pairwise<'a>(&'a self, client: &'a Client) -> Option<Pairwise<'a>> {
        Pairwise::of(&self.pairwise_key, client)
    }

    /// The payload of an access token that is to be signed.
    ///
    /// # Errors
    /// [`SealError`]
    #[inline]
    pub fn access_token_payload(&self, token: &mut AccessToken) -> Result<Vec<u8>, SealError> {
        if token.account.is_some() {
            self.veil_access_token(token)?;
        }
        Ok(token.to_json())
    }

    #[cold]
    fn veil_access_token(&self, token: &mut AccessToken) -> Result<(), SealError> {
        if let Some(veiled) = token.veiled() {
            token.pairwise_ref = Some(self.veil(&of_access_token(token), &veiled)?);
        }
        Ok(())
    }

    /// Reads what an access token has sealed. Its signature was verified.
    ///
    /// # Errors
    /// [`SealError`]: it was sealed for another token, or not by this issuer.
    pub(crate) fn unveil_access_token(&self, token: &mut AccessToken) -> Result<(), SealError> {
        let Some(sealed) = &token.pairwise_ref else { return Ok(()) };
        let veiled = self.unveil(&of_access_token(token), sealed)?;
        token.unveil(veiled);
        Ok(())
    }

    /// The payload of an ID token that is to be signed.
    ///
    /// # Errors
    /// [`SealError`]
    #[inline]
    pub fn id_token_payload(&self, token: &mut IdToken) -> Result<Vec<u8>, SealError> {
        if let Some(veiled) = &token.veiled {
            token.pairwise_ref = Some(self.veil(&sealed_for(&token.aud, &token.sub), veiled)?);
        }
        Ok(token.to_json())
    }

    /// Reads an `id_token_hint`, verifying it with the issuer's keys.
    pub fn id_token_hint(&self, parameter: Option<&str>) -> IdTokenHint {
        let keys = self.keys.load();
        let open = |purpose: &str, sealed: &str| self.unveil(purpose, sealed).ok();
        IdTokenHint::read(parameter, &self.url, |kid| keys.verifying(kid), open)
    }

    /// Reads an ID token that is to be exchanged, verifying it with the issuer's keys.
    ///
    /// # Errors
    /// [`Reason`]: it is no ID token of this issuer.
    pub fn id_token_subject(&self, token: &str) -> Result<Box<AccessToken>, Reason> {
        let keys = self.keys.load();
        let open = |purpose: &str, sealed: &str| self.unveil(purpose, sealed).ok();
        subject::of_id_token(token, |kid| keys.verifying(kid), open)
    }

    fn veil(&self, purpose: &str, veiled: &Veiled) -> Result<String, SealError> {
        let mut plain = serde_json::to_vec(veiled).map_err(|_| SealError::Failed)?;
        // JSON may end with spaces. By the length of what is sealed clients could compare the lengths of ids.
        plain.resize(plain.len().next_multiple_of(BLOCK), b' ');
        self.veils.seal(purpose, &plain)
    }

    fn unveil(&self, purpose: &str, sealed: &str) -> Result<Veiled, SealError> {
        let plain = self.veils.open(purpose, sealed)?;
        serde_json::from_slice(plain.expose()).map_err(|_| SealError::Corrupt)
    }
}

/// What is sealed has a multiple of so many bytes.
const BLOCK: usize = 64;

/// What the sealed claim of an access token is bound to: that of one token opens in no other.
fn of_access_token(token: &AccessToken) -> String {
    format!("access token {}", token.jti)
}
