//! Signing in with another provider: the way there, the way back, and what its answer means here.
//!
//! On the way there nothing is stored: what waits is sealed into `state`, bound to the browser, the provider and what the person
//! signs in for, with the PKCE verifier and the nonce. On the way back the state is used up once, after the provider's answer
//! was verified.

mod answer;
mod callback;
mod connect;
mod groups;
mod start;
mod state;

use symbolon_protocol::identity_provider::IdentityProvider;

use symbolon_app::issuer::IssuerState;

pub(super) use callback::callback;
pub(super) use connect::{connect, disconnect, views};
pub(super) use start::{route, submit};

/// The path of the form that leads to another provider.
pub(super) use crate::login_page::PROVIDER_PATH as PATH;

/// The provider of an id, if people may sign in by it.
fn enabled(issuer: &IssuerState, id: &str) -> Option<IdentityProvider> {
    let settings = issuer.settings.load();
    settings.identity_providers.iter().find(|own| own.enabled && own.id.as_str() == id).cloned()
}

/// The longest address to which a browser is sent, in bytes: more is not taken by every server.
const LONGEST_ADDRESS: usize = 8 << 10;
