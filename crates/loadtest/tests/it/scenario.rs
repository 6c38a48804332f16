//! Every scenario passes against a right provider, and sees what a wrong one does.

use std::sync::Arc;

use symbolon_crypto::{Algorithm, SecretString};
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::seed::{Seed, SeedOptions, plant};
use symbolon_loadtest::{LoadtestError, Tally, Target};

use crate::fake::{Fake, Fault, SECRET};

fn seeded(fake: &Fake, secret: &str, algorithm: Option<Algorithm>) -> Result<Arc<Seed>, LoadtestError> {
    let options = SeedOptions { users: 20, tokens: 50, families: 8, session_seconds: 600, algorithm };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let target = Target::discover(&fake.url(), Some(SecretString::new(secret.into()))).await?;
        plant(target, &options, &mut Vec::new()).await.map(Arc::new)
    })
}

fn run(seed: &Arc<Seed>, scenario: Scenario, requests: u64) -> Tally {
    let visitors = scenario.visitors(seed, 4).unwrap();
    let run = Closed { load: Load::to(seed.target.address), until: Until::Requests(requests) };
    closed(&run, visitors).unwrap().tally
}

#[test]
fn a_right_provider_passes_with_and_without_bulk_calls() {
    for bulk in [true, false] {
        let fake = Fake::start(bulk);
        let seed = seeded(&fake, SECRET, None).unwrap();
        assert_eq!(seed.cookie, "fake_session");
        assert_eq!(seed.sessions.len(), 20);
        assert!(seed.tokens.len() >= 50 && seed.families.len() >= 8);
        assert_eq!(seed.algorithm, Algorithm::Es256);
        // Codes are obtained by the measurement, just before they are redeemed.
        for scenario in Scenario::ALL.into_iter().filter(|scenario| *scenario != Scenario::Code) {
            let tally = run(&seed, scenario, 200);
            assert!(tally.is_clean(), "{scenario}: {:?} {:?}", tally.first_wrong, tally.failures);
            assert_eq!(tally.right, 200, "{scenario}");
            let signed =
                matches!(scenario, Scenario::Exchange | Scenario::ClientCredentials | Scenario::Refresh);
            assert_eq!(tally.signatures, if signed { 200 } else { 0 }, "{scenario}");
        }
    }
}

#[test]
fn wrong_answers_are_seen_and_named() {
    let cases = [
        (Scenario::Discovery, Fault::Issuer, "iss"),
        (Scenario::Silent, Fault::State, "state"),
        (Scenario::Silent, Fault::Issuer, "iss"),
        (Scenario::Silent, Fault::LoginRequired, "login_required"),
        (Scenario::Userinfo, Fault::Subject, "sub"),
        (Scenario::Introspect, Fault::Inactive, "inactive"),
        (Scenario::Introspect, Fault::Scope, "scope"),
        (Scenario::Exchange, Fault::Subject, "sub"),
        (Scenario::Exchange, Fault::Scope, "scope"),
        (Scenario::Exchange, Fault::Audience, "aud"),
        (Scenario::Exchange, Fault::Actor, "act"),
        (Scenario::ClientCredentials, Fault::Subject, "sub"),
        (Scenario::ClientCredentials, Fault::Unavailable, "status_503"),
        (Scenario::Refresh, Fault::NotRotated, "not_rotated"),
        (Scenario::Refresh, Fault::Subject, "sub"),
    ];
    let fake = Fake::start(true);
    for (scenario, fault, kind) in cases {
        fake.set_fault(Fault::None);
        let seed = seeded(&fake, SECRET, None).unwrap();
        fake.set_fault(fault);
        let tally = run(&seed, scenario, 20);
        assert_eq!(tally.wrong.get(kind), Some(&20), "{scenario} with {fault:?}: {:?}", tally.wrong);
        assert!(!tally.is_clean());
    }
}

#[test]
fn seeding_tells_what_was_refused() {
    let fake = Fake::start(true);
    let wrong_secret = seeded(&fake, "wrong", None).err().unwrap();
    assert!(matches!(wrong_secret, LoadtestError::Refused { status: 401, .. }), "{wrong_secret}");
    let wrong_algorithm = seeded(&fake, SECRET, Some(Algorithm::Rs256)).err().unwrap().to_string();
    assert!(wrong_algorithm.contains("RS256") && wrong_algorithm.contains("ES256"), "{wrong_algorithm}");
    fake.set_fault(Fault::LoginRequired);
    let no_login = seeded(&fake, SECRET, None).err().unwrap().to_string();
    assert!(no_login.contains("login_required"), "{no_login}");
}

#[test]
fn names_are_read_back() {
    for scenario in Scenario::ALL {
        assert_eq!(scenario.name().parse::<Scenario>().unwrap(), scenario);
        assert_eq!(serde_json::to_value(scenario).unwrap(), scenario.name());
    }
    assert!("nothing".parse::<Scenario>().unwrap_err().to_string().contains("silent"));
}
