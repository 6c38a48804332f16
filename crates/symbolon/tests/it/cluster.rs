//! Nodes of the cluster store: real PostgreSQL, real Redis Cluster, one configuration.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use serde_json::{Value, json};
use symbolon_store_cluster::engines::{self, PostgresServer, PostgresServerOptions, until};

use crate::import;
use crate::passwords::signs_in;
use crate::place::Place;

const MASTER: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// What every node of one cluster is given.
struct Cluster {
    postgres: String,
    redis: String,
    prefix: &'static str,
}

impl Cluster {
    fn new(name: &'static str) -> Self {
        let engines = engines::shared();
        engines.postgres.create_database(name);
        Self { postgres: engines.postgres.url(name), redis: engines.redis.urls(), prefix: name }
    }

    fn env(&self) -> [(&str, &str); 5] {
        [
            ("SYMBOLON_STORE", "cluster"),
            ("SYMBOLON_POSTGRES_URL", &self.postgres),
            ("SYMBOLON_REDIS_URLS", &self.redis),
            ("SYMBOLON_REDIS_PREFIX", self.prefix),
            ("SYMBOLON_MASTER_KEY", MASTER),
        ]
    }
}

fn kids(keys: &Value) -> Vec<String> {
    let keys = keys["keys"].as_array().unwrap().iter();
    let mut kids: Vec<String> = keys.map(|key| key["kid"].as_str().unwrap().to_owned()).collect();
    kids.sort();
    kids
}

/// The form that asks for a token as a client of its own: a new client on these engines.
fn job(place: &Place, env: &[(&str, &str)]) -> String {
    let arguments = [
        "client",
        "create",
        "--name",
        "Job",
        "--client-id",
        "job",
        "--grant-type",
        "client_credentials",
        "--json",
    ];
    let client = place.run_with(&arguments, env, "").json();
    let secret = client["client_secret"].as_str().unwrap();
    format!("grant_type=client_credentials&client_id=job&client_secret={secret}")
}

#[test]
fn nodes_that_start_together_are_one_provider_and_commands_are_one_more() {
    let cluster = Cluster::new("together");
    let env = cluster.env();
    let start = || {
        let place = Place::new();
        let server = place.serve(&env);
        (place, server)
    };
    let ((one, _first), (two, _second)) = std::thread::scope(|scope| {
        let first = scope.spawn(start);
        let second = start();
        (first.join().unwrap(), second)
    });
    let form = job(&one, &env);
    for place in [&one, &two] {
        until("the node holds a lease", || (place.form("/token", &form).0 == 200).then_some(()));
    }
    let (_, before) = one.get("/.well-known/jwks.json");
    until("a key is rotated", || (one.admin("POST", "/signing-keys/rotate", "{}").0 == 200).then_some(()));
    let (_, published) = one.get("/.well-known/jwks.json");
    assert_ne!(kids(&published), kids(&before));
    // It was not answered before the other node had followed.
    assert_eq!(kids(&two.get("/.well-known/jwks.json").1), kids(&published));
    let listed = two.run_with(&["keys", "list", "--json"], &env, "").json();
    assert_eq!(kids(&json!({ "keys": listed })), kids(&published));
    for place in [&one, &two] {
        assert!(!place.path("data").exists(), "a node has no data directory");
    }
}

#[test]
fn a_node_that_lost_its_lease_answers_503_and_says_why() {
    let postgres = PostgresServer::start(PostgresServerOptions::default());
    postgres.create_database("lease");
    let cluster =
        Cluster { postgres: postgres.url("lease"), redis: engines::shared().redis.urls(), prefix: "lease" };
    let place = Place::new();
    let _server = place.serve(&cluster.env());
    until("the node holds a lease", || (place.form("/introspect", "token=x").0 == 401).then_some(()));
    postgres.stop();
    until("the lease has run out", || (place.form("/introspect", "token=x").0 == 503).then_some(()));
    for (method, path) in [("POST", "/token"), ("POST", "/introspect"), ("GET", "/userinfo")] {
        let answer = Place::ask(&place.listen(), &format!("{method} {path} HTTP/1.1"), "");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.to_ascii_lowercase().contains("\r\nretry-after: 1\r\n"), "{answer}");
    }
    let ready = Place::ask(&place.management(), "GET /readyz HTTP/1.1", "");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("lease"), "{ready}");
    postgres.restart();
    until("the lease is renewed", || (place.form("/introspect", "token=x").0 == 401).then_some(()));
}

