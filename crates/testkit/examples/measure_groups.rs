//! Plants users in groups with roles, a million in 100,000, and prints how long it takes to find what a token needs of them, to
//! list and search them, and to sign them in. Fails where the median of one of these is above its limit.
//!
//! `cargo run --profile dist -p symbolon-testkit --example measure_groups -- [--users 1000000] [--groups 100000]
//! [--asked 1000]`; with `SYMBOLON_TEST_STORE=cluster` on PostgreSQL and Redis of its own.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement: its report is its output"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::group::{Group, Membership};
use symbolon_protocol::id::{GroupId, IssuerId, RoleId, UserId};
use symbolon_protocol::role::{GivenRole, Role, RoleHolder};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{Profile, User};
use symbolon_store::port::{Created, GroupCreation, MemberAddition, RoleCreation, RoleGrant};
use symbolon_testkit::drill::Arguments;
use symbolon_testkit::{Browser, Options, RelyingParty, TestServer, TokenSet, decode_jwt, is_clustered};
use tikv_jemallocator::Jemalloc;

/// The provider's allocator.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Records in one call of the store.
const PER_CALL: usize = 10_000;
/// Roles of the issuer: each group has one of them.
const ROLES: usize = 1_000;
/// Groups below each group.
const BELOW: usize = 10;
/// How often a page is asked for.
const PAGES: usize = 20;
/// Records on a page.
const LIMIT: usize = 50;
/// What a look-up of groups and roles may take that reads the store: a small part of a refresh's way through a network.
const LOOKED_UP: Duration = Duration::from_millis(10);
/// The same from the cache.
const CACHED: Duration = Duration::from_micros(100);
/// A page of the admin API, also of a search: somebody waits for it.
const PAGE: Duration = Duration::from_secs(1);
/// A sign-in by a session, or a refresh.
const TOKENS: Duration = Duration::from_millis(100);
const SCOPE: &str = "openid email groups roles offline_access";

/// How many there are.
#[derive(Clone, Copy)]
struct Size {
    users: usize,
    groups: usize,
    /// Users whose tokens are measured.
    asked: usize,
}

/// The rows whose median was above its limit.
#[derive(Default)]
struct Missed(Vec<String>);

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let mut number = |name: &str, default: usize| arguments.number(name, default as u64) as usize;
    let size = Size {
        users: number("--users", 1_000_000),
        groups: number("--groups", 100_000),
        asked: number("--asked", 1_000),
    };
    let server = TestServer::start_with(Options::default().one_node());
    let store = if is_clustered() { "cluster" } else { "embedded" };
    println!("{} users in {} groups, {store} store", size.users, size.groups);
    plant(&server, size);
    println!("\n| what | median | 99 of 100 within | median at most |\n|---|---|---|---|");
    let mut missed = Missed::default();
    look_up(&server, size, &mut missed);
    list(&server, size, &mut missed);
    sign_in(&server, size, &mut missed);
    if missed.0.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\nabove the limit: {}", missed.0.join("; "));
    ExitCode::FAILURE
}

/// The number of a record in no order, as drawn ids are.
fn scattered(n: usize) -> u64 {
    (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn user_id(n: usize) -> UserId {
    UserId::trusted(format!("{:016x}", scattered(n)))
}

fn group_id(n: usize) -> GroupId {
    GroupId::trusted(format!("g{:016x}", scattered(n)))
}

fn role_id(n: usize) -> RoleId {
    RoleId::trusted(format!("r{:016x}", scattered(n)))
}

/// The time at which the record of a number was created: the last one is the newest.
fn at(n: usize) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + n as u64)
}

fn user(n: usize) -> User {
    User {
        id: user_id(n),
        email: Some(format!("user{n}@example.com")),
        email_verified: true,
        profile: Profile { name: Some(format!("User {n}")), ..Profile::default() }.into(),
        active: true,
        created_at: at(n),
        updated_at: at(n),
    }
}

/// Ten topmost groups, and ten below each group: 100,000 are nested five deep.
fn group(n: usize) -> Group {
    Group {
        id: group_id(n),
        name: EntitlementName::parse(&format!("Group {n}")).expect("a name"),
        description: None,
        parent: (n >= BELOW).then(|| group_id(n / BELOW - 1)),
        created_at: at(n),
        updated_at: at(n),
    }
}

fn role(n: usize) -> Role {
    Role {
        id: role_id(n),
        name: EntitlementName::parse(&format!("Role {n}")).expect("a name"),
        client_id: None,
        description: None,
        created_at: at(n),
        updated_at: at(n),
    }
}

