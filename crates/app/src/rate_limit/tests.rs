use std::num::NonZeroU32;
use std::time::Duration;

use super::*;
use symbolon_config::{EndpointLimit, LoginLimits, Rate};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn per_second(count: u32) -> Option<Rate> {
    Some(Rate { count, per: Duration::from_secs(1) })
}

fn per_minute(count: u32) -> Option<Rate> {
    Some(Rate { count, per: Duration::from_secs(60) })
}

fn configured() -> config::RateLimits {
    let endpoint = EndpointLimit { client: per_second(5), address: per_minute(6) };
    config::RateLimits {
        enabled: true,
        authorize: per_minute(3),
        authorize_user: per_minute(2),
        assertion_client: per_second(2),
        token: endpoint,
        userinfo: endpoint,
        userinfo_user: per_second(2),
        introspect: endpoint,
        revoke: EndpointLimit { client: None, address: None },
        par: endpoint,
        device_authorization: endpoint,
        backchannel_authentication: endpoint,
        client_registration: per_minute(4),
        logout: per_minute(4),
        login: LoginLimits {
            account: per_minute(10),
            address: per_minute(60),
            success: per_minute(5),
            email_codes: per_minute(3),
            mails: None,
            account_in_flight: NonZeroU32::new(2),
            address_in_flight: NonZeroU32::new(3),
            sessions: None,
        },
        admin_address: per_minute(2),
        connections: NonZeroU32::new(3),
        body_budget: 1 << 20,
    }
}

/// Whether a password may be tried; it is no more in flight when this returns.
fn try_login(
    limits: &RateLimits,
    issuer: &IssuerId,
    name: &str,
    address: IpAddr,
    now: Timestamp,
) -> Result<(), Limited> {
    limits.begin_login(issuer, name, address, now).map(drop)
}

#[test]
fn attempts_in_flight_are_limited_whether_they_are_right_or_wrong() {
    let limits = RateLimits::new(&configured());
    let (issuer, here, there) = (IssuerId::default_issuer(), address("192.0.2.1"), address("192.0.2.2"));
    let begin = |name, from| limits.begin_login(&issuer, name, from, NOW);
    let held = [begin("alice", here).unwrap(), begin("Alice ", here).unwrap()];
    assert_eq!(begin("alice", here).err(), Some(Limited { retry_after_seconds: 1 }));
    drop(begin("alice", there).unwrap());
    let bob = begin("bob", here).unwrap();
    assert!(begin("carol", here).is_err(), "the address has as many in flight as it may");
    drop(bob);
    drop(begin("carol", here).unwrap());
    drop(held);
    drop(begin("alice", here).unwrap());
}

#[test]
fn one_address_holds_so_many_connections_and_no_more() {
    let limits = RateLimits::new(&configured());
    let begin = |from: &str| limits.begin_connection(address(from));
    let held: Vec<_> = (1..=3).map(|n| begin(&format!("2001:db8::{n}")).unwrap()).collect();
    assert!(begin("2001:db8::9").is_err(), "one host has a whole /64");
    let other = begin("2001:db8:0:1::1").unwrap();
    // What a proxy forwards is counted apart.
    let forwarded: Vec<_> = (0..3).map(|_| limits.begin_forwarded(address("2001:db8::1")).unwrap()).collect();
    assert!(limits.begin_forwarded(address("2001:db8::2")).is_err());
    drop((held, forwarded, other));
    drop((begin("2001:db8::9").unwrap(), limits.begin_forwarded(address("2001:db8::1")).unwrap()));
    limits.set(&config::RateLimits { enabled: false, ..configured() });
    assert!((0..1_000).map(|_| begin("192.0.2.1")).collect::<Result<Vec<_>, _>>().is_ok());
}

#[test]
fn right_passwords_are_used_up_too() {
    let limits = RateLimits::new(&configured());
    let (issuer, here) = (IssuerId::default_issuer(), address("192.0.2.1"));
    for _ in 0..5 {
        try_login(&limits, &issuer, "alice", here, NOW).unwrap();
        limits.right_password(&issuer, "alice", here, NOW);
    }
    assert_eq!(try_login(&limits, &issuer, "alice", here, NOW), Err(Limited { retry_after_seconds: 12 }));
    try_login(&limits, &issuer, "bob", here, NOW).unwrap();
    try_login(&limits, &issuer, "alice", here, after(12_000)).unwrap();
}

