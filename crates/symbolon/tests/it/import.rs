//! `symbolon import`: the files of other providers, with a server and without.

use serde_json::{Value, json};

use crate::passwords::{serve, signs_in};
use crate::place::Place;

/// Of the password that [`signs_in`] types. By Python's bcrypt, hashlib and cryptography, and by Django.
const BCRYPT: &str = "$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S";
const DJANGO: &str = "pbkdf2_sha256$1000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=";
const FIREBASE: &str =
    "ibs9huSHr0fFYD4PLTsikxBnkIXlLRQynAeI/geb0SmdMbEgVIiHq3qlwOEwuyW14MMdJfh2DzU9WUV1oOmHqA==";
/// As Firebase's console shows it.
const HASH_CONFIG: &str = "hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: \
                           jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,\n  \
                           base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 10,\n}\n";

fn write(place: &Place, name: &str, text: &str) {
    std::fs::write(place.path(name), text).unwrap();
}

fn auth0(place: &Place) {
    let user = |id: &str, more: Value| {
        let email = format!("{id}@auth0.example");
        let mut user =
            json!({ "_id": { "$oid": id }, "email": email, "passwordHash": BCRYPT, "tenant": "t" });
        user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        user.to_string()
    };
    let lines = [
        user("a1", json!({})),
        user("a2", json!({ "blocked": true })),
        user("a3", json!({ "passwordHash": BCRYPT.replace("$04$", "$31$") })),
        "{\"email\":".to_owned(),
        user("a4", json!({ "email": "not an address" })),
        user("a5", json!({ "email": "A1@auth0.example" })),
    ];
    write(place, "users.ndjson", &lines.join("\n"));
}

/// How many records of a kind were created, were there, and were refused.
pub(crate) fn of_kind(report: &Value, kind: &str) -> [u64; 3] {
    ["created", "existing", "refused"]
        .map(|count| report["records"][kind][count].as_u64().unwrap_or_default())
}

fn counts(report: &Value) -> [u64; 3] {
    of_kind(report, "users")
}

/// A report of users of whom some were not taken.
fn partly(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.run(&[&["import"], arguments, &["--json"]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.error);
    assert!(
        ran.error.contains("some records were not taken") && !ran.error.contains("$2b$"),
        "{}",
        ran.error
    );
    serde_json::from_str(&ran.out).unwrap()
}

fn is_imported(place: &Place) {
    auth0(place);
    for dry in [true, false, true, false] {
        let existing = place.run(&["user", "list", "--json"]).json().as_array().unwrap().len();
        let report = partly(
            place,
            if dry { &["auth0", "users.ndjson", "--dry-run"] } else { &["auth0", "users.ndjson"] },
        );
        let wanted = if existing == 0 { [2, 0, 4] } else { [0, 2, 4] };
        assert_eq!((report["dry_run"].as_bool(), counts(&report)), (Some(dry), wanted), "{report}");
        let refused: Vec<(u64, &str)> = report["not_taken"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["line"].as_u64().unwrap(), it["reason"].as_str().unwrap()))
            .collect();
        for (line, words) in [
            (3, "bcrypt is taken with a cost"),
            (4, "not a JSON object"),
            (5, "email is not an e-mail address"),
            (6, "another user of the file"),
        ] {
            assert!(refused.iter().any(|(at, why)| *at == line && why.contains(words)), "{line}: {report}");
        }
        assert_eq!(report["left_out"]["tenant"], 5);
        let now = place.run(&["user", "list", "--json"]).json().as_array().unwrap().len();
        assert_eq!(now, if dry { existing } else { 2 }, "{report}");
    }
    let shown = place.run(&["user", "show", "auth0|a2", "--json"]).json();
    assert_eq!((&shown["email"], &shown["active"]), (&json!("a2@auth0.example"), &json!(false)));
    let table = place.run(&["import", "auth0", "users.ndjson"]);
    assert!(
        table.out.contains("line 4: not a JSON object") && table.out.contains("2 there already"),
        "{}",
        table.out
    );
}

