//! Rich Authorization Requests (RFC 9396).

use serde_json::{Value, json};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, RelyingParty, TestServer, TokenSet, decode_jwt,
};

use crate::device::{Codes, DEVICE, decide, poll};
use crate::login::hidden;

const BANK: &str = "https://bank.example";
const FILES: &str = "https://files.example";
const PARAMETER: &str = "authorization_details";

/// Sets the types of payments, which are asked for each time, and of folders.
pub(crate) fn set_types(server: &TestServer) {
    let types = json!([
        {
            "type": "payment", "text": "Pay {amount} francs to {to}", "text#de": "{amount} Franken an {to} zahlen",
            "members": [
                { "name": "amount", "type": "number", "required": true },
                { "name": "to", "type": "string", "required": true },
                { "name": "monthly", "type": "boolean" },
            ],
            "locations": [BANK], "asks_always": true,
        },
        {
            "type": "folder", "text": "Open the folder {path}", "locations": [FILES],
            "members": [
                { "name": "path", "type": "string", "required": true },
                { "name": "actions", "type": "strings", "values": ["read", "write"] },
            ],
        },
        { "type": "note", "text": "Read notes", "in_access_tokens": false },
    ]);
    let answer = server.admin("PATCH", "/settings", Some(json!({ "authorization_details_types": types })));
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn payment(amount: u32) -> Value {
    json!({ "type": "payment", "amount": amount, "to": "Ada & Söhne" })
}

fn folder(path: &str) -> Value {
    json!({ "type": "folder", "path": path, "actions": ["read"] })
}

struct Bench {
    server: TestServer,
    rp: RelyingParty,
    browser: Browser,
}

impl Bench {
    /// `metadata`: of the client, besides its types and the resources that it may name.
    fn new(metadata: Value) -> Self {
        let server = TestServer::start();
        set_types(&server);
        let mut all = json!({
            "authorization_details_types": ["payment", "folder", "note"],
            "access_token_audiences": [BANK, FILES],
        });
        all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        let rp = RelyingParty::register(&server, all);
        let (_, browser) = server.signed_in("ann@example.com");
        Self { server, rp, browser }
    }

    fn request(&self, details: &Value) -> AuthorizationRequest {
        self.rp.authorization_request().with(PARAMETER, &details.to_string())
    }

    fn token(&self, details: &Value) -> TokenSet {
        self.rp.sign_in_with(&self.browser, self.request(details))
    }

    fn refresh(&self, tokens: &TokenSet, more: &[(&str, &str)]) -> Answer {
        let token = tokens.refresh_token.as_deref().expect("a refresh token");
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
        form.extend_from_slice(more);
        self.rp.token(&form)
    }

    fn introspect(&self, token: &str) -> Value {
        self.rp.post("/introspect", &[("token", token)]).json()
    }

    /// The consent page that a request leads to; `None` if it is answered at once.
    fn asked(&self, request: &AuthorizationRequest) -> Option<Answer> {
        let answer = self.browser.get(&request.path());
        answer.location().starts_with("/consent?").then(|| self.browser.get(&answer.location()))
    }

    fn allow(&self, page: &Answer) -> Answer {
        let (transaction, csrf) = hidden(page);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "allow")];
        self.browser.post("/consent", &form)
    }
}

/// The claim of an access token.
fn claim(tokens: &TokenSet) -> Value {
    decode_jwt(&tokens.access_token).1[PARAMETER].clone()
}

fn assert_refused(answer: &Answer) {
    assert_eq!((answer.status, &*answer.error()), (400, "invalid_authorization_details"), "{answer:?}");
}

