//! Sample records.

use std::time::Duration;

use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::random::Random;
use symbolon_protocol::authorization_details::AuthorizationDetails;
use symbolon_protocol::backchannel_authentication::{self, DeliveryMode};
use symbolon_protocol::client::{
    Client, GrantType, LogoutUris, TokenEndpointAuthMethod, TokenExchangePolicy,
};
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::family::{Family, RotationRequest};
use symbolon_protocol::grant::{GrantId, Lineage, Slot};
use symbolon_protocol::group::{Group, Membership};
use symbolon_protocol::id::{ClientId, GroupId, IssuerId, Jti, Kid, RoleId, Sid, UserId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::{KeyRecord, KeyState};
use symbolon_protocol::revocation::SessionEnd;
use symbolon_protocol::role::{GivenRole, Role, RoleHolder};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod, Session, SessionId};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{Profile, User};

use super::Scene;
use crate::port::{PageRequest, Redemption};
use crate::shard::{ShardKind, sid_of};
use crate::{Store, StoreError};

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3_600);

pub fn page(page: u32, limit: u32) -> PageRequest {
    PageRequest { page, limit, search: None }
}

pub fn search(text: &str) -> PageRequest {
    PageRequest { page: 1, limit: 100, search: Some(text.to_owned()) }
}

/// Redeems a code as the token endpoint does: without knowing whether the code exists.
pub async fn redeem(
    store: &dyn Store,
    issuer: &IssuerId,
    code: &AuthorizationCode,
    now: Timestamp,
) -> Result<Redemption, StoreError> {
    match store.code(issuer, code, now).await? {
        Some(kept) => store.redeem_code(&kept.at, now).await,
        None => Ok(Redemption::Unknown),
    }
}

pub fn client(id: &str, now: Timestamp) -> Client {
    Client {
        client_id: ClientId::parse(id).unwrap(),
        client_secrets: Default::default(),
        client_name: format!("The {id} client"),
        redirect_uris: vec![format!("https://{id}.example/callback")],
        redirect_uri_forms: Vec::new(),
        post_logout_redirect_uris: Vec::new(),
        grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        response_types: Vec::new(),
        scope: Scope::parse("openid profile").unwrap(),
        token_endpoint_auth_method: TokenEndpointAuthMethod::None,
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
        token_exchange: TokenExchangePolicy::default(),
        audiences: Vec::new(),
        access_token_audiences: vec!["https://api.example".to_owned()],
        allowed_redirect_origins: Vec::new(),
        default_max_age: Some(300),
        default_acr_values: Default::default(),
        initiate_login_uri: Some("https://rp.example/sign-in".to_owned()),
        backchannel: Some(Box::new(backchannel_authentication::Metadata {
            mode: DeliveryMode::Ping,
            notification_endpoint: Some("https://rp.example/ciba".to_owned()),
            request_signing_alg: Some(Algorithm::Es256),
        })),
        sector: Some("rp.example".to_owned()),
        logout: LogoutUris {
            backchannel_logout_uri: Some("https://rp.example/backchannel".to_owned()),
            frontchannel_logout_uri: Some("https://rp.example/frontchannel".to_owned()),
            frontchannel_logout_session_required: true,
            ..LogoutUris::default()
        },
        settings: Default::default(),
        branding: None,
        dynamic_registration: None,
        is_from_document: false,
        display: Default::default(),
        created_at: now,
        updated_at: now,
        unknown_members: Default::default(),
    }
}

pub fn user(id: &str, email: Option<&str>, now: Timestamp) -> User {
    User {
        id: UserId::parse(id).unwrap(),
        email: email.map(str::to_owned),
        email_verified: false,
        profile: Profile { name: Some(format!("Name of {id}")), ..Profile::default() }.into(),
        active: true,
        created_at: now,
        updated_at: now,
    }
}

/// A group that is called as its id, below `parent` if that is not empty.
pub fn group(id: &str, parent: &str, now: Timestamp) -> Group {
    Group {
        id: GroupId::parse(id).unwrap(),
        name: EntitlementName::parse(id).unwrap(),
        description: None,
        parent: (!parent.is_empty()).then(|| GroupId::parse(parent).unwrap()),
        created_at: now,
        updated_at: now,
    }
}

/// A role with a name, of a client if that is not empty.
pub fn role(id: &str, name: &str, client: &str, now: Timestamp) -> Role {
    Role {
        id: RoleId::parse(id).unwrap(),
        name: EntitlementName::parse(name).unwrap(),
        client_id: (!client.is_empty()).then(|| ClientId::parse(client).unwrap()),
        description: None,
        created_at: now,
        updated_at: now,
    }
}

pub fn membership(group: &str, user: &str) -> Membership {
    Membership { group: GroupId::parse(group).unwrap(), user: UserId::parse(user).unwrap() }
}

pub fn given_to_user(role: &str, user: &str) -> GivenRole {
    GivenRole { role: RoleId::parse(role).unwrap(), holder: RoleHolder::User(UserId::parse(user).unwrap()) }
}

