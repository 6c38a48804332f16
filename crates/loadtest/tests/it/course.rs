//! The course of a run, as it is drawn.

use std::time::Duration;

use symbolon_loadtest::executor::{Schedule, Stage};
use symbolon_loadtest::run::{Plan, Reshard, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{report, run};

use crate::fake::Fake;
use crate::verdicts::options;

/// How far from the left this edge is drawn.
fn drawn(page: &str, what: &str) -> f64 {
    let edge = page.split_once(&format!("\"><title>{what}</title></path>"));
    let (before, _) = edge.unwrap_or_else(|| panic!("{what} is not drawn: {page}"));
    let (_, path) = before.rsplit_once(" d=\"M").unwrap();
    path.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn the_edges_of_warm_up_and_plateau_and_a_change_of_shards_are_drawn_where_they_were() {
    let fake = Fake::start(true);
    fake.set_shards(4);
    let stage = |from, to, seconds| Stage { from, to, duration: Duration::from_secs(seconds) };
    let schedule = Schedule::new(&[stage(0.0, 40.0, 1), stage(40.0, 40.0, 2), stage(40.0, 0.0, 2)]).unwrap();
    let plan = Plan {
        warm_up: Duration::from_secs(1),
        reshard: Some(Reshard { after: Duration::from_millis(2_500), to: 8 }),
        ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule))
    };
    let results = run(&options(&fake, vec![plan]), &mut Vec::new()).unwrap();
    assert_eq!(results.runs[0].plateau_edges(), (2.0, 4.0), "{:?}", results.runs);
    let page = report::html(&results, None);
    let [warm, begins, ends] =
        ["warm-up ends", "plateau begins", "plateau ends"].map(|what| drawn(&page, what));
    // After a second, two, and four.
    let second = begins - warm;
    assert!(second > 10.0 && (ends - begins - 2.0 * second).abs() < 0.5, "{warm}, {begins}, {ends}");
    let changed = drawn(&page, "8 shards from here");
    let at = results.runs[0].reshard.unwrap().at;
    assert!(at >= 2.5 && (changed - warm - (at - 1.0) * second).abs() < 1.0, "{changed} for {at} s");
    assert_eq!(fake.shards(), [4, 8, 4]);
}
