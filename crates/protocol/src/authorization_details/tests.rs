use serde_json::{Value, json};

use super::*;
use crate::client::Client;
use crate::error::ErrorCode;
use crate::refusal::Reason;
use crate::token::fixture;

const API: &str = "https://api.example";
const BANK: &str = "https://bank.example";

fn types(types: Value) -> Vec<AuthorizationDetailsType> {
    serde_json::from_value(types).unwrap()
}

/// A payment, and access to folders.
fn settings() -> IssuerSettings {
    let types = types(json!([
        {
            "type": "payment", "text": "Pay {amount} to {to}", "text#de": "{amount} an {to} zahlen", "asks_always": true,
            "members": [
                { "name": "amount", "type": "number", "required": true },
                { "name": "to", "type": "string", "required": true },
                { "name": "monthly", "type": "boolean" },
                { "name": "currency", "type": "string", "values": ["EUR", "CHF"] },
            ],
            "locations": [BANK],
        },
        {
            "type": "folder", "text": "Open folders", "locations": [API, "https://two.example"], "in_access_tokens": false,
            "members": [{ "name": "actions", "type": "strings", "values": ["read", "write"] }],
        },
        { "type": "https://any.example/t", "text": "Anything" },
    ]));
    assert_eq!(check_types(&types), Ok(()));
    IssuerSettings { authorization_details_types: types, ..IssuerSettings::default() }
}

fn client() -> Client {
    let types = ["payment", "folder", "https://any.example/t", "gone"];
    Client { authorization_details_types: types.map(str::to_owned).to_vec(), ..fixture::client("app") }
}

fn ask(details: &Value) -> Result<AuthorizationDetails, (ErrorCode, Reason)> {
    let text = details.to_string();
    requested(Some(&text), &client(), &settings()).map_err(|error| (error.code, error.reason))
}