pub fn given_to_group(role: &str, group: &str) -> GivenRole {
    GivenRole {
        role: RoleId::parse(role).unwrap(),
        holder: RoleHolder::Group(GroupId::parse(group).unwrap()),
    }
}

pub fn issuer(id: &str, now: Timestamp) -> Issuer {
    Issuer {
        id: IssuerId::parse(id).unwrap(),
        url: format!("https://{id}.example"),
        sealed_secret: id.as_bytes().to_vec(),
        created_at: now,
    }
}

pub fn key(kid: &str, state: KeyState, now: Timestamp) -> KeyRecord {
    KeyRecord {
        kid: Kid::parse(kid).unwrap(),
        algorithm: Algorithm::Rs256,
        state,
        sealed: vec![0, 1, 2, 255],
        created_at: now,
        known_from: None,
        signs_from: None,
        activated_at: Some(now),
        retired_at: None,
        gone_at: None,
        reason: None,
    }
}

pub fn draw_session(store: &dyn Store, random: &dyn Random) -> SessionId {
    SessionId::new(store.place(ShardKind::Session).draw::<16>(ShardKind::Session, random))
}

pub fn assertion_use(client: &ClientId, jti: &Jti, expires_at: Timestamp) -> AssertionUse {
    let (client_id, jti) = (client.clone(), jti.clone());
    AssertionUse { client_id, key_thumbprint: "thumbprint".into(), jti, expires_at }
}

/// Authorization details, which every back-end gives back as they were.
pub(crate) fn details() -> AuthorizationDetails {
    let details = r#"[{"type":"payment","amount":12.5,"to":["a","b"]}]"#;
    serde_json::from_str(details).unwrap()
}

pub(crate) fn code_grant(scene: &Scene, user: &str) -> CodeGrant {
    let session = draw_session(&*scene.store, &scene.random);
    CodeGrant {
        grant: GrantId::draw(&scene.issuer, user, scene.now, &scene.random),
        client: ClientId::parse("client").unwrap(),
        user: UserId::parse(user).unwrap(),
        sid: sid_of(&scene.issuer, &session),
        redirect_uri: "https://client.example/callback".to_owned(),
        scope: Scope::parse("openid").unwrap(),
        nonce: Some("nonce".to_owned()),
        code_challenge: Some([7; 32]),
        auth_time: scene.now,
        amr: Amr::of(AuthenticationMethod::Pwd),
        session_expires_at: scene.now + HOUR,
        expires_at: scene.now + MINUTE,
        resources: Vec::new(),
        authorization_details: details(),
        acr: None,
        dpop_jkt: Some("Ge4z_yKVyrGVCj0ssC4PX3vNxT1xjLWvL4kXRbCmbdo".into()),
    }
}

pub fn session(issuer: &IssuerId, id: &SessionId, user: &str, now: Timestamp) -> Session {
    Session {
        user: UserId::parse(user).unwrap(),
        sid: sid_of(issuer, id),
        auth_time: now,
        created_at: now,
        expires_at: now + HOUR,
        amr: Amr::of(AuthenticationMethod::Pwd),
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: Default::default(),
    }
}

pub(crate) fn family(scene: &Scene, user: &str) -> Family {
    Family {
        grant: GrantId::draw(&scene.issuer, user, scene.now, &scene.random),
        client: ClientId::parse("client").unwrap(),
        user: UserId::parse(user).unwrap(),
        sid: None,
        scope: Scope::parse("openid offline_access").unwrap(),
        auth_time: scene.now,
        amr: Amr::of(AuthenticationMethod::Pwd),
        version: 1,
        created_at: scene.now,
        rotated_at: scene.now,
        idle_expires_at: scene.now + HOUR,
        expires_at: scene.now + 24 * HOUR,
        binding: None,
        resources: Vec::new(),
        authorization_details: details(),
    }
}

pub fn rotation(presented: u32, now: Timestamp) -> RotationRequest {
    RotationRequest {
        presented,
        now,
        retry_window: Duration::from_secs(10),
        idle: HOUR,
        rotate: true,
        tombstone_until: now + HOUR,
    }
}

/// Ends a session with everything that is bound to it.
pub fn with_tokens(now: Timestamp) -> SessionEnd {
    SessionEnd::WithTokens { now, longest: 24 * HOUR }
}

/// The lineage of a token that is bound to a session.
pub fn lineage_in(issuer: &IssuerId, session: &Session, sid: &Sid, born: Timestamp) -> Lineage {
    Lineage { session: Some(sid.clone()), ..bare_lineage(Slot::of(issuer, session.user.as_str()), born) }
}

/// The lineage of a token that has only a grant.
pub fn lineage_of(grant: &GrantId) -> Lineage {
    Lineage {
        slot: grant.slot(),
        tokens: Vec::new(),
        grant: Some(*grant),
        session: None,
        user: None,
        client: None,
        grantor: None,
        born: grant.at(),
        issued: None,
    }
}

/// The lineage of a token without grant, session, user and client.
pub fn bare_lineage(slot: Slot, born: Timestamp) -> Lineage {
    Lineage {
        slot,
        tokens: Vec::new(),
        grant: None,
        session: None,
        user: None,
        client: None,
        grantor: None,
        born,
        issued: None,
    }
}
