use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;

use super::*;
use crate::client::TokenEndpointAuthMethod;
use crate::event::Event;
use crate::family::Rotation;
use crate::id::{Sid, UserId};
use crate::session::{Amr, Session};
use crate::token::fixture::{NOW, URL, World, after, client, family, scope, user};
use crate::user::User;

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
    let plain = PresentedRefreshToken::default();
    let asks = |scope| PresentedRefreshToken { scope: Some(scope), ..Default::default() };
    let proves = |key| PresentedRefreshToken { thumbprint: Some(key), ..Default::default() };
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
        let request = plan::rotation(&world.context(), &family(), 1);
        assert_eq!(request.rotate, rotates, "public {public}, own {own:?}, issuer's {issuers}");
    }
}

#[test]
fn a_rotation_takes_the_clients_settings_and_a_tombstone_that_outlives_the_grant() {
    let mut world = World::new();
    world.client.settings.refresh_retry_window = Some(3);
    world.client.settings.refresh_token_idle_lifetime = Some(77);
    let request = plan::rotation(&world.context(), &family(), 4);
    assert_eq!((request.presented, request.now), (4, NOW));
    assert_eq!(request.retry_window, Duration::from_secs(3));
    assert_eq!(request.idle, Duration::from_secs(77));
    assert!(request.tombstone_until >= after(5000), "the family's own end");
    assert!(request.tombstone_until >= after(3600), "an access token of this second");
}

/// The records of a family of which nothing has ended.
fn records<'a>(
    family: &'a Family,
    user: Option<&'a User>,
    session: Option<&'a Session>,
) -> RefreshRecords<'a> {
    RefreshRecords { family, version: 1, has_ended: false, user, session }
}

fn session_of(user: &str) -> Session {
    Session {
        user: UserId::trusted(user),
        sid: Sid::trusted("sid-1"),
        auth_time: NOW,
        created_at: NOW,
        expires_at: after(100),
        amr: Amr::default(),
        clients: Box::default(),
        predecessors: Default::default(),
        by_time: Default::default(),
    }
}

#[test]
fn what_has_ended_and_whoever_may_not_sign_in_is_refused_before_anything_rotates() {
    let world = World::new();
    let family = family();
    let inactive = User { active: false, ..user() };
    let good = user();
    let ended = RefreshRecords { has_ended: true, ..records(&family, Some(&good), None) };
    for (records, answer) in [
        (records(&family, Some(&good), None), Ok(1)),
        (records(&family, None, None), Ok(1)),
        (records(&family, Some(&inactive), None), Err(ErrorCode::InvalidGrant)),
        (ended, Err(ErrorCode::InvalidGrant)),
    ] {
        let planned = plan(&world.context(), &records, PresentedRefreshToken::default());
        assert_eq!(planned.map(|plan| plan.rotation.presented).map_err(|error| error.code), answer);
    }
}

#[test]
fn outcomes_become_answers() {
    let world = World::new();
    let id = id(1, 2, "abcdefghijklmnopqrstuv");
    let moved = Arc::new(Family { version: 2, ..family() });
    let finish = |outcome| {
        let plan = plan(&world.context(), &records(&family(), None, None), PresentedRefreshToken::default())
            .unwrap();
        let finished = plan.finish(&world.context(), ("the text", &id), &key(), outcome);
        finished.map(|refreshed| (refreshed.event, refreshed.refresh_token.expose().to_owned()))
    };
    let second = mint(&issuer(), &id, 2, &key()).expose().to_owned();
    assert_eq!(
        finish(Rotation::Rotated(Arc::clone(&moved))),
        Ok((Event::RefreshTokenRotated, second.clone()))
    );
    assert_eq!(finish(Rotation::Retry(Arc::clone(&moved))), Ok((Event::RefreshTokenRetried, second)));
    let unmoved = finish(Rotation::Rotated(Arc::new(family())));
    assert_eq!(unmoved, Ok((Event::RefreshTokenRotated, "the text".to_owned())), "rotation is off");
    let reused = finish(Rotation::Reused(Arc::clone(&moved))).unwrap_err();
    assert_eq!((reused.error.code, reused.reused), (ErrorCode::InvalidGrant, Some(moved)));
    let unknown = finish(Rotation::Unknown).unwrap_err();
    assert_eq!((unknown.error.code, unknown.reused), (ErrorCode::InvalidGrant, None));
}

#[test]
fn a_refreshed_id_token_names_a_session_that_lives() {
    let world = World::new();
    let offline = Family { scope: scope("openid offline_access"), ..family() };
    let registered = Family { sid: None, ..offline.clone() };
    let (own, others) = (session_of("u-1"), session_of("u-2"));
    let sid = Some(Sid::trusted("sid-1"));
    assert_eq!(session_needed(&offline), sid.as_ref());
    assert_eq!(session_needed(&family()), None, "its lineage says whether its session lives");
    assert_eq!(session_needed(&registered), None);
    assert_eq!(session_needed(&Family { scope: scope("offline_access"), ..offline.clone() }), None);
    for (family, session, named) in [
        (&offline, Some(&own), sid.clone()),
        (&offline, Some(&others), None),
        (&offline, None, None),
        (&family(), None, sid),
        (&registered, None, None),
    ] {
        let plan = plan(&world.context(), &records(family, None, session), PresentedRefreshToken::default())
            .unwrap();
        let outcome = Rotation::Rotated(Arc::new(family.clone()));
        let id = id(1, 2, "abcdefghijklmnopqrstuv");
        let refreshed = plan.finish(&world.context(), ("the text", &id), &key(), outcome).unwrap();
        assert_eq!(refreshed.tokens.id.unwrap().sid, named, "{session:?}");
    }
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