#[test]
fn what_was_granted_is_in_the_answer_in_the_token_and_in_introspection() {
    let bench = Bench::new(json!({}));
    let asked = json!([payment(5), folder("/a"), { "type": "note" }]);
    let tokens = bench.token(&asked);
    assert_eq!(tokens.body[PARAMETER], asked, "RFC 9396 7");
    let carried = json!([payment(5), folder("/a")]);
    assert_eq!(claim(&tokens), carried, "RFC 9396 9.1; notes are not for tokens");
    assert_eq!(bench.introspect(&tokens.access_token)[PARAMETER], carried, "RFC 9396 9.2");
    let refresh_token = tokens.refresh_token.as_deref().unwrap();
    assert_eq!(bench.introspect(refresh_token)[PARAMETER], asked, "of its own client alone");

    // What is granted in detail is not passed on by token exchange.
    let exchange = |more: &[(&str, &str)]| {
        let mut form = vec![
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", &*tokens.access_token),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ];
        form.extend_from_slice(more);
        bench.rp.token(&form)
    };
    assert!(claim(&TokenSet::of(&exchange(&[]))).is_null());
    assert_refused(&exchange(&[(PARAMETER, &asked.to_string())]));

    let discovery = bench.server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(discovery["authorization_details_types_supported"], json!(["payment", "folder", "note"]));
    let plain = bench.rp.sign_in(&bench.browser);
    assert!(plain.body[PARAMETER].is_null() && claim(&plain).is_null());
    assert!(bench.introspect(&plain.access_token)[PARAMETER].is_null());
}

#[test]
fn a_refreshed_token_has_all_or_some_of_it() {
    let bench = Bench::new(json!({}));
    let asked = json!([payment(5), folder("/a")]);
    let tokens = bench.token(&asked);
    let some = json!([folder("/a")]).to_string();
    let narrowed = TokenSet::of(&bench.refresh(&tokens, &[(PARAMETER, &some)]));
    assert_eq!(
        (claim(&narrowed), &narrowed.body[PARAMETER]),
        (json!([folder("/a")]), &json!([folder("/a")]))
    );
    for beyond in [json!([payment(6)]), json!([folder("/a"), folder("/b")]), json!([]), json!("x")] {
        assert_refused(&bench.refresh(&narrowed, &[(PARAMETER, &beyond.to_string())]));
    }
    let all = TokenSet::of(&bench.refresh(&narrowed, &[]));
    assert_eq!(claim(&all), asked, "the family keeps what was granted");
    let at_files = TokenSet::of(&bench.refresh(&all, &[("resource", FILES)]));
    assert_eq!(claim(&at_files), json!([folder("/a")]), "what is for the bank is not for others");

    // A client that has lost a type gets no more of it, and a code is redeemed for some of it too.
    let path = format!("/clients/{}", bench.rp.client_id);
    let fewer = json!({ "authorization_details_types": ["payment"] });
    assert_eq!(bench.server.admin("PATCH", &path, Some(fewer)).status, 200);
    let less = TokenSet::of(&bench.refresh(&at_files, &[]));
    assert_eq!(claim(&less), json!([payment(5)]));
    let request = bench.request(&json!([payment(1), payment(2)]));
    let code = bench.browser.get(&request.path()).redirected("code").expect("a code");
    let redeem = |details: Value| {
        bench.rp.token(&[
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &bench.rp.redirect_uri),
            ("code_verifier", &request.verifier),
            (PARAMETER, &details.to_string()),
        ])
    };
    assert_refused(&redeem(json!([payment(3)])));
    assert_eq!(claim(&TokenSet::of(&redeem(json!([payment(2)])))), json!([payment(2)]));
}

#[test]
fn a_person_reads_what_is_asked_for_and_is_asked_again_for_anything_else() {
    let bench = Bench::new(json!({ "skip_consent": false }));
    let silent = |details: &Value| bench.browser.get(&bench.request(details).with("prompt", "none").path());
    let consent_required = Some("consent_required".to_owned());
    let asked = json!([folder("/a<b>")]);
    let page = bench.asked(&bench.request(&asked)).expect("the consent page");
    for shown in ["Open the folder ", "/a&", "actions", "read"] {
        assert!(page.body.contains(shown), "{shown}: {page:?}");
    }
    assert!(!page.body.contains("/a<b>"), "{page:?}");
    assert_eq!(silent(&asked).redirected("error"), consent_required);
    assert!(bench.allow(&page).redirected("code").is_some());
    // Exactly the same is remembered, beside others, and by a request without details.
    assert!(bench.asked(&bench.request(&asked)).is_none());
    assert!(bench.asked(&bench.rp.authorization_request()).is_none());
    assert!(silent(&asked).redirected("code").is_some());
    let other = json!([folder("/c")]);
    assert_eq!(silent(&other).redirected("error"), consent_required);
    let page = bench.asked(&bench.request(&other)).expect("the consent page");
    assert!(bench.allow(&page).redirected("code").is_some());
    assert!(bench.asked(&bench.request(&json!([folder("/c"), folder("/a<b>")]))).is_none());

    // A payment is asked for each time, in the person's language.
    let pay = json!([payment(5)]);
    for _ in 0..2 {
        let request = bench.request(&pay).with("ui_locales", "de");
        let page = bench.asked(&request).expect("the consent page");
        assert!(page.body.contains(" Franken an ") && page.body.contains("Söhne"), "{page:?}");
        let code = bench.allow(&page).redirected("code").expect("a code");
        assert_eq!(TokenSet::of(&bench.rp.redeem(&code, &request.verifier)).body[PARAMETER], pay);
        assert_eq!(silent(&pay).redirected("error"), consent_required);
    }
}

