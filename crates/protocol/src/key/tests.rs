use proptest::prelude::*;

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn day(n: u32) -> Timestamp {
    Timestamp::EPOCH + DAY * n
}

/// Makes keys `k1`, `k2`, ...
fn maker() -> impl FnMut(Algorithm) -> Result<KeyRecord, &'static str> {
    let mut made = 0;
    move |algorithm| {
        made += 1;
        Ok(KeyRecord {
            kid: Kid::trusted(format!("k{made}")),
            algorithm,
            state: KeyState::Next,
            sealed: Vec::new(),
            created_at: Timestamp::EPOCH,
            known_from: None,
            signs_from: None,
            activated_at: None,
            retired_at: None,
            gone_at: None,
            reason: None,
        })
    }
}

fn broken(_: Algorithm) -> Result<KeyRecord, &'static str> {
    Err("no key")
}

fn states(keys: &[KeyRecord]) -> Vec<(&str, KeyState)> {
    keys.iter().map(|key| (key.kid.as_str(), key.state)).collect()
}

use KeyState::{Active, Next, Retiring, Revoked};

#[test]
fn a_new_issuer_has_rs256_and_its_own_algorithm() {
    let keys = initial(&IssuerSettings::default(), day(0), &mut maker()).unwrap();
    assert_eq!(states(&keys), [("k1", Active), ("k2", Next)]);
    let settings = IssuerSettings { signing_algorithm: Algorithm::EdDsa, ..IssuerSettings::default() };
    let keys = initial(&settings, day(0), &mut maker()).unwrap();
    assert_eq!(states(&keys), [("k1", Active), ("k2", Next), ("k3", Active), ("k4", Next)]);
    assert_eq!(active(&keys, Algorithm::EdDsa).unwrap().kid.as_str(), "k3");
}

/// The time at which relying parties know a key that was made at the epoch.
const KNOWN: Timestamp = Timestamp::from_millis(PUBLISHED_AHEAD.as_millis() as u64);
const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn a_new_algorithm_is_published_before_it_signs() {
    let mut make = maker();
    let mut keys = initial(&IssuerSettings::default(), day(0), &mut make).unwrap();
    assert_eq!(introduce(&mut keys, Algorithm::Es256, day(0), &mut make), Ok(true));
    assert_eq!(states(&keys)[2..], [("k3", Next)]);
    assert_eq!(keys[2].signs_from, Some(KNOWN));
    assert!(published(&keys, day(0)).any(|key| key.kid.as_str() == "k3"));
    assert!(active(&keys, Algorithm::Es256).is_none());
    assert_eq!(introduce(&mut keys, Algorithm::Es256, day(0), &mut make), Ok(false), "once");
    assert!(!is_take_over_due(&keys, KNOWN - MOMENT));
    settle(&mut keys, KNOWN, DAY, &mut make).unwrap();
    assert_eq!(states(&keys)[2..], [("k3", Active), ("k4", Next)]);
    assert_eq!((keys[2].activated_at, keys[2].signs_from), (Some(KNOWN), None));
    assert_eq!(introduce(&mut keys, Algorithm::Es256, KNOWN, &mut make), Ok(false));
}

#[test]
fn an_algorithm_that_a_client_names_signs_for_it_at_once() {
    let mut make = maker();
    let mut keys = initial(&IssuerSettings::default(), day(0), &mut make).unwrap();
    assert_eq!(serve_by_name(&mut keys, Algorithm::Es256, day(0), &mut make), Ok(true));
    assert_eq!(states(&keys)[2..], [("k3", Active), ("k4", Next)]);
    assert_eq!(keys[2].known_from, Some(KNOWN), "for others it counts later");
    assert_eq!(serve_by_name(&mut keys, Algorithm::Es256, day(0), &mut make), Ok(false), "once");
    assert_eq!(serve_by_name(&mut keys, Algorithm::Rs256, day(0), &mut make), Ok(false));
    assert_eq!(keys[0].known_from, Some(day(0)));
    // One that waits to sign for all does so for that client now.
    introduce(&mut keys, Algorithm::EdDsa, day(0), &mut make).unwrap();
    assert_eq!(serve_by_name(&mut keys, Algorithm::EdDsa, day(0), &mut make), Ok(true));
    assert_eq!(states(&keys)[4..], [("k5", Active), ("k6", Next)]);
    assert_eq!((keys[4].known_from, keys[4].signs_from), (Some(KNOWN), None));
}

#[test]
fn a_rotation_waits_until_the_next_key_is_known() {
    let mut make = maker();
    let mut keys = initial(&IssuerSettings::default(), day(0), &mut make).unwrap();
    // Nobody has a key set of a new issuer that lacks its first keys.
    rotate(&mut keys, Algorithm::Rs256, day(0), DAY, &mut make).unwrap();
    assert_eq!(states(&keys), [("k1", Retiring), ("k2", Active), ("k3", Next)]);

    rotate(&mut keys, Algorithm::Rs256, day(0) + MOMENT, DAY, &mut make).unwrap();
    rotate(&mut keys, Algorithm::Rs256, day(0) + MOMENT, DAY, &mut make).unwrap();
    assert_eq!(states(&keys), [("k1", Retiring), ("k2", Active), ("k3", Next)]);
    assert_eq!(keys[2].signs_from, Some(KNOWN));
    settle(&mut keys, KNOWN - MOMENT, DAY, &mut make).unwrap();
    assert_eq!(states(&keys)[1..], [("k2", Active), ("k3", Next)]);
    // However late somebody looks, it signs from the time that was said.
    settle(&mut keys, day(1), DAY, &mut make).unwrap();
    assert_eq!(states(&keys)[1..], [("k2", Retiring), ("k3", Active), ("k4", Next)]);
    assert_eq!((keys[2].activated_at, keys[1].gone_at), (Some(KNOWN), Some(day(2))));
}

