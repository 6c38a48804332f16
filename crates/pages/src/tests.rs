//! What must hold on every page: hostile text stays text, nothing is inline, forms carry their hidden fields.

use crate::*;

mod account;
mod contrast;
mod registration;
mod texts;

/// Without escaping, this would break out of text, of attributes in either quote, and of elements.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;";

fn prompt() -> PasskeyPrompt {
    PasskeyPrompt { action: "/login/passkey".into(), options: HOSTILE.into(), unknown: Some(HOSTILE.into()) }
}

fn button() -> ProviderButton {
    ProviderButton { id: HOSTILE.into(), name: HOSTILE.into() }
}

fn login(error: Option<LoginError>) -> LoginPage {
    LoginPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        client_name: HOSTILE.into(),
        client_uri: Some(format!("https://app.example/{HOSTILE}")),
        client_logo: Some(format!("/logo/{HOSTILE}")),
        action: "/login".into(),
        cancel_action: "/login/cancel".into(),
        transaction: HOSTILE.into(),
        csrf: HOSTILE.into(),
        login_hint: Some(HOSTILE.into()),
        forgot_uri: Some(HOSTILE.into()),
        register_uri: Some(HOSTILE.into()),
        magic_link_action: Some(HOSTILE.into()),
        error,
        ways: LoginWays {
            providers: ("/login/provider?transaction=tx".to_owned(), vec![button()]),
            password: true,
            passkey: Some(prompt()),
            email_code: Some("/login/email-code".into()),
            asks_for_support: true,
        },
        stage: LoginStage::AllAtOnce,
    }
}

fn consent() -> ConsentPage {
    ConsentPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        client_name: HOSTILE.into(),
        client_host: Some(HOSTILE.into()),
        client_uri: None,
        client_logo: None,
        policy_uri: Some(format!("https://app.example/{HOSTILE}")),
        tos_uri: Some(HOSTILE.into()),
        redirect_host: Some(HOSTILE.into()),
        user_name: HOSTILE.into(),
        scopes: vec![
            ScopeView { name: HOSTILE.into(), description: HOSTILE.into() },
            ScopeView { name: "openid".into(), description: String::new() },
        ],
        details: vec![DetailView {
            name: HOSTILE.into(),
            words: vec![DetailWord::Text(HOSTILE.into()), DetailWord::Value(HOSTILE.into()), DetailWord::Yes],
            others: vec![DetailMember {
                name: HOSTILE.into(),
                words: vec![DetailWord::Value(HOSTILE.into()), DetailWord::No],
            }],
            locations: vec![HOSTILE.into()],
        }],
        action: HOSTILE.into(),
        transaction: HOSTILE.into(),
        csrf: HOSTILE.into(),
    }
}

fn device(error: Option<DeviceError>) -> DevicePage {
    DevicePage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        user_name: HOSTILE.into(),
        user_code: HOSTILE.into(),
        action: "/device".into(),
        error,
    }
}

fn device_consent() -> DeviceConsentPage {
    let ConsentPage {
        language,
        issuer_name,
        client_name,
        policy_uri,
        tos_uri,
        user_name,
        scopes,
        details,
        csrf,
        ..
    } = consent();
    DeviceConsentPage {
        language,
        issuer_name,
        client_name,
        client_host: Some(HOSTILE.into()),
        client_uri: Some(HOSTILE.into()),
        client_logo: Some(HOSTILE.into()),
        policy_uri,
        tos_uri,
        user_name,
        user_code: HOSTILE.into(),
        scopes,
        details,
        is_expired: true,
        action: "/device".into(),
        csrf,
    }
}

