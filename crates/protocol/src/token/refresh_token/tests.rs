use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;

use super::*;
use crate::client::TokenEndpointAuthMethod;
use crate::id::Sid;
use crate::token::fixture::{NOW, URL, World, after, client, family, scope};

fn key() -> HmacKey {
    HmacKey::new(&[7; 32])
}

fn id(generation: u32, shard: u32, name: &str) -> FamilyId {
    FamilyId { generation, shard, name: SmolStr::new(name) }
}

fn issuer() -> IssuerId {
    IssuerId::default_issuer()
}

proptest! {
    #[test]
    fn what_was_minted_is_read_back(
        generation: u32, shard: u32, version: u32, name in "[A-Za-z0-9_-]{22}",
    ) {
        let id = id(generation, shard, &name);
        let token = mint(&issuer(), &id, version, &key());
        prop_assert!(token.expose().len() <= MAX_LEN);
        prop_assert_eq!(parse_and_authenticate(&issuer(), token.expose(), &key()), Some((id, version)));
    }

    #[test]
    fn a_changed_character_is_not_authentic(at in 0usize..70, to in "[A-Za-z0-9_-]") {
        let token = mint(&issuer(), &id(1, 2, "______________________"), 3, &key());
        let mut text = token.expose().to_owned();
        let at = at % text.len();
        text.replace_range(at..=at, &to);
        let read = parse_and_authenticate(&issuer(), &text, &key());
        prop_assert_eq!(read.is_some(), text == token.expose());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,120}") {
        prop_assert_eq!(parse_and_authenticate(&issuer(), &text, &key()), None);
    }
}

#[test]
fn another_issuer_or_key_makes_another_token() {
    let id = id(1, 2, "abcdefghijklmnopqrstuv");
    let token = mint(&issuer(), &id, 1, &key());
    assert!(token.expose().starts_with("rt_1_2_abcdefghijklmnopqrstuv_1_"));
    let other = IssuerId::parse("acme").unwrap();
    assert_eq!(parse_and_authenticate(&other, token.expose(), &key()), None);
    assert_eq!(parse_and_authenticate(&issuer(), token.expose(), &HmacKey::new(&[8; 32])), None);
    assert_eq!(format!("{token:?}"), "RefreshToken(..)");
}

#[test]
fn a_registered_token_is_version_1_of_a_family_found_by_hash() {
    let payload = json!({
        "iss": URL, "sub": "user-loadtest-1", "aud": "app", "scope": "openid", "client_id": "app",
        "iat": NOW.seconds(), "exp": after(100).seconds(), "jti": "v1_3_abc", "rtv": 1
    });
    let token = RegisteredToken::parse(payload.to_string().as_bytes()).unwrap();
    let header =
        |typ: &str| Header { alg: Algorithm::Rs256, kid: None, typ: Some(SmolStr::new(typ)), cty: None };
    let family = family_of_registered(&issuer(), &token.jti);
    assert_eq!((family.generation, &*family.name), (0, "qOE2zl1DNfjt6wQNf1W1XA"));
    assert_eq!(family.shard, u32::from(Slot::of(&issuer(), "v1_3_abc").number()));
    assert_eq!(token.presented(&header("JWT"), &issuer(), URL, NOW), Some((family.clone(), 1)));
    assert_eq!(token.presented(&header("at+jwt"), &issuer(), URL, NOW), None, "RFC 8725 3.12");
    assert_eq!(token.presented(&header("JWT"), &issuer(), URL, after(100)), None, "expired");
    assert_eq!(token.presented(&header("JWT"), &issuer(), "https://other.example.com", NOW), None);

    let successor = mint(&issuer(), &family, 2, &key());
    assert_eq!(parse_and_authenticate(&issuer(), successor.expose(), &key()), Some((family, 2)));
    assert!(RegisteredToken::parse(b"{}").is_none(), "without jti");
}

