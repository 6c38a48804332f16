use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::token::fixture::{NOW, after, family};

const WINDOW: Duration = Duration::from_secs(10);

fn request(presented: u32, now: Timestamp) -> RotationRequest {
    RotationRequest {
        presented,
        now,
        retry_window: WINDOW,
        idle: Duration::from_secs(1000),
        rotate: true,
        tombstone_until: now,
    }
}

#[test]
fn the_live_version_moves_on() {
    let mut family = family();
    assert_eq!(rotate(&mut family, &request(1, after(5))), Step::Moved);
    assert_eq!((family.version, family.rotated_at), (2, after(5)));
    assert_eq!(family.idle_expires_at, after(1005));
    assert_eq!(family.expires_at, after(5000), "rotation does not prolong the whole");
}

#[test]
fn a_lost_answer_is_forgiven_while_its_successor_is_unused() {
    let mut family = family();
    rotate(&mut family, &request(1, NOW));
    assert_eq!(rotate(&mut family, &request(1, after(10))), Step::Retry);
    assert_eq!(family.version, 2, "the same successor again");
    assert_eq!(rotate(&mut family.clone(), &request(1, after(11))), Step::Reused, "the window is over");
    rotate(&mut family, &request(2, after(10)));
    assert_eq!(rotate(&mut family, &request(1, after(10))), Step::Reused, "the successor was used");
}

#[test]
fn an_authentic_higher_version_goes_forward() {
    let mut family = family();
    assert_eq!(rotate(&mut family, &request(40, NOW)), Step::Moved);
    assert_eq!(family.version, 41);
    assert_eq!(rotate(&mut family, &request(u32::MAX, NOW)), Step::Moved);
    assert_eq!(family.version, u32::MAX, "and stops at the end of numbers");
}

#[test]
fn a_family_whose_time_is_over_is_unknown_and_unchanged() {
    for now in [after(1000), after(5000)] {
        let mut ended = family();
        assert_eq!(rotate(&mut ended, &request(1, now)), Step::Unknown);
        assert_eq!(ended, family());
    }
}

#[test]
fn without_rotation_the_same_token_lives_on_and_older_ones_do_not() {
    let mut family = Family { version: 3, ..family() };
    let request = |presented| RotationRequest { rotate: false, ..request(presented, after(20)) };
    assert_eq!(rotate(&mut family, &request(3)), Step::Moved);
    assert_eq!((family.version, family.idle_expires_at), (3, after(1020)));
    assert_eq!(rotate(&mut family, &request(1)), Step::Reused);
    // The version before is forgiven within the window after the last rotation only, and not after each use.
    let late = |presented| RotationRequest { now: NOW + 2 * WINDOW, ..request(presented) };
    let mut family = Family { rotated_at: NOW, ..family };
    assert_eq!(rotate(&mut family, &late(3)), Step::Moved);
    assert_eq!(rotate(&mut family, &late(2)), Step::Reused);
}

proptest! {
    /// Two clients hold the same first token (one of them stole it) and refresh in any order, with any pauses, each
    /// always with the newest token it was given. However they interleave, the family never feeds two branches: what
    /// the two hold differs by one version at most, and only inside the retry window; after that window the one left
    /// behind ends the family for both.
    #[test]
    fn there_are_never_two_live_branches(
        steps in proptest::collection::vec((any::<bool>(), 0u64..15), 1..60),
    ) {
        let mut family = Family { expires_at: Timestamp::FOREVER, ..family() };
        let mut held = [1u32, 1];
        let mut now = NOW;
        for (who, pause) in steps {
            now = now + Duration::from_secs(pause);
            let before = family.clone();
            let presented = held[usize::from(who)];
            let in_window = now.since(before.rotated_at) <= WINDOW;
            match rotate(&mut family, &request(presented, now)) {
                Step::Moved => {
                    prop_assert_eq!(presented, before.version, "only the live version moves the family");
                    prop_assert_eq!(family.version, before.version + 1);
                    held[usize::from(who)] = family.version;
                }
                Step::Retry => {
                    prop_assert!(in_window && presented + 1 == before.version);
                    prop_assert_eq!(&family, &before, "a retry makes no new version");
                    held[usize::from(who)] = family.version;
                }
                Step::Reused => {
                    let forgiven = in_window && presented + 1 == before.version;
                    prop_assert!(presented < before.version && !forgiven);
                    // The store ends the family and its grant here: both branches are dead.
                    return Ok(());
                }
                Step::Unknown => {
                    prop_assert!(before.ended(now));
                    return Ok(());
                }
            }
            prop_assert!(held.iter().all(|version| *version <= family.version), "nobody is ahead of the store");
        }
    }

    /// Every version but the live one, and the one before it inside the window, is reused, however old.
    #[test]
    fn every_older_version_is_reused(version in 2u32..10_000, back in 1u32..10_000, later in 0u64..900) {
        let presented = version.saturating_sub(back);
        let mut family = Family { version, ..family() };
        let forgiven = back == 1 && later <= WINDOW.as_secs();
        let expected = if forgiven { Step::Retry } else { Step::Reused };
        let before = family.clone();
        prop_assert_eq!(rotate(&mut family, &request(presented, after(later))), expected);
        prop_assert_eq!(family, before, "whatever came, nothing moved");
    }

    /// A store that lost its last writes meets a token from after them: it goes forward, and what it had handed out
    /// before is reused.
    #[test]
    fn a_store_that_went_backwards_goes_forward(lost in 1u32..50, version in 1u32..10_000) {
        let mut family = Family { version, ..family() };
        let presented = version + lost;
        prop_assert_eq!(rotate(&mut family, &request(presented, after(100))), Step::Moved);
        prop_assert_eq!(family.version, presented + 1);
        prop_assert_eq!(rotate(&mut family, &request(version, after(100))), Step::Reused);
    }
}

/// Records of before end where the resources begin now, or where the authorization details do.
#[test]
fn a_record_without_resources_is_read_as_it_was() {
    let none = family();
    let named = Family { resources: vec!["https://api.example".to_owned()], ..family() };
    let details = serde_json::from_str(r#"[{"type":"pay","amount":1}]"#).unwrap();
    let detailed = Family { authorization_details: details, ..named.clone() };
    let bytes = |family: &Family| postcard::to_allocvec(family).unwrap();
    assert!(bytes(&detailed).starts_with(&bytes(&named)), "what was written before ends there");
    let whole = bytes(&none);
    let (number_of_resources, before) = whole.split_last().unwrap();
    assert_eq!((*number_of_resources, postcard::from_bytes::<Family>(before).as_ref()), (0, Ok(&none)));
    let alone = Family { resources: Vec::new(), ..detailed.clone() };
    for family in [none, named, detailed, alone] {
        assert_eq!(postcard::from_bytes::<Family>(&bytes(&family)).unwrap(), family);
        let text = serde_json::to_string(&family).unwrap();
        assert_eq!(serde_json::from_str::<Family>(&text).unwrap(), family);
    }
}
