//! Passwords that were hashed elsewhere: saved as they come, verified until the first sign-in, and replaced by it.

use serde_json::{Value, json};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::user::PasswordHash;
use symbolon_testkit::{Answer, Options, TestServer};

use crate::admin::bulk;
use crate::login::{PASSWORD, Scene};

/// Hashes of [`PASSWORD`], made by the programs whose forms they are, and by passlib and Python's hashlib.
const OF_OTHERS: [(&str, &str); 24] = [
    (
        "argon2id",
        "$argon2id$v=19$m=64,t=2,p=1$jFGqVep9T+ldK2XMOaeUMg$sgqvG9e1meEjPt7U6pOk2MeiA9OdLmBat/uqc0+5aAs",
    ),
    (
        "argon2i",
        "$argon2i$v=19$m=64,t=2,p=1$ltI6Z6xVitEaI+Q8Z4wxhg$GwVUN6C+/6TUYgXrKB1GVCdmiXFfbB+Vv81PWg2JG08",
    ),
    (
        "argon2d",
        "$argon2d$v=19$m=64,t=2,p=1$KGWM0Xrv3ZszRsg5Z0xJyQ$obSpo5eliNo4Pv6Kae45ElqMYdy6fDCAhTMUqm+7iCk",
    ),
    ("bcrypt-2a", "$2a$04$HQAeOAUsyB/mh8DNhjPDSeQeZas52vIh6X712k.Jo0jQW1QG6kekC"),
    ("bcrypt-2b", "$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S"),
    ("bcrypt-2y", "$2y$04$7m8h7Rep5/YkiMPfhKyldeHpXK3dA7sedIN5ruLci5HfmLF3UEJh2"),
    ("passlib-sha1", "$pbkdf2$1000$O.dcq9U6h1AKwXhvTUmpNQ$P3Qu57tT2hwtsWOtdK.DBqrUtYU"),
    (
        "passlib-sha256",
        "$pbkdf2-sha256$1000$HeOcEwKAMMZ4D6F0TslZSw$izf17AajGgPnltFxUHim5fkwYhwz2U0wEsK12GUbXTo",
    ),
    (
        "phc-sha512",
        "$pbkdf2-sha512$i=1000,l=64$AAECAwQFBgcICQoLDA0ODw$ToxFUi5y3fprZRW/V6CupR2uIDYfuy5rlsF9Z4E648lE68lw5lzmucru/HdPvmBJDSLroVh1Q2xCvjqd8NI/6Q",
    ),
    (
        "django-sha256",
        "pbkdf2_sha256$1000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=",
    ),
    ("django-sha1", "pbkdf2_sha1$1000$seasalt0123456789abcd$zqu22f9VWoLstie/8kBpTRDBmPQ="),
    ("django-bcrypt", "bcrypt_sha256$$2b$04$WO2fuDC3K0chONq2/9CHmuQa8LrmDJl5OrtNiGYupZZpfC3nS2rEW"),
    (
        "django-scrypt",
        "scrypt$1024$seasalt$8$5$ZPrjhuL1dTuhxIFFj1avSf7m1XRGd92Yd0HHF99NCBMJo39ZS0qduEMDnlPUmD0+/G7SHDkbPZrz62u7VtT6Xg==",
    ),
    ("aspnet-2", "AAABAgMEBQYHCAkKCwwNDg/Kv5tkqQSdO0Z/d/XxWNczkIjFP2C3aR/Oyg84EdRL9A=="),
    ("aspnet-3", "AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg9f4Mgt5W5f2Y0cIC8QN4OVqq4JhRMPut2SRld2wLKX9A=="),
    ("scrypt", "$scrypt$ln=10,r=8,p=1$/j/H2Ns7Z+xdK6XUuhciZA$qCe7z9EtjUyaqmbSMBSJZCGLwNK8RcMEkoYKLOXxn5M"),
    (
        "firebase",
        "$firebase-scrypt$mem_cost=10,rounds=8,salt_separator=Bw==,signer_key=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$ibs9huSHr0fFYD4PLTsikxBnkIXlLRQynAeI/geb0SmdMbEgVIiHq3qlwOEwuyW14MMdJfh2DzU9WUV1oOmHqA==",
    ),
    ("sha256-crypt", "$5$jRU34hQvVuy4R9.K$3Ov/qhOCnYU7ektxqVKCeOmjbH3bEb6H8SVyUzsBZr6"),
    ("sha256-crypt-rounds", "$5$rounds=1234$Nf700kNeZKVYBXui$Sq2TbKoS0NnxgULte2UyVTxX1l0zE8jwjScPfZtcWZ8"),
    (
        "sha512-crypt",
        "$6$edfPTo.kU.7ME4AQ$iHowCc1bSC4aLB8iyolJeb4X.4sVGY0yxf.7uHW7H.2o3FIFdLVnxEE5zZ.xJvG6d1mxqOoU9H/T9olM74myR.",
    ),
    (
        "crypt",
        "{CRYPT}$6$rounds=1234$C4x0i7aB3CdXLvaf$T5n44sqXnrpN/4q1FWMUonQ/o0L3PbdN3i95ezylHNawcE4msQ6yUB7Tq/Ichilt/WkJ5AWXMnd8TU1dslAzZ/",
    ),
    ("ssha", "{SSHA}HxiTqTPlJJGaStQy/ZN3NHk9vHONkbK2"),
    ("ssha256", "{SSHA256}VQYCxsvIvfXpB4x//Bl64+6KFiuNQ672dJQVrdmslsullFLK2RsjJA=="),
    (
        "ssha512",
        "{SSHA512}fIQzr7F3NibaUXoeK4nwNf9l/2ShQ9kvXciPij1IdcHzMRnMBK99GoLY9BOgzBQA6Zt5h/4D9eZf0ewFFY96iSHk/N+bk5LS",
    ),
];

