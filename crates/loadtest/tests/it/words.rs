//! Words that help: what mends a refusal, and what a report is held against where that fits.

use std::sync::Arc;
use std::time::Duration;

use symbolon_loadtest::results::Results;
use symbolon_loadtest::run::Plan;
use symbolon_loadtest::{report, run};

use crate::fake::front::Fate;
use crate::fake::{Fake, Fault};
use crate::verdicts::{load, options, plan};

/// What turns the limits of a provider off.
const MEND: &str = "SYMBOLON_RATE_LIMITS=off";

fn short() -> Plan {
    plan(100.0, Duration::from_secs(1))
}

#[test]
fn who_is_limited_is_told_how_limits_are_turned_off() {
    let (results, _) = load(short(), |number| if number % 4 == 1 { Fate::Limited } else { Fate::Right });
    let run = &results.runs[0];
    assert_eq!(run.wrong_kinds["status_429"], 25, "{run:?}");
    for page in [report::markdown(&results, None), report::html(&results, None)] {
        assert!(page.contains(MEND) && page.contains("status 429"), "{page}");
    }
    // Other refusals have another reason.
    let (results, _) = load(short(), |number| if number % 4 == 1 { Fate::Refused } else { Fate::Right });
    assert!(!report::markdown(&results, None).contains(MEND));
}

#[test]
fn an_admin_api_that_is_limited_says_so() {
    let fake = Fake::start(true);
    fake.set_fault(Fault::AdminLimited);
    let error = run(&options(&fake, vec![short()]), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("/api/admin/") && error.contains("429") && error.contains(MEND), "{error}");
}

fn titled(fake: &Arc<Fake>, title: &str) -> Results {
    let mut options = options(fake, vec![short()]);
    title.clone_into(&mut options.title);
    run(&options, &mut Vec::new()).unwrap()
}

#[test]
fn december_2025_stands_beside_its_own_suite_and_where_it_is_asked_for() {
    let fake = Fake::start(true);
    let is_beside = |results: &Results| {
        let pages = [report::markdown(results, None), report::html(results, None)];
        let [markdown, html] = pages.map(|page| page.contains("December 2025"));
        assert_eq!(markdown, html, "both reports say the same");
        markdown
    };
    for (title, fits) in [
        ("december-2025", true),
        ("december-2025/userinfo", true),
        ("userinfo", false),
        ("mine/december-2025", false),
        ("december-2025-again", false),
    ] {
        assert_eq!(is_beside(&titled(&fake, title)), fits, "{title}");
    }
    let asked_for = Results { december_2025: true, ..titled(&fake, "userinfo") };
    assert!(is_beside(&asked_for));
}
