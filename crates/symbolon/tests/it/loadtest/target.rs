//! Providers that run already: behind TLS, with the admin API elsewhere, with a path.

use super::{results, run};
use crate::place::{Place, SECRET};
use crate::tls::{certificate, public};

#[test]
fn a_target_behind_tls_is_asked_by_either_protocol() {
    let place = Place::new();
    let (own, other) = (certificate(&place, "own", "127.0.0.1"), certificate(&place, "other", "127.0.0.1"));
    let with = [&public(&own)[..], &[("SYMBOLON_ADMIN_ON_PUBLIC", "true")]].concat();
    let _server = place.serve(&with);
    let url = format!("https://{}", place.listen());
    let target = ["--target", &*url, "--admin-secret", SECRET];
    for (more, protocol) in [(&[][..], "HTTP/1.1"), (&["--http2"], "HTTP/2")] {
        let asked = [&target[..], &["--ca", &own.0], more].concat();
        let told = place.run(&run(&asked)).good();
        assert!(told.contains("0 failed, 0 wrong, 0 missed"), "{told}");
        let run = &results(&place)["runs"][0];
        assert_eq!((&run["protocol"], &run["tls"]), (&protocol.into(), &true.into()));
    }
    for untrusted in [&target[..], &[&target[..], &["--ca", &other.0]].concat()] {
        let told = place.run(&run(untrusted)).bad(2);
        assert!(told.contains("--ca"), "{told}");
    }
    let told = place.run(&run(&[&target[..], &["--ca", &own.1]].concat())).bad(2);
    assert!(told.contains("own.key"), "{told}");
    let told = place.run(&run(&["--streams", "8"])).bad(2);
    assert!(told.contains("--http2"), "{told}");
}

#[test]
fn an_admin_api_elsewhere_and_an_issuer_with_a_path_are_reached() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_RATE_LIMITS", "off"), ("SYMBOLON_LISTEN", "127.0.0.1:0")]);
    let url = format!("http://{}", place.listen());
    let at = |target: &str, more: &[&str]| {
        let target = ["--target", target, "--admin-secret", SECRET];
        place.run(&run(&[&target[..], more].concat()))
    };
    // Its mend is told where it is not there, and for an address without a scheme.
    assert!(at(&url, &[]).bad(2).contains("--admin-url"));
    let bare = url.trim_start_matches("http://");
    assert!(at(bare, &[]).bad(2).contains(&format!("it needs a scheme: {url} or https://{bare}")));
    let admin = format!("http://{}/api/admin", place.management());
    assert!(at(&url, &["--admin-url", &admin]).good().contains("0 failed, 0 wrong, 0 missed"));
    let issuer = r#"{ "id": "t", "url": "http://issuer.test/t" }"#;
    assert_eq!(place.admin("POST", "/issuers", issuer).0, 201);
    let (url, admin) = (format!("{url}/t"), format!("{admin}/issuers/t"));
    assert!(at(&url, &["--admin-url", &admin]).good().contains("0 failed, 0 wrong, 0 missed"));
}

#[test]
fn what_a_target_runs_with_stands_in_the_results() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_RATE_LIMITS", "off"), ("SYMBOLON_ADMIN_ON_PUBLIC", "true")]);
    let (url, metrics) =
        (format!("http://{}", place.listen()), format!("http://{}/metrics", place.management()));
    // Also of several nodes, of which no figures are told.
    for (targets, figures) in [(url.clone(), true), (format!("{url},{url}"), false)] {
        let target = ["--target", &*targets, "--admin-secret", SECRET, "--metrics", &*metrics];
        place.run(&run(&target)).good();
        let results = results(&place);
        let told =
            ["Store", "Rate limits", "Test endpoints"].map(|name| results["environment"][name].as_str());
        assert_eq!(told, [Some("embedded"), Some("off"), Some("on")], "{}", results["environment"]);
        assert!(results["provider"]["software"].as_str().is_some_and(|name| name.starts_with("Symbolon ")));
        assert_eq!(results["runs"][0].get("server").is_some(), figures, "{targets}");
    }
}

#[test]
fn an_issuer_with_a_path_is_found_in_the_admin_api_by_its_url() {
    let place = Place::new();
    // The public listener tells issuers apart by their host, so that they must name it as it is.
    let address = symbolon_loadtest::free_address().unwrap().to_string();
    let url = format!("http://{address}");
    let _server = place.serve(&[
        ("SYMBOLON_RATE_LIMITS", "off"),
        ("SYMBOLON_ADMIN_ON_PUBLIC", "true"),
        ("SYMBOLON_ISSUER", &url),
        ("SYMBOLON_LISTEN", &address),
    ]);
    let url = format!("{url}/t");
    let issuer = format!(r#"{{ "id": "t", "url": "{url}" }}"#);
    assert_eq!(place.admin("POST", "/issuers", &issuer).0, 201);
    let told = place.run(&run(&["--target", &url, "--admin-secret", SECRET])).good();
    assert!(told.contains("0 failed, 0 wrong, 0 missed"), "{told}");
    assert_eq!(results(&place)["provider"]["issuer"], url);
}

#[test]
fn who_is_limited_is_told_with_the_first_answer_and_its_mend() {
    let place = Place::new();
    let _server =
        place.serve(&[("SYMBOLON_ADMIN_ON_PUBLIC", "true"), ("SYMBOLON_RATE_LIMIT_TOKEN_CLIENT", "5/m")]);
    let url = format!("http://{}", place.listen());
    let load =
        ["loadtest", "run", "client-credentials", "--rate", "20", "--duration", "1s", "--warm-up", "0s"];
    let target = ["--target", &url, "--admin-secret", SECRET, "--out", "report"];
    let ran = place.run(&[&load[..], &target].concat());
    for told in [
        "client-credentials 20/s: FAILED",
        " × status 429",
        "    > POST /token HTTP/1.1",
        "    < HTTP/1.1 429",
        "  the provider limits requests (429): SYMBOLON_RATE_LIMITS=off",
    ] {
        assert!(ran.out.contains(told), "{told}: {}", ran.out);
    }
    assert!(!ran.out.contains(SECRET), "{}", ran.out);
    ran.bad(1);
    assert!(results(&place)["runs"][0]["wrong_kinds"]["status_429"].as_u64() >= Some(10));
}
