//! Logout requests.

use serde_json::json;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::Answer;

use super::{Bench, Case, explained, run};
use crate::login::hidden;

fn logout(bench: &Bench, id: &str, parameters: &[(&str, &str)]) -> Answer {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    bench.server.browser().get_with(&format!("/logout?{query}"), &[("x-request-id", id)])
}

const AFTER: (&str, &str) = ("post_logout_redirect_uri", "https://rp.example/bye");

pub(super) const CASES: [Case<Bench>; 5] = [
    Case::new(
        Reason::ClientIdNotOfHint,
        (400, "invalid_request"),
        &["`client_id` was other"],
        |bench, id| {
            let hint = bench.rp.sign_in(&bench.session).id_token.unwrap();
            logout(bench, id, &[("id_token_hint", &hint), ("client_id", "other")])
        },
    ),
    Case::new(
        Reason::PostLogoutRedirectUriNotRegistered,
        (200, ""),
        &["`post_logout_redirect_uri` was https://rp.example/bye, nothing is registered"],
        |bench, id| logout(bench, id, &[AFTER, ("client_id", &bench.rp.client_id)]),
    ),
    Case::new(Reason::PostLogoutClientUnknown, (200, ""), &["https://rp.example/bye"], |bench, id| {
        logout(bench, id, &[AFTER])
    }),
    Case::new(Reason::PageFormExpired, (200, ""), &[], |bench, id| {
        let (transaction, _) = hidden(&bench.session.get("/logout"));
        let form = [("transaction", &*transaction), ("csrf_token", "forged"), ("decision", "confirm")];
        let answer = bench.session.post_with("/logout/confirm", &form, &[("x-request-id", id)]);
        assert_eq!(explained(&bench.server, "", id)["user_id"], json!(bench.user));
        answer
    }),
    Case::new(Reason::IdTokenHintUnverifiable, (200, ""), &["`id_token_hint`"], |bench, id| {
        logout(bench, id, &[("id_token_hint", "a.b.c")])
    }),
];

#[test]
fn logouts() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
}
