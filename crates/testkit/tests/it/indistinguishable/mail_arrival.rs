//! Nor does it show in the time at which mail comes, where everybody gets some: whoever reads a mailbox that is not theirs to
//! tell (a shared one, one that forwards) learns nothing of an account by how early mail is there.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use symbolon_crypto::random::SeededRandom;
use symbolon_testkit::Answer;

use super::{DIFFERENT, form, median, rank_test, shuffled};
use crate::admin::bulk;
use crate::mail::{moment, wait_for};
use crate::registration::Scene;
use serde_json::json;

/// Addresses of each kind.
const ADDRESSES: usize = 200;
/// Who asks at once: so many that a test is over soon, and so few that mail does not queue up.
const ASKERS: usize = 4;

/// Where somebody gets mail by typing an address: the page with the form, where it goes, and its field.
const WAYS: [(&str, &str, &str); 3] = [
    ("/register", "/register", "email"),
    ("/forgot-password", "/forgot-password", "username"),
    ("the sign-in page", "/login/email-code", "username"),
];

fn address(way: &str, number: usize, is_known: bool) -> String {
    let kind = if is_known { "known" } else { "other" };
    format!("{kind}{number:03}.{}@example.com", way.trim_start_matches('/').replace('/', "-"))
}

/// The rank test over times of arrival, of as many known as unknown addresses in an order that nobody could foresee. Each mail
/// leaves 50 to 305 ms after its answer, at random, so a difference of some 30 ms of the means is seen. A machine that is busy makes both
/// later.
#[test]
fn mail_to_known_and_unknown_addresses_comes_at_the_same_time() {
    let scene = Scene::new();
    scene.set(json!({ "sign_in_methods": ["password", "email_code"] }));
    let request = scene.rp.authorization_request().path();
    let random = SeededRandom::new(11);
    let mut before = 0;
    for (place, path, field) in WAYS {
        let users: Vec<_> = (0..ADDRESSES)
            .map(|number| json!({ "email": address(path, number, true), "email_verified": true }))
            .collect();
        bulk(&scene.server, "/users/bulk", &users);
        let mut numbers = [0; 2];
        let mut order: Vec<(String, bool)> = Vec::new();
        for is_known in shuffled(ADDRESSES, &random) {
            let number = &mut numbers[usize::from(is_known)];
            order.push((address(path, *number, is_known), is_known));
            *number += 1;
        }
        order.reverse();
        let (order, asked) = (Mutex::new(order), Mutex::new(HashMap::<String, (Instant, bool)>::new()));
        let (server, request) = (&scene.server, &request);
        std::thread::scope(|scope| {
            for _ in 0..ASKERS {
                scope.spawn(|| {
                    let browser = server.browser();
                    let page: Answer = match place.starts_with('/') {
                        true => browser.get(place),
                        false => browser.get(&browser.get(request).location()),
                    };
                    while let Some((email, is_known)) = { order.lock().expect("no panic").pop() } {
                        asked.lock().expect("no panic").insert(email.clone(), (moment(), is_known));
                        let answer = form(&browser, path, &page, &[(field, &*email)]);
                        assert_eq!(answer.status, 303, "{path}: {answer:?}");
                    }
                });
            }
        });
        wait_for("a mail for everybody", || scene.mailbox.unread() == before + 2 * ADDRESSES);
        let asked = asked.into_inner().expect("no panic");
        let mut times: [Vec<Duration>; 2] = Default::default();
        for (to, at) in scene.mailbox.arrivals().into_iter().skip(before) {
            let (begun, is_known) = asked.get(&to).unwrap_or_else(|| panic!("nobody asked for {to}"));
            times[usize::from(*is_known)].push(at.duration_since(*begun));
        }
        before += 2 * ADDRESSES;
        let [unknown, known] = &times;
        assert_eq!((unknown.len(), known.len()), (ADDRESSES, ADDRESSES), "{path}: one mail each");
        let z = rank_test(known, unknown);
        let medians = (median(known), median(unknown));
        assert!(z.abs() < DIFFERENT, "{path}: medians {medians:?}, z = {z:.2}");
    }
}