#[test]
fn auth0_without_a_server_is_checked_then_created_then_known() {
    is_imported(&Place::new());
}

#[test]
fn whoever_was_imported_signs_in_with_the_old_password() {
    let place = Place::new();
    let _server = serve(&place);
    is_imported(&place);
    assert!(signs_in(&place, "a1@auth0.example") && !signs_in(&place, "a2@auth0.example"));

    let user = |id: &str, hash: &str| json!({ "localId": id, "email": format!("{id}@firebase.example"), "passwordHash": hash, "salt": "42xEC+ixf3L2lw==" });
    let export = json!({ "users": [user("f1", FIREBASE), user("f2", "AAAA")] });
    write(&place, "users.json", &export.to_string());
    write(&place, "hash-config.txt", HASH_CONFIG);
    let bare = partly(&place, &["firebase", "users.json"]);
    assert!(counts(&bare) == [0, 0, 2] && bare.to_string().contains("--hash-config"), "{bare}");
    let report = partly(&place, &["firebase", "users.json", "--hash-config", "hash-config.txt"]);
    assert_eq!(counts(&report), [1, 0, 1], "{report}");
    assert!(
        report["not_taken"][0]["reason"].as_str().unwrap().contains("not a whole Firebase hash"),
        "{report}"
    );
    assert!(signs_in(&place, "f1@firebase.example"));

    write(&place, "users.csv", &format!("mail,verified,password_hash\nc1@csv.example,yes,{DJANGO}\n"));
    let told = place.run(&["import", "csv", "users.csv"]).bad(2);
    assert!(told.contains("\"mail\"") && told.contains("--map mail="), "{told}");
    let mapped = ["import", "csv", "users.csv", "--map", "mail=email", "--map", "verified=email_verified"];
    assert_eq!(place.run(&mapped).good(), "users: 1 created, 0 there already, 0 not taken\n");
    assert_eq!(place.run(&mapped).good(), "users: 0 created, 1 there already, 0 not taken\n");
    assert!(signs_in(&place, "c1@csv.example"));
}

#[test]
fn a_file_that_is_not_there_or_of_another_kind_is_told_before_anything_is_done() {
    let place = Place::new();
    assert!(place.run(&["import", "auth0", "missing"]).bad(1).contains("missing"));
    write(&place, "users.csv", "email\nann@example.com\n");
    assert!(place.run(&["import", "firebase", "users.csv"]).bad(2).contains("no export of Firebase"));
    assert!(!place.path("data").exists(), "no store was made");
}

/// Argon2id with the parameters and in the form of Keycloak 24 and later, but cheaper.
fn argon2() -> Value {
    let secret = json!({
        "value": "sgqvG9e1meEjPt7U6pOk2MeiA9OdLmBat/uqc0+5aAs=", "salt": "jFGqVep9T+ldK2XMOaeUMg==", "additionalParameters": {},
    });
    let parameters = json!({ "hashLength": ["32"], "memory": ["64"], "type": ["id"], "version": ["1.3"], "parallelism": ["1"] });
    let data = json!({ "hashIterations": 2, "algorithm": "argon2", "additionalParameters": parameters });
    json!({ "type": "password", "secretData": secret.to_string(), "credentialData": data.to_string() })
}

