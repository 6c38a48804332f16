//! HTTP tests: one binary, a module per feature, each test with a server of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests"
)]

mod abandoned;
mod access_token_typ;
mod account;
mod admin;
mod admin_query;
mod administrator_news;
mod attacks;
mod attributes;
mod audit_changes;
mod authenticators;
mod authorization_details;
mod authorize;
mod bad_input;
mod bodies;
mod branding;
mod breached_passwords;
mod browser_accounts;
mod claims;
mod claims_parameter;
mod client_authentication;
mod client_credentials;
mod client_id_metadata;
mod client_keys;
mod client_registration;
mod client_secrets;
mod connections;
mod consent_terms;
mod corpus;
mod cors;
mod device;
mod dpop;
mod durability;
mod encrypted_answers;
mod ending;
mod failures;
mod fapi;
mod following;
mod grants;
mod groups;
mod guesses;
mod identities_and_consents;
mod indistinguishable;
mod interactions;
mod introspection;
mod issuers;
mod keys;
mod known_browser;
mod languages;
mod loadtest;
mod login;
mod login_api;
mod logout;
mod logout_channels;
mod mail;
mod mailbox;
mod migration;
mod mutual_tls;
mod page_rows;
mod pages;
mod pairwise;
mod password_hashes;
mod pkce;
mod places;
mod pushed_requests;
mod rate_limits;
mod recovery;
mod redirect_uri_forms;
mod refresh_token;
mod registration;
mod request_objects;
mod request_uris;
mod response_types;
mod revocation;
mod roles;
mod safety;
mod second_factor;
mod second_factor_roles;
mod session_idle;
mod settings;
mod sign_in;
mod sign_in_limits;
mod signed_introspection;
mod signed_userinfo;
mod spec_map;
mod starting;
mod stopping;
mod telemetry;
mod token_exchange;
mod traces;
mod uncached;
mod unknown_members;
mod upgrade;
mod upstream;
mod userinfo;
mod users;
mod workload_identity;