#[test]
fn a_device_is_allowed_on_a_page_that_names_its_client_and_shows_its_code() {
    let page = DeviceConsentPage {
        client_name: "Television".into(),
        user_code: "BCDF-GHJK".into(),
        is_expired: false,
        ..device_consent()
    };
    let html = page.render().unwrap();
    for shown in ["Allow <bdi>Television</bdi>", "dir=\"ltr\">BCDF-GHJK<", "id=\"warning\"", "value=\"deny\""]
    {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(!html.contains("id=\"form-error\""));
    let form = device(Some(DeviceError::TooManyAttempts { retry_after_seconds: 30 }));
    assert!(form.render().unwrap().contains("Try again in 30 seconds"));
    let arabic = DevicePage { language: Language::Arabic, ..device(None) }.render().unwrap();
    assert!(
        arabic.contains("dir=\"rtl\"") && arabic.contains("dir=\"ltr\" required"),
        "the code is read from the left"
    );
}

fn select_account() -> SelectAccountPage {
    let account = |name: Option<&str>, is_in_use| AccountChoice {
        sid: HOSTILE.into(),
        name: name.map(Into::into),
        login_name: HOSTILE.into(),
        is_in_use,
    };
    SelectAccountPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        client_name: HOSTILE.into(),
        client_uri: Some(format!("https://app.example/{HOSTILE}")),
        client_logo: Some(format!("data:image/png;base64,{HOSTILE}")),
        accounts: vec![account(Some(HOSTILE), true), account(None, false)],
        action: "/select-account".into(),
        transaction: HOSTILE.into(),
        csrf: HOSTILE.into(),
    }
}

fn logout() -> LogoutPage {
    LogoutPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        user_name: Some(HOSTILE.into()),
        others: vec![HOSTILE.into()],
        client_name: Some(HOSTILE.into()),
        applications: vec![HOSTILE.into(), "Shop".into()],
        action: "/logout".into(),
        transaction: HOSTILE.into(),
        csrf: HOSTILE.into(),
    }
}

fn logged_out(return_uri: &str) -> LoggedOutPage {
    LoggedOutPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        return_uri: Some(return_uri.into()),
        client_name: None,
        frames: vec![format!("https://app.example/out?{HOSTILE}")],
        others: vec![HOSTILE.into()],
        leads_on_to: Some(return_uri.into()),
    }
}

fn form_post(action: &str) -> FormPostPage {
    FormPostPage {
        language: Language::English,
        action: action.into(),
        parameters: vec![("state".into(), HOSTILE.into()), (HOSTILE.into(), "code".into())],
    }
}

fn walkthrough() -> WalkThroughPage {
    WalkThroughPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        issuer: HOSTILE.into(),
        client_id: HOSTILE.into(),
        scope: HOSTILE.into(),
        other_site: HOSTILE.into(),
        exchange_path: HOSTILE.into(),
        demo_username: HOSTILE.into(),
        demo_password: HOSTILE.into(),
    }
}

/// Every page by name, with hostile text in each field.
fn pages() -> Vec<(&'static str, String)> {
    let error = ErrorPage {
        language: Language::English,
        issuer_name: Some(HOSTILE.into()),
        status: 400,
        error: HOSTILE.into(),
        description: HOSTILE.into(),
        request_id: HOSTILE.into(),
        client_name: Some(HOSTILE.into()),
        client_uri: Some(HOSTILE.into()),
        login_uri: Some(format!("https://app.example/{HOSTILE}")),
    };
    let index = IndexPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        issuer: HOSTILE.into(),
        discovery_uri: HOSTILE.into(),
    };
    let mut pages = account::pages();
    pages.extend([
        ("login", login(Some(LoginError::InvalidCredentials)).render().unwrap()),
        ("consent", consent().render().unwrap()),
        ("device", device(Some(DeviceError::Unknown)).render().unwrap()),
        ("device-consent", device_consent().render().unwrap()),
        ("select-account", select_account().render().unwrap()),
        ("logout", logout().render().unwrap()),
        ("logged-out", logged_out(&format!("https://app.example/{HOSTILE}")).render().unwrap()),
        ("error", error.render().unwrap()),
        ("form-post", form_post(&format!("https://app.example/{HOSTILE}")).render().unwrap()),
        ("index", index.render().unwrap()),
        ("walkthrough", walkthrough().render().unwrap()),
        ("silent-callback", SilentCallbackPage { language: Language::English }.render().unwrap()),
    ]);
    pages
}

