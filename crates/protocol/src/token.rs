//! The token endpoint: one file per grant type, and the tokens that come of it.
//!
//! A grant's rule names what is to be issued as claims; the server signs them once the store has named the winner.

pub mod access_token;
pub mod authorization_code;
pub mod claim;
pub mod client_credentials;
pub mod id_token;
pub mod refresh_token;
pub mod resource;
pub mod response;
pub mod token_exchange;

use std::sync::Arc;

use symbolon_crypto::random::Random;

use crate::client::Client;
use crate::family::Family;
use crate::issuer::Issuer;
use crate::settings::{IssuerSettings, Lifetimes};
use crate::time::Timestamp;
use access_token::AccessToken;
use id_token::IdToken;

/// What every grant needs to know: who issues, to whom, and when.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Who issues.
    pub issuer: &'a Issuer,
    /// The issuer's settings.
    pub settings: &'a IssuerSettings,
    /// The client that asks, already authenticated.
    pub client: &'a Client,
    /// The clock.
    pub now: Timestamp,
    /// Names the tokens.
    pub random: &'a dyn Random,
}

impl Context<'_> {
    /// The lifetimes that hold for the client.
    pub fn lifetimes(&self) -> Lifetimes {
        self.settings.lifetimes_for(&self.client.settings)
    }
}

/// What a grant of a user gives, before anything is signed. Claims are boxed: they pass through many hands.
#[derive(Clone, Debug, PartialEq)]
pub struct IssuePlan {
    /// The access token's claims.
    pub access: Box<AccessToken>,
    /// The ID token's claims, where `openid` was granted; [`IdToken::bind`] adds `at_hash` once the access token is
    /// signed.
    pub id: Option<Box<IdToken>>,
    /// The refresh-token family to begin, at version 1; none on a refresh, whose family lives on.
    pub family: Option<Arc<Family>>,
}

#[cfg(test)]
pub(crate) mod fixture;
