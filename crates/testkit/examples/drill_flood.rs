//! Floods the provider, and checks three promises. Requests without credentials, and requests of a user who has signed
//! in once, leave next to nothing in its memory and in Redis. A user who began to sign in before the flood can finish.
//! Password attempts on one account keep no other user out.
//!
//! `cargo run -p symbolon-testkit --example drill_flood -- target/release/symbolon [--requests 1000000] [--addresses 1000]
//! [--users 100] [--lanes 32] [--tries 20] [--store embedded|cluster] [--times]`
//!
//! Without `--store` the embedded store is flooded first and then a cluster, which needs PostgreSQL and redis-server.
//! Memory is always judged. `--times` judges times too, which only a release build on a quiet machine can keep.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a drill: a failure is a failed drill, counts are its output, and it measures a real process from outside"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use symbolon_store_cluster::engines::{
    PostgresServer, PostgresServerOptions, RedisCluster, RedisServerOptions,
};
use symbolon_testkit::drill::flood::{
    Flood, ProxyConnection, address, resident_bytes, yield_to_the_provider,
};
use symbolon_testkit::drill::{Arguments, COOKIE, Launch, Provider, Wire};
use symbolon_testkit::{Answer, Browser};

/// The most that memory may grow by in a flood, in bytes.
const MOST: i64 = 8_000_000;

/// How long a sign-in may take during a flood of passwords.
const SIGN_IN: Duration = Duration::from_secs(3);

/// How long 99 of 100 silent authentications may take meanwhile.
const SILENT: Duration = Duration::from_millis(20);

/// How many times a person tries again, twice a second.
const PATIENCE: u32 = 20;

/// Connections that repeat passwords of one account.
const GUESSERS: u64 = 200;

/// Users of the silent authentications: so many that none of them is rate-limited.
const SILENT_USERS: u64 = 200;

const REDIRECT_URI: &str = "https://rp.example/callback";
const PASSWORD: &str = "a password that a drill knows";

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let size = Size {
        requests: arguments.number("--requests", 1_000_000),
        addresses: arguments.number("--addresses", 1_000),
        users: arguments.number("--users", 100),
        lanes: arguments.number("--lanes", 32),
        tries: arguments.number("--tries", 20),
        judges_times: arguments.switch("--times"),
    };
    let only = arguments.text("--store");
    let binary = arguments.binary();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let launch = |name: &str| {
        Launch::new(&binary, &directory.path().join(name), &directory.path().join(format!("{name}.log")))
            .env("SYMBOLON_RATE_LIMITS", "on")
            .env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8")
    };
    let mut broken = 0;
    if only.as_deref().is_none_or(|only| only == "embedded") {
        println!("embedded store");
        broken += Drill::start(&launch("embedded"), None, size).run();
    }
    if only.as_deref().is_none_or(|only| only == "cluster") {
        println!("cluster store");
        let redis = RedisCluster::start(RedisServerOptions::default());
        let postgres = PostgresServer::start(PostgresServerOptions::default());
        postgres.create_database("flood");
        let launch = launch("cluster")
            .env("SYMBOLON_STORE", "cluster")
            .env("SYMBOLON_POSTGRES_URL", &postgres.url("flood"))
            .env("SYMBOLON_REDIS_URLS", &redis.urls())
            .env("SYMBOLON_MASTER_KEY", "Zmxvb2QgZmxvb2QgZmxvb2QgZmxvb2QgZmxvb2QgISE");
        broken += Drill::start(&launch, Some(&redis), size).run();
    }
    println!("{broken} violations");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Clone, Copy)]
struct Size {
    requests: u64,
    addresses: u64,
    users: u64,
    lanes: u64,
    tries: u64,
    judges_times: bool,
}

struct Drill<'a> {
    size: Size,
    redis: Option<&'a RedisCluster>,
    provider: Provider,
    authority: String,
    base: String,
    client_id: String,
    /// Session cookies, one for each user; those for the silent authentications are last.
    sessions: Vec<String>,
    broken: u32,
}

impl<'a> Drill<'a> {
    fn start(launch: &Launch, redis: Option<&'a RedisCluster>, size: Size) -> Self {
        let provider = launch.start().expect("the first start");
        let wire = launch.wire();
        let client = json!({
            "client_name": "A flood", "redirect_uris": [REDIRECT_URI], "post_logout_redirect_uris": [REDIRECT_URI],
            "grant_types": ["authorization_code"], "scope": "openid profile email",
            "token_endpoint_auth_method": "none", "skip_consent": true,
        });
        let client = created(&wire, "/clients", &client)["client"]["client_id"].clone();
        for name in ["guessed", "another"] {
            let user = json!({ "email": format!("{name}@example.com"), "password": PASSWORD });
            created(&wire, "/users", &user);
        }
        let sessions = (0..size.users + SILENT_USERS).map(|number| session(&wire, number)).collect();
        let base = launch.base();
        Self {
            size,
            redis,
            provider,
            authority: base.trim_start_matches("http://").to_owned(),
            base,
            client_id: client.as_str().expect("a client").to_owned(),
            sessions,
            broken: 0,
        }
    }