#[test]
fn a_realm_is_imported_into_a_cluster_and_may_come_again() {
    let (cluster, place) = (Cluster::new("imported"), Place::new());
    let env = cluster.env();
    let _server = place.serve(&env);
    until("the node holds a lease", || (place.form("/introspect", "token=x").0 == 401).then_some(()));
    let client = ["client", "create", "--name", "App", "--client-id", "app"];
    place.run_with(&[&client[..], &["--redirect-uri", "https://a.example/cb"]].concat(), &env, "").good();
    import::keycloak(&place);
    let taken = || {
        let ran = place.run_with(&["import", "keycloak", "realm.json", "--json"], &env, "");
        assert_eq!(ran.code, 1, "one of the users is not taken: {}{}", ran.out, ran.error);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        ["users", "groups", "roles", "memberships", "given_roles"].map(|kind| import::of_kind(&report, kind))
    };
    assert_eq!(taken(), [[3, 0, 1], [2, 0, 0], [3, 0, 0], [1, 0, 0], [3, 0, 0]]);
    assert!(signs_in(&place, "k1@keycloak.example") && !signs_in(&place, "k2@keycloak.example"));
    let (status, held) = place.admin("GET", "/users/id-k1/entitlements", "");
    let groups = held["entitlements"]["groups"].as_array().unwrap().iter();
    let groups: Vec<&str> = groups.map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!((status, groups), (200, vec!["IT", "Ops"]));
    let again = taken();
    assert!(again.iter().all(|[created, existing, _]| *created == 0 && *existing > 0), "{again:?}");
    assert!(signs_in(&place, "k4@keycloak.example"), "what signs in goes on");
}

/// What was issued before the moment of the restore cannot be told from what was revoked after it.
#[test]
fn an_epoch_ends_the_access_tokens_of_before() {
    let cluster = Cluster::new("epoch");
    let (env, place) = (cluster.env(), Place::new());
    let open = || place.run_with(&["store", "open-epoch"], &env, "");
    assert!(open().bad(1).contains("no node was ever started"));
    let mut server = place.serve(&env);
    let form = job(&place, &env);
    until("the node holds a lease", || (place.form("/token", &form).0 == 200).then_some(()));
    let token = |place: &Place| place.form("/token", &form).1["access_token"].as_str().unwrap().to_owned();
    let is_active = |token: &str| {
        let asked = form.replace("grant_type=client_credentials", &format!("token={token}"));
        place.form("/introspect", &asked).1["active"].as_bool().unwrap()
    };
    let before = token(&place);
    assert!(is_active(&before));
    assert!(open().bad(1).contains("nodes run on this database (1)"));
    server.terminate();
    until("the node has ended", || server.ended());
    assert!(open().good().contains("from before"));
    let _server = place.serve(&env);
    until("the node holds a lease", || (place.form("/token", &form).0 == 200).then_some(()));
    assert!(!is_active(&before) && is_active(&token(&place)));
}

/// Whoever came too early would wait for as long as the engines do, or be reset when the node gives up.
#[test]
fn a_node_takes_no_connections_before_its_store_is_open() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let postgres = format!("postgres://u:p@{}/x", silent.local_addr().unwrap());
    let redis = engines::shared().redis.urls();
    let cluster = Cluster { postgres, redis, prefix: "silent" };
    let place = Place::new();
    let mut node = place.command(&["serve"], &cluster.env()).stderr(Stdio::null()).spawn().unwrap();
    // It has come as far as the store.
    let asked = silent.accept().unwrap();
    let refused = TcpStream::connect(place.management()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    node.kill().unwrap();
    node.wait().unwrap();
    drop(asked);
}

#[test]
fn the_engines_are_examined_and_what_is_refused_ends_with_1() {
    let (cluster, place) = (Cluster::new("examined"), Place::new());
    let findings = place.run_with(&["store", "check", "--json"], &cluster.env(), "").json();
    let findings = findings.as_array().unwrap();
    assert!(
        !findings.is_empty() && findings.iter().all(|finding| finding["level"] != "refused"),
        "{findings:?}"
    );
    let mut env = cluster.env();
    env[1].1 = "postgres://u:hunter2@127.0.0.1:1/x";
    let ran = place.run_with(&["store", "check"], &env, "");
    assert!(ran.out.starts_with("refused  ") && ran.out.contains("\n         mend: "), "{}", ran.out);
    assert!(!ran.out.contains("hunter2") && !ran.error.contains("hunter2"));
    ran.bad(1);
    assert!(place.run(&["store", "check"]).bad(2).contains("SYMBOLON_STORE"));
}

#[test]
fn what_is_about_a_data_directory_is_refused_by_name() {
    let place = Place::new();
    let cluster = Cluster {
        postgres: "postgres://localhost/x".into(),
        redis: "redis://localhost".into(),
        prefix: "none",
    };
    for arguments in [["backup", "there"], ["restore", "there"]] {
        let told = place.run_with(&arguments, &cluster.env(), "").bad(2);
        assert!(told.contains("the tools of PostgreSQL and Redis"), "{told}");
    }
    let mut env = cluster.env();
    env[1].1 = "postgres://u:hunter2@localhost/x?sslrootcert=/ca.pem";
    for arguments in [&["serve"][..], &["config", "check"], &["keys", "list"]] {
        let told = place.run_with(arguments, &env, "").bad(2);
        assert!(told.contains("postgres.url (env") && told.contains("`sslrootcert`"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}
