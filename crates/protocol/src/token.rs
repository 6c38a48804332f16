//! The token endpoint: one file per grant type, and the tokens that they issue.
//!
//! A grant's rule returns the claims to issue; the server signs them after the store has accepted the change.

pub mod access_token;
pub mod authorization_code;
pub mod ciba;
pub mod claim;
pub mod client_credentials;
pub mod confirmation;
pub mod device_code;
pub mod front_channel;
pub mod id_jag;
pub mod id_token;
pub mod jwt_bearer;
pub mod refresh_token;
pub mod release;
pub mod resource;
pub mod response;
pub mod token_exchange;

use std::sync::Arc;

use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::Random;

use crate::claim_definition::ClaimSet;
use crate::client::Client;
use crate::family::Family;
use crate::issuer::Issuer;
use crate::pairwise::Pairwise;
use crate::settings::{IssuerSettings, Lifetimes};
use crate::time::Timestamp;
use access_token::AccessToken;
use id_token::IdToken;

/// The input of every grant: issuer, client and time.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The issuer.
    pub issuer: &'a Issuer,
    /// The issuer's settings.
    pub settings: &'a IssuerSettings,
    /// The requesting client, already authenticated.
    pub client: &'a Client,
    /// The claim definitions that are in force for the client.
    pub claims: &'a ClaimSet,
    /// The current time.
    pub now: Timestamp,
    /// The issuer's key of pairwise subjects (OpenID Connect Core 8.1).
    pub pairwise_key: &'a HmacKey,
    /// The thumbprint of the key that the request proved, to which its tokens are bound (RFC 9449 5).
    pub jkt: Option<&'a str>,
    /// The thumbprint of the TLS certificate to which its tokens are bound (RFC 8705 3.1).
    pub x5t_s256: Option<&'a str>,
    /// The source of token ids.
    pub random: &'a dyn Random,
}

impl Context<'_> {
    /// How the client knows its users, if its subjects are pairwise (OpenID Connect Core 8).
    #[inline]
    pub fn pairwise(&self) -> Option<Pairwise<'_>> {
        Pairwise::of(self.pairwise_key, self.client)
    }

    /// The lifetimes for the client.
    pub fn lifetimes(&self) -> Lifetimes {
        self.settings.lifetimes_for(&self.client.settings)
    }
}

/// What a user's grant issues, before signing. Claims are boxed, because they are passed through many functions.
/// [`release`](Self::release) adds the claims about the user.
#[derive(Clone, Debug, PartialEq)]
pub struct IssuePlan {
    /// The access token's claims.
    pub access: Box<AccessToken>,
    /// The ID token's claims, if `openid` was granted. [`IdToken::bind`] adds `at_hash` after the access token is
    /// signed.
    pub id: Option<Box<IdToken>>,
    /// The refresh-token family to begin, at version 1; `None` on a refresh, which continues its family.
    pub family: Option<Arc<Family>>,
}

#[cfg(test)]
pub(crate) mod fixture;
