//! `symbolon loadtest soak`.

use super::results;
use crate::place::Place;

#[test]
fn a_soak_tells_its_windows_and_that_it_was_too_short() {
    let place = Place::new();
    let parent = place.path("").display().to_string();
    let soak = ["loadtest", "soak", "userinfo", "--rate", "50", "--duration", "3s", "--warm-up", "0s"];
    let lenient = ["--only-thresholds", "--threshold", "failure_share<=0", "--out", "report"];
    let windows = ["--window", "1s", "--settle", "0", "--leak-tolerance", "memory=any,disk=1GiB/day"];
    let all = [&soak[..], &lenient, &windows, &["--data-parent", &parent]].concat();
    let told = place.run(&all).good();
    assert!(told.contains("userinfo 50/s, 64 shards: passed, with a warning"), "{told}");
    let results = results(&place);
    assert_eq!(results["title"], "soak of userinfo");
    let soak = &results["runs"][0]["soak"];
    let windows = soak["windows"].as_array().unwrap();
    assert!((2..=3).contains(&windows.len()), "{soak}");
    for window in windows {
        for figure in ["memory_mib", "descriptors", "threads", "disk_mib"] {
            assert!(window[figure].as_f64() > Some(0.0), "{figure}: {window}");
        }
    }
    let leaks = soak["leaks"].as_array().unwrap();
    let of = |quantity: &str| leaks.iter().find(|leak| leak["quantity"] == quantity).unwrap();
    assert!(leaks.iter().all(|leak| leak["growth"] == "too_short"), "{soak}");
    // 1 GiB a day, in MiB an hour.
    let disk = of("disk")["tolerance_per_hour"].as_f64().unwrap();
    assert!((disk - 1_024.0 / 24.0).abs() < 0.01 && of("memory")["tolerance_per_hour"].is_null(), "{soak}");
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    assert!(report.contains("Windows of the soak") && report.contains("too short to tell"), "{report}");
}

#[test]
fn mistakes_in_a_soak_are_told_before_the_load() {
    let place = Place::new();
    let soak = ["loadtest", "soak", "userinfo", "--rate", "50", "--out", "report"];
    for (more, why) in [
        (&["--duration", "3s", "--window", "5s"][..], "longer than the whole plateau"),
        (&["--leak-tolerance", "memory=1"], "memory=1MiB/h"),
        (&["--abort-on", "failure_share>0.5 for 2h"], "failure_share>0.5 for 2h"),
        (&["--data-dir", "data"], "--target"),
    ] {
        let told = place.run(&[&soak[..], more].concat()).bad(2);
        assert!(told.contains(why), "{more:?}: {told}");
    }
}