/// Writes `realm.json`, with Django's hash as Keycloak stores the same.
pub(crate) fn keycloak(place: &Place) {
    let hash = DJANGO.rsplit_once('$').unwrap().1;
    let secret = json!({ "value": hash, "salt": "c2Vhc2FsdDAxMjM0NTY3ODlhYmNk" });
    let data = json!({ "hashIterations": 1000, "algorithm": "pbkdf2-sha256", "additionalParameters": {} });
    let password =
        json!([{ "type": "password", "secretData": secret.to_string(), "credentialData": data.to_string() }]);
    let user = |name: &str, more: Value| {
        let email = format!("{name}@keycloak.example");
        let mut user =
            json!({ "id": format!("id-{name}"), "username": name, "email": email, "enabled": true });
        user["credentials"] = password.clone();
        user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        user
    };
    let realm = json!({
        "realm": "acme",
        "roles": {
            "realm": [{ "id": "r-reader", "name": "reader" }, { "id": "r-boss", "name": "boss", "composites": { "client": { "wiki": ["editor"] } } }],
            "client": { "wiki": [{ "id": "r-editor", "name": "editor" }] },
        },
        "groups": [{ "id": "g-it", "name": "IT", "path": "/IT", "realmRoles": ["reader"],
                     "subGroups": [{ "id": "g-ops", "name": "Ops", "path": "/IT/Ops" }] }],
        "users": [
            user("k1", json!({ "groups": ["/IT/Ops"], "realmRoles": ["boss"], "attributes": { "team": ["x"] } })),
            user("k2", json!({ "enabled": false })),
            user("k3", json!({ "email": "K1@keycloak.example" })),
            user("k4", json!({ "credentials": [argon2()] })),
        ],
        "clients": [
            { "clientId": "account" },
            { "clientId": "wiki", "secret": "0123456789abcdef0123456789abcdef", "serviceAccountsEnabled": true,
              "redirectUris": ["https://wiki.example.com/cb", "https://wiki.example.com/*"] },
        ],
    });
    write(place, "realm.json", &realm.to_string());
}

#[test]
fn a_realm_of_keycloak_comes_in_whole_and_may_come_again() {
    let place = Place::new();
    let _server = serve(&place);
    keycloak(&place);
    let dry = partly(&place, &["keycloak", "realm.json", "--dry-run"]);
    assert_eq!(
        (counts(&dry), of_kind(&dry, "groups"), of_kind(&dry, "clients")),
        ([3, 0, 1], [2, 0, 0], [1, 0, 0]),
        "{dry}"
    );
    assert!(
        place.run(&["group", "list", "--json"]).json().as_array().unwrap().is_empty(),
        "nothing was changed"
    );

    let report = partly(&place, &["keycloak", "realm.json"]);
    for (kind, wanted) in [
        ("users", [3, 0, 1]),
        ("groups", [2, 0, 0]),
        ("roles", [3, 0, 0]),
        ("memberships", [1, 0, 0]),
        ("given_roles", [3, 0, 0]),
    ] {
        assert_eq!(of_kind(&report, kind), wanted, "{kind}: {report}");
    }
    assert!(signs_in(&place, "k1@keycloak.example") && !signs_in(&place, "k2@keycloak.example"));
    assert!(signs_in(&place, "k4@keycloak.example"), "Argon2");
    let (status, held) = place.admin("GET", "/users/id-k1/entitlements", "");
    let names = |member: &str| -> Vec<String> {
        let all = held["entitlements"][member].as_array().unwrap();
        all.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (status, names("groups"), names("roles")),
        (200, vec!["IT".into(), "Ops".into()], vec!["boss".into(), "editor".into(), "reader".into()])
    );
    // The secret that the application has goes on.
    assert_eq!(authenticates(&place), 200);

    let again = partly(&place, &["keycloak", "realm.json"]);
    for kind in ["users", "groups", "roles", "clients", "memberships", "given_roles"] {
        let [created, existing, _] = of_kind(&again, kind);
        assert!(created == 0 && existing > 0, "{kind}: {again}");
    }
}

/// The settings stand before the roles in an export, and the server refuses what is no role's id.
#[test]
fn roles_that_demand_a_second_factor_come_in_with_the_settings() {
    let (from, to) = (Place::new(), Place::new());
    let role = |place: &Place, name: &str| {
        let (status, made) = place.admin("POST", "/roles", &json!({ "name": name }).to_string());
        assert_eq!(status, 201, "{made}");
        made["role"]["id"].as_str().unwrap().to_owned()
    };
    let (boss, clerk) = {
        let _server = serve(&from);
        let (boss, clerk) = (role(&from, "boss"), role(&from, "clerk"));
        let demanded = json!({ "audit_days": 8, "second_factor_roles": [boss, clerk] });
        assert_eq!(from.admin("PATCH", "/settings", &demanded.to_string()).0, 200);
        from.run(&["export", "--output", "all.ndjson"]).good();
        (boss, clerk)
    };
    write(&to, "all.ndjson", &std::fs::read_to_string(from.path("all.ndjson")).unwrap());
    let _server = serve(&to);
    let own = role(&to, "clerk");
    let report = to.run(&["import", "symbolon", "all.ndjson", "--json", "--settings"]).json();
    assert_eq!(of_kind(&report, "roles"), [1, 1, 0], "{report}");
    let settings = to.admin("GET", "/settings", "").1["settings"].clone();
    assert_eq!(settings["second_factor_roles"], json!([boss, own]), "{clerk} is {own} here");
    assert_eq!(settings["audit_days"], 8);
}