/// The groups of a user: one of the topmost, where a tenth of all users are, and two of all.
fn memberships(n: usize, groups: usize) -> Vec<Membership> {
    let drawn = |seed: usize| (scattered(n.wrapping_mul(2).wrapping_add(seed)) >> 20) as usize % groups;
    let mut of = vec![n % BELOW, drawn(0), drawn(1)];
    of.sort_unstable();
    of.dedup();
    of.into_iter().map(|group| Membership { group: group_id(group), user: user_id(n) }).collect()
}

fn plant(server: &TestServer, size: Size) {
    let (store, issuer) = (&server.app.store, &IssuerId::default_issuer());
    let numbers = |of: usize| (0..of).step_by(PER_CALL).map(move |first| first..(first + PER_CALL).min(of));
    let since = Instant::now();
    for some in numbers(size.users) {
        let users = some.map(|n| (user(n), None)).collect();
        let created = server.block_on(store.create_users(issuer, users)).expect("users");
        assert!(created.iter().all(|created| *created == Created::Created), "a user was not created");
    }
    planted("users", size.users, since);
    let since = Instant::now();
    for some in numbers(size.groups) {
        let created =
            server.block_on(store.create_groups(issuer, some.map(group).collect())).expect("groups");
        assert!(created.iter().all(|created| *created == GroupCreation::Created), "a group was not created");
    }
    planted("groups", size.groups, since);
    let created = server.block_on(store.create_roles(issuer, (0..ROLES).map(role).collect())).expect("roles");
    assert!(created.iter().all(|created| *created == RoleCreation::Created), "a role was not created");
    let since = Instant::now();
    for some in numbers(size.groups) {
        let given = |n| GivenRole { role: role_id(n % ROLES), holder: RoleHolder::Group(group_id(n)) };
        let given = server.block_on(store.give_roles(issuer, some.map(given).collect())).expect("roles");
        assert!(given.iter().all(|given| *given == RoleGrant::Given), "a role was not given");
    }
    planted("roles given to groups", size.groups, since);
    let (since, mut number) = (Instant::now(), 0);
    for some in numbers(size.users) {
        let memberships: Vec<_> = some.flat_map(|n| memberships(n, size.groups)).collect();
        number += memberships.len();
        let added = server.block_on(store.add_members(issuer, memberships)).expect("memberships");
        assert!(added.iter().all(|added| *added == MemberAddition::Added), "a member was not added");
    }
    planted("memberships", number, since);
}

fn planted(what: &str, number: usize, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    println!("{number} {what} in {seconds:.1} s: {:.0} per second", number as f64 / seconds);
}

/// Users all over the numbers, each another one.
fn asked(size: Size) -> impl Iterator<Item = usize> {
    let apart = (size.users / size.asked.max(1)).max(1);
    (0..size.asked.min(size.users)).map(move |n| n * apart)
}

/// What a token needs, the first time, which reads it from the store, and the second, from the cache.
fn look_up(server: &TestServer, size: Size, missed: &mut Missed) {
    let (store, issuer) = (&server.app.store, &IssuerId::default_issuer());
    for (what, limit) in
        [("groups and roles of a user, not cached", LOOKED_UP), ("the same again, cached", CACHED)]
    {
        let times = asked(size).map(|n| {
            let id = user_id(n);
            timed(|| {
                let held = server.block_on(store.entitlements(issuer, &id)).expect("entitlements");
                assert!(held.groups.len() > 1 && !held.roles.is_empty(), "{held:?}");
            })
        });
        missed.print(what, limit, times.collect());
    }
}

