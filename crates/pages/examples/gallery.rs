//! Writes every page, with made-up data, and every asset to a directory: `cargo run -p symbolon-pages --example
//! gallery -- DIR`, then serve DIR by any file server.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use symbolon_pages::{
    AccountChoice, Brand, ByLanguage, ConsentPage, ErrorPage, FormPostPage, IndexPage, Language,
    LoggedOutPage, LoginError, LoginPage, LoginStage, LoginWays, LogoutPage, PasskeyPrompt, RenderError,
    ScopeView, SelectAccountPage, SilentCallbackPage, WalkThroughPage, assets,
};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("usage: gallery DIR")?);
    for asset in assets() {
        write(&directory, asset.path.trim_start_matches('/'), &asset.body)?;
    }
    write(&directory, LOGO.trim_start_matches('/'), LOGO_FILE)?;
    for (name, html) in pages() {
        write(&directory, &format!("{name}.html"), &html?)?;
    }
    Ok(())
}

fn write(directory: &Path, name: &str, content: &str) -> std::io::Result<()> {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap_or(directory))?;
    fs::write(path, content)
}

fn pages() -> Vec<(&'static str, Result<String, RenderError>)> {
    let wait = LoginError::TooManyAttempts { retry_after_seconds: 90 };
    vec![
        ("login", login(None, None).render()),
        ("login-rejected", login(Some("ada@example.com"), Some(LoginError::InvalidCredentials)).render()),
        ("login-wait", login(Some("ada@example.com"), Some(wait)).render()),
        ("login-busy", login(Some("ada@example.com"), Some(LoginError::Busy)).render()),
        ("login-expired", login(None, Some(LoginError::Expired)).render()),
        ("login-with-logo", login(None, None).render_for("", &brand())),
        ("consent", consent().render()),
        ("consent-with-logo", consent().render_for("", &brand())),
        ("select-account", select_account().render()),
        ("logout", logout(&[]).render()),
        ("logout-several", logout(&["charles@example.com"]).render()),
        ("logged-out", logged_out(None).render()),
        ("logged-out-return", logged_out(Some("https://app.example/")).render()),
        ("error", error().render()),
        ("form-post", form_post().render()),
        ("index", index().render()),
        ("walkthrough", walkthrough().render()),
        ("silent-callback", SilentCallbackPage { language: Language::English }.render()),
    ]
}

const LOGO: &str = "/branding/logo.svg";
const LOGO_FILE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 96 32\"><rect width=\"96\" height=\"32\" rx=\"6\" \
     fill=\"#0a4d8c\"/><circle cx=\"24\" cy=\"16\" r=\"8\" fill=\"#fff\"/><path d=\"M44 10h40v4H44zM44 18h28v4H44z\" fill=\"#fff\"/></svg>";

fn brand() -> Brand {
    Brand {
        logo: Some(LOGO.into()),
        help_uri: ByLanguage::of(|_| Some("https://acme.example/help".into())),
        intro: ByLanguage::of(|_| Some("One account for everything at Acme".into())),
        foot: ByLanguage::of(|_| Some("Acme Ltd, Example Street 1".into())),
        ..Brand::default()
    }
}

fn login(hint: Option<&str>, error: Option<LoginError>) -> LoginPage {
    LoginPage {
        language: Language::English,
        issuer_name: "Symbolon".into(),
        client_name: "Pottery Atlas".into(),
        client_uri: hint.map(|_| "https://app.example/".into()),
        client_logo: Some(LOGO.into()),
        action: "/login".into(),
        cancel_action: "/login/cancel".into(),
        transaction: "t-1".into(),
        csrf: "c-1".into(),
        login_hint: hint.map(Into::into),
        forgot_uri: Some("/forgot-password".into()),
        register_uri: Some("/register".into()),
        magic_link_action: None,
        error,
        ways: LoginWays {
            providers: ("/login/provider?transaction=tx".to_owned(), Vec::new()),
            password: true,
            passkey: Some(PasskeyPrompt {
                action: "/login/passkey".into(),
                options: "{}".into(),
                unknown: None,
            }),
            email_code: Some("/login/email-code".into()),
            asks_for_support: true,
        },
        stage: LoginStage::AllAtOnce,
    }
}

