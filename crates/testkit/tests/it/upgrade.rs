//! What the build before left is opened by this one, and everybody goes on.

use serde_json::{Value, json};
use symbolon_testkit::upgrade::{FixtureContents, FixtureStore, Holder, IssuedCredentials};
use symbolon_testkit::{Browser, Options, TestServer, decode_jwt};

const PASSWORD: &str = "correct horse battery";

/// A server on a copy of what was left.
struct Upgraded {
    server: TestServer,
    left: FixtureContents,
}

impl Upgraded {
    fn new(kind: FixtureStore) -> Self {
        let left = FixtureContents::read(&kind.directory());
        Self { server: TestServer::start_on(kind, &left, Options::default()), left }
    }

    /// Started once more. What it draws is not what it drew before.
    fn restarted(self) -> Self {
        let options = Options { seed: 2_000, ..Options::default() }.issuer(&self.server.issuer);
        Self { server: self.server.restart(options), ..self }
    }

    fn issuers(&self) -> impl Iterator<Item = Place<'_>> {
        self.left.held.iter().map(|held| Place {
            server: &self.server,
            held,
            holder: Holder::of(&self.server.url, held),
        })
    }
}

/// One of its issuers.
struct Place<'a> {
    server: &'a TestServer,
    held: &'a IssuedCredentials,
    holder: Holder,
}

impl Place<'_> {
    fn admin(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let answer = self.server.admin(method, &format!("{}{path}", self.held.admin), body);
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
        serde_json::from_str(&answer.body).unwrap_or_default()
    }

    fn browser(&self) -> Browser {
        let browser = self.holder.browser();
        browser.set_cookie(&self.held.cookie, &self.held.session);
        browser
    }

    fn signs_in(&self, name: &str, password: &str) -> bool {
        self.holder.sign_in(&self.holder.browser(), "web", name, password).is_some()
    }

    /// Whose sign-in it was.
    fn who_signs_in(&self, name: &str, password: &str) -> Option<String> {
        let pair = self.holder.sign_in(&self.holder.browser(), "web", name, password)?;
        Some(decode_jwt(&pair.access).1["sub"].as_str().unwrap().to_owned())
    }

    fn members(&self, path: &str, list: &str, member: &str) -> Vec<String> {
        let listed = self.admin("GET", path, None);
        let text = |one: &Value| one[member].as_str().unwrap_or_else(|| panic!("{one}")).to_owned();
        listed[list].as_array().unwrap_or_else(|| panic!("{listed}")).iter().map(text).collect()
    }
}

/// What ended stays ended, what lives lives.
fn check_tokens(place: &Place<'_>) {
    let IssuedCredentials {
        offline, online, before_rotation, of_revoked_key, revoked, of_ended_session, ..
    } = place.held;
    for (name, pair) in [("offline", offline), ("online", online), ("before rotation", before_rotation)] {
        assert_eq!(place.holder.user_info(&pair.access), 200, "{name}");
    }
    assert!(place.holder.is_active(&offline.access));
    let ended = [
        ("of a revoked key", of_revoked_key),
        ("revoked", revoked),
        ("of an ended session", of_ended_session),
    ];
    for (name, pair) in ended {
        assert_eq!(place.holder.user_info(&pair.access), 401, "{name}");
        assert!(!place.holder.is_active(&pair.access), "{name}");
    }
    assert_eq!(place.holder.refresh("app", &revoked.refresh).error(), "invalid_grant");
    assert_eq!(place.holder.refresh("web", &of_ended_session.refresh).error(), "invalid_grant");
    assert!(place.holder.use_assertion(&place.held.assertion).status >= 400, "an assertion is used once");
}

fn check_families_and_keys(place: &Place<'_>) {
    let published = place.holder.published();
    let kid = |token: &str| decode_jwt(token).0["kid"].as_str().unwrap().to_owned();
    assert!(published.contains(&kid(&place.held.before_rotation.access)));
    assert!(!published.contains(&kid(&place.held.of_revoked_key.access)));
    for (client, pair) in
        [("app", &place.held.offline), ("web", &place.held.online), ("web", &place.held.before_rotation)]
    {
        let next = Holder::pair(&place.holder.refresh(client, &pair.refresh));
        assert!(published.contains(&kid(&next.access)), "signing goes on with a key that is published");
        assert_eq!(place.holder.user_info(&next.access), 200, "{client}");
        let claims = decode_jwt(&next.access).1;
        assert_eq!(
            claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(),
            7_200,
            "settings go on"
        );
    }
}

fn check_people(place: &Place<'_>) {
    // The session, and the consent that was remembered.
    for client in ["web", "app"] {
        place.holder.silent(&place.browser(), client).unwrap_or_else(|error| panic!("{client}: {error}"));
    }
    assert!(place.signs_in("Ann@Example.com", PASSWORD), "a hash of before");
    assert!(!place.signs_in("ann@example.com", "another horse"));
    assert_eq!(
        place.members(&format!("/users/{}/consents", place.held.ann), "consents", "client_id"),
        ["app"]
    );
}

