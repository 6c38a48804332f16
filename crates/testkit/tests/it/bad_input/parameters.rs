//! Too many parameters, twice the same, and bytes that are no text.

use super::Well;

#[test]
fn a_hundred_thousand_parameters_are_400() {
    let server = Well::start();
    let many = (0..100_000).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&");
    let same = vec!["scope=openid"; 80_000].join("&");
    let empty = "&".repeat(1_000_000);
    for path in ["/token", "/introspect", "/revoke", "/authorize", "/logout", "/login", "/consent"] {
        for body in [&many, &same, &empty] {
            let reply = server.post_form(path, body.as_bytes());
            assert!((400..500).contains(&reply.status), "{path} {}", reply.status);
        }
    }
    let reply = server.post_form("/token", &vec!["a=1"; 300].join("&").into_bytes());
    assert_eq!((reply.status, reply.error()), (400, "invalid_request".into()));
}

#[test]
fn forms_outside_utf_8_are_400() {
    let server = Well::start();
    let (party, basic) = server.client();
    let headers = [("Authorization", basic.as_str()), ("Content-Type", super::FORM)];
    let forms: [&[u8]; 6] =
        [b"grant_type=\xff", b"grant_type=%ff", b"a=%", b"a=%4", b"a=%zz&token=x", b"\xc3\x28=1&token=x"];
    for path in ["/token", "/introspect", "/revoke"] {
        for form in forms {
            let reply = server.post(path, &headers, form);
            assert_eq!((reply.status, reply.error()), (400, "invalid_request".into()), "{path} {form:?}");
        }
    }
    for form in forms {
        for path in ["/authorize", "/logout", "/login", "/consent"] {
            let reply = server.post_form(path, form);
            assert!((400..500).contains(&reply.status), "{path} {form:?} {reply:?}");
        }
    }
    // A request whose state is no text is not answered to the client either: nobody knows what it asked for.
    let path = format!("{}&x=%ff", party.authorization_request().path());
    assert_eq!(server.send("GET", &path, &[], b"").status, 400);
}

#[test]
fn a_parameter_twice_is_an_invalid_request() {
    let server = Well::start();
    let (party, basic) = server.client();
    let headers = [("Authorization", basic.as_str()), ("Content-Type", super::FORM)];
    for (path, names) in [
        ("/token", &["grant_type", "scope", "client_id", "client_secret", "code", "unknown"][..]),
        ("/introspect", &["token", "token_type_hint"]),
        ("/revoke", &["token", "token_type_hint"]),
    ] {
        for name in names {
            let twice = format!("grant_type=client_credentials&token=x&{name}=a&{name}=a");
            let reply = server.post(path, &headers, twice.as_bytes());
            assert_eq!((reply.status, reply.error()), (400, "invalid_request".into()), "{path} {name}");
        }
    }
    for grant in [
        "authorization_code&code=a&code=a&redirect_uri=https://rp.example/callback",
        "authorization_code&code=a&redirect_uri=a&redirect_uri=a",
        "authorization_code&code=a&redirect_uri=a&code_verifier=a&code_verifier=a",
        "refresh_token&refresh_token=a&refresh_token=a",
        "urn:ietf:params:oauth:grant-type:token-exchange&subject_token=a&subject_token=a",
    ] {
        let reply = server.post("/token", &headers, format!("grant_type={grant}").as_bytes());
        assert_eq!((reply.status, reply.error()), (400, "invalid_request".into()), "{grant}");
    }
    for name in
        ["response_type", "state", "scope", "nonce", "code_challenge", "prompt", "max_age", "response_mode"]
    {
        let path = party.authorization_request().with("state", "1").path();
        let reply = server.send("GET", &format!("{path}&{name}=x&{name}=x"), &[], b"");
        let to = reply.header("location").unwrap_or_default();
        assert!(
            to.starts_with(&party.redirect_uri) && to.contains("error=invalid_request"),
            "{name} {reply:?}"
        );
    }
    for name in ["client_id", "redirect_uri"] {
        let reply =
            server.send("GET", &format!("{}&{name}=x", party.authorization_request().path()), &[], b"");
        assert_eq!((reply.status, reply.header("location")), (400, None), "{name}");
    }
    for name in ["id_token_hint", "state", "client_id"] {
        let reply = server.send("GET", &format!("/logout?{name}=x&{name}=y"), &[], b"");
        assert_eq!(reply.status, 400, "{name}");
    }
}

#[test]
fn tokens_that_are_none_are_not_known() {
    let server = Well::start();
    let (_, basic) = server.client();
    let headers = [("Authorization", basic.as_str()), ("Content-Type", super::FORM)];
    let long = "a".repeat(60_000);
    for token in [
        "x",
        "a.b.c",
        "..",
        "%00",
        "rt_1_2_x_1_y",
        "rt_4294967296_1_aaaaaaaaaaaaaaaaaaaaaa_1_",
        "ac_1_2_x",
        "%F0%9F%92%A9",
        &long,
    ] {
        let reply = server.post("/introspect", &headers, format!("token={token}").as_bytes());
        assert_eq!((reply.status, reply.body.as_str()), (200, r#"{"active":false}"#), "{token:.20}");
        assert_eq!(
            server.post("/revoke", &headers, format!("token={token}").as_bytes()).status,
            200,
            "{token:.20}"
        );
        for form in [
            format!("grant_type=refresh_token&refresh_token={token}"),
            format!("grant_type=authorization_code&code={token}&redirect_uri=https://rp.example/callback"),
            format!(
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token={token}&subject_token_type=urn:ietf:params:oauth:token-type:access_token"
            ),
        ] {
            let reply = server.post("/token", &headers, form.as_bytes());
            assert_eq!((reply.status, reply.error()), (400, "invalid_grant".into()), "{form:.60} {reply:?}");
        }
    }
}