/// Branding with hostile text in each field.
fn hostile_brand() -> Brand {
    let every = |text: &str| ByLanguage::of(|_| Some(text.to_owned()));
    let text = || every(HOSTILE);
    let (policy_uri, tos_uri) =
        (every(&format!("https://op.example/{HOSTILE}")), every("javascript:alert(2)"));
    let logo = Some(format!("/logo/{HOSTILE}"));
    let style = Some(HOSTILE.to_owned());
    Brand { style, logo, help_uri: text(), policy_uri, tos_uri, intro: text(), foot: text() }
}

#[test]
fn branding_is_text_and_links_to_web_pages_only() {
    let html = login(None).render_for("/acme", &hostile_brand()).unwrap();
    for tag in tags(&html) {
        let unquoted: String = tag.split('"').step_by(2).collect();
        assert!(!unquoted.contains("alert") && !tag.contains("javascript:"), "<{tag}>");
    }
    assert!(html.contains("class=\"brand-text\"") && html.contains(">Privacy policy</a>"));
    assert!(!html.contains(">Help</a>") && !html.contains(">Terms of service</a>"));
    assert!(html.contains("\"/acme/assets/style."));
    let plain = login(None).render_for("", &Brand::default()).unwrap();
    assert_eq!(plain, login(None).render().unwrap(), "no branding adds nothing");
}

/// The tags of a document with their attributes, read as a browser would: `<` outside a tag opens one, quotes
/// hide `>` inside one.
fn tags(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut open: Option<(String, Option<char>)> = None;
    for character in html.chars() {
        match &mut open {
            None if character == '<' => open = Some((String::new(), None)),
            None => {}
            Some((tag, None)) if character == '>' => {
                tags.push(std::mem::take(tag));
                open = None;
            }
            Some((tag, quote)) => {
                match *quote {
                    None if matches!(character, '"' | '\'') => *quote = Some(character),
                    Some(quoted) if quoted == character => *quote = None,
                    _ => {}
                }
                tag.push(character);
            }
        }
    }
    assert!(open.is_none(), "a tag never ends");
    tags
}

fn is(tag: &str, name: &str) -> bool {
    tag.split([' ', '\n']).next() == Some(name)
}

#[test]
fn hostile_text_stays_text() {
    for (name, html) in pages() {
        assert!(!html.contains("<img src=x") && !html.contains("alert(1)</script>"), "{name} lets markup in");
        assert!(!html.contains("\"'>"), "{name} lets quotes in");
        for tag in tags(&html) {
            let unquoted: String = tag.split('"').step_by(2).collect();
            assert!(!unquoted.contains("alert") && !unquoted.contains("onerror"), "{name}: <{tag}>");
        }
    }
}

#[test]
fn hostile_text_is_shown_as_it_is() {
    let escaped = "&#34;&#39;&#62;&#60;script&#62;alert(1)&#60;/script&#62;";
    for (name, html) in pages().into_iter().filter(|(name, _)| *name != "silent-callback") {
        assert!(html.contains(escaped), "{name} loses the text");
    }
}

#[test]
fn nothing_is_inline() {
    for (name, html) in pages() {
        let tags = tags(&html);
        assert!(
            !tags.iter().any(|tag| is(tag, "style") || is(tag, "base")),
            "{name} has an inline style or a base"
        );
        for tag in &tags {
            assert!(!tag.contains(" style="), "{name}: <{tag}>");
            let attributes = tag.split('"').step_by(2);
            assert!(
                !attributes.into_iter().any(|part| part.trim_start().starts_with("on")),
                "{name}: <{tag}>"
            );
            assert!(!is(tag, "script") || tag.contains(" src=\"/assets/"), "{name}: <{tag}>");
        }
        for script in html.split("<script").skip(1) {
            assert!(script.split_once('>').is_some_and(|(_, rest)| rest.starts_with("</script>")), "{name}");
        }
    }
}

