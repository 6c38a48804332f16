//! Records that the tests of this module start from.

use std::time::Duration;

use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::SeededRandom;

use super::Context;
use super::access_token::AccessToken;
use crate::backchannel_authentication::{DeliveryMode, Metadata};
use crate::claim_definition::ClaimSet;
use crate::client::{Client, GrantType, TokenEndpointAuthMethod, TokenExchangePolicy};
use crate::code::CodeGrant;
use crate::entitlement::{self, EntitlementName, Entitlements, HeldGroup, HeldRole};
use crate::family::Family;
use crate::grant::GrantId;
use crate::id::{ClientId, GroupId, IssuerId, RoleId, Sid, UserId};
use crate::issuer::Issuer;
use crate::scope::Scope;
use crate::session::{Amr, AuthenticationMethod};
use crate::settings::{ClientOverrides, IssuerSettings};
use crate::time::Timestamp;
use crate::user::User;

pub(crate) const URL: &str = "https://op.example.com";
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_500);
/// The verifier and challenge of RFC 7636 appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub(crate) struct World {
    pub(crate) issuer: Issuer,
    pub(crate) settings: IssuerSettings,
    pub(crate) client: Client,
    pub(crate) claims: ClaimSet,
    pub(crate) now: Timestamp,
    pub(crate) pairwise_key: HmacKey,
    pub(crate) random: SeededRandom,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            issuer: Issuer {
                id: IssuerId::default_issuer(),
                url: URL.to_owned(),
                sealed_secret: Vec::new(),
                created_at: Timestamp::EPOCH,
            },
            settings: IssuerSettings::default(),
            client: client("app"),
            claims: ClaimSet::default(),
            now: NOW,
            pairwise_key: HmacKey::new(&[7; 32]),
            random: SeededRandom::new(1),
        }
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            issuer: &self.issuer,
            settings: &self.settings,
            client: &self.client,
            claims: &self.claims,
            now: self.now,
            pairwise_key: &self.pairwise_key,
            jkt: None,
            x5t_s256: None,
            random: &self.random,
        }
    }
}

pub(crate) fn after(seconds: u64) -> Timestamp {
    NOW + Duration::from_secs(seconds)
}

pub(crate) fn scope(text: &str) -> Scope {
    Scope::parse(text).expect("valid")
}

pub(crate) fn client(id: &str) -> Client {
    Client {
        client_id: ClientId::trusted(id),
        client_secrets: Default::default(),
        client_name: String::new(),
        redirect_uris: vec!["https://app.example.com/cb".to_owned()],
        redirect_uri_forms: Vec::new(),
        post_logout_redirect_uris: Vec::new(),
        grant_types: GrantType::ALL.to_vec(),
        response_types: Vec::new(),
        scope: scope("openid profile email address phone groups roles offline_access api"),
        token_endpoint_auth_method: TokenEndpointAuthMethod::ClientSecretBasic,
        jwks: None,
        jwks_uri: None,
        assertion_issuers: Vec::new(),
        token_endpoint_auth_signing_alg: None,
        id_token_signed_response_alg: None,
        request_object_signing_alg: None,
        request_uris: Vec::new(),
        require_signed_request_object: false,
        authorization_signed_response_alg: None,
        userinfo_signed_response_alg: None,
        id_token_encryption: None,
        userinfo_encryption: None,
        introspection_signed_response_alg: None,
        access_token_signed_response_alg: None,
        dpop_bound_access_tokens: false,
        tls_client_certificate_bound_access_tokens: false,
        certificate_subject: None,
        is_trusted: false,
        skip_consent: true,
        require_pushed_authorization_requests: false,
        authorization_details_types: Vec::new(),
        token_exchange: TokenExchangePolicy { allowed: true, ..TokenExchangePolicy::default() },
        audiences: Vec::new(),
        access_token_audiences: Vec::new(),
        allowed_redirect_origins: Vec::new(),
        default_max_age: None,
        default_acr_values: Default::default(),
        initiate_login_uri: None,
        backchannel: Some(Box::new(Metadata {
            mode: DeliveryMode::Poll,
            notification_endpoint: None,
            request_signing_alg: None,
        })),
        sector: None,
        logout: Default::default(),
        settings: ClientOverrides::default(),
        branding: None,
        dynamic_registration: None,
        is_from_document: false,
        display: serde_json::Map::new(),
        created_at: NOW,
        updated_at: NOW,
        unknown_members: Default::default(),
    }
}

