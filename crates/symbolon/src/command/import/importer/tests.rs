use serde_json::json;

use super::*;
use crate::command::import::record::object;
use crate::command::import::testing::{Noted, reasons};

fn entry(place: u64, user: Value) -> Entry {
    Entry::new(place, object(user))
}

#[test]
fn every_answer_is_counted_and_every_refusal_told() {
    let server = Noted::default();
    server.refuse("known@", "conflict", "there is a user");
    server.refuse("bad@", "invalid_request", "email is not one");
    server.refuse("busy@", "temporarily_unavailable", "try again");
    let (done, report) = server.import(false, |importer| {
        for (place, name) in (1..).zip(["new", "known", "bad", "busy"]) {
            importer.user(entry(place, json!({ "email": format!("{name}@example.com") })))?;
        }
        importer.user(Entry::unreadable(5, "not an object"))
    });
    assert_eq!(done, Ok(()));
    assert_eq!(report["records"]["users"], json!({ "created": 1, "existing": 1, "refused": 3 }));
    let told = reasons(&report);
    assert!(
        told.iter().any(|it| it.contains("bad@example.com") && it.contains("email is not one")),
        "{told:?}"
    );
    assert!(told.iter().any(|it| it.contains("busy@") && it.contains("run the import again")), "{told:?}");
    assert_eq!(report["not_taken"][0]["record"], 5, "what cannot be read is told first");
}

#[test]
fn of_two_users_with_one_id_or_address_the_second_is_refused() {
    let server = Noted::default();
    let (_, report) = server.import(false, |importer| {
        let users = [
            json!({ "id": "u1", "email": "\u{c4}nn@example.com" }),
            json!({ "id": "u2", "email": "a\u{308}NN@example.com" }),
            json!({ "id": "u1", "email": "other@example.com" }),
            json!({ "id": "u3", "email": "z@example.com\u{200b}" }),
            json!({ "id": "u4", "preferred_username": "adm\u{ad}in" }),
        ];
        (1..).zip(users).try_for_each(|(place, user)| importer.user(entry(place, user)))
    });
    assert_eq!(server.to("/users/bulk").len(), 1);
    let told = reasons(&report);
    assert!(told[0].contains("this e-mail address") && told[1].contains("this id"), "{told:?}");
    assert!(told[2].contains("email has a character that is not seen"), "{told:?}");
    assert!(told[3].contains("preferred_username has a character"), "{told:?}");
}

#[test]
fn a_user_who_has_only_a_name_gets_the_same_id_each_time() {
    let ids = || {
        let server = Noted::default();
        let (done, _) = server.import(false, |importer| {
            importer.user(entry(1, json!({ "preferred_username": "Ann" })))?;
            importer.user(entry(2, json!({ "preferred_username": "aNN" })))?;
            importer.user(entry(3, json!({ "email": "ann@example.com" })))
        });
        assert_eq!(done, Ok(()));
        server.to("/users/bulk")
    };
    assert_eq!((ids().len(), ids()[0]["id"].as_str().map(str::len)), (2, Some(23)));
    assert!(ids() == ids() && ids()[1].get("id").is_none());
}

