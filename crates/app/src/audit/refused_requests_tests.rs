use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const REASON: Reason = Reason::RedirectUriNotRegistered;

fn owner(number: u32) -> Owner {
    (IssuerId::default_issuer(), Some(ClientId::trusted(format!("client-{number}"))))
}

fn peer(number: u32) -> IpAddr {
    IpAddr::V4((0x0a00_0000 + number).into())
}

/// How many of many refused requests have records.
fn recorded(minute: &mut Minute, many: impl Iterator<Item = (Owner, Reason, IpAddr)>) -> usize {
    many.filter_map(|(owner, reason, peer)| minute.admit(owner, reason, peer, NOW)).count()
}

#[test]
fn a_flood_at_one_client_is_bounded_and_hides_nothing_of_another() {
    let mut minute = Minute::default();
    let one_peer = (0..10_000).map(|_| (owner(1), REASON, peer(1)));
    assert_eq!(recorded(&mut minute, one_peer), PER_PEER as usize);
    let other_peers = (0..10_000).map(|n| (owner(1), REASON, peer(2 + n)));
    assert_eq!(recorded(&mut minute, other_peers), (PER_REASON - PER_PEER) as usize);
    let other_reasons = Reason::ALL.iter().cycle().take(10_000).map(|reason| (owner(1), *reason, peer(1)));
    let routine = Reason::ALL.iter().filter(|reason| reason.is_routine()).count();
    let most = (PER_CLIENT - PER_REASON) as usize + routine * (PER_ROUTINE_REASON / 2) as usize;
    assert_eq!(recorded(&mut minute, other_reasons), most);
    assert_eq!(minute.admit(owner(2), REASON, peer(1), NOW), Some(0));
}

#[test]
fn the_next_record_says_how_many_had_none() {
    let mut minute = Minute::default();
    let flood = (0..100).map(|_| (owner(1), REASON, peer(1)));
    assert_eq!(recorded(&mut minute, flood), PER_PEER as usize);
    assert_eq!(minute.admit(owner(1), Reason::CodeUsed, peer(1), NOW), Some(100 - u64::from(PER_PEER)));
    assert_eq!(minute.admit(owner(1), Reason::CodeUsed, peer(1), NOW), Some(0));
    assert_eq!(minute.admit(owner(1), REASON, peer(1), NOW), None);
    assert_eq!(minute.admit(owner(1), REASON, peer(1), NOW + MINUTE), Some(1), "a new minute");
}

#[test]
fn a_flood_at_many_clients_is_bounded_in_records_and_memory() {
    let mut minute = Minute::default();
    let flood = (0..200_000).map(|n| (owner(n % 100_000), REASON, peer(n)));
    let records = recorded(&mut minute, flood);
    assert!(records <= NOTABLE.per_minute as usize + CLIENTS + 1, "{records}");
    assert_eq!(minute.quotas.len(), CLIENTS);
    assert_eq!(minute.admit(owner(100), Reason::CodeUsed, peer(1), NOW), None, "all have used up theirs");
    assert_eq!(minute.admit(owner(100), Reason::CodeUsed, peer(1), NOW + MINUTE), Some(2));
    let longest = minute.quotas.values().map(|quota| quota.records.len()).max().unwrap();
    assert!(longest <= PER_CLIENT as usize);
    minute.admit(owner(8), REASON, peer(1), NOW + 2 * MINUTE);
    minute.admit(owner(8), REASON, peer(1), NOW + 3 * MINUTE);
    assert_eq!(minute.quotas.len(), 1, "whoever is quiet is forgotten");
}

/// The records of a day in which every minute brings a flood at many clients.
fn recorded_in_a_day(minute: &mut Minute, began: Timestamp, reason: Reason) -> u32 {
    let mut records = 0;
    for number in 0..1_440 {
        let now = began + number * MINUTE;
        // Once the day's budget is used up, only the first of a client may have a record.
        let each = if number < 60 { 16 } else { 1 };
        for n in 0..40 * each {
            records += u32::from(minute.admit(owner(n % 40), reason, peer(n), now).is_some());
        }
    }
    records
}

#[test]
fn a_flood_of_days_has_a_bound_a_day_and_each_day_begins_anew() {
    let mut minute = Minute::default();
    let notable = recorded_in_a_day(&mut minute, NOW, REASON);
    assert!((NOTABLE.per_day..NOTABLE.per_day + 1_440 * NOTABLE.beyond).contains(&notable), "{notable}");
    let routine = recorded_in_a_day(&mut minute, NOW + DAY, Reason::SessionMissing);
    assert!((ROUTINE.per_day..ROUTINE.per_day + 1_440 * ROUTINE.beyond).contains(&routine), "{routine}");
    let again = recorded_in_a_day(&mut minute, NOW + 2 * DAY, REASON);
    assert_eq!(again, notable, "a new day");
}

#[test]
fn routine_refusals_take_no_room_of_others() {
    let mut minute = Minute::default();
    recorded_in_a_day(&mut minute, NOW, Reason::SessionMissing);
    let late = NOW + 1_439 * MINUTE;
    let flood = (0..40).map(|n| (owner(n), REASON, peer(n)));
    let admitted = flood.filter_map(|(owner, reason, peer)| minute.admit(owner, reason, peer, late));
    assert_eq!(admitted.count(), 40);
}
