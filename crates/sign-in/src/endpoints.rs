//! The rows of this crate in the endpoint table.

use http::Method;
use symbolon_app::http::methods::{GET, GET_THAT_CHANGES, GET_THAT_CHANGES_OR_POST, POST};
use symbolon_app::http::{Cors, Endpoint, Failures, Form, Handler, Limit};
use symbolon_app::issuer::IssuerState;
use symbolon_app::rate_limit::EndpointClass;
use symbolon_pages::AccountPlace;
use symbolon_protocol::branding::STYLE_PATH;
use symbolon_protocol::discovery::path;
use symbolon_protocol::logo;
use symbolon_telemetry::Endpoint as Label;

use crate::account::security::{generator, passkey};
use crate::interaction::Page;
use crate::{
    account, authorize, branding, check_session, consent, consent_page, device, email_code,
    identity_provider, login, login_page, logout, magic_link, outbox, passkey_offer, passkey_offer_page,
    passkey_sign_in, recovery, registration, root_page, second_factor, second_factor_page, select_account,
    select_account_page,
};

/// A row for a page and its form.
const fn page(
    path: &'static str,
    methods: &'static [Method],
    label: Label,
    limit: Limit,
    handler: Handler,
) -> Endpoint {
    Endpoint {
        path,
        methods,
        label,
        limit,
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler,
    }
}

/// A row for a page that reads nothing from the store.
const fn fixed_page(path: &'static str, handler: Handler) -> Endpoint {
    Endpoint { needs_lease: false, ..page(path, GET, Label::Page, Limit::None, handler) }
}

/// A row for one of the account pages.
const fn account_page(path: &'static str, methods: &'static [Method], handler: Handler) -> Endpoint {
    page(path, methods, Label::Account, OF_ADDRESS, handler)
}

/// A row for a page of registration or recovery.
const fn reached_by_mail(path: &'static str, methods: &'static [Method], handler: Handler) -> Endpoint {
    page(path, methods, Label::Page, OF_ADDRESS, handler)
}

/// The path of the answers of other providers: each has its own, at its id.
const CALLBACK: &str = "/login/callback/{name}";

/// The path of clients' style sheets.
const CLIENT_STYLE: &str = "/branding/clients/{name}/style.css";
/// The path of clients' logos.
const CLIENT_LOGO: &str = "/branding/clients/{name}/logo";

const OF_ADDRESS: Limit = Limit::Address(EndpointClass::Authorize);
const OF_LOGOUT: Limit = Limit::Address(EndpointClass::Logout);