fn check_records(place: &Place<'_>) {
    let mut clients = place.members("/clients", "clients", "client_id");
    clients.sort();
    assert_eq!(clients, ["app", "job", "web"]);
    let mut events = place.members("/audit-logs?limit=100", "audit_logs", "event");
    assert!(events.iter().any(|event| event == "session.ended"), "{events:?}");
    events.sort();
    events.dedup();
    for event in ["client.created", "consent.granted", "key.revoked", "key.rotated", "user.created"] {
        assert!(events.iter().any(|one| one == event), "{event} in {events:?}");
    }
    // The build before stored `require_pkce`, which keeps its meaning.
    let settings = place.admin("GET", "/settings", None)["settings"].take();
    assert_eq!((&settings["pkce"], &settings["require_pkce"]), (&json!("required"), &json!(true)));
    place.admin("POST", "/users", Some(json!({ "id": "new", "email": "new@example.com" })));
    let created = place.admin("GET", "/audit-logs?event=user.created&limit=1", None);
    assert_eq!(created["audit_logs"][0]["user"], "new", "{created}");
}

/// What came with this build is there for what was made before it: grants are listed by their user, and end.
fn check_endings(place: &Place<'_>) {
    let path = format!("/users/{}", place.held.ann);
    let grants = place.members(&format!("{path}/grants"), "grants", "client_id");
    for client in ["app", "web"] {
        assert!(grants.iter().any(|grant| grant == client), "{client} in {grants:?}");
    }
    place.admin("POST", &format!("{path}/sign-out"), Some(json!({})));
    for (client, pair) in [("app", &place.held.offline), ("web", &place.held.online)] {
        assert_eq!(place.holder.refresh(client, &pair.refresh).error(), "invalid_grant", "{client}");
        assert_eq!(place.holder.user_info(&pair.access), 401, "{client}");
    }
    assert_eq!(place.holder.silent(&place.browser(), "web").unwrap_err(), "login_required");
}

fn everybody_goes_on(kind: FixtureStore) {
    let upgraded = Upgraded::new(kind);
    for place in upgraded.issuers() {
        check_tokens(&place);
        check_families_and_keys(&place);
        check_people(&place);
        check_records(&place);
    }
    let upgraded = upgraded.restarted();
    for place in upgraded.issuers() {
        check_tokens(&place);
        check_people(&place);
        check_endings(&place);
    }
}

#[test]
fn everybody_goes_on_with_a_data_directory_of_the_build_before() {
    everybody_goes_on(FixtureStore::Embedded);
}

#[test]
fn everybody_goes_on_with_the_engines_of_the_build_before() {
    everybody_goes_on(FixtureStore::Cluster);
}

/// Two users who share an address and a name in two spellings both sign in, each by the spelling that was stored.
fn check_who_shares_a_name(place: &Place<'_>) {
    let users = [
        ("rene-composed", "ren\u{e9}@example.com", "Ren\u{e9}", "the composed battery"),
        ("rene-decomposed", "rene\u{301}@example.com", "Rene\u{301}", "the decomposed battery"),
    ];
    for (id, email, name, password) in users {
        for login in [email, name] {
            assert_eq!(place.who_signs_in(login, password).as_deref(), Some(id), "{login}");
        }
        // An administrator sees both, whichever spelling is asked for.
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("email", email).finish();
        let mut listed = place.members(&format!("/users?{query}"), "users", "id");
        listed.sort();
        assert_eq!(listed, ["rene-composed", "rene-decomposed"]);
    }
    assert!(!place.signs_in("ren\u{e9}@example.com", "the decomposed battery"));
}

/// Nobody else gets an address that somebody has in another spelling.
fn check_that_addresses_are_taken(place: &Place<'_>) {
    for email in
        ["zo\u{eb}@example.com", "zoe\u{308}@example.com", "ren\u{e9}@example.com", "Rene\u{301}@example.com"]
    {
        let body = json!({ "email": email });
        let refused = place.server.admin("POST", &format!("{}/users", place.held.admin), Some(body));
        assert_eq!(refused.status, 409, "{email}: {refused:?}");
    }
}

fn each_spelling_finds_its_user(kind: FixtureStore) {
    let upgraded = Upgraded::new(kind);
    for place in upgraded.issuers() {
        check_who_shares_a_name(&place);
        check_that_addresses_are_taken(&place);
        // A change of something else leaves each the spelling.
        place.admin("PATCH", "/users/rene-decomposed", Some(json!({ "given_name": "Ren\u{e9}" })));
    }
    let upgraded = upgraded.restarted();
    for place in upgraded.issuers() {
        check_who_shares_a_name(&place);
        for name in ["zo\u{eb}@example.com", "Zoe\u{308}@EXAMPLE.com", "zo\u{eb}", "ZOE\u{308}"] {
            let found = place.who_signs_in(name, "pa\u{308}sswort fu\u{308}r zoe");
            assert_eq!(found.as_deref(), Some("zoe"), "{name}");
        }
    }
}

#[test]
fn a_name_that_was_stored_decomposed_is_found_in_each_spelling_in_a_data_directory() {
    each_spelling_finds_its_user(FixtureStore::Embedded);
}

#[test]
fn a_name_that_was_stored_decomposed_is_found_in_each_spelling_in_the_engines() {
    each_spelling_finds_its_user(FixtureStore::Cluster);
}
