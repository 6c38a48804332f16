//! Every scenario passes against a right provider, and sees what a wrong one does.

use std::sync::Arc;

use symbolon_crypto::{Algorithm, SecretString};
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::{Mix, Scenario};
use symbolon_loadtest::seed::{Seed, SeedOptions, plant};
use symbolon_loadtest::{LoadtestError, Tally, Target};

use crate::fake::{Fake, Fault, SECRET};

fn seeded(fake: &Fake, secret: &str, algorithm: Option<Algorithm>) -> Result<Arc<Seed>, LoadtestError> {
    seeded_for(fake, secret, algorithm, Mix::Pure)
}

fn seeded_for(
    fake: &Fake,
    secret: &str,
    algorithm: Option<Algorithm>,
    mix: Mix,
) -> Result<Arc<Seed>, LoadtestError> {
    let options = SeedOptions {
        users: 20,
        tokens: 50,
        families: 8,
        passkeys: 10,
        session_seconds: 600,
        algorithm,
        mix,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let target = Target::discover(&fake.url(), Some(SecretString::new(secret.into()))).await?;
        plant(target, &options, &mut Vec::new()).await.map(Arc::new)
    })
}

fn run(seed: &Arc<Seed>, scenario: Scenario, requests: u64) -> Tally {
    run_mix(seed, scenario, Mix::Pure, requests)
}

fn run_mix(seed: &Arc<Seed>, scenario: Scenario, mix: Mix, requests: u64) -> Tally {
    let visitors = scenario.visitors(seed, 4, mix).unwrap();
    let run = Closed { load: Load::to(seed.target.peer.clone()), until: Until::Requests(requests) };
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
            assert!(tally.is_clean(), "{scenario}: {:?} {:?}", tally.first_wrong(), tally.failures);
            assert_eq!(tally.right, 200, "{scenario}");
            let signed =
                matches!(scenario, Scenario::Exchange | Scenario::ClientCredentials | Scenario::Refresh);
            let expected = if signed { 200 } else { 0 };
            // An access token and an ID token in the end.
            let expected = if scenario.is_login() { 400 } else { expected };
            assert_eq!(tally.signatures, expected, "{scenario}");
        }
    }
}