/// Hashes that are not taken, with words of the answer.
const REFUSED: [(&str, &str); 14] = [
    ("correct horse battery", "$pbkdf2-sha256$..."),
    ("$1$abcdefgh$irWbblnpmw.5z7wgBnprh0", "{SSHA}..."),
    ("$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1", "not a whole bcrypt hash"),
    ("$2b$31$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S", "at most 14"),
    (
        "$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        "at most 1 GiB",
    ),
    ("pbkdf2_sha256$1000$seasalt$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2", "not a whole PBKDF2 hash"),
    ("pbkdf2_sha256$4294967295$seasalt$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=", "at most 5,000,000"),
    (
        "$scrypt$ln=30,r=8,p=1$/j/H2Ns7Z+xdK6XUuhciZA$qCe7z9EtjUyaqmbSMBSJZCGLwNK8RcMEkoYKLOXxn5M",
        "at most 256 MiB",
    ),
    ("$firebase-scrypt$mem_cost=14,rounds=8$42xEC+ixf3L2lw==$ibs9", "not a whole Firebase hash"),
    (
        "$6$rounds=999999999$edfPTo.kU.7ME4AQ$iHowCc1bSC4aLB8iyolJeb4X.4sVGY0yxf.7uHW7H.2o3FIFdLVnxEE5zZ.xJvG6d1mxqOoU9H/T9olM74myR.",
        "at most 2,000,000",
    ),
    ("$5$jRU34hQvVuy4R9.K$3Ov/qhOCnYU7", "not a whole sha-crypt hash"),
    ("{SHA}mN7MYuzjmaIu0w1JDvMzvn/ec4U=", "without a salt"),
    ("{SSHA}mN7MYuzjmaIu0w1JDvMzvn/ec4U=", "not a whole salted SHA hash"),
    ("AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg9f", "not a whole hash of ASP.NET Identity"),
];

fn user(id: &str, hash: &str) -> Value {
    json!({ "id": id, "preferred_username": id, "password_hash": hash })
}

