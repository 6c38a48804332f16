//! Where a provider and its admin API are: found, or refused with what mends it.

use std::sync::Arc;
use std::time::Duration;

use symbolon_loadtest::results::Results;
use symbolon_loadtest::run::Plan;
use symbolon_loadtest::{LoadtestError, RunningTarget, run};

use crate::fake::Fake;
use crate::fake::front::Fate;
use crate::verdicts::{options_for, plan};

/// Fifty requests for UserInfo.
fn load(target: RunningTarget) -> Result<Results, LoadtestError> {
    let plan = Plan { timeout: Duration::from_secs(10), ..plan(50.0, Duration::from_secs(1)) };
    run(&options_for(target, vec![plan]), &mut Vec::new())
}

fn refused(target: RunningTarget) -> String {
    load(target).unwrap_err().to_string()
}

/// Loads, and finds that the fake was asked as often as it was to be.
fn assert_reached(fake: &Arc<Fake>, admin_url: Option<String>) {
    fake.visits.clear();
    let results = load(RunningTarget { admin_url, ..fake.target(None) }).unwrap();
    let run = &results.runs[0];
    assert_eq!((run.requests, run.wrong, run.failures, run.missed), (50, 0, 0, 0), "{run:?}");
    assert_eq!((fake.visits.count("userinfo"), results.provider.issuer), (50, fake.url()));
}

#[test]
fn an_address_without_a_scheme_is_told_with_one() {
    let fake = Fake::start(true);
    let bare = fake.address.to_string();
    let mend = |address: &str| format!("it needs a scheme: http://{address} or https://{address}");
    let told = refused(RunningTarget { url: bare.clone(), ..fake.target(None) });
    assert!(told.contains(&mend(&bare)), "{told}");
    let admin = format!("{bare}/api/admin");
    let told = refused(RunningTarget { admin_url: Some(admin.clone()), ..fake.target(None) });
    assert!(told.contains(&mend(&admin)), "{told}");
}

#[test]
fn an_admin_api_that_is_not_on_the_public_listener_is_reached_where_it_is_named() {
    // What stands before the fake is its public listener.
    let (fake, public) = Fake::behind("/api/admin", Box::new(|_| Fate::Missing));
    let told = refused(fake.target(None));
    assert!(told.contains("/api/admin/") && told.contains("404") && told.contains("--admin-url"), "{told}");
    let asked = public.of(Fate::Missing);
    assert!(asked > 0, "{:?}", public.counts());
    assert_reached(&fake, Some(format!("http://{}/api/admin", fake.address)));
    assert_eq!(public.of(Fate::Missing), asked, "it is asked where it is, and nowhere else");
}

#[test]
fn an_issuer_with_a_path_has_its_own_part_of_the_admin_api() {
    let fake = Fake::with_path("/t");
    // It is found by the issuer's URL, and where it is named.
    assert_reached(&fake, None);
    assert_reached(&fake, Some(format!("http://{}/api/admin/issuers/t", fake.address)));
    // Who names no part means the default issuer's, which this one's is not.
    let elsewhere = Some(format!("http://{}", fake.address));
    let told = refused(RunningTarget { admin_url: elsewhere, ..fake.target(None) });
    assert!(told.contains("404") && told.contains("--admin-url"), "{told}");
}