#[test]
fn refusals_of_rfc_6749_section_6() {
    let bound = Family { binding: Some(SmolStr::new("jkt")), ..family() };
    let mut without_grant_type = client("app");
    without_grant_type.grant_types = vec![GrantType::AuthorizationCode];
    let narrower = |left| Client { scope: scope(left), ..client("app") };
    let plain = Presented::default();
    let asks = |scope| Presented { scope: Some(scope), thumbprint: None };
    let proves = |key| Presented { scope: None, thumbprint: Some(key) };
    for (family, client, presented, now, answer) in [
        (family(), client("app"), plain, NOW, Ok("openid profile email")),
        (family(), client("app"), asks(""), NOW, Ok("openid profile email")),
        (family(), client("app"), asks("email"), NOW, Ok("email")),
        (family(), client("app"), asks("email api"), NOW, Err(ErrorCode::InvalidScope)),
        (family(), client("app"), asks("\""), NOW, Err(ErrorCode::InvalidScope)),
        (family(), narrower("email openid"), plain, NOW, Ok("openid email")),
        (family(), narrower("email"), asks("openid email"), NOW, Ok("email")),
        (family(), narrower("email"), asks("openid"), NOW, Err(ErrorCode::InvalidScope)),
        (family(), narrower("api"), plain, NOW, Err(ErrorCode::InvalidScope)),
        (family(), client("other"), plain, NOW, Err(ErrorCode::InvalidGrant)),
        (family(), client("app"), plain, after(1000), Err(ErrorCode::InvalidGrant)),
        (family(), without_grant_type, plain, NOW, Err(ErrorCode::UnauthorizedClient)),
        (bound.clone(), client("app"), plain, NOW, Err(ErrorCode::InvalidGrant)),
        (bound.clone(), client("app"), proves("other"), NOW, Err(ErrorCode::InvalidGrant)),
        (bound, client("app"), proves("jkt"), NOW, Ok("openid profile email")),
        (family(), client("app"), proves("jkt"), NOW, Ok("openid profile email")),
    ] {
        let got = check(&family, &client, presented, now).map_err(|error| error.code);
        assert_eq!(got, answer.map(scope), "{presented:?}");
    }
}

#[test]
fn rotation_cannot_be_off_for_public_clients() {
    let mut world = World::new();
    for (public, own, issuers, rotates) in [
        (false, None, true, true),
        (false, None, false, false),
        (false, Some(false), true, false),
        (false, Some(true), false, true),
        (true, Some(false), false, true),
    ] {
        world.settings.refresh_token_rotation = issuers;
        world.client.settings.refresh_token_rotation = own;
        world.client.token_endpoint_auth_method =
            if public { TokenEndpointAuthMethod::None } else { TokenEndpointAuthMethod::ClientSecretBasic };
        let request = rotation(&world.context(), &family(), 1);
        assert_eq!(request.rotate, rotates, "public {public}, own {own:?}, issuer's {issuers}");
    }
}

#[test]
fn a_rotation_takes_the_clients_settings_and_a_tombstone_that_outlives_the_grant() {
    let mut world = World::new();
    world.client.settings.refresh_retry_window = Some(3);
    world.client.settings.refresh_token_idle_lifetime = Some(77);
    let request = rotation(&world.context(), &family(), 4);
    assert_eq!((request.presented, request.now), (4, NOW));
    assert_eq!(request.retry_window, Duration::from_secs(3));
    assert_eq!(request.idle, Duration::from_secs(77));
    assert!(request.tombstone_until >= after(5000), "the family's own end");
    assert!(request.tombstone_until >= after(3600), "an access token of this second");
}

#[test]
fn outcomes_become_answers() {
    let told = |outcome| refreshed(outcome).map(|told| told.event).map_err(|error| error.code);
    assert_eq!(told(Rotation::Rotated(Arc::new(family()))), Ok(Event::RefreshTokenRotated));
    assert_eq!(told(Rotation::Retry(Arc::new(family()))), Ok(Event::RefreshTokenRetried));
    assert_eq!(told(Rotation::Reused(Arc::new(family()))), Err(ErrorCode::InvalidGrant));
    assert_eq!(told(Rotation::Unknown), Err(ErrorCode::InvalidGrant));
}

#[test]
fn a_refresh_keeps_the_login_by_openid_connect_core_12_2() {
    let world = World::new();
    let family = family();
    let plan = issue(&world.context(), &family, scope("openid email"), true);
    let id = plan.id.unwrap();
    assert_eq!((id.auth_time, id.nonce), (1_699_999_000, None));
    assert_eq!((id.sub.as_str(), id.aud.as_str()), ("u-1", "app"));
    assert_eq!(plan.access.gid, Some(family.grant));
    assert_eq!(plan.access.sid, Some(Sid::trusted("sid-1")));
    assert_eq!(plan.access.scope, scope("openid email"));
    assert!(plan.family.is_none());
    assert!(issue(&world.context(), &family, scope("email"), true).id.is_none());

    let offline = Family { scope: scope("openid offline_access"), ..family.clone() };
    for lives in [true, false] {
        let plan = issue(&world.context(), &offline, scope("openid"), lives);
        assert_eq!(plan.id.unwrap().sid, family.sid.clone().filter(|_| lives));
        assert_eq!(plan.access.sid, None, "it outlives the session");
    }
    assert_eq!(super::lineage(&offline).session, None);

    let lineage = lineage(&family);
    assert_eq!(lineage.slot, family.grant.slot());
    assert_eq!((lineage.grant, lineage.session), (Some(family.grant), family.sid));
}