/// The hash that is stored of a user.
fn stored(server: &TestServer, name: &str) -> String {
    let issuer = IssuerId::default_issuer();
    let found = server.block_on(server.app.store.user_by_login(&issuer, name)).unwrap();
    found.and_then(|(_, hash)| hash).unwrap().expose().to_owned()
}

/// Whether a password opens the account.
fn opens(scene: &Scene, name: &str, password: &str) -> bool {
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let answer = Scene::sign_in(&browser, &page, name, password);
    assert!(matches!(answer.status, 303 | 403), "{name}: {}", answer.status);
    answer.status == 303
}

#[test]
fn every_form_signs_in_with_the_old_password_and_becomes_one_of_ours() {
    let scene = Scene::new();
    let server = &scene.server;
    // One by one, in bulk, and set for a user who is there, in turn.
    let lines: Vec<_> = OF_OTHERS.iter().skip(1).step_by(3).map(|(name, hash)| user(name, hash)).collect();
    for (line, made) in lines.iter().zip(bulk(server, "/users/bulk", &lines)) {
        assert_eq!(made["user"]["id"], line["id"], "{made}");
    }
    for (number, (name, hash)) in OF_OTHERS.into_iter().enumerate() {
        let answer = match number % 3 {
            0 => server.admin("POST", "/users", Some(user(name, hash))),
            1 => continue,
            _ => {
                let bare = json!({ "id": name, "preferred_username": name });
                assert_eq!(server.admin("POST", "/users", Some(bare)).status, 201);
                let path = format!("/users/{name}/password");
                server.admin("POST", &path, Some(json!({ "password_hash": hash })))
            }
        };
        assert!(matches!(answer.status, 200 | 201), "{name}: {answer:?}");
    }
    for (name, hash) in OF_OTHERS {
        assert_eq!(stored(server, name), hash, "{name}: kept as it came");
        assert!(!opens(&scene, name, "correct horse batterz"), "{name}");
        assert_eq!(stored(server, name), hash, "{name}: a wrong password replaces nothing");
        assert!(opens(&scene, name, PASSWORD), "{name}");
        let ours = stored(server, name);
        assert!(ours.starts_with("$argon2id$v=19$m=64,t=1,p=1$") && ours != hash, "{name}: {ours}");
        assert!(opens(&scene, name, PASSWORD) && !opens(&scene, name, "correct horse batterz"), "{name}");
        assert_eq!(stored(server, name), ours, "{name}: once is enough");
    }
}

#[test]
fn what_is_cut_unknown_or_ruinous_is_refused_line_by_line() {
    let server = TestServer::start();
    let assert_refused = |answer: &Answer, hash: &str, words: &str| {
        assert_eq!(answer.status, 400, "{hash}: {answer:?}");
        assert!(answer.body.contains("password_hash: ") && answer.body.contains(words), "{hash}: {answer:?}");
    };
    assert_eq!(server.admin("POST", "/users", Some(user("ann", OF_OTHERS[0].1))).status, 201);
    let huge = ["$6$", &"a".repeat(20_000)].concat();
    let refused: Vec<_> = REFUSED.into_iter().chain([(&*huge, "longer than 1024 bytes")]).collect();
    for (hash, words) in &refused {
        assert_refused(&server.admin("POST", "/users", Some(user("bad", hash))), hash, words);
        let body = Some(json!({ "password_hash": hash }));
        assert_refused(&server.admin("POST", "/users/ann/password", body), hash, words);
    }
    // In bulk each line stands alone: the good ones between them are created.
    let lines: Vec<_> = REFUSED
        .iter()
        .enumerate()
        .flat_map(|(number, (hash, _))| {
            [user(&format!("bad{number}"), hash), user(&format!("good{number}"), OF_OTHERS[number].1)]
        })
        .collect();
    let answers = bulk(&server, "/users/bulk", &lines);
    assert_eq!(answers.len(), lines.len());
    for (number, (hash, words)) in REFUSED.into_iter().enumerate() {
        let told = answers[2 * number].to_string();
        assert!(told.contains("password_hash: ") && told.contains(words), "{hash}: {told}");
        assert_eq!(answers[2 * number + 1]["user"]["id"], format!("good{number}"));
        assert_eq!(server.admin("GET", &format!("/users/bad{number}"), None).status, 404);
    }
    assert_eq!(stored(&server, "ann"), OF_OTHERS[0].1, "what was refused has changed nothing");
}