fn client(id: &str) -> (IssuerId, ClientId) {
    (IssuerId::default_issuer(), ClientId::parse(id).unwrap())
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn after(millis: u64) -> Timestamp {
    NOW + Duration::from_millis(millis)
}

#[test]
fn a_burst_passes_and_then_what_refills() {
    let limits = RateLimits::new(&configured());
    let (issuer, one) = client("one");
    let check = |now| limits.check_client(EndpointClass::Token, &issuer, &one, now);
    for _ in 0..5 {
        check(NOW).unwrap();
    }
    assert_eq!(check(NOW), Err(Limited { retry_after_seconds: 1 }));
    assert!(check(after(199)).is_err());
    check(after(200)).unwrap();
    assert!(check(after(200)).is_err());
    for _ in 0..5 {
        check(after(1_200)).unwrap();
    }
    assert!(check(after(1_200)).is_err());
}

#[test]
fn retry_after_is_when_it_passes() {
    let limits = RateLimits::new(&configured());
    let check = |now| limits.check_address(EndpointClass::Authorize, address("192.0.2.1"), now);
    for _ in 0..3 {
        check(NOW).unwrap();
    }
    assert_eq!(check(NOW), Err(Limited { retry_after_seconds: 20 }));
    assert_eq!(check(after(5_500)), Err(Limited { retry_after_seconds: 15 }));
    check(after(20_000)).unwrap();
}

#[test]
fn clients_issuers_and_endpoints_do_not_share_a_bucket() {
    let limits = RateLimits::new(&configured());
    let (issuer, one) = client("one");
    let (_, two) = client("two");
    let acme = IssuerId::parse("acme").unwrap();
    for _ in 0..5 {
        limits.check_client(EndpointClass::Token, &issuer, &one, NOW).unwrap();
    }
    assert!(limits.check_client(EndpointClass::Token, &issuer, &one, NOW).is_err());
    limits.check_client(EndpointClass::Token, &issuer, &two, NOW).unwrap();
    limits.check_client(EndpointClass::Token, &acme, &one, NOW).unwrap();
    limits.check_client(EndpointClass::Userinfo, &issuer, &one, NOW).unwrap();
    for _ in 0..1_000 {
        limits.check_client(EndpointClass::Revoke, &issuer, &one, NOW).unwrap();
        limits.check_client(EndpointClass::Authorize, &issuer, &one, NOW).unwrap();
    }
}

#[test]
fn one_host_has_one_bucket_for_its_whole_64() {
    let limits = RateLimits::new(&configured());
    let check = |text| limits.check_address(EndpointClass::Authorize, address(text), NOW);
    check("2001:db8:1:2::1").unwrap();
    check("2001:db8:1:2:ffff::2").unwrap();
    check("2001:db8:1:2:1:2:3:4").unwrap();
    assert!(check("2001:db8:1:2::9").is_err());
    check("2001:db8:1:3::1").unwrap();
    for _ in 0..3 {
        check("::ffff:192.0.2.9").unwrap();
    }
    assert!(check("192.0.2.9").is_err(), "an IPv4 address is the same in IPv6 clothes");
    check("192.0.2.8").unwrap();
}

#[test]
fn off_lifts_everything_and_on_remembers() {
    let limits = RateLimits::new(&configured());
    let here = address("192.0.2.1");
    let (issuer, one) = client("one");
    let all = || {
        limits.check_address(EndpointClass::Token, here, NOW)?;
        limits.check_client(EndpointClass::Token, &issuer, &one, NOW)?;
        limits.failed_login(&issuer, "alice", here, NOW);
        try_login(&limits, &issuer, "alice", here, NOW)?;
        limits.failed_admin(here, NOW);
        limits.may_try_admin(here, NOW)
    };
    while all().is_ok() {}
    limits.set(&config::RateLimits { enabled: false, ..configured() });
    for _ in 0..1_000 {
        all().unwrap();
    }
    limits.set(&configured());
    assert!(all().is_err());
}

#[test]
fn off_takes_no_memory() {
    let limits = RateLimits::new(&config::RateLimits { enabled: false, ..configured() });
    limits.check_address(EndpointClass::Token, address("192.0.2.1"), NOW).unwrap();
    limits.failed_admin(address("192.0.2.1"), NOW);
    let tables = [&limits.clients, &limits.users, &limits.addresses, &limits.logins, &limits.admin];
    assert_eq!(tables.map(Table::slots_taken), [0; 5]);
}

#[test]
fn what_one_user_is_refused_uses_nothing_of_the_clients_limit() {
    let limits = RateLimits::new(&configured());
    let (issuer, one) = client("one");
    let ask = |client: &ClientId, name: &str| {
        limits.check_userinfo_user(&issuer, client, &UserId::parse(name).unwrap(), NOW)?;
        limits.check_client(EndpointClass::Userinfo, &issuer, client, NOW)
    };
    let passed = (0..100).filter(|_| ask(&one, "alice").is_ok()).count();
    assert_eq!(passed, 2);
    ask(&one, "bob").unwrap();
    ask(&client("other").1, "alice").unwrap();
}

#[test]
fn codes_of_a_user_are_limited_and_nobody_elses() {
    let limits = RateLimits::new(&configured());
    let (issuer, other) = (IssuerId::default_issuer(), IssuerId::parse("acme").unwrap());
    let check = |issuer, name, now| limits.check_code(issuer, &UserId::parse(name).unwrap(), now);
    check(&issuer, "alice", NOW).unwrap();
    check(&issuer, "alice", NOW).unwrap();
    assert_eq!(check(&issuer, "alice", NOW), Err(Limited { retry_after_seconds: 30 }));
    check(&issuer, "bob", NOW).unwrap();
    check(&other, "alice", NOW).unwrap();
    check(&issuer, "alice", after(30_000)).unwrap();
    // A redeemed code counts a tenth, so that redeeming makes room, but not for any number of codes.
    limits.redeemed_code(&issuer, &UserId::parse("alice").unwrap());
    check(&issuer, "alice", after(30_000)).unwrap_err();
    check(&issuer, "alice", after(33_000)).unwrap();
    check(&issuer, "alice", after(33_000)).unwrap_err();
    let completed = |at| {
        let redeemed = || limits.redeemed_code(&issuer, &UserId::parse("carol").unwrap());
        check(&issuer, "carol", after(at)).map(|()| redeemed()).is_ok()
    };
    assert_eq!((0..100).filter(|_| completed(0)).count(), 11);
    (0..10).for_each(|_| limits.redeemed_code(&issuer, &UserId::parse("alice").unwrap()));
    assert_eq!((0..10).filter(|_| check(&issuer, "alice", after(33_000)).is_ok()).count(), 2);
    limits.redeemed_code(&issuer, &UserId::parse("nobody").unwrap());
    limits.set(&config::RateLimits { enabled: false, ..configured() });
    (0..100).for_each(|_| check(&issuer, "alice", NOW).unwrap());
}

#[test]
fn assertions_of_a_client_are_limited_by_those_that_were_used() {
    let limits = RateLimits::new(&configured());
    let ((issuer, one), (_, two)) = (client("one"), client("two"));
    for _ in 0..100 {
        limits.may_use_assertion(&issuer, &one, NOW).unwrap();
    }
    for _ in 0..2 {
        limits.used_assertion(&issuer, &one, NOW);
    }
    assert_eq!(limits.may_use_assertion(&issuer, &one, NOW), Err(Limited { retry_after_seconds: 1 }));
    limits.may_use_assertion(&issuer, &two, NOW).unwrap();
    limits.may_use_assertion(&issuer, &one, after(1_000)).unwrap();
}

#[test]
fn failed_passwords_delay_the_account_from_that_address_only() {
    let limits = RateLimits::new(&configured());
    let (here, there) = (address("192.0.2.1"), address("198.51.100.1"));
    let issuer = IssuerId::default_issuer();
    for name in ["alice", "Alice", "ALICE", " alice "].iter().cycle().take(10) {
        try_login(&limits, &issuer, name, here, NOW).unwrap();
        limits.failed_login(&issuer, name, here, NOW);
    }
    assert_eq!(try_login(&limits, &issuer, "alice", here, NOW), Err(Limited { retry_after_seconds: 6 }));
    try_login(&limits, &issuer, "bob", here, NOW).unwrap();
    try_login(&limits, &issuer, "alice", there, NOW).unwrap();
    try_login(&limits, &IssuerId::parse("acme").unwrap(), "alice", here, NOW).unwrap();
    try_login(&limits, &issuer, "alice", here, after(6_000)).unwrap();
}

#[test]
fn an_address_that_tries_many_accounts_is_delayed_too() {
    let limits = RateLimits::new(&configured());
    let here = address("192.0.2.1");
    let issuer = IssuerId::default_issuer();
    for number in 0..60 {
        limits.failed_login(&issuer, &format!("user{number}"), here, NOW);
    }
    assert_eq!(try_login(&limits, &issuer, "somebody", here, NOW), Err(Limited { retry_after_seconds: 1 }));
    try_login(&limits, &issuer, "somebody", here, after(1_000)).unwrap();
}

#[test]
fn guesses_that_raced_are_paid_for_and_never_lock() {
    let limits = RateLimits::new(&configured());
    let here = address("192.0.2.1");
    let issuer = IssuerId::default_issuer();
    for _ in 0..50 {
        limits.failed_login(&issuer, "alice", here, NOW);
    }
    assert_eq!(try_login(&limits, &issuer, "alice", here, NOW), Err(Limited { retry_after_seconds: 246 }));
    for _ in 0..100_000 {
        limits.failed_login(&issuer, "alice", here, NOW);
    }
    try_login(&limits, &issuer, "alice", here, after(15 * 60 * 1_000)).unwrap();
}

#[test]
fn wrong_admin_secrets_are_limited_by_address() {
    let limits = RateLimits::new(&configured());
    let here = address("192.0.2.1");
    limits.failed_admin(here, NOW);
    limits.may_try_admin(here, NOW).unwrap();
    limits.failed_admin(here, NOW);
    assert_eq!(limits.may_try_admin(here, NOW), Err(Limited { retry_after_seconds: 30 }));
    limits.may_try_admin(address("192.0.2.2"), NOW).unwrap();
}

#[test]
fn a_stricter_rule_after_a_reload_does_not_hold_old_debts_forever() {
    let limits = RateLimits::new(&configured());
    let here = address("192.0.2.1");
    for _ in 0..3 {
        limits.check_address(EndpointClass::Authorize, here, NOW).unwrap();
    }
    limits.set(&config::RateLimits { authorize: per_second(1), ..configured() });
    assert!(limits.check_address(EndpointClass::Authorize, here, NOW).is_err());
    // Sixty seconds of debt count as the one that the rule knows.
    limits.check_address(EndpointClass::Authorize, here, after(1_000)).unwrap();
}

#[test]
fn a_flood_of_addresses_never_grows_the_table_and_keeps_who_owes_most() {
    let limits = RateLimits::new(&configured());
    let heavy = address("192.0.2.1");
    while limits.check_address(EndpointClass::Token, heavy, NOW).is_ok() {}
    for number in 0..1_000_000_u32 {
        let flooding = IpAddr::V4((0x0a00_0000 + number).into());
        limits.check_address(EndpointClass::Token, flooding, NOW).unwrap();
    }
    assert!(limits.addresses.slots_taken() <= ADDRESS_SETS * 8);
    assert!(limits.check_address(EndpointClass::Token, heavy, NOW).is_err(), "it was pushed out");
}

/// How many of ten thousand guesses are looked at that come `apart`, from these addresses in turn.
fn looked_at(
    apart: Duration,
    addresses: &[&str],
    look: impl Fn(&RateLimits, IpAddr, Timestamp) -> bool,
) -> usize {
    let limits = RateLimits::new(&configured());
    let mut now = NOW;
    let addresses: Vec<IpAddr> = addresses.iter().map(|text| address(text)).collect();
    let guesses = (0..10_000).filter(|number| {
        now = now + apart;
        look(&limits, addresses[number % addresses.len()], now)
    });
    guesses.count()
}

/// Ten a minute for a name from one address, whatever a guesser sends: 1,677 of a guess a second for three hours.
#[test]
fn ten_thousand_guesses_at_a_password_are_looked_at_as_slowly_as_the_limit_says() {
    let issuer = IssuerId::default_issuer();
    let look = |limits: &RateLimits, from, now| {
        let looked = try_login(limits, &issuer, "ann", from, now).is_ok();
        if looked {
            limits.failed_login(&issuer, "ann", from, now);
        }
        looked
    };
    assert_eq!(looked_at(Duration::ZERO, &["192.0.2.1"], look), 10);
    let slowly = looked_at(Duration::from_secs(1), &["192.0.2.1"], look);
    assert!((1_600..=1_677).contains(&slowly), "{slowly}");
    // Each further address has as much, which is why a password must not be one of the common ones.
    let many = looked_at(Duration::ZERO, &["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"], look);
    assert_eq!(many, 30, "two addresses of one host are one");
}

/// Attempts at a second factor count for the account, however many addresses they come from.
#[test]
fn ten_thousand_guesses_at_a_second_factor_are_looked_at_as_slowly_as_the_limit_says() {
    let (issuer, user) = (IssuerId::default_issuer(), UserId::trusted("ann"));
    let look = |limits: &RateLimits, _: IpAddr, now| limits.check_second_factor(&issuer, &user, now).is_ok();
    let addresses = ["192.0.2.1", "192.0.2.2", "198.51.100.1"];
    assert_eq!(looked_at(Duration::ZERO, &addresses, look), 10);
    let slowly = looked_at(Duration::from_secs(1), &addresses, look);
    assert!((1_600..=1_677).contains(&slowly), "{slowly}");
}

/// A browser in which somebody has signed in by a name: what others do at its address or to the name leaves its attempts and mails
/// alone, and it has no more of them than an address.
#[test]
fn a_known_browser_has_limits_of_its_own() {
    let limits = RateLimits::new(&configured());
    let (issuer, here) = (IssuerId::default_issuer(), address("192.0.2.1"));
    let known = |id: &str| LoginFrom::known_browser(here, id.to_owned());
    let tries = |from: LoginFrom| {
        let begun = limits.begin_login(&issuer, "ann", from.clone(), NOW).map(drop);
        limits.failed_login(&issuer, "ann", from, NOW);
        begun
    };
    for number in 0..80 {
        limits.failed_login(&issuer, "ann", here, NOW);
        limits.failed_login(&issuer, &format!("somebody {number}"), here, NOW);
    }
    assert!(try_login(&limits, &issuer, "ann", here, NOW).is_err());
    let allowed = (0..20).take_while(|_| tries(known("a")).is_ok()).count();
    assert_eq!(allowed, 10, "as many as an address has for a name");
    assert!(tries(known("b")).is_ok(), "each browser for itself");
    let mails = |from: LoginFrom| limits.check_mail(&issuer, "ann@example.com", from, NOW).is_ok();
    assert_eq!((0..9).take_while(|_| mails(here.into())).count(), 3);
    assert_eq!((0..9).take_while(|_| mails(known("a"))).count(), 3, "nobody takes its person's mail away");
    assert!(!mails(here.into()), "nor does it bring a stranger more");
}

/// What the mail of a known browser did not take from its address, its right code does not give back to it.
#[test]
fn the_right_codes_of_a_known_browser_bring_its_address_no_more_mails() {
    let mut config = configured();
    config.login.mails = per_minute(20);
    let limits = RateLimits::new(&config);
    let (issuer, here) = (IssuerId::default_issuer(), address("192.0.2.1"));
    let mail =
        |number: &usize| limits.check_mail(&issuer, &format!("{number}@example.com"), here, NOW).is_ok();
    let mails = || (0..1_000).take_while(mail).count();
    assert_eq!(mails(), 20);
    // A right code gives nine tenths of a mail back.
    for (from, more) in [(LoginFrom::known_browser(here, "a".to_owned()), 0), (here.into(), 1)] {
        limits.right_mailed_code(from.clone());
        limits.right_mailed_code(from);
        assert_eq!(mails(), more);
    }
}

/// Whoever had a name before may have kept many marks of it. Together they have ten times what one has: guesses at each address, and
/// mails wherever they are.
#[test]
fn many_known_browsers_of_one_name_have_ten_times_what_one_has() {
    let limits = RateLimits::new(&configured());
    let issuer = IssuerId::default_issuer();
    let guess = |number: usize, name: &str, here: &str| {
        let from = LoginFrom::known_browser(address(here), number.to_string());
        let is_looked_at = limits.begin_login(&issuer, name, from.clone(), NOW).is_ok();
        if is_looked_at {
            limits.failed_login(&issuer, name, from, NOW);
        }
        is_looked_at
    };
    let looked_at = (0..600).filter(|number| guess(number % 300, "bob", "192.0.2.1")).count();
    assert_eq!(looked_at, 100);
    assert!(guess(1, "ann", "192.0.2.1"), "another name");
    assert!(guess(301, "Bob", "192.0.2.2"), "the person, at another address");
    let mail = |number: &u8| {
        let from = LoginFrom::known_browser(address(&format!("192.0.2.{number}")), number.to_string());
        limits.check_mail(&issuer, "bob@example.com", from, NOW).is_ok()
    };
    assert_eq!((0..200).filter(mail).count(), 30);
}
