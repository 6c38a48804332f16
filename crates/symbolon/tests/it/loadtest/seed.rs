//! `symbolon loadtest seed`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::{results, run};
use crate::place::Place;

/// `loadtest seed` of a little; it ends when the test does.
struct Seeded(Child);

impl Drop for Seeded {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

#[test]
fn a_seed_is_planted_once_for_many_runs() {
    let place = Place::new();
    let little = ["--users", "5", "--tokens", "20", "--families", "8", "--pure"];
    let arguments = [&["loadtest", "seed", "--out", "seed.json"][..], &little].concat();
    let mut child = place.command(&arguments, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut seeded = Seeded(child);
    let told: Vec<_> = lines.by_ref().take_while(|line| !line.contains("listens on")).collect();
    assert!(told.iter().any(|line| line.starts_with("20 access tokens in ")), "{told:?}");
    let log = std::fs::read_to_string(place.path("seed.log")).unwrap();
    assert!(log.contains("/tokens/bulk"), "{log}");

    let seed: Value = serde_json::from_slice(&std::fs::read(place.path("seed.json")).unwrap()).unwrap();
    let target = ["--target", seed["issuer"].as_str().unwrap(), "--seed", "seed.json"];
    let userinfo = run(&target);
    for _ in 0..2 {
        assert!(place.run(&userinfo).good().contains("userinfo 50/s: passed"));
    }
    let closed = ["loadtest", "run", "silent", "--closed", "--duration", "1s", "--out", "report"];
    let told = place.run(&[&closed[..], &target].concat()).good();
    assert!(told.contains("silent closed: passed"), "{told}");
    let results = results(&place);
    let run = &results["runs"][0];
    assert_eq!((&run["executor"], &run["rate"]), (&"closed".into(), &run["achieved_rate"]));
    assert!(!run["timeline"].as_array().unwrap().is_empty(), "{run}");
    let code = ["loadtest", "run", "code", "--closed", "--duration", "1s"];
    assert!(place.run(&[&code[..], &target].concat()).bad(2).contains("needs a rate"));

    // The provider ends with the command.
    rustix::process::kill_process(Pid::from_child(&seeded.0), Signal::INT).unwrap();
    assert_eq!(seeded.0.wait().unwrap().code(), Some(0));
    assert!(place.run(&userinfo).bad(2).contains("cannot connect"));
}