/// However it came into the store. Its user gets the answer of whoever has another password.
#[test]
fn a_ruinous_hash_in_the_store_is_no_password_and_no_failure() {
    let scene = Scene::new();
    let set = |hash: &str| {
        let (store, hash) = (&scene.server.app.store, PasswordHash::new(hash.to_owned()));
        let (issuer, other) = (IssuerId::default_issuer(), symbolon_protocol::id::UserId::trusted("other"));
        assert!(scene.server.block_on(store.set_password(&issuer, &other, Some(hash))).unwrap());
    };
    for (hash, _) in REFUSED {
        set(hash);
        assert!(!opens(&scene, "other@example.com", PASSWORD), "{hash}");
        assert_eq!(stored(&scene.server, "other@example.com"), hash);
    }
}

/// Whoever repeats an import of costly hashes must not learn from the time who was in it: the issuer answers everybody
/// later from the moment at which the first is saved.
#[test]
fn a_costly_hash_makes_every_answer_of_its_issuer_later() {
    let server = TestServer::start();
    let work = |server: &TestServer| {
        server.admin("GET", "/settings", None).json()["settings"]["password_work_kib"].as_u64()
    };
    let costs = |iterations: u32| OF_OTHERS[9].1.replace("1000", &iterations.to_string());
    let create = |id: &str, iterations: u32| {
        let created = server.admin("POST", "/users", Some(user(id, &costs(iterations))));
        assert_eq!(created.status, 201, "{created:?}");
    };
    create("cheap", 1);
    assert_eq!(work(&server), None, "within what everybody waits for anyway");
    create("dear", 100_000);
    let first = work(&server).unwrap();
    assert!(first > 384, "more than six times the server's own 64 KiB");
    create("cheaper", 50_000);
    assert_eq!(work(&server), Some(first));
    let lines =
        bulk(&server, "/users/bulk", &[user("dearest", &costs(200_000)), user("again", &costs(150_000))]);
    assert!(lines.iter().all(|line| line["user"].is_object()), "{lines:?}");
    let most = work(&server).unwrap();
    assert!((2 * first..=2 * first + 1).contains(&most), "{first} {most}");
    // A document of settings that is put again does not lower it; whoever names it does.
    assert_eq!(server.admin("PUT", "/settings", Some(json!({ "audit_days": 30 }))).status, 200);
    assert_eq!(work(&server), Some(most));
    assert_eq!(server.admin("PATCH", "/settings", Some(json!({ "password_work_kib": null }))).status, 200);
    assert_eq!(work(&server), None);
    // Another issuer has none of these users.
    let tenant = json!({ "id": "tenant", "url": format!("{}/tenant", server.url) });
    assert_eq!(server.admin("POST", "/issuers", Some(tenant)).status, 201);
    create("last", 200_000);
    let settings = server.admin("GET", "/issuers/tenant/settings", None).json();
    assert!(work(&server).is_some() && settings["settings"]["password_work_kib"].is_null(), "{settings}");
}

/// Where the bound is set, everybody waits for it already, and a costlier hash is refused with the setting's name.
#[test]
fn a_bound_that_is_set_holds_for_every_function() {
    let options = Options::default().env("SYMBOLON_ARGON2_IMPORT_WORK", "1MiB");
    let server = TestServer::start_with(options);
    let dear = OF_OTHERS[9].1.replace("1000", "100000");
    let refused = server.admin("POST", "/users", Some(user("dear", &dear)));
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(
        refused.body.contains("at most 1024 KiB") && refused.body.contains("argon2.import_work"),
        "{refused:?}"
    );
    assert_eq!(server.admin("POST", "/users", Some(user("quick", OF_OTHERS[9].1))).status, 201);
    let settings = server.admin("GET", "/settings", None).json();
    assert!(settings["settings"]["password_work_kib"].is_null(), "{settings}");
}