/// The status with which the client `wiki` is answered.
fn authenticates(place: &Place) -> u16 {
    let form = "grant_type=client_credentials&client_id=wiki&client_secret=0123456789abcdef0123456789abcdef";
    place.form("/token", form).0
}

/// A provider with a secret, a user's identity at it, a consent, and the logos of the issuer and of a client.
fn connect(place: &Place) {
    let provider = json!({
        "id": "acme", "issuer": "https://acme.example", "client_id": "us", "client_secret": "a-secret-of-acme",
    });
    let (status, made) = place.admin("POST", "/identity-providers", &provider.to_string());
    assert_eq!(status, 201, "{made}");
    let identity =
        json!({ "user_id": "id-k1", "identity_provider": "acme", "subject": "k1 there", "label": "k1" });
    let consent =
        json!({ "user_id": "id-k1", "client_id": "wiki", "scope": "openid", "client_consent_version": 7 });
    for (path, line) in [("/identities/bulk", identity), ("/consents/bulk", consent)] {
        let (_, made) = place.admin("POST", path, &line.to_string());
        assert_eq!(made["changed"], true, "{path}: {made}");
        let (_, again) = place.admin("POST", path, &line.to_string());
        assert_eq!(again["changed"], false, "{path}: {again}");
    }
    write(place, "logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>");
    place.run(&["branding", "logo", "set", "logo.svg"]).good();
    place.run(&["client", "logo", "set", "wiki", "logo.svg"]).good();
}

