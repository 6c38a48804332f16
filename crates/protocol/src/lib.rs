//! Every rule of OAuth 2 and OpenID Connect that Symbolon implements, as plain functions over plain data.
//!
//! No I/O, no async, no clock and no randomness of its own: `now` and a [`Random`](symbolon_crypto::random::Random)
//! are arguments. A rule parses the input into a type that cannot be invalid, decides, and returns the answer
//! together with the one change that the store must carry out.

pub mod attribute;
pub mod authenticator;
pub mod authorize;
pub mod back_channel_logout;
pub mod branding;
pub mod claim_definition;
pub mod client;
pub mod client_authentication;
pub mod client_metadata;
pub mod client_secret;
pub mod code;
pub mod consent;
pub mod discovery;
pub mod email_address;
pub mod encoded;
pub mod entitlement;
pub mod error;
pub mod event;
pub mod family;
pub mod front_channel_logout;
pub mod grant;
pub mod group;
pub mod id;
pub mod id_text;
pub mod id_token_hint;
pub mod identity_provider;
pub mod introspection;
pub mod issuer;
pub mod json;
pub mod key;
pub mod logo;
pub mod logout;
pub mod params;
pub mod password_policy;
pub mod pkce;
pub mod precis;
pub mod redirect_uri;
pub mod refusal;
pub mod revocation;
pub mod role;
pub mod scope;
pub mod session;
pub mod session_management;
pub mod session_origin;
pub mod settings;
mod sid;
pub mod sign_in;
pub mod third_party_initiated_login;
pub mod time;
pub mod token;
pub mod translation;
pub mod ui_locale;
pub mod unknown_member;
pub mod user;
pub mod user_claims;
pub mod userinfo;