#[test]
fn every_file_that_a_page_loads_is_an_asset() {
    for (name, html) in pages() {
        for path in html.split('"').filter(|part| part.starts_with("/assets/")) {
            assert!(assets().iter().any(|asset| asset.path == path), "{name} asks for {path}");
        }
    }
    for asset in assets() {
        for path in
            asset.body.split('"').filter(|part| part.starts_with("/assets/") || part.starts_with("./"))
        {
            let absolute = path.replace("./", "/assets/");
            assert!(assets().iter().any(|other| other.path == absolute), "{} imports {path}", asset.path);
        }
        assert!(
            !asset.body.contains("https://") && !asset.body.contains("@import"),
            "{} is not alone",
            asset.path
        );
    }
}

#[test]
fn every_form_of_ours_carries_transaction_and_csrf_token() {
    let mut forms = 0;
    // The forms of devices carry their code in place of a transaction.
    let of_others = |name: &str| name.starts_with("account-") || name.starts_with("device");
    let is_checked = |name: &str| name != "form-post" && !of_others(name);
    for (name, html) in pages().into_iter().filter(|(name, _)| is_checked(name)) {
        for form in html.split("<form").skip(1) {
            let form = form.split("</form>").next().unwrap();
            // A choice of language changes nothing but how pages look.
            if form.contains("id=\"languages\"") {
                assert!(form.contains("name=\"transaction\"") && !form.contains("csrf_token"), "{name}");
                continue;
            }
            for field in ["transaction", "csrf_token"] {
                assert!(
                    form.contains(&format!("type=\"hidden\" name=\"{field}\" value=\"&#34;")),
                    "{name}: {field}"
                );
            }
            assert!(form.contains("method=\"post\""), "{name} puts a form into the address bar");
            forms += 1;
        }
    }
    assert_eq!(forms, 7, "login, passkey, other providers, cancel, consent, select account, logout");
}

#[test]
fn a_form_post_sends_the_parameters_and_nothing_else() {
    let html = form_post("https://app.example/callback?a=1&b=2").render().unwrap();
    let inputs = tags(&html).into_iter().filter(|tag| is(tag, "input")).count();
    assert_eq!(inputs, 2);
    assert!(html.contains("action=\"https://app.example/callback?a=1&#38;b=2\""));
    assert!(html.contains("<button") && !html.contains("<noscript"), "the button is always there");
    assert!(
        tags(&html).iter().all(|tag| !is(tag, "button") || !tag.contains(" name=")),
        "the button adds nothing"
    );
}

#[test]
fn a_form_post_goes_to_web_pages_only() {
    for action in
        ["javascript:alert(1)", "JavaScript:alert(1)", " javascript:x", "data:text/html,x", "/here", ""]
    {
        assert!(matches!(form_post(action).render(), Err(RenderError::UnsafeAction)), "{action}");
    }
    assert!(form_post("http://127.0.0.1:9000/callback").render().is_ok());
}

#[test]
fn only_web_pages_and_apps_are_linked() {
    for uri in
        ["javascript:alert(1)", "JAVASCRIPT:alert(1)", "\tjavascript:x", "data:text/html,x", "vbscript:x"]
    {
        let tags = tags(&logged_out(uri).render().unwrap());
        assert!(!tags.iter().any(|tag| is(tag, "a")), "{uri}");
        let mut page = login(None);
        page.client_uri = Some(uri.into());
        assert!(!page.render().unwrap().contains(uri), "{uri}");
    }
    for uri in ["https://app.example/", "com.example.app:/signed-out"] {
        assert!(logged_out(uri).render().unwrap().contains(&format!("href=\"{uri}\"")), "{uri}");
    }
}

#[test]
fn a_logo_from_elsewhere_is_not_loaded() {
    for uri in [
        "https://tracker.example/logo.png",
        "//tracker.example/logo.png",
        "/\\tracker.example",
        "data:text/html,x",
        "data:image/png;base64,eA==",
    ] {
        let mut page = login(None);
        page.client_logo = Some(uri.into());
        let brand = Brand { logo: Some(uri.into()), ..Brand::default() };
        let html = page.render_for("", &brand).unwrap();
        assert!(!tags(&html).iter().any(|tag| is(tag, "img")), "{uri}");
        assert!(html.contains("class=\"mark\""), "{uri}");
    }
    let brand = Brand { logo: Some("/branding/logo?v=1".into()), ..Brand::default() };
    for html in
        [login(None).render_for("", &brand).unwrap(), account::applications().render_for("", &brand).unwrap()]
    {
        assert!(
            html.contains("class=\"logo\" src=\"/branding/logo?v=1\" alt=\"\"")
                && !html.contains("class=\"mark\"")
        );
    }
    let mut page = login(None);
    page.client_logo = Some("/logos/1.png".into());
    assert!(page.render().unwrap().contains("src=\"/logos/1.png\""));
}

