//! A provider that is not ours: access tokens that cannot be read, and what it does not offer.

use std::sync::Arc;

use symbolon_crypto::SecretString;
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::{Mix, Scenario};
use symbolon_loadtest::seed::{Seed, SeedOptions, Special, TokenFormat, plant};
use symbolon_loadtest::{Tally, Target};

use crate::fake::{Fake, Fault, SECRET};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn target(fake: &Fake) -> Target {
    Target::discover(&fake.url(), Some(SecretString::new(SECRET.into()))).await.unwrap()
}

/// The scenarios that there are without token exchange; codes are obtained by a run.
const SCENARIOS: [Scenario; 7] = [
    Scenario::Silent,
    Scenario::Userinfo,
    Scenario::Introspect,
    Scenario::Refresh,
    Scenario::ClientCredentials,
    Scenario::Login,
    Scenario::Discovery,
];

/// A seed whose access tokens are handles, as whoever wrote its file would have it.
fn seeded(fake: &Fake) -> Seed {
    let options = SeedOptions { users: 8, tokens: 20, families: 8, ..SeedOptions::default() };
    let mut seed = block_on(async { plant(target(fake).await, &options, &mut Vec::new()).await }).unwrap();
    fake.hide_tokens();
    for token in &mut seed.tokens {
        token.token = fake.hide(&token.token).into();
    }
    seed.access_tokens = TokenFormat::Opaque;
    seed
}

fn run(seed: &Arc<Seed>, scenario: Scenario) -> Tally {
    let visitors = scenario.visitors(seed, 4, Mix::Pure).unwrap();
    let run = Closed { load: Load::to(seed.target.peer.clone()), until: Until::Requests(40) };
    closed(&run, visitors).unwrap().tally
}

#[test]
fn a_right_provider_passes_and_only_what_it_signed_is_counted() {
    let fake = Fake::start(true);
    let seed = Arc::new(seeded(&fake));
    for scenario in SCENARIOS {
        let tally = run(&seed, scenario);
        assert!(tally.is_clean(), "{scenario}: {:?}", tally.first_wrong());
        // The ID token of a login.
        let signed = if scenario == Scenario::Login { 40 } else { 0 };
        assert_eq!((tally.right, tally.signatures), (40, signed), "{scenario}");
    }
}

#[test]
fn wrong_answers_are_seen_without_reading_the_token() {
    let cases = [
        (Scenario::Silent, Fault::Issuer, "iss"),
        (Scenario::Userinfo, Fault::Subject, "sub"),
        (Scenario::Introspect, Fault::Inactive, "inactive"),
        (Scenario::Introspect, Fault::Scope, "scope"),
        (Scenario::Introspect, Fault::Told("sub"), "sub"),
        (Scenario::Introspect, Fault::Told("client_id"), "client_id"),
        (Scenario::Introspect, Fault::Told("iss"), "iss"),
        (Scenario::Refresh, Fault::NotRotated, "not_rotated"),
        (Scenario::Refresh, Fault::Scope, "scope"),
        (Scenario::Refresh, Fault::Ended, "expires_in"),
        (Scenario::ClientCredentials, Fault::Ended, "expires_in"),
        (Scenario::ClientCredentials, Fault::Unavailable, "status_503"),
        (Scenario::Login, Fault::Scope, "scope"),
        (Scenario::Login, Fault::Subject, "id_token_sub"),
        (Scenario::Login, Fault::Nonce, "nonce"),
    ];
    for (scenario, fault, kind) in cases {
        // Each with families that nobody used before.
        let fake = Fake::start(true);
        let seed = Arc::new(seeded(&fake));
        fake.set_fault(fault);
        let tally = run(&seed, scenario);
        assert_eq!(tally.wrong.get(kind), Some(&40), "{scenario} with {fault:?}: {:?}", tally.wrong);
    }
}

#[test]
fn a_seed_with_nothing_but_valid_tokens_is_for_the_pure_mix() {
    let fake = Fake::start(true);
    let mut seed = seeded(&fake);
    for (scenario, mix) in [
        (Scenario::Introspect, Some(Mix::Pure)),
        (Scenario::Exchange, Some(Mix::Pure)),
        (Scenario::Silent, None),
    ] {
        assert_eq!(scenario.mix(&seed), mix, "{scenario}");
    }
    seed.special = Some(Special::default());
    assert_eq!(
        Scenario::Introspect.mix(&seed),
        Some(Mix::Report),
        "whose tokens are then found to be missing"
    );
}

#[test]
fn an_exchange_wants_tokens_that_tell_what_they_stand_for() {
    let fake = Fake::start(true);
    let seed = Arc::new(seeded(&fake));
    let refused = Scenario::Exchange.visitors(&seed, 1, Mix::Pure).err().unwrap();
    assert_eq!(refused.to_string(), "scenario exchange needs JWT access tokens");
}

#[test]
fn a_token_that_should_be_readable_and_is_not_is_wrong() {
    let fake = Fake::start(true);
    let mut seed = seeded(&fake);
    seed.access_tokens = TokenFormat::Jwt;
    let seed = Arc::new(seed);
    for (scenario, kind) in [
        (Scenario::Refresh, "access_token"),
        (Scenario::ClientCredentials, "access_token"),
        (Scenario::Login, "access_token"),
        (Scenario::Introspect, "aud"),
    ] {
        let tally = run(&seed, scenario);
        assert_eq!(tally.wrong.get(kind), Some(&40), "{scenario}: {:?}", tally.wrong);
    }
}

#[test]
fn a_grant_that_is_not_offered_is_told_before_anything_is_sent() {
    let fake = Fake::start(true);
    let refused = |fault| {
        fake.set_fault(fault);
        let target = block_on(target(&fake));
        let told = |scenario: Scenario| scenario.check_offer(&target).err().map(|error| error.to_string());
        Scenario::ALL.into_iter().filter_map(told).collect::<Vec<_>>()
    };
    assert_eq!(refused(Fault::None), Vec::<String>::new(), "no word of grants");
    let told = refused(Fault::Grants(&["authorization_code", "refresh_token", "client_credentials"]));
    let expected = format!(
        "scenario exchange needs the grant urn:ietf:params:oauth:grant-type:token-exchange, and {} does not offer it \
         (grant_types_supported: authorization_code, refresh_token, client_credentials)",
        fake.url()
    );
    assert_eq!(told, [expected]);
}
