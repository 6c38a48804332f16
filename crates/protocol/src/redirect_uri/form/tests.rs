use proptest::prelude::*;

use super::RedirectUriForm::{self, *};
use crate::redirect_uri::InvalidRedirectUri::{self, *};
use crate::redirect_uri::{check_form, check_registration, is_anybodys, is_at, is_registered, matches};

#[test]
fn names_are_those_of_the_setting() {
    for form in RedirectUriForm::ALL {
        assert_eq!(serde_json::to_value(form).unwrap(), form.as_str());
        assert!(!form.risk().contains('"'));
    }
}

/// Each is refused without its form, whichever others are allowed, and taken with it.
#[test]
fn a_form_is_taken_only_where_it_is_allowed() {
    let table = [
        (PrivateUseSchemeWithoutDot, Scheme, "myapp:/cb"),
        (PrivateUseSchemeWithoutDot, Scheme, "myapp://callback?tenant=1"),
        (PrivateUseSchemeWithoutDot, Scheme, "com-example+app:/cb"),
        (HttpPrivateHost, PlainHttp, "http://10.1.2.3/cb"),
        (HttpPrivateHost, PlainHttp, "http://172.16.0.1:8080/cb?x=1"),
        (HttpPrivateHost, PlainHttp, "http://192.168.1.1"),
        (HttpPrivateHost, PlainHttp, "http://[fd00::1]:3000/cb"),
        (HttpPrivateHost, PlainHttp, "http://intranet/cb"),
        (HttpPrivateHost, PlainHttp, "http://nas.local/cb"),
        (HttpPrivateHost, PlainHttp, "http://git.corp.internal:3000/cb"),
        (HttpPrivateHost, PlainHttp, "http://router.home.arpa/"),
        (HttpPrivateHost, PlainHttp, "http://shop.test/cb"),
        (WildcardHost, Wildcard, "https://*.preview.example.com/cb"),
        (WildcardHost, Wildcard, "https://*.example.com"),
        (WildcardHost, Wildcard, "https://*.shop.example.co.uk:8443/cb?x=1"),
        (WildcardHost, Wildcard, "https://*.team.pages.dev/cb"),
        (WildcardHost, Wildcard, "https://*.preview.corp.internal/cb"),
    ];
    for (form, refusal, uri) in table {
        assert_eq!(check_registration(uri), Err(refusal), "{uri}");
        let others: Vec<_> = RedirectUriForm::ALL.into_iter().filter(|other| *other != form).collect();
        assert_eq!(check_form(uri, &others), Err(refusal), "{uri}");
        assert_eq!(check_form(uri, &[form]), Ok(()), "{uri}");
    }
}

#[test]
fn what_is_hostile_is_refused_whatever_is_allowed() {
    let table: [(&str, InvalidRedirectUri); 42] = [
        ("javascript:alert(1)", Scheme),
        ("javascript://%0aalert(1)", Scheme),
        ("JavaScript:/x", Scheme),
        ("data:/text/html,x", Scheme),
        ("vbscript:/x", Scheme),
        ("file:///etc/passwd", Scheme),
        ("blob:https://x.example/1", Scheme),
        ("intent://x#Intent;end", Fragment),
        ("view-source://x.example", Scheme),
        ("urn:ietf:wg:oauth:2.0:oob", Scheme),
        ("c:/windows", Scheme),
        ("myapp:cb", Scheme),
        ("myapp:", Scheme),
        ("myapp://user@callback", UserInfo),
        ("myapp:/cb#x", Fragment),
        ("http://example.com/cb", PlainHttp),
        ("http://8.8.8.8/cb", PlainHttp),
        ("http://169.254.169.254/latest", PlainHttp),
        ("http://172.32.0.1/cb", PlainHttp),
        ("http://[fe80::1]/cb", PlainHttp),
        ("http://[2001:db8::1]/cb", PlainHttp),
        ("http://0x0a010203/cb", PlainHttp),
        ("http://10%2e1.2.3/cb", PlainHttp),
        ("http://10.1.2.3@evil.example/cb", UserInfo),
        ("http://Intranet/cb", PlainHttp),
        ("http://nas.local.evil.example/cb", PlainHttp),
        ("http://*.intranet/cb", Wildcard),
        ("https://*.com/cb", WildcardDomain),
        ("https://*.co.uk/cb", WildcardDomain),
        ("https://*.pages.dev/cb", WildcardDomain),
        ("https://*.github.io/", WildcardDomain),
        ("https://*.localhost/cb", WildcardDomain),
        ("https://*/cb", WildcardPlace),
        ("https://*.*.example.com/cb", WildcardPlace),
        ("https://a.*.example.com/cb", WildcardPlace),
        ("https://pr-*.preview.example.com/cb", WildcardPlace),
        ("https://*preview.example.com/cb", WildcardPlace),
        ("https://*.preview.example.com/*", WildcardPlace),
        ("https://*.preview%2eexample.com/cb", WildcardPlace),
        ("https://%2a.preview.example.com/cb", WildcardPlace),
        ("https://*.Preview.example.com/cb", WildcardPlace),
        ("https://user@*.preview.example.com/cb", UserInfo),
    ];
    for (uri, refusal) in table {
        assert_eq!(check_form(uri, &RedirectUriForm::ALL), Err(refusal), "{uri}");
    }
    for uri in [
        "https://*.1.2.3.4/cb",
        "https://*..example.com/cb",
        "https://*.preview.example.com./cb",
        "https://*.prüview.example.com/cb",
    ] {
        assert!(check_form(uri, &RedirectUriForm::ALL).is_err(), "{uri}");
    }
}