#[test]
fn wrong_answers_are_seen_and_named() {
    let cases = [
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
        (Scenario::Login, Fault::LoginRefused, "login_refused"),
        (Scenario::Login, Fault::Consent, "page"),
        (Scenario::Login, Fault::State, "state"),
        (Scenario::Login, Fault::Issuer, "iss"),
        (Scenario::Login, Fault::LoginRequired, "login_required"),
        (Scenario::Login, Fault::Unavailable, "status_503"),
        (Scenario::Login, Fault::Subject, "sub"),
        (Scenario::Login, Fault::Scope, "scope"),
        (Scenario::Login, Fault::Nonce, "nonce"),
        (Scenario::LoginEmailCode, Fault::NoDigits, "code_form"),
        (Scenario::LoginEmailCode, Fault::LoginRefused, "status_400"),
        (Scenario::LoginEmailCode, Fault::OtherAccount, "user_id"),
        (Scenario::LoginEmailCode, Fault::NoSession, "session"),
        (Scenario::LoginEmailCode, Fault::State, "state"),
        (Scenario::LoginEmailCode, Fault::Issuer, "iss"),
        (Scenario::LoginEmailCode, Fault::LoginRequired, "login_required"),
        (Scenario::LoginEmailCode, Fault::Unavailable, "status_503"),
        (Scenario::LoginEmailCode, Fault::Subject, "sub"),
        (Scenario::LoginPasskey, Fault::OtherCredential, "allow_credentials"),
        (Scenario::LoginPasskey, Fault::LoginRefused, "status_400"),
        (Scenario::LoginPasskey, Fault::OtherAccount, "user_id"),
        (Scenario::LoginPasskey, Fault::NoSession, "session"),
        (Scenario::LoginPasskey, Fault::State, "state"),
        (Scenario::LoginPasskey, Fault::Nonce, "nonce"),
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

/// The steps of a login, and how often each was answered.
fn steps_of(tally: &Tally) -> Vec<(&'static str, u64)> {
    tally.steps().iter().map(|step| (step.name, step.latencies.count())).collect()
}

#[test]
fn logins_through_the_login_api_have_steps() {
    let fake = Fake::start(true);
    let seed = seeded(&fake, SECRET, None).unwrap();
    for (scenario, second) in [(Scenario::LoginEmailCode, "email-code"), (Scenario::LoginPasskey, "options")]
    {
        let before = fake.requests();
        let tally = run(&seed, scenario, 30);
        assert!(tally.is_clean(), "{:?}", tally.first_wrong());
        assert_eq!((tally.requests(), fake.requests() - before), (30, 30 * 5));
        assert_eq!(steps_of(&tally), ["authorize", second, "verify", "code", "token"].map(|step| (step, 30)));
    }
    assert_eq!(steps_of(&run(&seed, Scenario::Silent, 10)), []);
}

#[test]
fn a_login_says_what_its_seed_lacks() {
    let fake = Fake::start(true);
    let lacks = |scenario: Scenario, change: fn(&mut Seed)| {
        let mut seed = Arc::into_inner(seeded(&fake, SECRET, None).unwrap()).unwrap();
        change(&mut seed);
        scenario.visitors(&Arc::new(seed), 1, Mix::Pure).err().unwrap().to_string()
    };
    let told = lacks(Scenario::LoginPasskey, |seed| seed.passkeys.clear());
    assert_eq!(told, "scenario login-passkey needs users with a passkey");
    let told = lacks(Scenario::LoginEmailCode, |seed| seed.target.admin_secret = None);
    assert!(told.contains("the admin secret"), "{told}");
    let told = lacks(Scenario::LoginEmailCode, |seed| seed.target.authority = "login.example".into());
    assert!(told.contains("on the public listener"), "{told}");
}

#[test]
fn discovery_and_key_set_are_asked_in_turn() {
    let fake = Fake::start(true);
    let seed = seeded(&fake, SECRET, None).unwrap();
    let other = r#"{"keys":[{"kty":"EC","kid":"other"}]}"#;
    let private = r#"{"keys":[{"kty":"EC","kid":"k","d":"c2VjcmV0"}]}"#;
    for (fault, kind) in [
        (Fault::Issuer, "iss"),
        (Fault::Keys("{}"), "body"),
        (Fault::Keys(r#"{"keys":[]}"#), "keys"),
        (Fault::Keys(r#"{"keys":[{"kty":"EC"}]}"#), "kid"),
        (Fault::Keys(other), "kid"),
        (Fault::Keys(private), "private_key"),
    ] {
        fake.set_fault(fault);
        let tally = run(&seed, Scenario::Discovery, 40);
        assert_eq!((tally.wrong.get(kind), tally.right), (Some(&20), 20), "{fault:?}: {:?}", tally.wrong);
    }
}

#[test]
fn a_login_counts_once_with_the_time_of_all_its_answers() {
    let fake = Fake::start(true);
    let seed = seeded(&fake, SECRET, None).unwrap();
    let before = fake.requests();
    let tally = run(&seed, Scenario::Login, 30);
    assert!(tally.is_clean(), "{:?}", tally.first_wrong());
    assert_eq!(tally.requests(), 30);
    // The request, the page, the form, the way back, the code.
    assert_eq!(fake.requests() - before, 30 * 5);
    let steps = ["authorize", "page", "password", "code", "token"].map(|step| (step, 30));
    assert_eq!(steps_of(&tally), steps);
    // One that failed on its way leaves nothing behind: the next one begins anew.
    fake.set_fault(Fault::Unavailable);
    let mut visitors = Scenario::Login.visitors(&seed, 1, Mix::Pure).unwrap();
    for (fault, right) in [(Fault::Unavailable, 0), (Fault::LoginRefused, 0), (Fault::None, 10)] {
        fake.set_fault(fault);
        let run = Closed { load: Load::to(seed.target.peer.clone()), until: Until::Requests(10) };
        let outcome = closed(&run, visitors).unwrap();
        assert_eq!((outcome.tally.right, outcome.tally.requests()), (right, 10), "{fault:?}");
        visitors = outcome.visitors;
    }
}

#[test]
fn the_reports_mix_meets_what_must_be_refused() {
    for bulk in [true, false] {
        let fake = Fake::start(bulk);
        let seed = seeded_for(&fake, SECRET, None, Mix::Report).unwrap();
        let special = seed.special.as_ref().unwrap();
        assert_eq!((special.services.len(), special.expired.len(), special.revoked.len()), (5, 10, 10));
        // Four connections: a whole hundred for each, so that every share is exact.
        let tally = run_mix(&seed, Scenario::Introspect, Mix::Report, 400);
        assert!(tally.is_clean(), "{:?}", tally.first_wrong());
        let tally = run_mix(&seed, Scenario::Exchange, Mix::Report, 400);
        assert!(tally.is_clean(), "{:?}", tally.first_wrong());
        assert!(tally.signatures > 200, "tokens are issued: {}", tally.signatures);
        // The other scenarios have one kind of request whatever the mix.
        assert!(run_mix(&seed, Scenario::Userinfo, Mix::Report, 40).is_clean());
    }
}

#[test]
fn a_wrong_verdict_has_its_own_kind() {
    let cases = [
        (Scenario::Introspect, Fault::Expired, "expired-accepted", 12),
        (Scenario::Introspect, Fault::Revoked, "revoked-accepted", 12),
        (Scenario::Introspect, Fault::OtherAudience, "audience-accepted", 6),
        (Scenario::Introspect, Fault::OtherClient, "client-accepted", 5),
        (Scenario::Introspect, Fault::Chain, "act", 5),
        (Scenario::Introspect, Fault::Inactive, "inactive", 65),
        (Scenario::Exchange, Fault::Expired, "expired-accepted", 10),
        (Scenario::Exchange, Fault::Revoked, "revoked-accepted", 10),
        (Scenario::Exchange, Fault::Signature, "signature-accepted", 10),
        (Scenario::Exchange, Fault::OtherError, "verdict", 30),
        (Scenario::Exchange, Fault::Actor, "act", 70),
        (Scenario::Exchange, Fault::Chain, "act", 70),
        (Scenario::Exchange, Fault::Scope, "scope", 70),
        (Scenario::Exchange, Fault::Subject, "sub", 70),
        (Scenario::Exchange, Fault::Audience, "aud", 70),
        (Scenario::Exchange, Fault::Outlives, "exp", 70),
    ];
    let fake = Fake::start(true);
    let seed = seeded_for(&fake, SECRET, None, Mix::Report).unwrap();
    for (scenario, fault, kind, share) in cases {
        fake.set_fault(fault);
        // One connection deals out a whole hundred, so that the shares are exact.
        let visitors = scenario.visitors(&seed, 1, Mix::Report).unwrap();
        let run = Closed { load: Load::to(seed.target.peer.clone()), until: Until::Requests(100) };
        let tally = closed(&run, visitors).unwrap().tally;
        assert_eq!(tally.wrong.keys().collect::<Vec<_>>(), [&kind], "{scenario} with {fault:?}");
        assert_eq!(tally.wrong[kind], share, "{scenario} with {fault:?}: {:?}", tally.wrong);
        fake.set_fault(Fault::None);
    }
    assert!(run_mix(&seed, Scenario::Exchange, Mix::Report, 100).is_clean());
}

#[test]
fn a_seed_for_the_pure_mix_is_not_enough_for_the_reports() {
    let fake = Fake::start(true);
    let seed = seeded(&fake, SECRET, None).unwrap();
    for scenario in [Scenario::Introspect, Scenario::Exchange] {
        let error = scenario.visitors(&seed, 1, Mix::Report).err().unwrap();
        assert!(matches!(error, LoadtestError::Unseeded { .. }), "{error}");
    }
    fake.set_fault(Fault::NoTestEndpoints);
    let error = seeded_for(&fake, SECRET, None, Mix::Report).err().unwrap().to_string();
    assert!(error.contains("signing-key") && error.contains("access_denied"), "{error}");
    // Were its test key not its own, every refusal would be for that reason alone.
    fake.set_fault(Fault::Inactive);
    let error = seeded_for(&fake, SECRET, None, Mix::Report).err().unwrap().to_string();
    assert!(error.contains("signed with the test key"), "{error}");
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
    assert_eq!("login-password".parse::<Scenario>().unwrap(), Scenario::Login);
    assert_eq!(serde_json::from_str::<Scenario>("\"login-password\"").unwrap(), Scenario::Login);
    assert!("nothing".parse::<Scenario>().unwrap_err().to_string().contains("silent"));
}