#[test]
fn every_visible_field_has_a_label_and_names_are_stable() {
    let html = login(None).render().unwrap();
    for (name, autocomplete) in [("username", "username webauthn"), ("password", "current-password")] {
        assert!(html.contains(&format!("<label for=\"{name}\">")));
        let field = tags(&html).into_iter().find(|tag| tag.contains(&format!("name=\"{name}\""))).unwrap();
        assert!(
            field.contains(&format!("id=\"{name}\""))
                && field.contains(&format!("autocomplete=\"{autocomplete}\""))
        );
    }
}

#[test]
fn a_login_error_is_announced_and_a_wait_is_in_words() {
    let wait = |seconds| {
        let error = LoginError::TooManyAttempts { retry_after_seconds: seconds };
        login(Some(error)).render().unwrap()
    };
    assert!(!login(None).render().unwrap().contains("role=\"alert\""));
    for (seconds, words) in [(0, "1 second"), (1, "1 second"), (45, "45 seconds"), (121, "3 minutes")] {
        let html = wait(seconds);
        assert!(html.contains("role=\"alert\"") && html.contains(&format!("in {words}.")), "{seconds}");
        assert!(!html.contains("aria-invalid"), "the fields are not at fault");
    }
    let rejected = login(Some(LoginError::InvalidCredentials)).render().unwrap();
    assert_eq!(rejected.matches("aria-describedby=\"login-error\"").count(), 2);
}

#[test]
fn a_scope_is_described_by_the_caller_first() {
    let html = consent().render().unwrap();
    assert!(html.contains(Language::English.texts().scope_openid));
    let mut page = consent();
    page.scopes = vec![ScopeView { name: "openid".into(), description: "Ours".into() }];
    let html = page.render().unwrap();
    assert!(html.contains("Ours") && !html.contains(Language::English.texts().scope_openid));
}

#[test]
fn a_detail_is_shown_whole_and_its_values_are_set_off() {
    let mut page = consent();
    page.details = vec![DetailView {
        name: "payment".into(),
        words: vec![DetailWord::Text("Pay ".into()), DetailWord::Value("12 francs".into())],
        others: vec![DetailMember { name: "monthly".into(), words: vec![DetailWord::Yes] }],
        locations: vec!["https://bank.example".into()],
    }];
    let texts = Language::English.texts();
    let yes = format!("<code>monthly</code> <strong><bdi>{}</bdi></strong>", texts.detail_yes);
    let html = page.render().unwrap();
    for part in ["Pay <strong><bdi>12 francs</bdi></strong>", &*yes, "https://bank.example"] {
        assert!(html.contains(part), "{part}: {html}");
    }
    page.details[0].words.clear();
    assert!(page.render().unwrap().contains("<code>payment</code>"));
}

#[test]
fn groups_and_roles_are_asked_for_in_words() {
    let texts = Language::English.texts();
    for (name, words) in [("groups", texts.scope_groups), ("roles", texts.scope_roles)] {
        let mut page = consent();
        page.scopes = vec![ScopeView { name: name.into(), description: String::new() }];
        let html = page.render().unwrap();
        assert!(!words.is_empty() && html.contains(words), "{name}");
    }
}

#[test]
fn no_text_is_missing_and_pages_name_their_language() {
    for language in Language::ALL {
        for (name, text) in language.texts().entries() {
            assert!(!text.trim().is_empty(), "{language:?}: {name}");
        }
        let mut page = consent();
        page.language = language;
        let start =
            format!("<!doctype html>\n<html lang=\"{}\" dir=\"{}\">", language.tag(), language.direction());
        assert!(page.render().unwrap().starts_with(&start), "{language:?}");
    }
    for (name, html) in pages() {
        assert!(html.starts_with("<!doctype html>\n<html lang=\"en\" dir=\"ltr\">"), "{name}");
    }
}