fn payment() -> Value {
    json!({ "type": "payment", "amount": 12.5, "to": "Ada", "monthly": true, "currency": "EUR" })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

#[test]
fn what_conforms_to_its_type_is_kept_in_one_form() {
    let asked = json!([
        payment(),
        { "type": "folder", "actions": ["read"], "locations": [API] },
        { "type": "folder" },
        { "type": "https://any.example/t" },
    ]);
    let kept = ask(&asked).unwrap();
    assert_eq!(serde_json::from_str::<Value>(kept.as_json()).unwrap(), asked);
    let turned = r#"[{"to":"Ada","currency":"EUR","type":"payment","monthly":true,"amount":12.5}]"#;
    let turned = requested(Some(turned), &client(), &settings()).unwrap();
    assert_eq!(turned, ask(&json!([payment()])).unwrap(), "the order of members says nothing");
    assert_eq!(requested(None, &client(), &settings()), Ok(AuthorizationDetails::NONE));
}

/// RFC 9396 5.
#[test]
fn what_does_not_conform_is_refused() {
    let malformed = Reason::AuthorizationDetailsMalformed;
    let unknown = Reason::AuthorizationDetailsTypeUnknown;
    let invalid = Reason::AuthorizationDetailsInvalid;
    let many = vec![payment(); 17];
    let without_to = json!({ "type": "payment", "amount": 1 });
    let folder = |name: &str, value: Value| with(json!({ "type": "folder" }), name, value);
    for (asked, reason) in [
        (json!({ "type": "payment" }), malformed),
        (json!([]), malformed),
        (json!(["payment"]), malformed),
        (json!(many), malformed),
        (json!([{ "amount": 1 }]), malformed),
        (json!([{ "type": 1 }]), malformed),
        (json!([with(payment(), "to", json!("x".repeat(5_000)))]), malformed),
        (json!([{ "type": "Payment" }]), unknown),
        (json!([payment(), { "type": "payment " }]), unknown),
        (json!([{ "type": "gone" }]), unknown),
        (json!([with(payment(), "note", json!("x"))]), invalid),
        (json!([with(payment(), "amount", json!("12.5"))]), invalid),
        (json!([with(payment(), "to", json!(7))]), invalid),
        (json!([with(payment(), "to", json!(" "))]), invalid),
        (json!([with(payment(), "to", json!("a\nb"))]), invalid),
        (json!([with(payment(), "monthly", json!("yes"))]), invalid),
        (json!([with(payment(), "currency", json!("USD"))]), invalid),
        (json!([with(payment(), "currency", Value::Null)]), invalid),
        (json!([without_to]), invalid),
        (json!([with(payment(), "locations", json!([API]))]), invalid),
        (json!([with(payment(), "locations", json!([]))]), invalid),
        (json!([{ "type": "https://any.example/t", "locations": [API] }]), invalid),
        (json!([folder("actions", json!("read"))]), invalid),
        (json!([folder("actions", json!([]))]), invalid),
        (json!([folder("actions", json!(["read", "delete"]))]), invalid),
    ] {
        assert_eq!(ask(&asked), Err((ErrorCode::InvalidAuthorizationDetails, reason)), "{asked}");
    }
    let twice = r#"[{"type":"payment","to":"Ada","amount":1,"amount":1000}]"#;
    for text in [twice, "", "[", "[{}] x", r#"[{"type":"payment","to":"Ada","amount":1e999}]"#] {
        let refused = requested(Some(text), &client(), &settings()).unwrap_err();
        assert_eq!(refused.reason, malformed, "{text}");
    }
}

#[test]
fn a_client_asks_for_what_it_registered_and_a_stranger_for_what_is_meant_for_strangers() {
    let asked = Some(r#"[{"type":"https://any.example/t"}]"#);
    let none = Client { authorization_details_types: Vec::new(), ..client() };
    let stranger = Client { is_from_document: true, ..client() };
    for refused in [&none, &stranger] {
        let error = requested(asked, refused, &settings()).unwrap_err();
        assert_eq!(error.reason, Reason::AuthorizationDetailsTypeUnknown);
    }
    let mut open = settings();
    for own in &mut open.authorization_details_types {
        own.for_self_registered = true;
    }
    assert!(requested(asked, &stranger, &open).is_ok() && requested(asked, &none, &open).is_err());
}

/// RFC 9396 6.
#[test]
fn a_token_request_names_some_of_what_was_granted_and_nothing_else() {
    let folder = json!({ "type": "folder", "actions": ["read", "write"] });
    let granted = ask(&json!([payment(), folder])).unwrap();
    let narrow = |sent: Option<Value>, client: &Client| {
        let sent = sent.map(|sent| sent.to_string());
        narrowed(&granted, sent.as_deref(), client, &settings()).map_err(|error| error.reason)
    };
    assert_eq!(narrow(None, &client()), Ok(granted.clone()));
    assert_eq!(narrow(Some(json!([folder])), &client()), ask(&json!([folder])).map_err(|(_, reason)| reason));
    let less = json!({ "type": "folder", "actions": ["read"] });
    for beyond in [with(payment(), "amount", json!(13)), less] {
        let refused = narrow(Some(json!([folder, beyond])), &client());
        assert_eq!(refused, Err(Reason::AuthorizationDetailsBeyondGrant), "{beyond}");
    }
    assert_eq!(narrow(Some(json!([])), &client()), Err(Reason::AuthorizationDetailsMalformed));
    // The client has lost a type since.
    let lesser = Client { authorization_details_types: vec!["folder".to_owned()], ..client() };
    assert_eq!(narrow(None, &lesser), ask(&json!([folder])).map_err(|(_, reason)| reason));
    assert!(refuse(Some("[]")).is_err() && refuse(None).is_ok());
    let nothing =
        narrowed(&AuthorizationDetails::NONE, Some("[{\"type\":\"folder\"}]"), &client(), &settings());
    assert_eq!(nothing.map_err(|error| error.reason), Err(Reason::AuthorizationDetailsBeyondGrant));
}

/// RFC 9396 9.1.
#[test]
fn a_token_for_a_resource_has_what_is_for_it() {
    let here = json!({ "type": "folder", "locations": [API] });
    let both = json!({ "type": "folder" });
    let anywhere = json!({ "type": "https://any.example/t" });
    let all = ask(&json!([payment(), here, both, anywhere])).unwrap();
    for (resources, expected) in [
        (&[][..], json!([payment(), here, both, anywhere])),
        (&[BANK][..], json!([payment(), anywhere])),
        (&[API][..], json!([here, both, anywhere])),
        (&["https://two.example"][..], json!([both, anywhere])),
        (&["https://two.example", BANK][..], json!([payment(), both, anywhere])),
    ] {
        let at = all.clone().at(resources, &settings());
        assert_eq!(serde_json::from_str::<Value>(at.as_json()).unwrap(), expected, "{resources:?}");
    }
    let told = all.told(&settings());
    assert_eq!(told, ask(&json!([payment(), anywhere])).unwrap(), "folders are not for tokens");
}

#[test]
fn records_in_both_forms_give_the_details_back() {
    let some = ask(&json!([payment(), { "type": "folder" }])).unwrap();
    for details in [some, AuthorizationDetails::NONE] {
        let bytes = postcard::to_allocvec(&details).unwrap();
        assert_eq!(postcard::from_bytes::<AuthorizationDetails>(&bytes).unwrap(), details);
        let value = serde_json::to_value(&details).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(details.as_json()).unwrap());
        assert_eq!(serde_json::from_value::<AuthorizationDetails>(value).unwrap(), details);
    }
}

#[test]
fn a_consent_remembers_what_was_allowed_within_bounds() {
    let numbered = |number: usize| ask(&json!([with(payment(), "amount", json!(number))])).unwrap();
    let first = numbered(1);
    let both = first.joined(&numbered(2));
    assert!(both.covers(&first) && both.covers(&numbered(2)) && !both.covers(&numbered(3)));
    assert!(!first.covers(&both) && first.covers(&AuthorizationDetails::NONE));
    assert_eq!(both.joined(&first).joined(&AuthorizationDetails::NONE).details().len(), 2);
    let many = (0..100).fold(AuthorizationDetails::NONE, |so_far, number| so_far.joined(&numbered(number)));
    assert_eq!(many.details().len(), 64);
    assert!(many.covers(&numbered(99)) && !many.covers(&numbered(0)), "the oldest goes");
    assert!(asks_always(&first, &settings()));
    assert!(!asks_always(&ask(&json!([{ "type": "folder" }])).unwrap(), &settings()));
}

#[test]
fn a_person_reads_all_of_it() {
    let asked = json!([payment(), { "type": "folder", "actions": ["read", "write"], "locations": [API] }]);
    let all = ask(&asked).unwrap();
    let text = |text: &str| Word::Text(text.to_owned());
    let value = |value: &str| Word::Value(value.to_owned());
    let expected = vec![
        Described {
            name: "payment".to_owned(),
            words: vec![text("Pay "), value("12.5"), text(" to "), value("Ada")],
            others: vec![
                ("currency".to_owned(), vec![value("EUR")]),
                ("monthly".to_owned(), vec![Word::Yes]),
            ],
            locations: Vec::new(),
        },
        Described {
            name: "folder".to_owned(),
            words: vec![text("Open folders")],
            others: vec![("actions".to_owned(), vec![value("read"), text(", "), value("write")])],
            locations: vec![API.to_owned()],
        },
    ];
    assert_eq!(described(&all, &settings(), "en"), expected);
    let german = described(&all, &settings(), "de");
    assert_eq!(german[0].words, [value("12.5"), text(" an "), value("Ada"), text(" zahlen")]);
    // The issuer does not have the type any more.
    let unknown = described(&all, &IssuerSettings::default(), "en");
    assert!(unknown[0].words.is_empty());
    assert_eq!(unknown[0].others.len(), 4);
}

#[test]
fn the_setting_is_checked_when_it_is_saved() {
    let sound =
        json!({ "type": "a", "text": "x", "members": [{ "name": "m", "type": "string", "required": true }] });
    let refused = |change: Value| {
        let mut own = sound.clone();
        own.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        check_types(&types(json!([own]))).expect_err("refused")
    };
    for (change, told) in [
        (json!({ "type": "" }), "visible ASCII"),
        (json!({ "type": "a b" }), "visible ASCII"),
        (json!({ "text": " " }), "one line"),
        (json!({ "text": "{m" }), "brace"),
        (json!({ "text": "m}" }), "brace"),
        (json!({ "text": "{other}" }), "{other}"),
        (json!({ "text#de": "{other}" }), "{other}"),
        (json!({ "locations": ["api"] }), "absolute URI"),
        (json!({ "members": [{ "name": "type", "type": "string" }] }), "name"),
        (
            json!({ "members": [{ "name": "n", "type": "string" }, { "name": "n", "type": "string" }] }),
            "name",
        ),
        (json!({ "members": [{ "name": "n", "type": "number", "values": ["1"] }] }), "values of n"),
        (json!({ "text": "{n}", "members": [{ "name": "n", "type": "string" }] }), "no required member"),
    ] {
        let why = refused(change);
        assert!(why.starts_with("authorization_details_types") && why.contains(told), "{told}: {why}");
    }
    assert!(check_types(&types(json!([sound, sound]))).unwrap_err().contains("twice"));
    let many: Vec<Value> = (0..65).map(|at| json!({ "type": at.to_string(), "text": "x" })).collect();
    assert!(check_types(&types(json!(many))).unwrap_err().contains("64"));
    for unknown in [json!({ "type": "a", "text": "x", "txt": "y" }), json!({ "type": "a" })] {
        assert!(serde_json::from_value::<AuthorizationDetailsType>(unknown).is_err());
    }
    let own: AuthorizationDetailsType =
        serde_json::from_value(with(sound.clone(), "text#de", json!("y"))).unwrap();
    assert_eq!(serde_json::to_value(&own).unwrap(), with(sound, "text#de", json!("y")), "as it was set");
}