/// Pages of the admin API.
fn list(server: &TestServer, size: Size, missed: &mut Missed) {
    let middle = |of: usize| (of / LIMIT / 2).max(1);
    let (users, groups, members) = (size.users, size.groups, size.users / BELOW);
    let topmost = group_id(0);
    let rows = [
        ("users, first page", "users", "/users?page=1".to_owned(), users),
        ("users, a page in the middle", "users", format!("/users?page={}", middle(users)), users),
        ("users, last page", "users", format!("/users?page={}", users.div_ceil(LIMIT)), users),
        (
            "a user by e-mail address",
            "users",
            format!("/users?email=user{}@example.com&page=1", users / 2),
            1,
        ),
        ("users, search", "users", format!("/users?search=user{}%40&page=1", users / 2), 1),
        ("groups, first page", "groups", "/groups?page=1".to_owned(), groups),
        ("groups, a page in the middle", "groups", format!("/groups?page={}", middle(groups)), groups),
        ("groups, search", "groups", format!("/groups?search=group%20{}&page=1", groups - 1), 1),
        (
            "members of a group of a tenth of all users, first page",
            "members",
            format!("/groups/{topmost}/members?page=1"),
            0,
        ),
        (
            "the same, a page in the middle",
            "members",
            format!("/groups/{topmost}/members?page={}", middle(members)),
            0,
        ),
        (
            "the same, search",
            "members",
            format!("/groups/{topmost}/members?search=user{}%40&page=1", users / 2 / BELOW * BELOW),
            0,
        ),
    ];
    for (what, list, path, total) in rows {
        let ask = || {
            let answer = server.admin("GET", &format!("{path}&limit={LIMIT}"), None);
            assert_eq!(answer.status, 200, "{answer:?}");
            let answer = answer.json();
            assert!(answer[list].as_array().is_some_and(|list| !list.is_empty()), "{what}: {answer}");
            let found = answer["pagination"]["total"].as_u64().unwrap_or_default() as usize;
            assert!(total == 0 || found == total, "{what}: {found} of {total}");
        };
        missed.print(what, PAGE, (0..PAGES).map(|_| timed(ask)).collect());
    }
}

/// Sign-ins by a session and refreshes, of users whose groups nobody asked for before, and of one again and again; and the same
/// without the scopes.
fn sign_in(server: &TestServer, size: Size, missed: &mut Missed) {
    let rp = RelyingParty::register(server, json!({ "scope": SCOPE }));
    let other = |n: usize| (n + 1) % size.users;
    let some = size.asked.min(200);
    let people: Vec<Browser> = asked(size).take(some).map(|n| signed_in(server, other(n))).collect();
    let mut tokens = Vec::new();
    for scope in ["openid email offline_access", SCOPE] {
        let groups = if scope == SCOPE { "with groups and roles" } else { "without" };
        tokens.clear();
        let times = people.iter().map(|browser| {
            let (took, one) = timed_with(|| {
                let request = rp.authorization_request().with("scope", scope).with("prompt", "none");
                rp.sign_in_with(browser, request)
            });
            tokens.push(one);
            took
        });
        missed.print(&format!("sign-in by a session, {groups}"), TOKENS, times.collect());
        let times = tokens.iter().map(|tokens| {
            let refresh = tokens.refresh_token.as_deref().expect("a refresh token");
            let (took, answer) = timed_with(|| rp.refresh(refresh));
            check(&TokenSet::of(&answer), scope == SCOPE);
            took
        });
        missed.print(&format!("refresh, {groups}"), TOKENS, times.collect());
    }
}

/// A browser with a session of a user.
fn signed_in(server: &TestServer, n: usize) -> Browser {
    let body = json!({ "user_id": user_id(n).as_str(), "ttl_seconds": 7200 });
    let answer = server.admin("POST", "/test/sessions", Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    let browser = server.browser();
    browser.set_cookie("symbolon_session", answer.json()["session_id"].as_str().expect("a session id"));
    browser
}

fn check(tokens: &TokenSet, has_groups: bool) {
    let claims: Value = decode_jwt(tokens.id_token.as_deref().expect("an ID token")).1;
    let groups = claims["groups"].as_array().map_or(0, Vec::len);
    assert_eq!(groups > 1, has_groups, "{claims}");
}

fn timed(work: impl FnOnce()) -> Duration {
    timed_with(work).0
}

fn timed_with<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let since = Instant::now();
    let done = work();
    (since.elapsed(), done)
}

impl Missed {
    /// Prints a row, and notes it if its median is above the limit.
    fn print(&mut self, what: &str, limit: Duration, mut times: Vec<Duration>) {
        times.sort_unstable();
        let at = |hundredth: usize| {
            *times.get((times.len() * hundredth / 100).min(times.len() - 1)).expect("a time")
        };
        let (median, most) = (at(50), at(99));
        println!("| {what} | {} | {} | {} |", shown(median), shown(most), shown(limit));
        if median > limit {
            self.0.push(what.to_owned());
        }
    }
}

fn shown(time: Duration) -> String {
    match time.as_micros() {
        micros @ ..1_000 => format!("{micros} µs"),
        micros => format!("{:.1} ms", micros as f64 / 1_000.0),
    }
}