    fn run(mut self) -> u32 {
        let (client, cookies) = (self.client_id.clone(), self.sessions.clone());
        let users = self.size.users;
        let cookie = |number: u64| Some(cookies[(number % users) as usize].clone());
        // A first flood, so that connections, threads and tables exist before anything is measured.
        self.send(&self.flood(20_000, 64), &|number| (authorize(&client, number, ""), None));
        self.send(&self.flood(5_000, 64), &|number| (logout(&client, number), None));
        let all = self.flood(self.size.requests, self.size.addresses);
        let nobody = |number| (authorize(&client, number, ""), None);
        self.measured("/authorize, nothing proven", &all, &nobody);
        self.measured("/logout, nothing proven", &all, &|number| (logout(&client, number), None));
        let silent = |number| (authorize(&client, number, "&prompt=none"), cookie(number));
        self.measured("/authorize, signed in", &all, &silent);
        self.measured("/logout, signed in", &all, &|number| (logout(&client, number), cookie(number)));
        self.guess();
        self.provider.stop();
        self.broken
    }

    fn flood(&self, requests: u64, addresses: u64) -> Flood<'static> {
        let authority: &'static str = Box::leak(self.authority.clone().into_boxed_str());
        Flood { authority, requests, lanes: self.size.lanes, addresses }
    }

    fn send(&self, flood: &Flood<'_>, request: &(dyn Fn(u64) -> (String, Option<String>) + Sync)) -> String {
        let began = Instant::now();
        let statuses = flood.run(request);
        let rate = flood.requests as f64 / began.elapsed().as_secs_f64();
        format!("{rate:.0} requests a second, answered {statuses:?}")
    }

    /// Runs one flood. Checks how much memory it leaves, and that a user who began to sign in before it can finish
    /// after it.
    fn measured(
        &mut self,
        name: &str,
        flood: &Flood<'_>,
        request: &(dyn Fn(u64) -> (String, Option<String>) + Sync),
    ) {
        let sign_in = SignIn::begin(self);
        let before = (self.resident(), self.redis_used());
        let sent = self.send(flood, request);
        let grown = self.resident() - before.0;
        println!("{name}: {sent}");
        println!("  resident memory {} kB, from {} kB", signed(grown), before.0 / 1000);
        self.judge(grown < MOST, "resident memory grew too much");
        if let (Some(before), Some(after)) = (before.1, self.redis_used()) {
            println!("  Redis {} kB, from {} kB", signed(after - before), before / 1000);
            self.judge(after - before < MOST, "the memory of Redis grew too much");
        }
        let answer = sign_in.finish("another@example.com", PASSWORD);
        self.judge(answer.status == 303, &format!("the sign-in that was begun before: {answer:?}"));
    }

    fn judge(&mut self, holds: bool, otherwise: &str) {
        if !holds {
            println!("VIOLATION  {otherwise}");
            self.broken += 1;
        }
    }

    fn resident(&self) -> i64 {
        resident_bytes(self.provider.process().expect("it runs")).cast_signed()
    }

    /// The memory that all primaries use.
    fn redis_used(&self) -> Option<i64> {
        let redis = self.redis?;
        let primaries = (0..redis.nodes().len())
            .filter(|index| redis.cli(*index, &["INFO", "replication"]).contains("role:master"));
        let used = |index| {
            let info = redis.cli(index, &["INFO", "memory"]);
            let used = info.lines().find_map(|line| line.trim().strip_prefix("used_memory:"));
            used.and_then(|used| used.parse::<i64>().ok()).expect("used_memory")
        };
        Some(primaries.map(used).sum())
    }

    /// Sends right and wrong passwords of one account without end, and measures the effect on other users.
    fn guess(&mut self) {
        let (over, guesses) = (AtomicBool::new(false), AtomicU64::new(0));
        let answered = Mutex::new(BTreeMap::<u16, u64>::new());
        let (times, statuses) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        std::thread::scope(|threads| {
            for number in 0..GUESSERS {
                let (this, over, guesses, answered) = (&*self, &over, &guesses, &answered);
                threads.spawn(move || {
                    yield_to_the_provider();
                    let mut sign_in = SignIn::begin(this);
                    sign_in.address = address(number);
                    let password = if number % 2 == 0 { PASSWORD } else { "a wrong one" };
                    while !over.load(Ordering::Relaxed) {
                        let status = sign_in.send("guessed@example.com", password).status;
                        *answered.lock().expect("answers").entry(status).or_default() += 1;
                        guesses.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let (this, times, is_over) = (&*self, &times, &over);
            threads.spawn(move || *times.lock().expect("times") = this.silent_until(is_over));
            while guesses.load(Ordering::Relaxed) < GUESSERS {
                std::thread::sleep(Duration::from_millis(10));
            }
            for _ in 0..self.size.tries {
                let sign_in = SignIn::begin(self);
                let began = Instant::now();
                let status = sign_in.send("another@example.com", PASSWORD).status;
                statuses.lock().expect("statuses").push((status, began.elapsed()));
            }
            over.store(true, Ordering::Relaxed);
        });
        let (statuses, mut times) =
            (statuses.into_inner().expect("statuses"), times.into_inner().expect("times"));
        let slowest = statuses.iter().map(|(_, took)| *took).max().unwrap_or_default();
        let signed_in = statuses.iter().filter(|(status, _)| *status == 303).count();
        times.sort_unstable();
        let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!(
            "passwords of one account on {GUESSERS} connections: answered {:?}, {signed_in} of {} others signed in, the \
             slowest in {slowest:.1?}",
            answered.into_inner().expect("answers"),
            statuses.len()
        );
        println!("  silent authentication meanwhile: {} times, P50 {half:.1?}, P99 {most:.1?}", times.len());
        self.judge(signed_in == statuses.len(), "somebody else could not sign in");
        if self.size.judges_times {
            self.judge(slowest < SIGN_IN, "a sign-in took too long");
            self.judge(most < SILENT, "silent authentication was too slow");
        }
    }

    /// Silent authentications of unrelated users; returns how long each took.
    fn silent_until(&self, over: &AtomicBool) -> Vec<Duration> {
        let mut lane = ProxyConnection::connect(&self.authority).expect("the provider listens");
        let mut times = Vec::new();
        let others = &self.sessions[self.size.users as usize..];
        for (number, cookie) in (0..).zip(others.iter().cycle()) {
            let path = authorize(&self.client_id, number, "&prompt=none");
            let request =
                format!("GET {path} HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", self.authority);
            let began = Instant::now();
            lane.send(request.as_bytes()).expect("the provider reads");
            assert_eq!(lane.status().expect("an answer"), 302, "a silent authentication");
            times.push(began.elapsed());
            if over.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        times
    }
}

/// A user on the login page.
struct SignIn {
    browser: Browser,
    page: Answer,
    address: String,
}

impl SignIn {
    fn begin(drill: &Drill<'_>) -> Self {
        let browser = Browser::new(&drill.base);
        let mut page = patiently(|| browser.get(&authorize(&drill.client_id, 0, "")));
        if page.status == 302 {
            page = patiently(|| browser.get(&page.location()));
        }
        assert_eq!(page.status, 200, "{page:?}");
        Self { browser, page, address: "192.0.2.1".to_owned() }
    }

    /// Sends the form.
    fn send(&self, username: &str, password: &str) -> Answer {
        let field = |name| self.page.field(name).expect("a field");
        let (transaction, csrf_token) = (field("transaction"), field("csrf_token"));
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf_token),
            ("username", username),
            ("password", password),
        ];
        self.browser.post_with("/login", &form, &[("x-forwarded-for", &self.address)])
    }

    fn finish(self, username: &str, password: &str) -> Answer {
        patiently(|| self.send(username, password))
    }
}

/// Repeats a request while the answer is 503, as a user would: a cluster whose machine has no core left for PostgreSQL
/// answers so for some seconds.
fn patiently(ask: impl Fn() -> Answer) -> Answer {
    for _ in 0..PATIENCE {
        let answer = ask();
        if answer.status != 503 {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    ask()
}

fn created(wire: &Wire, path: &str, body: &serde_json::Value) -> serde_json::Value {
    let answer = wire.admin("POST", path, Some(body)).expect("an answer");
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

/// Creates a user with a session; returns its cookie.
fn session(wire: &Wire, number: u64) -> String {
    let user = json!({ "email": format!("user{number}@example.com") });
    let user = created(wire, "/users", &user)["user"]["id"].clone();
    let session = created(wire, "/test/sessions", &json!({ "user_id": user, "ttl_seconds": 7200 }));
    format!("{COOKIE}={}", session["session_id"].as_str().expect("a session"))
}

fn authorize(client: &str, number: u64, more: &str) -> String {
    format!(
        "/authorize?response_type=code&client_id={client}&redirect_uri=https%3A%2F%2Frp.example%2Fcallback\
         &scope=openid%20profile&state=state-{number:016}&nonce=nonce-{number:016}\
         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256{more}"
    )
}

fn logout(client: &str, number: u64) -> String {
    format!(
        "/logout?client_id={client}&post_logout_redirect_uri=https%3A%2F%2Frp.example%2Fcallback&state=state-{number:016}"
    )
}

fn signed(bytes: i64) -> String {
    format!("{:+}", bytes / 1000)
}