#[test]
fn what_is_exported_is_read_back() {
    let (from, to) = (Place::new(), Place::new());
    {
        let _server = serve(&from);
        keycloak(&from);
        partly(&from, &["keycloak", "realm.json"]);
        from.run(&["attribute", "set", "team", "--type", "string"]).good();
        from.run(&["user", "update", "k1@keycloak.example", "--attribute", "team=x"]).good();
        connect(&from);
        from.run(&["export", "--output", "all.ndjson"]).good();
        assert!(
            from.run(&["export", "--output", "all.ndjson"]).bad(1).contains("all.ndjson"),
            "it is not written over"
        );
        let bare = from.run(&["export", "--without-hashes"]).good();
        assert!(bare.contains("id-k1") && !bare.contains("password_hash"), "{bare}");
        assert!(bare.contains("wiki") && !bare.contains("client_secret_digests"), "{bare}");
        for event in ["user.password_hashes_exported", "client.secret_digests_exported"] {
            from.run(&["audit", "search", "--event", event]).good();
        }
    }
    let text = std::fs::read_to_string(from.path("all.ndjson")).unwrap();
    // What docs/setup/moving-in.md says is in it, and nothing else.
    let kinds: std::collections::BTreeSet<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Map<String, Value>>(line).unwrap())
        .flat_map(|line| line.keys().cloned().collect::<Vec<_>>())
        .collect();
    let told = [
        "client",
        "consent",
        "end",
        "export",
        "given_role",
        "group",
        "identity",
        "identity_provider",
        "logo",
        "membership",
        "role",
        "settings",
        "user",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), told);
    assert!(!text.contains("a-secret-of-acme") && text.contains("\"has_client_secret\":true"));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(from.path("all.ndjson")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o077, 0, "only its owner may read it");
    write(&to, "all.ndjson", &text);
    write(&to, "cut.ndjson", &text[..text.len() / 2]);
    assert!(to.run(&["import", "symbolon", "cut.ndjson"]).bad(2).contains("cut off"));
    assert!(!to.path("data").exists(), "no store was made");
    let _server = to.serve(&[]);
    // Without the settings the attribute is not defined: the user comes in without it, and it is named.
    let first = to.run(&["import", "symbolon", "all.ndjson", "--json"]).json();
    assert_eq!((of_kind(&first, "users"), of_kind(&first, "given_roles")), ([3, 0, 0], [3, 0, 0]), "{first}");
    let part = |report: &Value, part: &str| {
        report["not_taken"].as_array().unwrap().iter().any(|it| it["part"] == part)
    };
    assert!(part(&first, "attributes.team"), "{first}");
    // Of all secrets that of the provider alone stays behind.
    let not_taken = first["not_taken"].as_array().unwrap().iter();
    let secrets: Vec<&Value> = not_taken.filter(|it| it["part"] == "client_secret").collect();
    assert_eq!(secrets.len(), 1, "{first}");
    assert_eq!(secrets[0]["kind"], "identity provider", "{first}");
    let others = [("identity_providers", 1), ("identities", 1), ("consents", 1), ("logos", 2)];
    for (kind, count) in others {
        assert_eq!(of_kind(&first, kind), [count, 0, 0], "{kind}: {first}");
    }
    let provider = to.admin("GET", "/identity-providers/acme", "").1["identity_provider"].clone();
    assert_eq!((&provider["enabled"], &provider["issuer"]), (&json!(false), &json!("https://acme.example")));
    let consents = to.admin("GET", "/users/id-k1/consents", "").1["consents"].clone();
    assert_eq!((&consents[0]["client_id"], &consents[0]["scope"]), (&json!("wiki"), &json!("openid")));
    assert!(!part(&first, "warning"), "the secrets of our own export need no warning: {first}");
    assert_eq!(authenticates(&to), 200, "the application goes on with its secret");
    assert!(signs_in(&to, "k1@keycloak.example"));
    // A repeat changes nothing.
    let second = to.run(&["import", "symbolon", "all.ndjson", "--json", "--settings"]).json();
    assert_eq!((of_kind(&second, "users"), of_kind(&second, "groups")), ([0, 3, 0], [0, 2, 0]), "{second}");
    for (kind, count) in others {
        assert_eq!(of_kind(&second, kind), [0, count, 0], "{kind}: {second}");
    }
    assert_eq!((part(&second, "client_secret"), authenticates(&to)), (false, 200), "{second}");
    // But for times and versions, a copy exports the same.
    let whole = Place::new();
    write(&whole, "all.ndjson", &text);
    for more in [&["--dry-run"][..], &[]] {
        let arguments = [&["import", "symbolon", "all.ndjson", "--json", "--settings"], more].concat();
        let report = whole.run(&arguments).json();
        assert_eq!(
            (of_kind(&report, "users"), part(&report, "attributes.team")),
            ([3, 0, 0], false),
            "{report}"
        );
    }
    let copy = whole.run(&["export"]).good();
    assert!(copy.contains(r#""attributes":{"team":"x"}"#), "{copy}");
    let stable = |text: &str| -> Vec<Value> {
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut lines: Vec<Value> =
            lines.filter(|line| line.get("export").is_none() && line.get("settings").is_none()).collect();
        for line in &mut lines {
            for record in line.as_object_mut().unwrap().values_mut() {
                let record = record.as_object_mut().unwrap();
                record.remove("created_at");
                record.remove("updated_at");
                // Its ids, and when each was used; the digests are compared.
                record.remove("client_secrets");
                // The first sign-in replaced the hash.
                record.remove("password_hash");
                // A provider waits for its secret.
                record.remove("enabled");
                record.remove("has_client_secret");
            }
        }
        lines
    };
    assert_eq!(stable(&copy), stable(&text));
}

#[test]
fn users_of_cognito_and_authentik_come_in() {
    let place = Place::new();
    let _server = serve(&place);
    let cognito = json!({ "Users": [
        { "Username": "c1", "Enabled": true, "Attributes": [{ "Name": "sub", "Value": "s1" }, { "Name": "email", "Value": "c1@cognito.example" }] },
        { "Username": "c2", "Enabled": false, "Attributes": [{ "Name": "sub", "Value": "s2" }] },
    ] });
    write(&place, "cognito.json", &cognito.to_string());
    let report = place.run(&["import", "cognito", "cognito.json"]).good();
    assert!(
        report.contains("Cognito exports no passwords") && report.contains("users: 2 created"),
        "{report}"
    );
    assert_eq!(place.run(&["user", "show", "s2", "--json"]).json()["active"], false);
    let authentik = json!([
        { "model": "authentik_core.group", "pk": "g1", "fields": { "name": "Staff", "is_superuser": true } },
        { "model": "authentik_core.user", "pk": 1, "fields": { "username": "a1", "email": "a1@authentik.example", "uuid": "x1", "password": DJANGO, "groups": ["g1"] } },
    ]);
    write(&place, "authentik.json", &authentik.to_string());
    let report =
        place.run(&["import", "authentik", "authentik.json", "--superuser-role", "Boss", "--json"]).json();
    assert_eq!((counts(&report), of_kind(&report, "given_roles")), ([1, 0, 0], [1, 0, 0]), "{report}");
    assert!(signs_in(&place, "a1@authentik.example"));
}

/// A realm whose client has mappers, and whose users have attributes.
fn keycloak_with_mappers(place: &Place) {
    let mapper = |name: &str, kind: &str, config: Value| {
        let mut all = json!({ "id.token.claim": "true", "access.token.claim": "true" });
        all.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
        json!({ "name": name, "protocolMapper": format!("oidc-{kind}-mapper"), "config": all })
    };
    let access = |config: Value| {
        let mut config = config;
        config["id.token.claim"] = json!("false");
        config["multivalued"] = json!("true");
        config
    };
    let own = [
        mapper("team", "usermodel-attribute", json!({ "user.attribute": "team", "claim.name": "team" })),
        mapper(
            "level",
            "usermodel-attribute",
            json!({ "user.attribute": "level", "claim.name": "level", "jsonType.label": "long", "access.token.claim": "false" }),
        ),
        mapper("paths", "group-membership", json!({ "claim.name": "groups", "full.path": "true" })),
        mapper(
            "first",
            "usermodel-property",
            json!({ "user.attribute": "firstName", "claim.name": "first" }),
        ),
        mapper(
            "tier",
            "hardcoded-claim",
            json!({ "claim.name": "tier", "claim.value": "5", "jsonType.label": "int", "userinfo.token.claim": "false" }),
        ),
        mapper("nested", "hardcoded-claim", json!({ "claim.name": "a.b", "claim.value": "5" })),
        mapper(
            "issuer",
            "hardcoded-claim",
            json!({ "claim.name": "iss", "claim.value": "https://evil.example" }),
        ),
    ];
    let roles = [
        mapper("realm roles", "usermodel-realm-role", access(json!({ "claim.name": "realm_access.roles" }))),
        mapper(
            "client roles",
            "usermodel-client-role",
            access(json!({ "claim.name": "resource_access.${client_id}.roles" })),
        ),
    ];
    let extra = [mapper(
        "tags",
        "usermodel-attribute",
        json!({ "user.attribute": "tags", "claim.name": "tags", "multivalued": "true" }),
    )];
    let realm = json!({
        "realm": "acme",
        "roles": { "realm": [{ "id": "r-boss", "name": "boss" }], "client": { "wiki": [{ "id": "r-editor", "name": "editor" }] } },
        "groups": [{ "id": "g-it", "name": "IT", "path": "/IT",
                     "subGroups": [{ "id": "g-ops", "name": "Ops", "path": "/IT/Ops" }] }],
        "users": [{
            "id": "id-ann", "username": "ann", "email": "ann@keycloak.example", "enabled": true, "firstName": "Ann",
            "groups": ["/IT/Ops"], "realmRoles": ["boss"], "clientRoles": { "wiki": ["editor"] },
            "attributes": { "team": ["red"], "level": ["5"], "tags": ["a", "b"], "pin": ["1234"], "until": ["soon"] },
        }],
        "clients": [{
            "clientId": "wiki", "secret": "0123456789abcdef0123456789abcdef", "redirectUris": ["https://wiki.example.com/cb"],
            "protocolMappers": own, "defaultClientScopes": ["profile", "roles"], "optionalClientScopes": ["extra"],
        }],
        "clientScopes": [{ "name": "roles", "protocolMappers": roles }, { "name": "extra", "protocolMappers": extra }],
    });
    write(place, "realm.json", &realm.to_string());
}

#[test]
fn mappers_and_attributes_of_a_realm_become_claims_and_attributes() {
    let place = Place::new();
    let _server = place.serve(&[]);
    keycloak_with_mappers(&place);
    for (name, kind) in [("team", "string"), ("level", "number"), ("tags", "list"), ("until", "date")] {
        place.run(&["attribute", "set", name, "--type", kind]).good();
    }
    let dry = place.run(&["import", "keycloak", "realm.json", "--dry-run", "--json"]).json();
    let report = place.run(&["import", "keycloak", "realm.json", "--json"]).json();
    assert_eq!((counts(&report), of_kind(&report, "clients")), ([1, 0, 0], [1, 0, 0]), "{report}");
    assert_eq!(dry["not_taken"], report["not_taken"], "a dry run says the same");
    let part = |name: &str| {
        let all = report["not_taken"].as_array().unwrap();
        let part = all.iter().find(|entry| entry["part"] == name);
        part.map(|part| part["reason"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert!(part("mapper nested").contains("member of an object"), "{report}");
    assert!(part("mapper issuer").contains("the name is reserved"), "{report}");
    assert!(part("attribute until").contains("must be a date"), "{report}");
    assert_eq!(report["not_taken"].as_array().unwrap().len(), 3, "{report}");
    assert!(
        report["left_out"]["attribute pin"] == 1
            && report["notes"].to_string().contains("attribute set NAME")
    );

    let user = || place.run(&["user", "show", "id-ann", "--json"]).json();
    assert_eq!(user()["attributes"], json!({ "team": "red", "level": 5, "tags": ["a", "b"] }));
    let preview = |scope: &str| {
        let (status, answer) =
            place.admin("GET", &format!("/clients/wiki/preview-tokens?user=id-ann&scope={scope}"), "");
        assert_eq!(status, 200, "{answer}");
        answer["preview"].clone()
    };
    let shown = preview("openid");
    for (token, claim, value) in [
        ("id_token", "team", json!("red")),
        ("id_token", "level", json!(5)),
        ("id_token", "groups", json!(["/IT", "/IT/Ops"])),
        ("id_token", "first", json!("Ann")),
        ("id_token", "tier", json!(5)),
        ("id_token", "realm_access", json!(null)),
        ("id_token", "tags", json!(null)),
        ("userinfo", "team", json!("red")),
        ("userinfo", "tier", json!(null)),
        ("access_token", "team", json!("red")),
        ("access_token", "level", json!(null)),
        ("access_token", "realm_access", json!({ "roles": ["boss"] })),
        ("access_token", "resource_access", json!({ "wiki": { "roles": ["editor"] } })),
        ("introspection", "tier", json!(5)),
    ] {
        assert_eq!(shown[token][claim], value, "{token} {claim}: {shown}");
    }
    assert_ne!(shown["id_token"]["iss"], "https://evil.example");
    assert_eq!(preview("openid%20extra")["id_token"]["tags"], json!(["a", "b"]));

    let client = || place.run(&["client", "show", "wiki", "--json"]).json();
    let before = (user(), client());
    let again = place.run(&["import", "keycloak", "realm.json", "--json"]).json();
    assert_eq!((counts(&again), of_kind(&again, "clients")), ([0, 1, 0], [0, 1, 0]), "{again}");
    assert_eq!((user(), client()), before, "a repeat changes nothing");
}