#[test]
fn what_belongs_to_a_user_is_sent_behind_it_unless_the_user_is_not_there() {
    let server = Noted::default();
    server.refuse(r#""id":"bad""#, "invalid_request", "no");
    server.refuse(r#""user_id":"moved""#, "not_found", NO_USER);
    let (_, report) = server.import(false, |importer| {
        for id in ["good", "bad", "moved"] {
            let mut entry = entry(1, json!({ "id": id, "email": format!("{id}@example.com") }));
            entry.groups = vec!["g1".into(), "g2".into()];
            entry.roles = vec!["r1".into()];
            importer.user(entry)?;
        }
        Ok(())
    });
    let memberships = server.to("/memberships/bulk");
    assert_eq!(memberships[0], json!({ "group_id": "g1", "user_id": "good" }));
    assert_eq!((memberships.len(), server.to("/given-roles/bulk").len()), (4, 1));
    assert_eq!(report["records"]["memberships"], json!({ "created": 2, "existing": 0, "refused": 1 }));
    let told = reasons(&report);
    assert_eq!(
        told.iter().filter(|it| it.contains("groups and roles were not given")).count(),
        1,
        "{told:?}"
    );
    let kinds: Vec<String> = server.sent.borrow().iter().map(|(path, _)| path.clone()).collect();
    assert!(
        kinds.iter().rposition(|path| path == "/users/bulk")
            < kinds.iter().position(|path| path == "/memberships/bulk")
    );
}

#[test]
fn batches_are_bounded() {
    let server = Noted::default();
    let (done, _) = server.import(false, |importer| {
        (1..=12_500)
            .try_for_each(|n| importer.user(entry(n, json!({ "email": format!("u{n}@example.com") }))))
    });
    assert_eq!((done, server.to("/users/bulk").len(), server.requests.get()), (Ok(()), 12_500, 3));
}

#[test]
fn a_dry_run_sends_nothing_but_checks() {
    let server = Noted::default();
    let (_, report) = server.import(true, |importer| {
        let origin = Origin::default;
        importer.client(origin(), object(json!({ "client_id": "app" })), Vec::new())?;
        importer.role(
            origin(),
            object(json!({ "id": "r1", "name": "Admin", "client_id": "app" })),
            Vec::new(),
        )?;
        importer.group(origin(), object(json!({ "id": "g1", "name": "Staff" })), None, Vec::new())?;
        let mut user = entry(1, json!({ "id": "u1", "email": "a@example.com" }));
        user.groups = vec!["g1".into()];
        importer.user(user)?;
        importer.set(&json!({}))
    });
    assert!(
        server.sent.borrow().iter().all(|(path, _)| path.ends_with("?dry_run=true")),
        "{:?}",
        server.sent
    );
    assert_eq!((server.requests.get(), &report["dry_run"]), (4, &json!(true)));
    assert_eq!(report["records"]["memberships"]["created"], 1);
}

#[test]
fn what_is_below_something_refused_is_refused() {
    let server = Noted::default();
    server.refuse("client_id\":\"bad", "invalid_request", "no");
    let (_, report) = server.import(false, |importer| {
        let origin = |id: &str| Origin { id: id.to_owned(), ..Origin::default() };
        importer.client(origin("bad"), object(json!({ "client_id": "bad" })), Vec::new())?;
        importer.client(origin("good"), object(json!({ "client_id": "good" })), Vec::new())?;
        importer.client(origin("good"), object(json!({ "client_id": "good" })), Vec::new())?;
        importer.flush()?;
        for client in ["bad", "good"] {
            importer.role(
                origin("r"),
                object(json!({ "id": client, "name": "Admin", "client_id": client })),
                Vec::new(),
            )?;
        }
        let above = importer.group(
            origin("g"),
            object(json!({ "id": "g1", "name": "A" })),
            Some("gone"),
            Vec::new(),
        )?;
        assert_eq!(above, None);
        Ok(())
    });
    assert_eq!(server.to("/roles/bulk").len(), 1);
    let told = reasons(&report);
    assert!(told.iter().any(|it| it.contains("another client of the file has this id")), "{told:?}");
    assert!(told.iter().any(|it| it.contains("the client whose role it is was not taken")), "{told:?}");
}

#[test]
fn a_part_is_told_only_of_what_was_created_with_what_the_server_warns_of() {
    let server = Noted::default();
    server.refuse("\"there\"", "conflict", "there is a client");
    server.refuse("\"bad\"", "invalid_request", "no");
    let warned = json!({ "client": {}, "warnings": ["the secret is short"] });
    server.answers.borrow_mut().push(("\"new\"".to_owned(), warned));
    for is_dry in [false, true] {
        let (_, report) = server.import(is_dry, |importer| {
            for id in ["there", "bad", "new"] {
                let origin = Origin { id: id.to_owned(), name: id.to_owned(), ..Origin::default() };
                let parts = vec![Part::new("client_secret", format!("one is drawn for {id}"))];
                importer.client(origin, object(json!({ "client_id": id })), parts)?;
            }
            Ok(())
        });
        let told = reasons(&report);
        let wanted = [
            "client bad : no; ",
            "client new client_secret: one is drawn for new; ",
            "client new warning: the secret is short; ",
        ];
        assert_eq!(told, wanted, "dry: {is_dry}");
    }
}

#[test]
fn a_user_whose_address_is_anothers_is_not_taken_for_that_one() {
    let server = Noted::default();
    let taken = |what: &str| json!({ "error": "conflict", "error_description": format!("{what} is taken"), "taken": what });
    for what in ["id", "email", "attribute"] {
        server.answers.borrow_mut().push((format!("{what}@b.example"), taken(what)));
    }
    let (_, report) = server.import(false, |importer| {
        for what in ["id", "email", "attribute"] {
            let mut entry = entry(1, json!({ "id": what, "email": format!("{what}@b.example") }));
            entry.groups = vec!["g1".into()];
            importer.user(entry)?;
        }
        importer.user(entry(2, json!({ "email": "own-email@b.example" })))
    });
    assert_eq!(report["records"]["users"], json!({ "created": 0, "existing": 2, "refused": 2 }));
    let told = reasons(&report);
    assert!(
        told[0].contains("email is taken; look whether") && told[1].contains("attribute is taken"),
        "{told:?}"
    );
    let members: Vec<Value> = server.to("/memberships/bulk").iter().map(|it| it["user_id"].clone()).collect();
    assert_eq!(members, [json!("id")], "nobody else gets the groups");
}

#[test]
fn after_a_failure_of_the_server_nothing_is_sent_and_what_is_lost_is_told() {
    let server = Noted::default();
    server.fails_from.set(Some(2));
    let (done, report) = server.import(false, |importer| {
        (1..=12_500).try_for_each(|n| {
            let mut entry = entry(n, json!({ "id": n.to_string(), "email": format!("u{n}@example.com") }));
            entry.groups = vec!["g1".into()];
            importer.user(entry)
        })
    });
    assert_eq!(done, Err("the server is gone".to_owned()));
    assert_eq!((server.requests.get(), server.to("/memberships/bulk").len()), (2, 0));
    assert_eq!(report["records"], json!({ "users": { "created": 5_000, "existing": 0, "refused": 0 } }));
    let lost = json!({ "memberships": { "count": 5_000, "record": 1 } });
    assert_eq!((&report["lost"], &report["broke_off"]), (&lost, &json!(true)));
}
