use super::*;
use crate::error::ErrorCode;
use crate::token::fixture::{NOW, access_token, after, family};

fn issuer() -> IssuerId {
    IssuerId::default_issuer()
}

fn client(id: &str) -> ClientId {
    ClientId::trusted(id)
}

#[test]
fn an_access_token_stays_revoked_until_its_own_end() {
    let token = access_token("app", "openid");
    let stone = of_access_token(&issuer(), &token, &client("app"), NOW).unwrap().unwrap();
    assert_eq!(stone.target, Target::Token(token.jti.clone()));
    assert_eq!(stone.expires_at, token.expires_at());
    assert_eq!(stone.slot, token.lineage(&issuer()).slot.number(), "where the look-up looks");
    assert_eq!(of_access_token(&issuer(), &token, &client("app"), after(3600)), Ok(None), "over anyhow");
}

#[test]
fn another_clients_token_is_refused_by_rfc_7009_section_2_1() {
    let token = access_token("app", "openid");
    let answer = of_access_token(&issuer(), &token, &client("other"), NOW).map_err(|error| error.code);
    assert_eq!(answer, Err(ErrorCode::InvalidGrant));
    let hour = Duration::from_secs(3600);
    let answer = of_refresh_token(&family(), &client("other"), hour, NOW).map_err(|error| error.code);
    assert_eq!(answer, Err(ErrorCode::InvalidGrant));
}

#[test]
fn a_refresh_token_takes_its_grant_along() {
    let family = family();
    let hour = Duration::from_secs(3600);
    let stone = of_refresh_token(&family, &client("app"), hour, NOW).unwrap();
    assert_eq!(stone.target, Target::Grant(family.grant.clone()));
    assert_eq!(stone.slot, family.grant.slot().number());
    // The access tokens may have been issued when they lived longer.
    assert_eq!(stone.expires_at, NOW + KEPT_AT_LEAST);
    let ended = Family { expires_at: Timestamp::EPOCH, ..family.clone() };
    assert_eq!(grant_needed_until(&ended, hour, NOW), NOW + KEPT_AT_LEAST);
    let long = Family { expires_at: NOW + 2 * KEPT_AT_LEAST, ..family };
    assert_eq!(grant_needed_until(&long, hour, NOW), long.expires_at + hour);
}

#[test]
fn ends_of_many_compare_with_the_birth() {
    let day = Duration::from_secs(86_400);
    let user = UserId::trusted("u-1");
    let slot = Slot::of(&issuer(), "u-1").number();
    let session = Tombstone::session(&issuer(), Sid::trusted("s"), &user, NOW, day);
    // A session's name never comes back, so whatever bears it has ended.
    assert_eq!(
        (session.slot, session.not_before, session.expires_at),
        (slot, Timestamp::FOREVER, after(86_400))
    );
    let of_user = Tombstone::user(&issuer(), user.clone(), NOW, day);
    assert_eq!((of_user.target, of_user.not_before), (Target::User(user), NOW));
    assert_eq!(Tombstone::client(&issuer(), client("app"), NOW, day).target, Target::Client(client("app")));
    assert_eq!(Tombstone::issuer(NOW, day).target, Target::Issuer);
}

#[test]
fn the_longest_life_looks_at_clients_too() {
    let settings = IssuerSettings::default();
    let own = longest_life(&settings, []);
    let lifetimes = &settings.lifetimes;
    assert_eq!(own, (lifetimes.refresh_token_absolute + lifetimes.access_token).max(KEPT_AT_LEAST));
    let year = 365 * 86_400;
    let long = ClientOverrides { access_token_lifetime: Some(year), ..ClientOverrides::default() };
    let short = ClientOverrides { access_token_lifetime: Some(1), ..ClientOverrides::default() };
    assert!(longest_life(&settings, [&short, &long]) > Duration::from_secs(year));
    assert_eq!(longest_life(&settings, [&short]), own.max(KEPT_AT_LEAST));
}
