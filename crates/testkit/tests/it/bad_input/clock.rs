//! A clock that steps by an hour, both ways.

use std::time::Duration;

use super::Well;
use symbolon_testkit::TokenSet;

const HOUR: Duration = Duration::from_secs(3600);

/// Uses everything that was made before; every answer is a success or names a 4xx.
fn use_all(server: &Well, step: &str) {
    let (party, _) = server.client();
    let (_, browser) = server.signed_in(&format!("{}@example.com", step.replace(' ', "-")));
    let request = party.authorization_request().with("scope", "openid offline_access");
    let code = browser.get(&request.path()).redirected("code").expect("a code");
    let pending = party.authorization_request();
    let unused = browser.get(&pending.path()).redirected("code").expect("a code");
    let tokens = TokenSet::of(&party.redeem(&code, &request.verifier));
    let refresh_token = tokens.refresh_token.clone().expect("a refresh token");
    let bearer = format!("Bearer {}", tokens.access_token);
    match step {
        "an hour ahead" => server.clock.advance(HOUR),
        "an hour back" => server.clock.step_back(HOUR),
        _ => {}
    }
    let ahead = step == "an hour ahead";
    let redeemed = party.redeem(&unused, &pending.verifier);
    // RFC 6749 4.1.2: a code lives a minute.
    assert_eq!(redeemed.status, if ahead { 400 } else { 200 }, "{step} {redeemed:?}");
    let info = server.browser().get_with("/userinfo", &[("authorization", &bearer)]);
    assert_eq!(info.status, if ahead { 401 } else { 200 }, "{step} {info:?}");
    let told = party.post("/introspect", &[("token", &tokens.access_token)]);
    assert_eq!(told.json()["active"], !ahead, "{step} {told:?}");
    let exchange = party.token(&[
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token", &tokens.access_token),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
    ]);
    assert_eq!(exchange.status, if ahead { 400 } else { 200 }, "{step} {exchange:?}");
    // Refresh tokens live for days, sessions for hours: an hour does not matter to either.
    let refreshed = TokenSet::of(&party.refresh(&refresh_token));
    let again = party.sign_in(&browser);
    assert_eq!(party.post("/revoke", &[("token", &again.access_token)]).status, 200);
    let bearer = format!("Bearer {}", again.access_token);
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401, "{step}");
    let bearer = format!("Bearer {}", refreshed.access_token);
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 200, "{step}");
}

#[test]
fn an_hour_ahead_and_back() {
    let server = Well::start();
    for step in ["standing still", "an hour ahead", "still ahead", "an hour back", "still back"] {
        use_all(&server, step);
    }
}

#[test]
fn an_hour_back_first() {
    let server = Well::start();
    for step in ["an hour back", "an hour ahead"] {
        use_all(&server, step);
    }
}