/// A dry run says of each line what would become of it.
#[test]
fn a_dry_run_checks_lines_and_changes_nothing() {
    let server = TestServer::start();
    let person =
        |id: &str, email: &str, hash: &str| json!({ "id": id, "email": email, "password_hash": hash });
    let hash = OF_OTHERS[0].1;
    assert_eq!(server.admin("POST", "/users", Some(person("ann", "Ann@example.com", hash))).status, 201);
    let dear = OF_OTHERS[9].1.replace("1000", "100000");
    let lines = [
        person("new", "new@example.com", &dear),
        person("ann", "other@example.com", hash),
        person("other", "ann@EXAMPLE.com", hash),
        person("cut", "cut@example.com", "$2b$04$x"),
        json!({ "id": "none" }),
    ];
    let answers = bulk(&server, "/users/bulk?dry_run=true", &lines);
    let told: Vec<_> = answers.iter().map(|answer| answer["error"].as_str().unwrap_or_default()).collect();
    assert_eq!(told, ["", "conflict", "conflict", "invalid_request", "invalid_request"], "{answers:?}");
    assert_eq!(answers[0]["user"]["id"], "new");
    assert_eq!((&answers[1]["taken"], &answers[2]["taken"]), (&json!("id"), &json!("email")));
    let users = server.admin("GET", "/users", None).json();
    assert_eq!(users["pagination"]["total"], 1, "{users}");
    let settings = server.admin("GET", "/settings", None).json();
    assert!(settings["settings"]["password_work_kib"].is_null(), "{settings}");
    server.drain_audit();
    let events = server.admin("GET", "/audit-logs?event=user.created", None).json();
    assert_eq!(events["pagination"]["total"], 1, "{events}");
}

/// Somebody who only wants to try must not find the change made, because the operation does not know the parameter.
#[test]
fn a_change_refuses_a_query_that_it_does_not_have() {
    let server = TestServer::start();
    for path in ["/users", "/memberships/bulk", "/given-roles/bulk", "/sessions/bulk"] {
        let body = json!({ "email": "ann@example.com", "password": "correct horse battery" });
        let answer = server.admin("POST", &format!("{path}?dry_run=true"), Some(body));
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        assert!(answer.body.contains("dry_run is no query parameter"), "{path}: {}", answer.body);
    }
    assert_eq!(server.admin("GET", "/users", None).json()["pagination"]["total"], 0);
    assert_eq!(server.admin("GET", "/settings?unknown=1", None).status, 200, "a read ignores it");
}

/// Hashes leave the server only where they are asked for, and then the audit log says so.
#[test]
fn hashes_are_exported_where_they_are_asked_for_and_that_is_recorded() {
    let server = TestServer::start();
    let hash = OF_OTHERS[9].1;
    assert_eq!(server.admin("POST", "/users", Some(user("ann", hash))).status, 201);
    let bare = json!({ "id": "bob", "email": "bob@example.com" });
    assert_eq!(server.admin("POST", "/users", Some(bare)).status, 201);
    let exported = |query: &str| crate::groups::export(&server, &format!("/users/export{query}"));
    assert!(exported("").iter().all(|user| user.get("password_hash").is_none()));
    assert!(exported("?password_hashes=false").iter().all(|user| user.get("password_hash").is_none()));
    let users = exported("?password_hashes=true");
    assert_eq!((users.len(), &users[0]["password_hash"]), (2, &json!(hash)), "{users:?}");
    assert_eq!((&users[1]["id"], users[1].get("password_hash")), (&json!("bob"), None));
    let again = bulk(&server, "/users/bulk?dry_run=true", &users);
    assert!(again.iter().all(|answer| answer["error"] == "conflict"), "it reads as a new user: {again:?}");
    server.drain_audit();
    let events = server.admin("GET", "/audit-logs?event=user.password_hashes_exported", None).json();
    assert_eq!(events["pagination"]["total"], 1, "{events}");
}
