use serde_json::{Value, json};

use super::*;
use crate::session::AuthenticationMethod;
use crate::token::fixture::{NOW, URL, World};

#[test]
fn at_hash_is_the_left_half_by_the_hash_of_the_algorithm() {
    // OpenID Connect Core appendix A.3.
    let token = b"jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
    for algorithm in [Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256] {
        assert_eq!(left_half(token, None, algorithm), "77QmUPtjPfzWtF2AnpK9RQ");
        assert_eq!(left_half(b"", Some(digest::sha256(&[token])), algorithm), "77QmUPtjPfzWtF2AnpK9RQ");
    }
    // Ed25519: half of the SHA-512 of "abc" (FIPS 180-2 appendix C.1).
    let eddsa = left_half(b"abc", Some([0; 32]), Algorithm::EdDsa);
    assert_eq!(eddsa, "3a81oZNherrMQXNJriBBMRLm-k6JqX6iCp7u5ktV05o");
}

#[test]
fn claims_of_openid_connect_core_2() {
    let world = World::new();
    let (user, sid) = (UserId::trusted("u-1"), Sid::trusted("sid-1"));
    let authentication = Authentication {
        user: &user,
        auth_time: Timestamp::from_seconds(1_699_999_000),
        amr: Amr::of(AuthenticationMethod::Pwd).with(AuthenticationMethod::Mfa),
        acr: Acr::parse("urn:symbolon:acr:2"),
        sid: Some(&sid),
        nonce: Some("n-1"),
    };
    let mut token = IdToken::new(&world.context(), &authentication);
    token.bind(b"abc", None, Algorithm::EdDsa);
    let json: Value = serde_json::from_slice(&token.to_json()).unwrap();
    assert_eq!(
        json,
        json!({
            "iss": URL, "sub": "u-1", "aud": "app", "exp": NOW.seconds() + 3600, "iat": NOW.seconds(),
            "auth_time": 1_699_999_000, "nonce": "n-1", "sid": "sid-1", "amr": ["pwd", "mfa"],
            "acr": "urn:symbolon:acr:2",
            "at_hash": "3a81oZNherrMQXNJriBBMRLm-k6JqX6iCp7u5ktV05o"
        })
    );
}
