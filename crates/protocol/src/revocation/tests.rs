use super::*;
use crate::error::ErrorCode;
use crate::grant::Lineage;
use crate::settings::EarlierLifetime;
use crate::token::fixture::{self, NOW, access_token, after, family};

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
fn remembered_browsers_end_by_a_name_that_no_client_may_have_and_that_stores_read_back() {
    let user = UserId::trusted("ann");
    let stone = Tombstone::remembered_browsers(&issuer(), user.clone(), NOW);
    let lineage = Lineage::of_remembered_browser(&issuer(), &user, NOW);
    let Target::Consent(of, name) = &stone.target else { panic!("{stone:?}") };
    assert_eq!((of, name), (&user, lineage.client.as_ref().unwrap()));
    assert!(crate::id::refused_in_paths(name.as_str()).is_some());
    assert_eq!(ClientId::parse(name.as_str()).as_ref(), Ok(name));
    assert_eq!(stone.slot, lineage.slot.number(), "where the look-up looks");
    assert!(stone.expires_at >= NOW + std::time::Duration::from_secs(30 * 86_400), "as long as one may live");
}

#[test]
fn another_clients_token_is_refused_by_rfc_7009_section_2_1() {
    let token = access_token("app", "openid");
    let answer = of_access_token(&issuer(), &token, &client("other"), NOW).map_err(|error| error.code);
    assert_eq!(answer, Err(ErrorCode::InvalidGrant));
    let settings = IssuerSettings::default();
    let answer =
        of_refresh_token(&family(), &fixture::client("other"), &settings, NOW).map_err(|error| error.code);
    assert_eq!(answer, Err(ErrorCode::InvalidGrant));
}

#[test]
fn a_refresh_token_takes_its_grant_along() {
    let family = family();
    let settings = IssuerSettings::default();
    let stone = of_refresh_token(&family, &fixture::client("app"), &settings, NOW).unwrap();
    assert_eq!(stone.target, Target::Grant(family.grant));
    assert_eq!(stone.slot, family.grant.slot().number());
    assert_eq!(stone.expires_at, NOW + KEPT_AT_LEAST);
    let until = |ends, settings| {
        grant_needed_until(
            &Family { expires_at: ends, ..family.clone() },
            settings,
            &ClientOverrides::default(),
            NOW,
        )
    };
    let (late, hour) = (NOW + 2 * KEPT_AT_LEAST, Duration::from_secs(3600));
    assert_eq!(until(Timestamp::EPOCH, &settings), NOW + KEPT_AT_LEAST);
    assert_eq!(until(late, &settings), late + hour);
    // Its access tokens may have been issued when they lived longer.
    let mut lowered = settings.clone();
    lowered.outlive(3 * KEPT_AT_LEAST, NOW);
    assert_eq!(until(late, &lowered), NOW + 3 * KEPT_AT_LEAST);
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
    assert_eq!((of_user.target, of_user.not_before), (Target::User(user.clone()), NOW));
    assert_eq!(Tombstone::client(&issuer(), client("app"), NOW, day).target, Target::Client(client("app")));
    let consent = Tombstone::consent(&issuer(), user.clone(), client("app"), NOW, day);
    assert_eq!(consent.target, Target::Consent(user.clone(), client("app")));
    assert_eq!((consent.slot, consent.not_before, consent.expires_at), (slot, NOW, after(86_400)));
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
    assert_eq!(longest_life(&settings, [&short]), own);
}

#[test]
fn what_outlives_its_settings_is_remembered_until_it_has_ended() {
    let day = Duration::from_secs(86_400);
    let mut settings = IssuerSettings::default();
    settings.outlive(400 * day, NOW);
    assert_eq!(longest_life(&settings, []), 400 * day);
    // The longer one lasts, and what is lowered later ends later.
    settings.outlive(100 * day, NOW + 350 * day);
    assert_eq!(settings.outlived, Some(EarlierLifetime { life: 400 * day, until: NOW + 450 * day }));
    settings.outlive(50 * day, NOW + 450 * day);
    assert_eq!(settings.outlived, Some(EarlierLifetime { life: 50 * day, until: NOW + 500 * day }));
}