#[test]
fn the_successor_of_a_revoked_key_that_was_to_sign_waits_too() {
    let mut make = maker();
    let mut keys = initial(&IssuerSettings::default(), day(0), &mut make).unwrap();
    introduce(&mut keys, Algorithm::Es256, day(0), &mut make).unwrap();
    revoke(&mut keys, &Kid::trusted("k3"), None, day(0), DAY, &mut make).unwrap();
    assert_eq!(states(&keys)[2..], [("k3", Revoked), ("k4", Next)]);
    assert_eq!((keys[2].signs_from, keys[3].signs_from), (None, Some(KNOWN)));
}

#[test]
fn a_retired_key_is_published_as_long_as_the_longest_token_lives() {
    let mut make = maker();
    let mut keys = initial(&IssuerSettings::default(), day(0), &mut make).unwrap();
    rotate(&mut keys, Algorithm::Rs256, day(90), DAY * 30, &mut make).unwrap();
    assert_eq!(states(&keys), [("k1", Retiring), ("k2", Active), ("k3", Next)]);
    assert_eq!(keys[1].activated_at, Some(day(90)));
    let kids = |now| published(&keys, now).map(|key| key.kid.as_str()).collect::<Vec<_>>();
    assert_eq!(kids(day(119)), ["k1", "k2", "k3"]);
    assert_eq!(kids(day(120)), ["k2", "k3"]);

    let mut swept = keys.clone();
    assert!(!drop_gone(&mut swept, day(120)), "a clock may be 15 minutes behind");
    assert!(drop_gone(&mut swept, day(120) + KEPT_AFTER_END));
    assert_eq!(states(&swept), [("k2", Active), ("k3", Next)]);
}

#[test]
fn the_schedule_looks_at_active_keys_alone() {
    let mut settings = IssuerSettings::default();
    let mut make = maker();
    let mut keys = initial(&settings, day(0), &mut make).unwrap();
    introduce(&mut keys, Algorithm::Es256, day(50), &mut make).unwrap();
    settle(&mut keys, day(50), DAY, &mut make).unwrap();
    let due = |settings: &IssuerSettings, n| rotation_due(&keys, settings, day(n)).collect::<Vec<_>>();
    assert_eq!(due(&settings, 89), []);
    assert_eq!(due(&settings, 90), [Algorithm::Rs256]);
    assert_eq!(due(&settings, 140), [Algorithm::Rs256, Algorithm::Es256]);
    settings.key_rotation_days = 0;
    assert_eq!(due(&settings, 10_000), [], "switched off");
}

#[test]
fn revocation_acts_at_once_and_the_next_key_signs() {
    let mut make = maker();
    let mut keys = initial(&IssuerSettings::default(), day(0), &mut make).unwrap();
    let kid = Kid::trusted("k1");
    let reason = Some("leaked".to_owned());
    assert_eq!(revoke(&mut keys, &kid, reason.clone(), day(1), DAY, &mut make), Ok(true));
    assert_eq!(states(&keys), [("k1", Revoked), ("k2", Active), ("k3", Next)]);
    assert_eq!((&keys[0].reason, keys[0].gone_at), (&reason, Some(day(2))));
    assert!(published(&keys, day(1)).all(|key| key.kid != kid));
    assert_eq!(revoke(&mut keys, &kid, None, day(1), DAY, &mut make), Ok(false), "revoked before");
    assert_eq!(revoke(&mut keys, &Kid::trusted("k9"), None, day(1), DAY, &mut make), Ok(false));

    assert_eq!(revoke(&mut keys, &Kid::trusted("k3"), None, day(1), DAY, &mut make), Ok(true));
    assert_eq!(states(&keys)[1..], [("k2", Active), ("k3", Revoked), ("k4", Next)]);
}

#[test]
fn revocation_holds_even_where_no_new_key_can_be_made() {
    let mut keys = initial(&IssuerSettings::default(), day(0), &mut maker()).unwrap();
    let answer = revoke(&mut keys, &Kid::trusted("k1"), None, day(1), DAY, &mut broken);
    assert_eq!(answer, Err("no key"));
    assert_eq!(states(&keys), [("k1", Revoked), ("k2", Active)]);
}

proptest! {
    /// Whatever happens in whatever order: one key signs per algorithm, one is next, revoked ones stay revoked.
    #[test]
    fn one_key_signs_and_one_is_next(steps in proptest::collection::vec((0u8..3, 0usize..8), 1..30)) {
        let mut make = maker();
        let mut keys = initial(&IssuerSettings::default(), day(0), &mut make).unwrap();
        for (n, (step, which)) in steps.into_iter().enumerate() {
            let now = day(u32::try_from(n).unwrap());
            match step {
                0 => rotate(&mut keys, Algorithm::Rs256, now, DAY * 5, &mut make).unwrap(),
                1 => {
                    let kid = keys[which % keys.len()].kid.clone();
                    revoke(&mut keys, &kid, None, now, DAY * 5, &mut make).unwrap();
                    prop_assert!(published(&keys, now).all(|key| key.kid != kid));
                }
                _ => { drop_gone(&mut keys, now); }
            }
            for state in [Active, Next] {
                prop_assert_eq!(keys.iter().filter(|key| key.state == state).count(), 1);
            }
        }
    }
}
