use symbolon_crypto::Algorithm;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::jws::Header;
use symbolon_crypto::key::SigningKey;
use symbolon_protocol::client_key::fits;

use super::*;

const URI: &str = "https://app.example/keys";
const TEN_MINUTES: Duration = Duration::from_secs(600);

type KeyCache = PublishedCache<JwkSet>;

fn key_cache() -> KeyCache {
    PublishedCache::new(KEYS_STALE_FOR)
}

/// Looks for the keys at an address that may have signed a token with a key of this id.
fn look_at(cache: &KeyCache, uri: &str, kid: &str, of_stranger: bool, now: Timestamp) -> Known<JwkSet> {
    cache.look_up(uri, |set| fits(&set.keys, &header(kid)), of_stranger, now)
}

/// A set with a key of each of these ids.
fn set(kids: &[&str]) -> JwkSet {
    let key = |kid: &&str| SigningKey::generate(Algorithm::EdDsa, Some(*kid)).unwrap().public().jwk().clone();
    JwkSet::new(kids.iter().map(key).collect())
}

fn header(kid: &str) -> Header {
    Header { alg: Algorithm::EdDsa, kid: Some(kid.into()), typ: None, cty: None }
}

const fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000 + seconds)
}

/// What a look-up says, in a word: `ask`, `asked`, `failed`, or the ids of the keys.
fn told(known: &Known<JwkSet>) -> String {
    match known {
        Known::Kept(keys) => {
            let kids: Vec<&str> = keys.keys.iter().filter_map(|key| key.kid.as_deref()).collect();
            kids.join(" ")
        }
        Known::Asked(_) => "asked".to_owned(),
        Known::Ask(_) => "ask".to_owned(),
        Known::Failed(_) => "failed".to_owned(),
    }
}

fn look(cache: &KeyCache, kid: &str, seconds: u64) -> String {
    told(&look_at(cache, URI, kid, false, at(seconds)))
}

fn answer(cache: &KeyCache, kids: &[&str], seconds: u64) {
    cache.note_read(URI, Ok((set(kids), TEN_MINUTES)), at(seconds));
}

fn fail(cache: &KeyCache, seconds: u64) {
    cache.note_read(URI, Err("down".to_owned()), at(seconds));
}

#[test]
fn one_asks_and_the_others_wait_or_go_on_with_what_is_known() {
    let cache = key_cache();
    let first = look_at(&cache, URI, "a", false, at(0));
    assert_eq!(told(&first), "ask");
    assert_eq!(look(&cache, "a", 0), "asked");
    drop(first);
    assert_eq!(look(&cache, "a", 0), "ask", "whoever asked is gone without an answer");
    answer(&cache, &["a"], 1);
    assert_eq!(look(&cache, "a", 600), "a");
    let second = look_at(&cache, URI, "a", false, at(601));
    assert_eq!(told(&second), "ask", "no longer believed");
    assert_eq!(look(&cache, "a", 601), "a");
    assert_eq!(look(&cache, "b", 601), "asked", "the answer may have it");
    answer(&cache, &["b"], 602);
    drop(second);
    assert_eq!((look(&cache, "b", 602), look(&cache, "a", 602)), ("b".to_owned(), "b".to_owned()));
}

#[test]
fn an_unknown_key_is_looked_for_once_a_minute() {
    let cache = key_cache();
    assert_eq!(look(&cache, "a", 0), "ask");
    answer(&cache, &["a"], 0);
    for seconds in [0, 30, 59] {
        assert_eq!(look(&cache, "unknown", seconds), "a", "{seconds}");
    }
    assert_eq!(look(&cache, "unknown", 60), "ask");
    answer(&cache, &["a", "unknown"], 60);
    assert_eq!(look(&cache, "unknown", 61), "a unknown");
    assert_eq!(look(&cache, "another", 119), "a unknown");
}

#[test]
fn keys_go_on_for_hours_while_nobody_answers_and_no_longer() {
    let cache = key_cache();
    assert_eq!(look(&cache, "a", 0), "ask");
    fail(&cache, 0);
    assert_eq!((look(&cache, "a", 29), look(&cache, "a", 30)), ("failed".to_owned(), "ask".to_owned()));
    answer(&cache, &["a"], 30);
    assert_eq!(look(&cache, "a", 630), "ask");
    fail(&cache, 630);
    assert_eq!(look(&cache, "a", 640), "a", "stale");
    assert_eq!(look(&cache, "b", 640), "a", "nor is it asked for others");
    assert_eq!(look(&cache, "a", 660), "ask");
    fail(&cache, 660);
    let end = 630 + KEYS_STALE_FOR.as_secs();
    assert!(cache.last_known(URI, at(end - 1)).is_some() && cache.last_known(URI, at(end)).is_none());
    assert_eq!(look(&cache, "a", end - 1), "ask");
    fail(&cache, end - 1);
    assert_eq!(look(&cache, "a", end - 1), "a");
    assert_eq!(look(&cache, "a", end), "failed");
}

#[test]
fn strangers_push_out_nothing_but_what_is_theirs() {
    let cache = key_cache();
    assert_eq!(look(&cache, "a", 0), "ask");
    answer(&cache, &["a"], 0);
    for number in 0..u64::try_from(MOST).unwrap() + 10 {
        let uri = format!("https://stranger.example/{number}");
        let known = look_at(&cache, &uri, "a", true, at(1 + number / 10));
        assert_eq!(told(&known), "ask", "{uri}");
    }
    assert_eq!(cache.entries.lock().len(), MOST);
    assert_eq!(look(&cache, "a", 200), "a");
    let one = look_at(&cache, "https://partner.example/keys", "a", false, at(201));
    assert_eq!((told(&one), cache.entries.lock().len()), ("ask".to_owned(), MOST));
}

#[test]
fn a_document_is_believed_as_long_as_it_says_and_then_only_shown() {
    let cache = PublishedCache::new(DOCUMENTS_STALE_FOR);
    let look = |seconds| cache.look_up(URI, |_| true, true, at(seconds));
    assert!(cache.needs_call(URI, at(0)));
    let first = look(0);
    assert!(matches!(first, Known::Ask(_)) && !cache.needs_call(URI, at(0)), "somebody asks");
    cache.note_read(URI, Ok(("a document", TEN_MINUTES)), at(0));
    drop(first);
    assert!(
        matches!(look(599), Known::Kept(kept) if *kept == "a document") && !cache.needs_call(URI, at(599))
    );
    assert!(cache.needs_call(URI, at(600)) && matches!(look(600), Known::Ask(_)), "no longer");
    cache.note_read(URI, Err("down".to_owned()), at(600));
    assert!(matches!(look(629), Known::Failed(_)) && !cache.needs_call(URI, at(629)), "nor while it is down");
    assert!(cache.needs_call(URI, at(630)) && matches!(look(630), Known::Ask(_)));
    assert_eq!(cache.at_hand(URI).as_deref(), Some(&"a document"));
}
