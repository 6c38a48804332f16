//! Logout requests.

use symbolon_protocol::refusal::Reason;
use symbolon_testkit::Answer;

use super::{Bench, Case, run};

fn logout(bench: &Bench, id: &str, parameters: &[(&str, &str)]) -> Answer {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    bench.server.browser().get_with(&format!("/logout?{query}"), &[("x-request-id", id)])
}

const AFTER: (&str, &str) = ("post_logout_redirect_uri", "https://rp.example/bye");

pub(super) const CASES: [Case<Bench>; 4] = [
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
    Case::new(Reason::IdTokenHintUnverifiable, (200, ""), &["`id_token_hint`"], |bench, id| {
        logout(bench, id, &[("id_token_hint", "a.b.c")])
    }),
];

#[test]
fn logouts() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
}
