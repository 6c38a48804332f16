//! Heads beyond the limits, credentials that are none.

use super::Well;
use symbolon_testkit::Options;

#[test]
fn a_head_beyond_the_limits_is_431() {
    let server = Well::start();
    let (long, query) = ("x".repeat(64 << 10), "x".repeat(100 << 10));
    for name in ["X-Long", "Cookie", "Authorization", "Accept"] {
        let reply = server.send("GET", "/userinfo", &[(name, &long)], b"");
        assert_eq!(reply.status, 431, "{name} {reply:?}");
    }
    let many: Vec<(String, &str)> = (0..500).map(|n| (format!("X-{n}"), "1")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    assert_eq!(server.send("GET", "/userinfo", &many, b"").status, 431);
    let reply = server.send("GET", &format!("/authorize?state={query}"), &[], b"");
    assert!(matches!(reply.status, 400 | 414 | 431), "{reply:?}");
    let megabyte = "x".repeat(1 << 20);
    assert_eq!(server.send("GET", "/", &[("X", &megabyte)], b"").status, 431);
}

/// RFC 9112 9.6: a client that is still sending is not reset, so that it can read why it was refused.
#[test]
fn who_is_refused_may_finish_the_sentence() {
    let server = Well::start();
    let rest = vec![b'x'; 4 << 20];
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(64 << 10)), 431),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        ("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\nx".to_owned(), 404),
    ] {
        let mut wire = server.wire();
        wire.write(request.as_bytes());
        wire.wait();
        assert!(wire.write(&rest), "{status}");
        wire.finish();
        assert_eq!(wire.reply().status, status);
    }
}

#[test]
fn a_long_head_within_the_limits_is_read() {
    let server = Well::start();
    let token = format!("Bearer {}", "x".repeat(16 << 10));
    assert_eq!(server.send("GET", "/userinfo", &[("Authorization", &token)], b"").status, 401);
    let cookies = vec![format!("symbolon_session={}", "x".repeat(60)); 200].join("; ");
    assert_eq!(server.send("GET", "/authorize?client_id=x", &[("Cookie", &cookies)], b"").status, 400);
}

#[test]
fn what_is_no_http_is_refused() {
    let server = Well::start();
    let lines: [&[u8]; 11] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &[0; 1000],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n b: folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\xff: 1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    for line in lines {
        let mut wire = server.wire();
        wire.write(line);
        wire.finish();
        let reply = wire.reply();
        assert!(reply.status < 500, "{line:.40?} {reply:?}");
    }
}

#[test]
fn bytes_outside_utf_8_in_a_head_are_refused() {
    let server = Well::start();
    for (path, header) in [
        ("/userinfo", b"Authorization: Bearer \xff\xfe".as_slice()),
        ("/userinfo", b"Authorization: \xff"),
        ("/token", b"Authorization: Basic \xff\xfe"),
        ("/authorize?client_id=x", b"Cookie: symbolon_session=\xff"),
        ("/authorize?client_id=%ff", b"Accept: text/html\xff"),
        ("/authorize", b"X-Forwarded-For: \xff"),
        ("/api/admin/users", b"Authorization: Bearer \xff"),
        ("/api/admin/users/%ff", b"Authorization: Bearer an-admin-secret-for-tests"),
        ("/%ff%00", b"Referer: \xff"),
        ("/introspect", b"Content-Type: \xff"),
    ] {
        let method = if matches!(path, "/token" | "/introspect") { "POST" } else { "GET" };
        let mut wire = server.wire();
        wire.write(format!("{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n").as_bytes());
        wire.write(header);
        wire.write(b"\r\n\r\n");
        let reply = wire.reply();
        assert!((400..500).contains(&reply.status), "{path} {header:?} {reply:?}");
    }
}

#[test]
fn credentials_that_are_none_are_refused() {
    let server = Well::start();
    let (_, good) = server.client();
    for path in ["/token", "/introspect", "/revoke"] {
        for value in [
            "Basic",
            "Basic ",
            "Basic !!!",
            "Basic =",
            "Basic Og==",
            "Basic YTo=",
            "Digest a=b",
            "Bearer x",
            "x",
        ] {
            let headers = [("Authorization", value), ("Content-Type", super::FORM)];
            let reply = server.post(path, &headers, b"grant_type=client_credentials&token=x");
            assert_eq!((reply.status, reply.error()), (401, "invalid_client".into()), "{path} {value}");
            // RFC 6749 5.2: the challenge answers who used the header.
            assert!(
                reply.header("www-authenticate").is_some_and(|value| value.starts_with("Basic ")),
                "{reply:?}"
            );
        }
        // RFC 9110 5.3: not a list, so two are malformed; a proxy may have checked the other one.
        let twice = [
            ("Authorization", good.as_str()),
            ("Authorization", good.as_str()),
            ("Content-Type", super::FORM),
        ];
        let reply = server.post(path, &twice, b"grant_type=client_credentials&token=x");
        assert_eq!((reply.status, reply.error()), (400, "invalid_request".into()), "{path}");
    }
    for value in ["Bearer", "Bearer ", "Bearer a b", "Bearer ....", "Bearer a.b.c", "Basic x"] {
        let reply = server.send("GET", "/userinfo", &[("Authorization", value)], b"");
        assert_eq!(reply.status, 401, "{value}");
        assert!(reply.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer ")));
    }
    let twice = [("Authorization", "Bearer x"), ("Authorization", "Bearer y")];
    assert_eq!(server.send("GET", "/userinfo", &twice, b"").status, 400);
    let secret = "Bearer an-admin-secret-for-tests";
    let twice = [("Authorization", secret), ("Authorization", "Bearer y")];
    assert_eq!(server.send("GET", "/api/admin/users", &twice, b"").status, 401);
}

#[test]
fn a_cookie_is_a_session_or_nothing() {
    let server = Well::start();
    let (party, _) = server.client();
    let path = party.authorization_request().with("prompt", "none").path();
    for cookie in [
        "symbolon_session",
        "symbolon_session=",
        "symbolon_session=%",
        "symbolon_session=%ff",
        "=;=;==",
        ";;;",
        "symbolon_session=\"se_1_2_x\"",
        "symbolon_session=se_99999999999999999999_1_x",
        "symbolon_session=se_4294967295_4294967295_x",
    ] {
        let reply = server.send("GET", &path, &[("Cookie", cookie)], b"");
        assert_eq!(reply.status, 302, "{cookie} {reply:?}");
        assert!(
            reply.header("location").is_some_and(|to| to.contains("error=login_required")),
            "{cookie} {reply:?}"
        );
    }
}

#[test]
fn behind_a_proxy_what_it_forwards_may_be_nonsense() {
    let server = Well::start_with(Options::default().env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8"));
    for value in ["", ",", "x", "::::", "999.1.1.1", "1.2.3.4:x, ,", "[", "unknown"] {
        for name in ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"] {
            let reply = server.send("GET", "/.well-known/openid-configuration", &[(name, value)], b"");
            assert!(reply.status == 200 || (400..500).contains(&reply.status), "{name}: {value} {reply:?}");
        }
    }
}