#[test]
fn a_fingerprint_is_part_of_path_and_etag() {
    let style = stylesheet();
    let fingerprint = style.etag.trim_matches('"');
    assert_eq!(style.path, format!("/assets/style.{fingerprint}.css"));
    assert_eq!(fingerprint.len(), 16);
    let mut paths: Vec<_> = assets().iter().map(|asset| &asset.path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), assets().len());
}

#[test]
fn the_walk_through_has_the_ids_that_its_script_asks_for() {
    let html = walkthrough().render().unwrap();
    let script = assets().iter().find(|asset| asset.path.contains("/walkthrough.")).unwrap();
    let asked = script.body.split("$(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let tested = ["sign-in", "userinfo", "silent", "refresh", "exchange", "sign-out", "error"];
    let results = ["result-userinfo", "result-silent", "result-refresh", "result-exchange"];
    for id in asked.chain(tested).chain(results) {
        assert_eq!(html.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(html.contains("data-state=\"signed-out\""));
}

#[test]
fn an_error_says_nothing_twice_and_nothing_empty() {
    let page = |description: &str, request_id: &str| {
        let (description, request_id) = (description.to_owned(), request_id.to_owned());
        let error = "not_found".to_owned();
        let language = Language::English;
        let (issuer_name, client_name, client_uri, login_uri) = (None, None, None, None);
        ErrorPage {
            language,
            issuer_name,
            status: 404,
            error,
            description,
            request_id,
            client_name,
            client_uri,
            login_uri,
        }
        .render()
        .unwrap()
    };
    let bare = page("there is nothing here", "");
    assert!(!bare.contains("id=\"description\"") && !bare.contains("id=\"request-id\""));
    let full = page("the transaction is over", "48d5a9692ab8288411319384");
    assert!(full.contains("the transaction is over") && full.contains("48d5a9692ab8288411319384"));
    assert!(full.contains("class=\"lead sentence\""));
    for parameter in ["client_id names no client", "prompt=none must stand alone", "scope is malformed"] {
        assert!(page(parameter, "").contains("class=\"lead\""), "{parameter}");
    }
}

/// The style sheet lays out what is directly in a button piece by piece, without the spaces between: a name stands with the text
/// around it in one element.
#[test]
fn a_name_in_a_button_keeps_the_spaces_around_it() {
    let mut names = 0;
    for (page, html) in pages() {
        for rest in html.split(" class=\"button ").skip(1) {
            let (_, rest) = rest.split_once('>').unwrap();
            let end = ["</a>", "</button>"].iter().filter_map(|end| rest.find(end)).min().unwrap();
            let mut depth = 0;
            for tag in tags(&rest[..end]) {
                if is(&tag, "bdi") {
                    names += 1;
                    assert!(depth > 0, "{page}: {}", &rest[..end]);
                }
                if tag.starts_with('/') {
                    depth -= 1;
                } else if !is(&tag, "img") {
                    depth += 1;
                }
            }
        }
    }
    assert!(names > 2, "such buttons are on several pages");
}

/// Users of screen readers navigate by headings, so none may skip a level, whatever the script adds.
#[test]
fn headings_go_down_one_level_at_a_time() {
    for (name, html) in pages() {
        let levels: Vec<u8> =
            html.match_indices("<h").filter_map(|(at, _)| html.as_bytes().get(at + 2)).copied().collect();
        let levels = levels.iter().filter(|level| level.is_ascii_digit()).map(|level| level - b'0');
        levels.fold(0, |before, level| {
            assert!(level <= before + 1, "{name}: h{level} below h{before}");
            level
        });
    }
    let script = include_str!("../assets/walkthrough.js");
    assert!(
        !["h1", "h2", "h3", "h4"].iter().any(|heading| script.contains(&format!("element(\"{heading}\"")))
    );
}