#[test]
fn requests_that_are_pushed_or_for_a_device_have_details_too() {
    let bench = Bench::new(json!({
        "skip_consent": false, "grant_types": ["authorization_code", "refresh_token", DEVICE],
        "token_exchange_allowed": false,
    }));
    let asked = json!([folder("/a")]);
    let request = bench.request(&asked);
    let form: Vec<(&str, &str)> =
        request.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let uri = bench.rp.post("/par", &form).json()["request_uri"].as_str().expect("a request_uri").to_owned();
    let reference = AuthorizationRequest {
        parameters: vec![
            ("client_id".to_owned(), bench.rp.client_id.clone()),
            ("request_uri".to_owned(), uri),
        ],
        verifier: request.verifier,
    };
    let page = bench.asked(&reference).expect("the consent page");
    assert!(page.body.contains("Open the folder "), "{page:?}");
    let code = bench.allow(&page).redirected("code").expect("a code");
    assert_eq!(claim(&TokenSet::of(&bench.rp.redeem(&code, &reference.verifier))), asked);
    let unknown = bench.request(&json!([{ "type": "Folder" }]));
    let form: Vec<(&str, &str)> =
        unknown.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_refused(&bench.rp.post("/par", &form));

    let details = asked.to_string();
    let answer = bench.rp.post("/device_authorization", &[("scope", "openid"), (PARAMETER, &details)]);
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    let codes = Codes { device: text("device_code"), user: text("user_code") };
    let page = bench.browser.get(&codes.page());
    assert!(page.body.contains("Open the folder "), "{page:?}");
    assert_eq!(decide(&bench.browser, &codes, "allow").status, 303);
    let tokens = TokenSet::of(&poll(&bench.rp, &codes));
    assert_eq!((claim(&tokens), &tokens.body[PARAMETER]), (asked.clone(), &asked));
    assert_refused(&bench.rp.post("/device_authorization", &[(PARAMETER, "[{}]")]));
}

#[test]
fn a_client_gets_details_for_itself_and_only_of_its_types() {
    let bench = Bench::new(json!({ "scope": "read" }));
    let grant = |rp: &RelyingParty, details: &str, more: &[(&str, &str)]| {
        let mut form = vec![("grant_type", "client_credentials"), (PARAMETER, details)];
        form.extend_from_slice(more);
        rp.token(&form)
    };
    let both = json!([payment(5), folder("/a")]);
    let tokens = TokenSet::of(&grant(&bench.rp, &both.to_string(), &[]));
    assert_eq!((claim(&tokens), &tokens.body[PARAMETER]), (both.clone(), &both));
    let at_bank = TokenSet::of(&grant(&bench.rp, &both.to_string(), &[("resource", BANK)]));
    assert_eq!((claim(&at_bank), &at_bank.body[PARAMETER]), (json!([payment(5)]), &json!([payment(5)])));
    let other = RelyingParty::register(&bench.server, json!({ "scope": "read" }));
    assert_refused(&grant(&other, &both.to_string(), &[]));
    let long = json!([folder(&"x".repeat(5_000))]).to_string();
    for wrong in ["", "{}", "[]", "[", r#"[{"type":"folder"}]"#, r#"[{"type":"note","a":1}]"#, &long] {
        let answer = grant(&bench.rp, wrong, &[]);
        match wrong {
            // RFC 6749 3.2: as if it were not there.
            "" => assert_eq!(answer.status, 200, "{answer:?}"),
            _ => assert_refused(&answer),
        }
    }
    let twice = grant(&bench.rp, "[]", &[(PARAMETER, "[]")]);
    assert_eq!((twice.status, &*twice.error()), (400, "invalid_request"), "RFC 6749 3.2, 5.2");
}

#[test]
fn the_setting_is_refused_if_a_page_could_not_show_it() {
    let server = TestServer::start();
    let set = |types: Value| {
        server.admin("PATCH", "/settings", Some(json!({ "authorization_details_types": types })))
    };
    let member = |required: bool| json!([{ "name": "to", "type": "string", "required": required }]);
    for wrong in [
        json!([{ "type": "a", "text": "{to}" }]),
        json!([{ "type": "a", "text": "{to}", "members": member(false) }]),
        json!([{ "type": "a" }]),
        json!([{ "type": "a", "text": "x" }, { "type": "a", "text": "y" }]),
        json!([{ "type": "a", "text": "x", "unknown": 1 }]),
    ] {
        let answer = set(wrong);
        assert!(answer.status == 400 && answer.body.contains("authorization_details_types"), "{answer:?}");
    }
    let sound = json!([{ "type": "a", "text": "For {to}", "text#fr": "Pour {to}", "members": member(true) }]);
    let answer = set(sound.clone());
    assert_eq!(answer.json()["settings"]["authorization_details_types"], sound, "{answer:?}");
    let cleared = set(Value::Null);
    assert_eq!(cleared.json()["settings"]["authorization_details_types"], json!([]));
    let discovery = server.browser().get("/.well-known/openid-configuration").json();
    assert!(discovery["authorization_details_types_supported"].is_null());
}