#[test]
fn a_wildcard_stands_for_one_label() {
    const REGISTERED: &str = "https://*.preview.example.com/cb?x=1";
    for label in ["a", "pr-17", "0", &"x".repeat(63)] {
        let presented = format!("https://{label}.preview.example.com/cb?x=1");
        assert!(matches(REGISTERED, &presented, &[]), "{presented}");
        assert!(is_registered(&[REGISTERED.to_owned()], &presented, &[]));
        assert!(
            is_anybodys(&[REGISTERED.to_owned()], &presented),
            "a consent to one preview is none to another"
        );
    }
    for presented in [
        REGISTERED,
        "https://preview.example.com/cb?x=1",
        "https://.preview.example.com/cb?x=1",
        "https://a.b.preview.example.com/cb?x=1",
        "https://A.preview.example.com/cb?x=1",
        "https://-a.preview.example.com/cb?x=1",
        "https://a_b.preview.example.com/cb?x=1",
        "https://xn--a-0ga.preview.example.com/cb?x=1",
        "https://ä.preview.example.com/cb?x=1",
        "https://evil.com#.preview.example.com/cb?x=1",
        "https://evil.com/.preview.example.com/cb?x=1",
        "https://evil.com?.preview.example.com/cb?x=1",
        "https://evil.com\\.preview.example.com/cb?x=1",
        "https://evil.com%2f.preview.example.com/cb?x=1",
        "https://evil.com%00.preview.example.com/cb?x=1",
        "https://evil.com\u{ff0f}.preview.example.com/cb?x=1",
        "https://a\u{3002}preview.example.com/cb?x=1",
        "https://a%2epreview.example.com/cb?x=1",
        "https://user@a.preview.example.com/cb?x=1",
        "https://a@b.preview.example.com/cb?x=1",
        "https://a:1.preview.example.com/cb?x=1",
        "https://a.preview.example.com:8443/cb?x=1",
        "https://a.preview.example.com.evil.com/cb?x=1",
        "https://a.preview.example.com/cb",
        "https://a.preview.example.com/cb/?x=1",
        "http://a.preview.example.com/cb?x=1",
        "https://a.preview.example.com/cb?x=1#y",
    ] {
        assert!(!matches(REGISTERED, presented, &RedirectUriForm::ALL), "{presented}");
    }
    for (page, at) in [
        ("https://a.preview.example.com", true),
        ("https://a.b.preview.example.com", false),
        ("https://preview.example.com", false),
        ("http://a.preview.example.com", false),
        ("https://a.preview.example.com:8443", false),
        ("https://*.preview.example.com", false),
    ] {
        assert_eq!(is_at(REGISTERED, page, &[]), at, "{page}");
    }
}

#[test]
fn localhost_has_any_port_only_where_that_is_allowed() {
    let allowed = [AnyLocalhostPort];
    for (registered, presented) in [
        ("http://localhost/cb", "http://localhost:51004/cb"),
        ("http://localhost:3000/cb?x=1", "http://localhost/cb?x=1"),
        ("https://localhost:3000/cb", "https://localhost:3001/cb"),
    ] {
        assert!(matches(registered, presented, &allowed), "{registered} {presented}");
        assert!(
            !matches(registered, presented, &[HttpPrivateHost, WildcardHost]),
            "{registered} {presented}"
        );
        assert!(is_anybodys(&[registered.to_owned()], presented), "any program may listen there");
    }
    for (registered, presented) in [
        ("http://localhost/cb", "https://localhost:1/cb"),
        ("http://localhost/cb", "http://localhost:1/cb/x"),
        ("http://localhost/cb", "http://localhost:70000/cb"),
        ("http://localhost/cb", "http://localhost:/cb"),
        ("http://localhost/cb", "http://localhost:1@evil.example/cb"),
        ("http://localhost/cb", "http://localhost.evil.example/cb"),
        ("http://localhost/cb", "http://localhost:1.evil.example/cb"),
        ("http://localhost/cb", "http://127.0.0.1:1/cb"),
        ("http://localhost/cb", "http://LOCALHOST:1/cb"),
        ("https://rp.example/cb", "http://localhost:1/cb"),
    ] {
        assert!(!matches(registered, presented, &allowed), "{registered} {presented}");
    }
    assert!(is_at("http://localhost:3000/cb", "http://localhost:5173", &allowed));
    assert!(!is_at("http://localhost:3000/cb", "http://localhost:5173", &[]));
    assert!(!is_at("http://localhost:3000/cb", "http://localhost:5173/cb", &allowed));
}

proptest! {
    #[test]
    fn what_matches_a_wildcard_leads_to_one_label_below_the_host(head in "[a-zA-Z0-9@:/?#%.*_-]{0,24}") {
        let presented = format!("https://{head}.preview.example.com/cb");
        if matches("https://*.preview.example.com/cb", &presented, &[]) {
            let url = url::Url::parse(&presented).expect("a URL");
            let host = url.host_str().expect("a host");
            let label = host.strip_suffix(".preview.example.com").expect("below the host");
            prop_assert!(!label.is_empty() && !label.contains('.') && url.username().is_empty());
            prop_assert_eq!((url.path(), url.query(), url.fragment()), ("/cb", None, None));
        }
    }

    #[test]
    fn what_may_be_registered_by_a_form_is_read_as_it_is_written(tail in "[a-z0-9.*@:/?#%-]{0,30}") {
        for uri in [format!("http://{tail}"), format!("https://{tail}"), format!("myapp:{tail}")] {
            if check_form(&uri, &RedirectUriForm::ALL).is_ok() {
                let url = url::Url::parse(&uri).expect("a URL");
                prop_assert!(url.username().is_empty() && url.fragment().is_none(), "{}", uri);
                prop_assert!(matches(&uri, &uri, &[]) != uri.starts_with("https://*."), "{}", uri);
            }
        }
    }
}