pub(crate) fn user() -> User {
    User {
        id: UserId::trusted("u-1"),
        email: Some("ada@example.com".to_owned()),
        email_verified: true,
        profile: crate::user::Profile {
            name: Some("Ada \"Countess\" Lovelace".to_owned()),
            preferred_username: Some("ada".to_owned()),
            phone_number: Some("+44 1".to_owned()),
            address: Some(Box::new(crate::user::Address {
                country: Some("GB".to_owned()),
                ..crate::user::Address::default()
            })),
            ..crate::user::Profile::default()
        }
        .into(),
        active: true,
        created_at: Timestamp::EPOCH,
        updated_at: Timestamp::from_millis(1_600_000_000_999),
    }
}

/// The groups `dev` and `staff`; the issuer's roles `admin` and `viewer`, the roles `admin` and `editor` of the client
/// `app`, and `owner` of the client `other`.
pub(crate) fn entitlements() -> Entitlements {
    let group = |name: &str| {
        let named = EntitlementName::parse(name).expect("valid");
        HeldGroup { id: GroupId::trusted(name), path: entitlement::path([&named]), name: named }
    };
    let role = |name: &str, client: Option<&str>| HeldRole {
        id: RoleId::trusted(format!("{}-{name}", client.unwrap_or("issuer"))),
        name: EntitlementName::parse(name).expect("valid"),
        client_id: client.map(ClientId::trusted),
    };
    let roles = vec![
        role("viewer", None),
        role("owner", Some("other")),
        role("editor", Some("app")),
        role("admin", Some("app")),
        role("admin", None),
    ];
    Entitlements::of(vec![group("staff"), group("dev")], roles)
}

pub(crate) fn code(scopes: &str) -> CodeGrant {
    CodeGrant {
        grant: GrantId::draw(&IssuerId::default_issuer(), "u-1", NOW, &SeededRandom::new(9)),
        client: ClientId::trusted("app"),
        user: UserId::trusted("u-1"),
        sid: Sid::trusted("sid-1"),
        redirect_uri: "https://app.example.com/cb".to_owned(),
        scope: scope(scopes),
        nonce: Some("n-1".to_owned()),
        code_challenge: Some(symbolon_crypto::encoding::decode_array(CHALLENGE).expect("43 characters")),
        auth_time: Timestamp::from_seconds(1_699_999_000),
        amr: Amr::of(AuthenticationMethod::Pwd),
        session_expires_at: after(3600),
        expires_at: after(60),
        resources: Vec::new(),
        authorization_details: Default::default(),
        acr: None,
        dpop_jkt: None,
    }
}

pub(crate) fn family() -> Family {
    Family {
        grant: code("openid").grant,
        client: ClientId::trusted("app"),
        user: UserId::trusted("u-1"),
        sid: Some(Sid::trusted("sid-1")),
        scope: scope("openid profile email"),
        auth_time: Timestamp::from_seconds(1_699_999_000),
        amr: Amr::of(AuthenticationMethod::Pwd),
        version: 1,
        created_at: NOW,
        rotated_at: NOW,
        idle_expires_at: after(1000),
        expires_at: after(5000),
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    }
}

/// A token as the code grant issues it to `client`.
pub(crate) fn access_token(client_id: &str, scopes: &str) -> AccessToken {
    let world = World { client: client(client_id), ..World::new() };
    *super::authorization_code::issue(&world.context(), &code(scopes), after(3600)).access
}