/// The endpoints that people's browsers call, the busiest first.
pub static ENDPOINTS: [Endpoint; 67] = [
    page(path::AUTHORIZATION, GET_THAT_CHANGES_OR_POST, Label::Authorize, OF_ADDRESS, |call| {
        Box::pin(authorize::authorize(call))
    }),
    page(login_page::PATH, GET_THAT_CHANGES, Label::Login, OF_ADDRESS, |call| {
        Box::pin(authorize::show(call, Page::Login))
    }),
    page(login_page::PATH, POST, Label::Login, Limit::None, |call| Box::pin(login::submit(call))),
    page(second_factor_page::PATH, GET_THAT_CHANGES, Label::Login, OF_ADDRESS, |call| {
        Box::pin(authorize::show(call, Page::SecondFactor))
    }),
    page(second_factor_page::PATH, POST, Label::Login, Limit::None, |call| {
        Box::pin(second_factor::submit(call))
    }),
    page(login_page::PASSKEY_PATH, POST, Label::Login, OF_ADDRESS, |call| {
        Box::pin(passkey_sign_in::submit(call))
    }),
    page(identity_provider::PATH, POST, Label::Login, OF_ADDRESS, |call| {
        Box::pin(identity_provider::submit(call))
    }),
    page(CALLBACK, GET_THAT_CHANGES, Label::Login, OF_ADDRESS, |call| {
        Box::pin(identity_provider::callback(call))
    }),
    page(CALLBACK, POST, Label::Login, OF_ADDRESS, |call| Box::pin(identity_provider::callback(call))),
    page(login_page::EMAIL_CODE_PATH, GET_THAT_CHANGES, Label::Login, OF_ADDRESS, |call| {
        Box::pin(authorize::show(call, Page::EmailCode))
    }),
    page(login_page::EMAIL_CODE_PATH, POST, Label::Login, OF_ADDRESS, |call| {
        Box::pin(email_code::submit(call))
    }),
    page(magic_link::PATH, GET, Label::Login, OF_ADDRESS, |call| Box::pin(magic_link::show(call))),
    page(passkey_offer_page::PATH, GET_THAT_CHANGES, Label::Login, OF_ADDRESS, |call| {
        Box::pin(passkey_offer::show(call))
    }),
    page(passkey_offer_page::PATH, POST, Label::Login, OF_ADDRESS, |call| {
        Box::pin(passkey_offer::submit(call))
    }),
    page(consent_page::PATH, GET_THAT_CHANGES, Label::Consent, OF_ADDRESS, |call| {
        Box::pin(authorize::show(call, Page::Consent))
    }),
    page(consent_page::PATH, POST, Label::Consent, OF_ADDRESS, |call| Box::pin(consent::submit(call))),
    page(device::PATH, GET_THAT_CHANGES, Label::Consent, OF_ADDRESS, |call| Box::pin(device::show(call))),
    page(device::PATH, POST, Label::Consent, OF_ADDRESS, |call| Box::pin(device::submit(call))),
    page(select_account_page::PATH, GET_THAT_CHANGES, Label::Login, OF_ADDRESS, |call| {
        Box::pin(select_account::show(call))
    }),
    page(select_account_page::PATH, POST, Label::Login, OF_ADDRESS, |call| {
        Box::pin(select_account::submit(call))
    }),
    page(path::END_SESSION, GET_THAT_CHANGES_OR_POST, Label::Logout, OF_LOGOUT, |call| {
        Box::pin(logout::logout(call))
    }),
    page(logout::CONFIRM, POST, Label::Logout, OF_LOGOUT, |call| Box::pin(logout::confirm(call))),
    page(IssuerState::LOGOUT_CALLBACK, GET, Label::Logout, OF_LOGOUT, |call| {
        Box::pin(logout::callback(call))
    }),
    fixed_page(path::CHECK_SESSION, |call| Box::pin(check_session::show(call))),
    fixed_page("/", |call| Box::pin(root_page::root(call))),
    fixed_page("/callback", |call| Box::pin(root_page::callback(call))),
    fixed_page("/callback/silent", |call| Box::pin(root_page::silent_callback(call))),
    fixed_page(STYLE_PATH, |call| Box::pin(branding::style(call))),
    fixed_page(logo::PATH, |call| Box::pin(branding::logo(call))),
    Endpoint { limit: OF_ADDRESS, ..fixed_page(CLIENT_STYLE, |call| Box::pin(branding::client_style(call))) },
    Endpoint { limit: OF_ADDRESS, ..fixed_page(CLIENT_LOGO, |call| Box::pin(branding::client_logo(call))) },
    fixed_page(outbox::PATH, |call| Box::pin(outbox::show(call))),
    account_page(AccountPlace::Overview.path(), GET_THAT_CHANGES, |call| Box::pin(account::overview(call))),
    account_page(AccountPlace::Profile.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::profile::show(call))
    }),
    account_page(AccountPlace::Profile.path(), POST, |call| Box::pin(account::profile::submit(call))),
    account_page(AccountPlace::Password.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::password::show(call))
    }),
    account_page(AccountPlace::Password.path(), POST, |call| Box::pin(account::password::submit(call))),
    account_page(AccountPlace::Security.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::security::show(call))
    }),
    account_page(AccountPlace::Security.path(), POST, |call| Box::pin(account::security::submit(call))),
    account_page(generator::PATH, GET_THAT_CHANGES, |call| Box::pin(generator::show(call))),
    account_page(generator::PATH, POST, |call| Box::pin(generator::submit(call))),
    account_page(passkey::PATH, GET_THAT_CHANGES, |call| Box::pin(passkey::show(call))),
    account_page(passkey::PATH, POST, |call| Box::pin(passkey::submit(call))),
    account_page(AccountPlace::Sessions.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::sessions::show(call))
    }),
    account_page(AccountPlace::Sessions.path(), POST, |call| Box::pin(account::sessions::submit(call))),
    account_page(AccountPlace::Applications.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::applications::show(call))
    }),
    account_page(AccountPlace::Applications.path(), POST, |call| {
        Box::pin(account::applications::submit(call))
    }),
    account_page(AccountPlace::Requests.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::requests::show(call))
    }),
    account_page(AccountPlace::Requests.path(), POST, |call| Box::pin(account::requests::submit(call))),
    account_page(AccountPlace::Data.path(), GET_THAT_CHANGES, |call| Box::pin(account::data::show(call))),
    account_page(AccountPlace::Data.path(), POST, |call| Box::pin(account::data::submit(call))),
    account_page(account::data::EXPORT, GET_THAT_CHANGES, |call| Box::pin(account::data::export(call))),
    reached_by_mail(registration::PATH, GET, |call| Box::pin(registration::show(call))),
    reached_by_mail(registration::PATH, POST, |call| Box::pin(registration::submit(call))),
    reached_by_mail(registration::CONFIRM, GET, |call| Box::pin(registration::show_confirm(call))),
    reached_by_mail(registration::CONFIRM, POST, |call| Box::pin(registration::confirm(call))),
    reached_by_mail(registration::LINK, GET, |call| Box::pin(registration::link(call))),
    reached_by_mail(recovery::PATH, GET, |call| Box::pin(recovery::show(call))),
    reached_by_mail(recovery::PATH, POST, |call| Box::pin(recovery::submit(call))),
    reached_by_mail(recovery::RESET, GET, |call| Box::pin(recovery::show_reset(call))),
    reached_by_mail(recovery::RESET, POST, |call| Box::pin(recovery::reset(call))),
    account_page(account::email::PATH, GET_THAT_CHANGES, |call| Box::pin(account::email::show(call))),
    account_page(account::email::PATH, POST, |call| Box::pin(account::email::submit(call))),
    reached_by_mail(account::email::VERIFY, GET, |call| Box::pin(account::email::show_verify(call))),
    reached_by_mail(account::email::VERIFY, POST, |call| Box::pin(account::email::verify(call))),
    reached_by_mail(account::email::LINK, GET, |call| Box::pin(account::email::link(call))),
    reached_by_mail(account::email::DONE, GET, |call| Box::pin(account::email::done(call))),
];
