mod answers;
mod decisions;
mod requests;

use std::time::Duration;

use proptest::prelude::*;
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::SeededRandom;

use super::*;
use crate::client::{Client, GrantType, TokenEndpointAuthMethod};
use crate::client_metadata;
use crate::code::AuthorizationCode;
use crate::consent::Consent;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, IssuerId, Sid, UserId};
use crate::id_token_hint::{IdTokenHint, IdTokenHintClaims};
use crate::params::Params;
use crate::pkce::PkcePolicy;
use crate::response_type::ResponseType;
use crate::scope::Scope;
use crate::session::{Amr, AuthenticationMethod, Session};
use crate::session_management::SessionState;
use crate::settings::{ClientOverrides, IssuerSettings, SecondFactor};
use crate::sign_in::acr::RequestedAcr;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const ISSUER: &str = "https://op.example";
const CALLBACK: &str = "https://rp.example/cb";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn client() -> Client {
    let metadata = serde_json::json!({
        "client_id": "rp", "client_name": "RP", "redirect_uris": [CALLBACK, "http://127.0.0.1/cb"],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid profile email offline_access",
    });
    let serde_json::Value::Object(metadata) = metadata else { panic!("an object") };
    let key = HmacKey::new(b"key");
    client_metadata::create(metadata, &key, NOW, &SeededRandom::new(1)).map(|made| made.client).unwrap()
}

fn session() -> Session {
    Session {
        user: UserId::trusted("alice"),
        sid: Sid::trusted("sid-1"),
        auth_time: NOW - Duration::from_secs(600),
        created_at: NOW - Duration::from_secs(600),
        expires_at: NOW + Duration::from_secs(600),
        amr: Amr::of(AuthenticationMethod::Pwd),
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: Default::default(),
    }
}

fn scope(text: &str) -> Scope {
    Scope::parse(text).unwrap()
}

/// A good request with some parameters set or, where the value is empty, left out.
fn query(changes: &[(&str, &str)]) -> String {
    let base = [
        ("response_type", "code"),
        ("client_id", "rp"),
        ("redirect_uri", CALLBACK),
        ("scope", "openid profile"),
        ("state", "st/1 "),
        ("nonce", "n-1"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let kept = base.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).extend_pairs(changes).finish()
}

/// Where a request's error goes.
#[derive(Debug, PartialEq)]
enum Outcome {
    Good,
    Page(ErrorCode),
    Redirect(ErrorCode, ResponseMode),
}

fn outcome(text: &str, client: &Client, settings: &IssuerSettings) -> Outcome {
    let params = Params::parse(text.as_bytes()).unwrap();
    match AuthorizationRequest::check(&params, client, (ISSUER, settings)) {
        Ok(_) => Outcome::Good,
        Err(Rejection::Page(error)) => Outcome::Page(error.code),
        Err(Rejection::Redirect(to, error)) => {
            assert_eq!(to.redirect_uri, CALLBACK);
            Outcome::Redirect(error.code, to.response_mode)
        }
    }
}
