//! The places of addresses, where the operator has a table of them.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use symbolon_config::{Config, Sources};
use symbolon_testkit::Options;
use tempfile::TempDir;

use crate::account::signed_in;
use crate::login::{Scene, hidden};
use crate::mailbox::Mailbox;

/// A value in MaxMind's format.
enum Item {
    Text(&'static str),
    U16(u16),
    U32(u32),
    U64(u64),
    EmptyList,
    Map(Vec<(&'static str, Item)>),
}

impl Item {
    fn write(&self, file: &mut Vec<u8>) {
        let short = |length: usize| u8::try_from(length).ok().filter(|length| *length < 29).unwrap();
        match self {
            Self::Text(text) => {
                file.push((2 << 5) | short(text.len()));
                file.extend(text.bytes());
            }
            Self::U16(number) => {
                file.push((5 << 5) | 2);
                file.extend(number.to_be_bytes());
            }
            Self::U32(number) => {
                file.push((6 << 5) | 4);
                file.extend(number.to_be_bytes());
            }
            Self::U64(number) => {
                file.extend([8, 9 - 7]);
                file.extend(number.to_be_bytes());
            }
            Self::EmptyList => file.extend([0, 11 - 7]),
            Self::Map(members) => {
                file.push((7 << 5) | short(members.len()));
                for (name, value) in members {
                    Self::Text(name).write(file);
                    value.write(file);
                }
            }
        }
    }
}

/// A table of one address: the tree that leads to it bit by bit, its record, and what the file says of itself.
fn table(address: Ipv4Addr, record: &Item) -> Vec<u8> {
    const BITS: u32 = 32;
    const SEPARATOR: u32 = 16;
    let mut file = Vec::new();
    for depth in 0..BITS {
        let on = if depth + 1 == BITS { BITS + SEPARATOR } else { depth + 1 };
        let is_one = (u32::from(address) >> (BITS - 1 - depth)) & 1 == 1;
        // A record that is the number of nodes leads nowhere.
        for side in if is_one { [BITS, on] } else { [on, BITS] } {
            file.extend_from_slice(&side.to_be_bytes()[1..]);
        }
    }
    file.extend([0; SEPARATOR as usize]);
    record.write(&mut file);
    file.extend(b"\xab\xcd\xefMaxMind.com");
    let about = Item::Map(vec![
        ("binary_format_major_version", Item::U16(2)),
        ("binary_format_minor_version", Item::U16(0)),
        ("build_epoch", Item::U64(1)),
        ("database_type", Item::Text("Test-City")),
        ("description", Item::Map(Vec::new())),
        ("ip_version", Item::U16(4)),
        ("languages", Item::EmptyList),
        ("node_count", Item::U32(BITS)),
        ("record_size", Item::U16(24)),
    ]);
    about.write(&mut file);
    file
}

/// A table that knows where this machine is, in a directory that is to be kept.
fn graz() -> (TempDir, PathBuf) {
    let names = |names: Vec<(&'static str, Item)>| Item::Map(vec![("names", Item::Map(names))]);
    let record = Item::Map(vec![
        ("city", names(vec![("en", Item::Text("Graz <b>"))])),
        ("country", names(vec![("de", Item::Text("Österreich")), ("en", Item::Text("Austria"))])),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("places.mmdb");
    std::fs::write(&path, table(Ipv4Addr::LOCALHOST, &record)).unwrap();
    (directory, path)
}

fn with(options: Options, path: &Path) -> Options {
    options.env("SYMBOLON_PLACES_FILE", path.to_str().unwrap())
}

#[test]
fn sessions_have_the_place_of_their_address_in_the_persons_language() {
    let (_directory, path) = graz();
    let scene = Scene::with(with(Options::default(), &path));
    let browser = signed_in(&scene, &scene.demo.email, &scene.demo.password);
    let page = |language: &str| browser.get_with("/account/sessions", &[("accept-language", language)]).body;
    let english = page("en");
    assert!(english.contains("<bdi>127.0.0.1</bdi> (<bdi>Graz &#60;b&#62;, Austria</bdi>)"), "{english}");
    let german = page("de");
    assert!(german.contains("(<bdi>Graz &#60;b&#62;, Österreich</bdi>)"), "{german}");
    // What administrators see and what is exported is the address.
    let export = browser.get("/account/data/export").body;
    assert!(export.contains("127.0.0.1") && !export.contains("Graz"), "{export}");
}

#[test]
fn mail_about_a_new_sign_in_has_the_place() {
    let (_directory, path) = graz();
    let mailbox = Mailbox::with_news();
    let scene = Scene::with(with(mailbox.options().one_node(), &path));
    for _ in 0..2 {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let (transaction, csrf) = hidden(&page);
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", &*scene.demo.email),
            ("password", &*scene.demo.password),
        ];
        assert_eq!(browser.post("/login", &form).status, 303);
        scene.server.settle();
    }
    let mail = mailbox.next();
    assert!(mail.head.contains("New sign-in"), "{mail:?}");
    for fact in ["Address: 127.0.0.1", "Place: Graz <b>, Austria"] {
        assert!(mail.text.lines().any(|line| line == fact), "{fact}: {mail:?}");
    }
}

#[test]
fn a_table_is_taken_and_left_while_running_and_a_broken_one_changes_nothing() {
    let (directory, path) = graz();
    let scene = Scene::with(Options::default().one_node());
    let browser = signed_in(&scene, &scene.demo.email, &scene.demo.password);
    let has_place = || browser.get("/account/sessions").body.contains("Graz");
    let take = |file: Option<&Path>| {
        let file = file.map(|file| ("SYMBOLON_PLACES_FILE".to_owned(), file.to_str().unwrap().to_owned()));
        let others = [
            ("SYMBOLON_ISSUER".to_owned(), scene.server.issuer.clone()),
            ("SYMBOLON_ADMIN_SECRET".to_owned(), "another-secret-for-the-tests".to_owned()),
            ("SYMBOLON_RATE_LIMITS".to_owned(), "off".to_owned()),
        ];
        let env = others.into_iter().chain(file);
        let config = Config::load(Sources { file: None, env, flags: Vec::new() });
        scene.server.block_on(scene.server.app.reconfigure(config.ok().unwrap()));
    };
    assert!(!has_place());
    take(Some(&path));
    assert!(has_place());
    let broken = directory.path().join("broken.mmdb");
    std::fs::write(&broken, "127.0.0.1,Graz").unwrap();
    take(Some(&broken));
    assert!(has_place(), "the one before stays");
    take(None);
    assert!(!has_place());
}
