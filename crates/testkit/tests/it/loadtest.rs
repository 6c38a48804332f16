//! The load generator's seed and scenarios against a real server: what it asks is answered, what it checks holds.

use std::sync::Arc;

use symbolon_crypto::secret::SecretString;
use symbolon_loadtest::Target;
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::{Mix, Scenario};
use symbolon_loadtest::seed::{Seed, SeedOptions, plant};
use symbolon_testkit::{ADMIN_SECRET, Options, TestServer};

fn seeded(server: &TestServer) -> Arc<Seed> {
    let options = SeedOptions {
        users: 10,
        tokens: 60,
        families: 8,
        passkeys: 8,
        mix: Mix::Report,
        ..SeedOptions::default()
    };
    let secret = SecretString::new(ADMIN_SECRET.to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let seed = runtime.block_on(async {
        let target = Target::discover(&server.url, Some(secret)).await?;
        plant(target, &options, &mut Vec::new()).await
    });
    Arc::new(seed.unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn every_scenario_is_right_with_either_mix() {
    // The seed's users bring hashes of a common cost, 19 MiB and two passes; the test server's own are far cheaper.
    let server = TestServer::start_with(Options::default().env("SYMBOLON_ARGON2_IMPORT_WORK", "38MiB"));
    let seed = seeded(&server);
    for mix in [Mix::Pure, Mix::Report] {
        // Codes come from a measurement, just before they are redeemed; a login redeems one too.
        for scenario in Scenario::ALL.into_iter().filter(|scenario| *scenario != Scenario::Code) {
            // Two connections: a whole hundred for each. A login hashes a password.
            let requests = if scenario == Scenario::Login { 4 } else { 200 };
            let visitors = scenario.visitors(&seed, 2, mix).unwrap_or_else(|error| panic!("{error}"));
            // Both mixes use the families, and a used refresh token is not used again.
            if (mix, scenario) == (Mix::Report, Scenario::Refresh) {
                continue;
            }
            let run = Closed { load: Load::to(seed.target.peer.clone()), until: Until::Requests(requests) };
            let tally = closed(&run, visitors).unwrap().tally;
            assert!(tally.is_clean(), "{scenario}, {mix:?}: {:?} {:?}", tally.first_wrong(), tally.failures);
            assert_eq!(tally.right, requests, "{scenario}, {mix:?}");
        }
    }
}