fn consent() -> ConsentPage {
    let scope =
        |name: &str, description: &str| ScopeView { name: name.into(), description: description.into() };
    ConsentPage {
        language: Language::English,
        issuer_name: "Symbolon".into(),
        client_name: "Pottery Atlas".into(),
        client_host: None,
        client_uri: None,
        client_logo: None,
        policy_uri: Some("https://app.example/privacy".into()),
        tos_uri: None,
        redirect_host: Some("app.example".into()),
        user_name: "ada@example.com".into(),
        scopes: vec![
            scope("openid", ""),
            scope("profile", ""),
            scope("email", ""),
            scope("offline_access", ""),
            scope("shards:read", "See the shards in your collection"),
            scope("kiln.fire", ""),
        ],
        details: Vec::new(),
        action: "/consent".into(),
        transaction: "t-1".into(),
        csrf: "c-1".into(),
    }
}

fn select_account() -> SelectAccountPage {
    let account = |name: Option<&str>, login_name: &str, is_in_use| AccountChoice {
        sid: format!("sid of {login_name}"),
        name: name.map(Into::into),
        login_name: login_name.into(),
        is_in_use,
    };
    SelectAccountPage {
        language: Language::English,
        issuer_name: "Symbolon".into(),
        client_name: "Pottery Atlas".into(),
        client_uri: None,
        client_logo: None,
        accounts: vec![
            account(Some("Ada Lovelace"), "ada@example.com", true),
            account(None, "charles@example.com", false),
        ],
        action: "/select-account".into(),
        transaction: "t-1".into(),
        csrf: "c-1".into(),
    }
}

fn logout(others: &[&str]) -> LogoutPage {
    LogoutPage {
        language: Language::English,
        issuer_name: "Symbolon".into(),
        user_name: Some("ada@example.com".into()),
        others: others.iter().map(|name| (*name).to_owned()).collect(),
        client_name: Some("Pottery Atlas".into()),
        applications: vec!["Kiln Calendar".into(), "Glaze Shop".into()],
        action: "/logout".into(),
        transaction: "t-1".into(),
        csrf: "c-1".into(),
    }
}

fn logged_out(return_uri: Option<&str>) -> LoggedOutPage {
    LoggedOutPage {
        language: Language::English,
        issuer_name: "Symbolon".into(),
        return_uri: return_uri.map(Into::into),
        client_name: Some("Pottery Atlas".into()),
        frames: Vec::new(),
        others: Vec::new(),
        leads_on_to: None,
    }
}

fn error() -> ErrorPage {
    ErrorPage {
        language: Language::English,
        issuer_name: Some("Symbolon".into()),
        status: 400,
        error: "invalid_request".into(),
        description: "redirect_uri is not registered for this client: https://shop.example/back".into(),
        request_id: "01JD4V2M8QK3W6".into(),
        client_name: Some("Example Shop".into()),
        client_uri: Some("https://shop.example".into()),
        login_uri: Some("https://shop.example/sign-in?iss=https%3A%2F%2Fid.example".into()),
    }
}

fn form_post() -> FormPostPage {
    FormPostPage {
        language: Language::English,
        action: "https://app.example/callback".into(),
        parameters: vec![("code".into(), "c0de".into()), ("state".into(), "st4te".into())],
    }
}

fn index() -> IndexPage {
    IndexPage {
        language: Language::English,
        issuer_name: "Symbolon".into(),
        issuer: "https://id.example".into(),
        discovery_uri: "/.well-known/openid-configuration".into(),
    }
}

fn walkthrough() -> WalkThroughPage {
    WalkThroughPage {
        language: Language::English,
        issuer_name: "Symbolon".into(),
        issuer: "http://localhost:8080".into(),
        client_id: "demo".into(),
        scope: "openid profile email offline_access".into(),
        other_site: "http://127.0.0.1:8080".into(),
        exchange_path: "/demo/token-exchange".into(),
        demo_username: "demo".into(),
        demo_password: "correct-horse-battery".into(),
    }
}
