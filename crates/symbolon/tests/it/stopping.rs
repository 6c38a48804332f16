//! A server that is told to stop behind a balancer.

use crate::place::Place;

fn readiness(place: &Place) -> String {
    let answer = Place::ask(&place.management(), "GET /readyz HTTP/1.1", "");
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_server_that_will_stop_is_not_ready_and_goes_on_until_the_delay_is_over() {
    let place = Place::new();
    // Nobody waits that long: the second signal ends it.
    let mut server = place.serve(&[("SYMBOLON_HTTP_DRAIN_DELAY", "10m")]);
    assert_eq!(readiness(&place), "200");
    server.terminate();
    server.wait_for_log("not ready from now on");
    assert_eq!(readiness(&place), "503");
    assert_eq!(place.get("/.well-known/openid-configuration").0, 200);
    assert!(server.is_running());
    server.terminate();
    assert_eq!(server.ended(), Some(0));
}
