//! The table of ready-made claims in `docs/topics/claims.md`: each command of it is run as it stands there, and the preview shows
//! what the application wants.

use serde_json::{Value, json};

use crate::place::Place;

const DOCUMENT: &str = include_str!("../../../../docs/topics/claims.md");

/// The text between a heading and the next one.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n### {heading}\n")).unwrap();
    rest.split_once("\n#").map_or(rest, |(section, _)| section)
}

/// The commands of the table, in its order.
fn commands() -> Vec<&'static str> {
    let rows = section("Ready-made").lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let (_, command) = row.split_once("`symbolon ").unwrap_or_else(|| panic!("no command: {row}"));
        command.split_once('`').unwrap_or_else(|| panic!("no end: {row}")).0
    })
    .collect()
}

/// The words of a command, as a shell takes it apart: blanks within double quotes belong to a word.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (n, part) in command.split('"').enumerate() {
        let (is_quoted, mut pieces) = (n % 2 == 1, part.split(' '));
        if is_quoted {
            words.last_mut().unwrap().push_str(part);
            continue;
        }
        words.last_mut().unwrap().push_str(pieces.next().unwrap_or_default());
        words.extend(pieces.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The client that a command names, else one that reads everything.
fn client_of(words: &[String]) -> &str {
    let at = words.iter().position(|word| word == "--client");
    at.and_then(|at| words.get(at + 1)).map_or("app", String::as_str)
}

/// Ann, in a group below another, with a role of the issuer, one at Grafana and two at MinIO.
fn plant(place: &Place) {
    let run = |command: &str| {
        let words = words(command);
        place.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).good();
    };
    run("user create --no-password --id ann --email ann@example.com");
    for client in ["app", "grafana", "minio", "kubernetes"] {
        run(&format!(
            "client create --client-id {client} --name {client} --redirect-uri https://{client}.example/cb \
             --scope \"openid groups roles\""
        ));
    }
    run("group create Staff");
    run("group create Ops --parent Staff");
    run("group add Ops ann");
    run("role create reader");
    run("role give reader --user ann");
    for (role, client) in [("admin", "grafana"), ("readwrite", "minio"), ("diagnostics", "minio")] {
        run(&format!("role create {role} --client {client}"));
        run(&format!("role give {role} --client {client} --user ann"));
    }
}

/// What the preview shows for each row of the table: the claim, its value, and where it is.
fn expected() -> Vec<(&'static str, Value, &'static [&'static str])> {
    const APPLICATION: &[&str] = &["id_token", "userinfo"];
    const API: &[&str] = &["access_token"];
    vec![
        ("roles", json!(["admin"]), APPLICATION),
        ("grafana_role", json!("Admin"), APPLICATION),
        ("policy", json!("diagnostics,readwrite"), APPLICATION),
        ("groups", json!(["oidc:Ops", "oidc:Staff"]), &["id_token"]),
        ("https://example.com/roles", json!(["reader"]), &["id_token", "access_token"]),
        (
            "resource_access",
            json!({ "grafana": { "roles": ["admin"] }, "minio": { "roles": ["diagnostics", "readwrite"] } }),
            API,
        ),
        ("realm_access", json!({ "roles": ["reader"] }), API),
        ("groups", json!(["/Staff/Ops", "/Staff"]), APPLICATION),
        ("authorities", json!("reader"), API),
        ("tenant", json!("acme"), &["introspection"]),
    ]
}

#[test]
fn each_command_of_the_table_makes_the_claim_that_the_application_wants() {
    let place = Place::new();
    let _server = place.serve(&[]);
    plant(&place);
    let (commands, expected) = (commands(), expected());
    assert_eq!(commands.len(), expected.len(), "a row of the table is not expected here: {commands:#?}");
    for (command, (name, value, places)) in commands.into_iter().zip(expected) {
        let words = words(command);
        assert_eq!(words[2], name, "{command}");
        place.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).good();
        let test = ["claim", "test", name, "--client", client_of(&words), "--user", "ann", "--json"];
        let shown = place.run(&test).json();
        for destination in ["id_token", "access_token", "userinfo", "introspection"] {
            let wanted = if places.contains(&destination) { &value } else { &Value::Null };
            assert_eq!(&shown[destination], wanted, "{command}: {destination}: {shown}");
        }
        let mut remove = vec!["claim", "remove", name];
        if words.iter().any(|word| word == "--client") {
            remove.extend(["--client", client_of(&words)]);
        }
        place.run(&remove).good();
    }
}

#[test]
fn each_expression_of_the_document_can_be_saved() {
    let place = Place::new();
    let (_, block) = section("Expressions").split_once("```\n").expect("a block");
    let expressions: Vec<&str> = block.split_once("```").expect("its end").0.lines().collect();
    assert!(expressions.len() >= 4, "{expressions:?}");
    for expression in expressions {
        place.run(&["claim", "set", "x", "--expression", expression]).good();
    }
}

#[test]
fn words_are_taken_apart_as_by_a_shell() {
    assert_eq!(words("claim set x --form list"), ["claim", "set", "x", "--form", "list"]);
    assert_eq!(
        words(r#"x --expression "'a' in roles ? 'b' : 'c'" --y"#),
        ["x", "--expression", "'a' in roles ? 'b' : 'c'", "--y"]
    );
}
