//! The pages of registration, recovery and the account's address: hostile text stays text, nothing is inline, every field has
//! a label, and what went wrong is announced.

use super::{HOSTILE, is, tags};
use crate::*;

fn register(error: Option<RegisterError>) -> RegisterPage {
    let label = ByLanguage::of(|language| (language == Language::English).then(|| HOSTILE.into()));
    let field = |kind| FormField {
        name: HOSTILE.into(),
        label: label.clone(),
        kind,
        value: HOSTILE.into(),
        required: true,
    };
    RegisterPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        client_name: Some(HOSTILE.into()),
        action: "/register".into(),
        transaction: HOSTILE.into(),
        csrf: HOSTILE.into(),
        email: HOSTILE.into(),
        is_invited: false,
        given_name: HOSTILE.into(),
        family_name: HOSTILE.into(),
        attributes: [FieldKind::Text, FieldKind::Number, FieldKind::Date, FieldKind::Check].map(field).into(),
        new_password: NewPassword::Required,
        opens_account: true,
        puzzle: Some(PuzzleView { bits: 12, page: HOSTILE.into() }),
        sign_in_uri: Some(HOSTILE.into()),
        error,
    }
}

fn mailed_code(goal: MailedCodeGoal, is_proven: bool, error: Option<MailedCodeError>) -> MailedCodePage {
    MailedCodePage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        goal,
        email: HOSTILE.into(),
        is_proven,
        code: None,
        new_password: NewPassword::Required,
        action: "/register/confirm".into(),
        transaction: HOSTILE.into(),
        csrf: HOSTILE.into(),
        again_uri: HOSTILE.into(),
        error,
    }
}

fn forgot() -> ForgotPasswordPage {
    ForgotPasswordPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        action: "/forgot-password".into(),
        transaction: HOSTILE.into(),
        csrf: HOSTILE.into(),
        username: HOSTILE.into(),
        sign_in_uri: Some(HOSTILE.into()),
        error: Some(RecoveryError::Name),
    }
}

fn reset() -> ResetPasswordPage {
    ResetPasswordPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        user_name: HOSTILE.into(),
        action: "/reset-password".into(),
        link: HOSTILE.into(),
        csrf: HOSTILE.into(),
        asks_code: true,
        error: Some(RecoveryError::Password(PasswordFault::Common)),
    }
}

fn email() -> EmailPage {
    EmailPage {
        language: Language::English,
        issuer_name: HOSTILE.into(),
        email: Some(HOSTILE.into()),
        is_verified: false,
        action: "/account/email".into(),
        csrf: HOSTILE.into(),
        back_uri: HOSTILE.into(),
        error: Some(EmailError::Email),
    }
}

fn notice(language: Language, notice: Notice) -> String {
    let (issuer_name, onward) = (HOSTILE.into(), Some(HOSTILE.into()));
    NoticePage { language, issuer_name, notice, onward }.render().unwrap()
}

fn notices() -> [Notice; 9] {
    [
        Notice::RegistrationClosed,
        Notice::InvitationOver,
        Notice::AccountExists,
        Notice::LinkOver,
        Notice::OtherBrowser { code: Some(HOSTILE.into()) },
        Notice::OtherBrowser { code: None },
        Notice::RecoverySent,
        Notice::PasswordReset,
        Notice::EmailProven,
    ]
}

fn all() -> Vec<String> {
    use MailedCodeGoal::{Email, MagicLink, Registration};
    let mut pages = vec![
        register(Some(RegisterError::Field(HOSTILE.into()))).render().unwrap(),
        mailed_code(Registration, false, Some(MailedCodeError::Wrong)).render().unwrap(),
        mailed_code(Email, true, None).render().unwrap(),
        mailed_code(MagicLink, false, None).render().unwrap(),
        forgot().render().unwrap(),
        reset().render().unwrap(),
        email().render().unwrap(),
    ];
    pages.extend(notices().map(|one| notice(Language::English, one)));
    pages
}

#[test]
fn hostile_text_stays_text_and_nothing_is_inline() {
    for html in all() {
        assert!(!html.contains("<img src=x") && !html.contains("alert(1)</script>"), "{html}");
        for tag in tags(&html) {
            let unquoted: String = tag.split('"').step_by(2).collect();
            assert!(!unquoted.contains("alert") && !unquoted.contains("onerror"), "<{tag}>");
            assert!(!tag.contains(" style=") && !is(&tag, "style"), "<{tag}>");
            assert!(!is(&tag, "script") || tag.contains(" src=\"/assets/"), "<{tag}>");
        }
    }
}

#[test]
fn every_visible_field_has_a_label_and_forms_are_posted_with_their_token() {
    for html in all() {
        for form in html.split("<form").skip(1) {
            let form = form.split("</form>").next().unwrap();
            // A choice of language changes nothing but how pages look.
            if form.contains("id=\"languages\"") {
                assert!(form.contains("name=\"transaction\"") && !form.contains("csrf_token"), "{form}");
                continue;
            }
            assert!(form.contains("method=\"post\"") && form.contains("name=\"csrf_token\""), "{form}");
        }
        for tag in tags(&html).iter().filter(|tag| is(tag, "input")) {
            if tag.contains("type=\"hidden\"") || tag.contains(" hidden") {
                continue;
            }
            let id =
                tag.split_once(" id=\"").unwrap_or_else(|| panic!("<{tag}>")).1.split_once('"').unwrap().0;
            assert!(html.contains(&format!("<label for=\"{id}\">")), "<{tag}>");
        }
    }
}

#[test]
fn what_went_wrong_is_announced_in_words() {
    let errors = [
        RegisterError::Email,
        RegisterError::Taken,
        RegisterError::Password(PasswordFault::TooShort),
        RegisterError::Password(PasswordFault::TooLong),
        RegisterError::Password(PasswordFault::OwnName),
        RegisterError::TooManyAttempts { retry_after_seconds: 45 },
        RegisterError::Busy,
        RegisterError::Puzzle,
        RegisterError::Expired,
    ];
    let mut texts = std::collections::BTreeSet::new();
    for error in errors {
        let html = register(Some(error)).render().unwrap();
        let alert = html.split_once("role=\"alert\">").unwrap().1.split_once('<').unwrap().0.to_owned();
        assert!(alert.len() > 10 && texts.insert(alert));
    }
    assert!(!register(None).render().unwrap().contains("role=\"alert\""));
}

#[test]
fn a_page_for_another_browser_shows_the_code_only_if_the_mail_has_none() {
    let shown = notice(Language::English, Notice::OtherBrowser { code: Some("042137".into()) });
    assert!(shown.contains("<strong id=\"typed-code\" dir=\"ltr\">042137</strong>"), "{shown}");
    assert!(!notice(Language::English, Notice::OtherBrowser { code: None }).contains("typed-code"));
}

#[test]
fn who_was_invited_does_not_change_the_address() {
    let invited = RegisterPage { is_invited: true, ..register(None) }.render().unwrap();
    let field = tags(&invited).into_iter().find(|tag| tag.contains("name=\"email\"")).unwrap();
    assert!(field.contains("readonly"), "<{field}>");
}

#[test]
fn every_language_says_it_in_its_own_words() {
    for one in notices() {
        let pages: std::collections::BTreeSet<String> =
            Language::ALL.into_iter().map(|language| notice(language, one.clone())).collect();
        assert_eq!(pages.len(), Language::ALL.len(), "{one:?}");
    }
    assert!(notice(Language::Arabic, Notice::LinkOver).contains("dir=\"rtl\""));
}
