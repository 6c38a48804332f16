use std::collections::HashSet;

use super::*;

#[test]
fn names_differ_and_are_read_back() {
    let names: HashSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), Reason::ALL.len());
    for (place, reason) in Reason::ALL.iter().enumerate() {
        let name = reason.name();
        assert_eq!(*reason as usize, place);
        assert_eq!(Reason::parse(name), Some(*reason));
        assert_eq!(serde_json::to_value(reason).unwrap(), name);
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
    }
    assert_eq!(Reason::parse("no_such"), None);
}

#[test]
fn every_reason_has_a_sentence_of_cause_and_a_mend() {
    for reason in Reason::ALL {
        for text in [reason.cause(), reason.mend()] {
            assert!(text.len() > 10 && text.ends_with('.') && !text.contains('|'), "{reason:?}: {text}");
        }
        assert!(Area::ALL.contains(&reason.area()));
    }
}

#[test]
fn there_are_many_kinds_of_each_area() {
    assert!(Reason::ALL.len() >= 100);
    for area in Area::ALL {
        assert!(Reason::ALL.iter().filter(|reason| reason.area() == area).count() >= 3, "{area:?}");
    }
}

#[test]
fn an_explanation_sets_what_was_sent_beside_what_is_registered() {
    let registered = ["https://rp.example/cb", "https://rp.example/other"].map(str::to_owned);
    let (order, difference) = closest(&registered, "https://rp.example/cb/");
    let details = Details::of("redirect_uri")
        .sent_uri("https://rp.example/cb/")
        .registered(order)
        .differing(difference.as_deref());
    let told = Refusal::about(Reason::RedirectUriNotRegistered, details).explanation();
    let expected = "`redirect_uri` was https://rp.example/cb/, registered are https://rp.example/cb and \
                    https://rp.example/other: it differs in the slash at the end.";
    assert!(told.ends_with(expected), "{told}");
    assert!(told.starts_with(Reason::RedirectUriNotRegistered.cause()), "{told}");
    assert_eq!(Refusal::from(Reason::CodeUsed).explanation(), Reason::CodeUsed.cause());
    let none = Details::of("grant_type").sent("x").registered([]).sentence().unwrap();
    assert_eq!(none, "`grant_type` was x, nothing is registered.");
    let one = Details::default().sent("x").expected(["y"]).sentence().unwrap();
    assert_eq!(one, "It was x, expected is y.");
    assert_eq!(Details::of("code").sentence().as_deref(), Some("It is about `code`."));
    assert_eq!(Details::default().sentence(), None);
}

#[test]
fn what_is_kept_is_bounded_and_steers_no_terminal() {
    let long = "x".repeat(10_000);
    let many: Vec<&str> = (0..100).map(|_| long.as_str()).collect();
    let details = Details::of(&long)
        .sent(&long)
        .registered(many)
        .differing(Some(long.as_str()))
        .login_name(&long, &long);
    let text = serde_json::to_string(&details).unwrap();
    assert!(text.len() < 3_000, "{} bytes", text.len());
    assert!(text.contains("95 more"), "{text}");
    let steering = Details::of("x").sent("\u{1b}[2J\u{202e}a\nb\u{e4}");
    assert_eq!(steering.sent_value(), Some("\u{fffd}[2J\u{fffd}a\u{fffd}b\u{e4}"));
}

#[test]
fn a_uri_is_shown_without_what_may_be_secret_in_it() {
    for (uri, shown) in [
        ("https://rp.example/cb?x=1&y=2#z", "https://rp.example/cb?x=1&y=2#z"),
        ("https://me:pw@rp.example/cb", "https://...@rp.example/cb"),
        ("https://rp.example/cb?code=ac_1&a=b", "https://rp.example/cb?code=...&a=b"),
        ("https://rp.example/#access_token=ey&b", "https://rp.example/#access_token=...&b"),
        ("https://rp.example/?client_Secret=s=t", "https://rp.example/?client_Secret=..."),
        ("com.example.app:/cb?passwort=x", "com.example.app:/cb?passwort=..."),
        ("x@y", "x@y"),
        ("", ""),
    ] {
        assert_eq!(Details::default().sent_uri(uri).sent_value(), Some(shown));
    }
}

#[test]
fn a_refusal_is_read_back_from_an_audit_records_detail() {
    let details = Details::of("redirect_uri").sent("a").registered(["b"]).login_name("ann", "d1");
    for refusal in [Refusal::about(Reason::PasswordWrong, details), Reason::CodeUsed.into()] {
        let mut members = refusal.to_members();
        members.insert("endpoint".to_owned(), "token".into());
        assert_eq!(Refusal::of_members(&members.into()), Some(refusal));
    }
    for other in [serde_json::json!({}), serde_json::json!({ "reason": "no_such" }), serde_json::json!(null)]
    {
        assert_eq!(Refusal::of_members(&other), None);
    }
}

/// `UPDATE_GENERATED=1` writes it anew.
#[test]
fn the_reference_of_failures_is_generated_from_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/failures.md");
    let generated = document();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == generated, "stale: UPDATE_GENERATED=1 cargo test -p symbolon-protocol refusal");
}

fn document() -> String {
    let mut text = String::from(INTRODUCTION);
    for area in Area::ALL {
        text.push_str(&format!("\n## {}\n\n| reason | cause | mend |\n|---|---|---|\n", area.title()));
        for reason in Reason::ALL.iter().filter(|reason| reason.area() == area) {
            let routine = if reason.is_routine() { " (routine)" } else { "" };
            let (name, cause, mend) = (reason.name(), reason.cause(), reason.mend());
            text.push_str(&format!("| `{name}`{routine} | {cause} | {mend} |\n"));
        }
    }
    text
}

const INTRODUCTION: &str = "\
# Failures: why a request was refused

<!-- Generated from crates/protocol/src/refusal/reason/table.rs. -->

Every refused request has one of these reasons. It is never sent to whoever made the request, who is told the error of
the RFC and no more ([decision 013](../decisions/013-unknown-client-and-wrong-secret-look-the-same.md)). It stands in the
field `reason` of the [request log](request-log.md), and in the [audit log](../topics/audit-log.md#refused-requests), where
these find it:

```
symbolon client why CLIENT        # the latest failures of a client: cause, values, mend
symbolon issuer why               # those of an issuer, whichever client they name
symbolon explain REQUEST-ID       # one request: the id is on the error page and in the header X-Request-Id
```

or `GET /api/admin/clients/{client_id}/failures`, `GET /api/admin/failures` and `GET /api/admin/failures/{request_id}`.

Beside the reason stand the client and user that were named, the address, the request id, and where it applies the
`parameter`, what was `sent`, what is `registered` or was `expected`, and the `difference` in words. Values are cut to 200
characters. Passwords, secrets, codes and tokens are never among them; of a URI the user name, the password and the values of
parameters whose name says that they are secret are left out. A typed login name that names nobody is shown only if it
has the form of an e-mail address: it may be a password in the wrong field.

*Routine* reasons occur every day with applications that work; fewer of them are kept.
";
