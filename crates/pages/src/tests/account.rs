//! The account pages with hostile text in each field.

use super::HOSTILE;
use crate::*;

fn frame(place: AccountPlace) -> AccountFrame {
    AccountFrame {
        place,
        prefix: String::new(),
        may_switch: true,
        user_name: HOSTILE.into(),
        csrf: HOSTILE.into(),
        notice: Some(AccountNotice::Invalid(HOSTILE.into())),
    }
}

fn attributes() -> Vec<AttributeField> {
    let inputs = [
        AttributeInput::Text,
        AttributeInput::Lines,
        AttributeInput::Number,
        AttributeInput::Date,
        AttributeInput::Flag,
        AttributeInput::List,
    ];
    let field = |(number, input): (usize, &AttributeInput), is_writable| AttributeField {
        name: format!("a{number}"),
        label: HOSTILE.into(),
        input: *input,
        value: HOSTILE.into(),
        is_writable,
        is_readable: number > 0,
        is_required: true,
    };
    let written = inputs.iter().enumerate().map(|one| field(one, true));
    written.chain(inputs.iter().enumerate().map(|one| field(one, false))).collect()
}

fn profile() -> ProfilePage {
    ProfilePage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Profile),
        email: Some(HOSTILE.into()),
        email_verified: false,
        fields: vec![ProfileField { name: "name", value: HOSTILE.into() }],
        mail_language: Some(Language::Arabic),
        attributes: attributes(),
        seen: 7,
    }
}

fn password() -> PasswordPage {
    PasswordPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Password),
        login_name: HOSTILE.into(),
        has_password: true,
        state: HOSTILE.into(),
    }
}

fn sessions() -> SessionsPage {
    let session = |is_this| SessionView {
        sid: HOSTILE.into(),
        is_this,
        device: Some(HOSTILE.into()),
        address: Some(HOSTILE.into()),
        place: Some(HOSTILE.into()),
        begun: 0,
        signed_in: 90_000,
        used: 90_000,
        methods: vec!["pwd", "otp"],
    };
    SessionsPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Sessions),
        sessions: vec![session(true), session(false)],
        total: 60,
        is_told: true,
    }
}

pub(super) fn applications() -> ApplicationsPage {
    let application = ApplicationView {
        client_id: HOSTILE.into(),
        name: HOSTILE.into(),
        host: Some(HOSTILE.into()),
        logo: Some(format!("/logo/{HOSTILE}")),
        opens_at: Some(format!("https://app.example/{HOSTILE}")),
        scopes: vec![ScopeView { name: HOSTILE.into(), description: HOSTILE.into() }],
        since: Some(0),
        used: None,
        offline: true,
    };
    ApplicationsPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Applications),
        applications: vec![application],
    }
}

fn data() -> AccountDataPage {
    AccountDataPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Data),
        export: "/account/data/export".into(),
        may_delete: true,
        asks_password: true,
        login_name: HOSTILE.into(),
    }
}

fn provider(connected: Option<u64>) -> ProviderView {
    ProviderView { id: HOSTILE.into(), name: HOSTILE.into(), label: Some(HOSTILE.into()), connected }
}

fn security() -> SecurityPage {
    let passkey = |used: Option<u64>| PasskeyView {
        id: HOSTILE.into(),
        name: HOSTILE.into(),
        is_synced: used.is_some(),
        added: 0,
        used,
    };
    SecurityPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Security),
        passkeys: vec![passkey(None), passkey(Some(90_000))],
        providers: [None, Some(0)].map(provider).into(),
        may_add_passkey: true,
        rp_id: HOSTILE.into(),
        user_handle: HOSTILE.into(),
        generator: Some(0),
        is_required: false,
        recovery_codes: 7,
    }
}

fn generator() -> GeneratorPage {
    GeneratorPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Security),
        setup: SecondFactorSetup::new("otpauth://totp/x", HOSTILE).unwrap(),
        sealed: HOSTILE.into(),
    }
}

fn new_passkey() -> NewPasskeyPage {
    NewPasskeyPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Security),
        options: HOSTILE.into(),
    }
}

fn requests() -> RequestsPage {
    let request = |message: Option<&str>| RequestView {
        id: HOSTILE.into(),
        client_name: HOSTILE.into(),
        client_logo: Some(format!("/logo/{HOSTILE}")),
        message: message.map(str::to_owned),
        scopes: vec![ScopeView { name: HOSTILE.into(), description: HOSTILE.into() }],
        details: Vec::new(),
        asked: 0,
        ends: 90_000,
    };
    RequestsPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        frame: frame(AccountPlace::Requests),
        requests: vec![request(Some(HOSTILE)), request(None)],
    }
}

/// Every account page by name.
pub(super) fn pages() -> Vec<(&'static str, String)> {
    let (language, issuer_name) = (Language::English, HOSTILE.to_owned());
    let overview = AccountPage {
        language,
        issuer_name: issuer_name.clone(),
        frame: frame(AccountPlace::Overview),
        is_asked: true,
    };
    vec![
        ("account-overview", overview.render().unwrap()),
        ("account-profile", profile().render().unwrap()),
        ("account-password", password().render().unwrap()),
        ("account-security", security().render().unwrap()),
        ("account-generator", generator().render().unwrap()),
        ("account-passkey", new_passkey().render().unwrap()),
        ("account-sessions", sessions().render().unwrap()),
        ("account-applications", applications().render().unwrap()),
        ("account-requests", requests().render().unwrap()),
        ("account-data", data().render().unwrap()),
        ("account-deleted", AccountDeletedPage { language, issuer_name }.render().unwrap()),
    ]
}

#[test]
fn every_form_carries_its_token_and_goes_to_its_own_page() {
    for (name, html) in pages() {
        for form in html.split("<form").skip(1) {
            let form = form.split("</form>").next().unwrap();
            // A choice of language changes nothing but how pages look.
            if form.contains("id=\"languages\"") {
                assert!(form.contains("action=\"/account") && !form.contains("csrf_token"), "{name}");
                continue;
            }
            assert!(form.contains("method=\"post\"") && form.contains("name=\"csrf_token\""), "{name}");
            assert!(form.contains("action=\"/account/"), "{name}");
        }
        let current = html.matches("aria-current=\"page\"").count();
        assert_eq!(current, usize::from(name != "account-deleted"), "{name}");
    }
}

#[test]
fn every_visible_field_has_a_label() {
    for (name, html) in pages() {
        for field in html.split("<input").skip(1).chain(html.split("<textarea").skip(1)) {
            let field = field.split('>').next().unwrap();
            if field.contains("type=\"hidden\"")
                || field.contains("aria-hidden")
                || field.contains("checkbox")
            {
                continue;
            }
            let id = field.split("id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
            assert!(html.contains(&format!("<label for=\"{id}\"")), "{name}: {field}");
        }
    }
}
