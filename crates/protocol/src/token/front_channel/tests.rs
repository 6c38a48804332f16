use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;

use super::*;
use crate::code::AuthorizationCode;
use crate::token::fixture::{World, code, entitlements, user};

fn tokens(world: &World, scope: &str, response_type: ResponseType) -> FrontChannelTokens {
    let records = UserRecords { user: Some(Arc::new(user())), entitlements: Some(Arc::new(entitlements())) };
    let mut issued = FrontChannel::issue(&world.context(), &code(scope), response_type);
    issued.release(&world.context(), records);
    issued.into_tokens()
}

fn claims(id: &IdToken) -> Value {
    serde_json::from_slice(&id.to_json()).unwrap()
}

#[test]
fn the_response_type_names_the_tokens() {
    let world = World::new();
    for response_type in ResponseType::ALL {
        let FrontChannelTokens { access, id } = tokens(&world, "openid", response_type);
        assert_eq!(
            (access.is_some(), id.is_some()),
            (response_type.has_token(), response_type.has_id_token())
        );
        assert!(tokens(&world, "email", response_type).id.is_none(), "the person did not allow openid");
    }
}

#[test]
fn an_access_token_belongs_to_the_grant_of_the_code_and_ends_with_the_session() {
    let world = World::new();
    let authorized = code("openid offline_access");
    let access = tokens(&world, "openid offline_access", ResponseType::CodeToken).access.unwrap();
    assert_eq!((access.gid, access.sid.as_ref()), (Some(authorized.grant), Some(&authorized.sid)));
    assert_eq!(access.auth_time, Some(authorized.auth_time.seconds()));
}

#[test]
fn claims_about_the_user_pass_through_the_browser_only_where_the_client_has_no_other_way() {
    let mut world = World::new();
    let email = |world: &World, response_type| {
        let id = tokens(world, "openid email groups", response_type).id.unwrap();
        let claims = claims(&id);
        assert_eq!(claims["nonce"], json!("n-1"));
        assert_eq!(claims.get("email").is_some(), claims.get("groups").is_some(), "{claims}");
        claims.get("email").is_some()
    };
    assert!(email(&world, ResponseType::IdToken));
    assert!(email(&world, ResponseType::IdTokenToken));
    assert!(!email(&world, ResponseType::CodeIdToken));
    assert!(!email(&world, ResponseType::CodeIdTokenToken));
    world.settings.id_token_claims = IdTokenClaims::Minimal;
    assert!(email(&world, ResponseType::IdToken), "OpenID Connect Core 5.4: there is no UserInfo");
    assert!(!email(&world, ResponseType::IdTokenToken));
}

#[test]
fn hashes_tie_an_id_token_to_what_is_returned_beside_it() {
    let mut id = tokens(&World::new(), "openid", ResponseType::CodeIdTokenToken).id.unwrap();
    // OpenID Connect Core appendix A.4 and A.6.
    id.bind(b"jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y", None, Algorithm::Rs256);
    id.bind_code(
        &AuthorizationCode::new("Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"),
        Algorithm::Rs256,
    );
    id.bind_state("abc", Algorithm::EdDsa);
    let claims = claims(&id);
    assert_eq!(claims["at_hash"], "77QmUPtjPfzWtF2AnpK9RQ");
    assert_eq!(claims["c_hash"], "LDktKdoQak3Pk0cnXxCltA");
    assert_eq!(claims["s_hash"], "3a81oZNherrMQXNJriBBMRLm-k6JqX6iCp7u5ktV05o");
}
