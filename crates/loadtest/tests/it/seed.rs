//! Seeds are written and read back.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use symbolon_crypto::SecretString;
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::{Mix, Scenario};
use symbolon_loadtest::seed::{Passkey, Seed, SeedOptions, TokenFormat, plant};
use symbolon_loadtest::{LoadtestError, Target};

use crate::fake::{Fake, SECRET};

/// Before the fake's tokens end.
const NOW: u64 = 1_900_000_001;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn target(fake: &Fake) -> Target {
    block_on(Target::discover(&fake.url(), Some(SecretString::new(SECRET.into())))).unwrap()
}

fn planted(fake: &Fake) -> Seed {
    let options = SeedOptions {
        users: 6,
        tokens: 20,
        families: 4,
        passkeys: 5,
        mix: Mix::Report,
        ..SeedOptions::default()
    };
    block_on(plant(target(fake), &options, &mut Vec::new())).unwrap()
}

fn is_clean(seed: &Arc<Seed>, scenario: Scenario) -> bool {
    let visitors = scenario.visitors(seed, 2, Mix::Report).unwrap();
    let run = Closed { load: Load::to(seed.target.peer.clone()), until: Until::Requests(40) };
    closed(&run, visitors).unwrap().tally.is_clean()
}

fn refused(path: &Path, fake: &Fake, now: u64) -> String {
    let error = Seed::load(path, target(fake), now).err().unwrap();
    assert!(matches!(error, LoadtestError::SeedFile { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text}");
    text
}

#[test]
fn a_seed_is_read_back_whole_and_is_its_owners_alone() {
    let fake = Fake::start(true);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seed.json");
    // Whoever could read what was there before cannot read the seed.
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let planted = planted(&fake);
    planted.save(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut seed = Seed::load(&path, target(&fake), NOW).unwrap();
    assert_eq!(seed.client.secret.expose(), planted.client.secret.expose());
    assert_eq!((seed.users.len(), seed.tokens.len(), seed.families.len()), (6, 20, 4));
    assert_eq!(seed.algorithm, planted.algorithm);
    let told = |seed: &Seed| -> Vec<_> {
        let of = |passkey: &Passkey| (passkey.user.id.clone(), passkey.authenticator.id.clone());
        seed.passkeys.iter().map(of).collect()
    };
    assert_eq!((seed.passkeys.len(), told(&seed)), (5, told(&planted)));

    // Whatever has been done with the families since, new ones can be had.
    let planted = Arc::new(planted);
    assert!(is_clean(&planted, Scenario::Refresh));
    let count = seed.families.len();
    block_on(seed.renew_families(count)).unwrap();
    let seed = Arc::new(seed);
    for scenario in Scenario::ALL.into_iter().filter(|scenario| *scenario != Scenario::Code) {
        assert!(is_clean(&seed, scenario), "{scenario}");
    }
    // Nothing is left beside the file.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_no_use_says_why() {
    let fake = Fake::start(true);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("seed.json");
    assert!(refused(&path, &fake, NOW).contains("cannot be read"));
    let seed = planted(&fake);
    seed.save(&path).unwrap();
    assert!(refused(&path, &fake, seed.tokens[0].expires_at + 7).contains("ended 7 s ago"));
    let other = Fake::start(true);
    let another_issuer = refused(&path, &other, NOW);
    assert!(
        another_issuer.contains(&fake.url()) && another_issuer.contains(&other.url()),
        "{another_issuer}"
    );

    let text = std::fs::read_to_string(&path).unwrap();
    let damaged = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let told = refused(&path, &fake, NOW);
        assert!(!told.contains(seed.client.secret.expose()), "{told}");
        told
    };
    assert!(damaged(&text.replacen("\"version\":1", "\"version\":2", 1)).contains("version 2"));
    assert!(damaged(&text[..text.len() / 2]).contains("damaged"));
    assert!(damaged(&text.replacen("\"secret\":\"", "\"secret\":1,\"x\":\"", 1)).contains("damaged"));
    assert!(damaged(&text.replacen("\"algorithm\":\"", "\"algorithm\":\"X", 1)).contains("damaged"));
    // Whoever wrote it by hand is told what to add; and which tokens they are when nothing is said.
    assert!(damaged(&text.replacen("\"families\":", "\"other\":", 1)).contains("lacks the member families"));
    assert!(damaged(&text.replacen("\"access_tokens\":\"", "\"access_tokens\":\"x", 1)).contains("damaged"));
    let without = text.replacen("\"access_tokens\":\"jwt\"", "\"other\":1", 1);
    assert_ne!(without, text);
    std::fs::write(&path, without).unwrap();
    assert_eq!(Seed::load(&path, target(&fake), NOW).unwrap().access_tokens, TokenFormat::Jwt);
    let key = text.replacen("BEGIN PRIVATE KEY", "BEGIN PUBLIC KEY", 1);
    assert!(damaged(&key).contains("its passkey number 1 is damaged"));
    assert!(damaged("").contains("damaged") && damaged("[]").contains("damaged"));

    let nowhere = seed.save(&directory.path().join("missing").join("seed.json")).err().unwrap();
    assert!(nowhere.to_string().contains("cannot be written"), "{nowhere}");
}
