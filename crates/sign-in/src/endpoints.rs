//! The rows of this crate in the endpoint table.

use http::Method;
use symbolon_app::http::methods::{GET, GET_THAT_CHANGES, GET_THAT_CHANGES_OR_POST, POST};
use symbolon_app::http::{Cors, Endpoint, Failures, Form, Handler, Limit};
use symbolon_app::rate_limit::EndpointClass;
use symbolon_pages::AccountPlace;
use symbolon_protocol::discovery::path;
use symbolon_telemetry::Endpoint as Label;

use crate::interaction::Page;
use crate::{account, authorize, consent, consent_page, login, login_page, logout, root_page};

/// A row for one of the account pages.
const fn account_row(path: &'static str, methods: &'static [Method], handler: Handler) -> Endpoint {
    Endpoint {
        path,
        methods,
        label: Label::Account,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler,
    }
}

/// The endpoints that people's browsers call, the busiest first.
pub static ENDPOINTS: [Endpoint; 24] = [
    Endpoint {
        path: path::AUTHORIZATION,
        methods: GET_THAT_CHANGES_OR_POST,
        label: Label::Authorize,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(authorize::authorize(call)),
    },
    Endpoint {
        path: login_page::PATH,
        methods: GET_THAT_CHANGES,
        label: Label::Login,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(authorize::show(call, Page::Login)),
    },
    Endpoint {
        path: login_page::PATH,
        methods: POST,
        label: Label::Login,
        limit: Limit::None,
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(login::submit(call)),
    },
    Endpoint {
        path: consent_page::PATH,
        methods: GET_THAT_CHANGES,
        label: Label::Consent,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(authorize::show(call, Page::Consent)),
    },
    Endpoint {
        path: consent_page::PATH,
        methods: POST,
        label: Label::Consent,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(consent::submit(call)),
    },
    Endpoint {
        path: path::END_SESSION,
        methods: GET_THAT_CHANGES_OR_POST,
        label: Label::Logout,
        limit: Limit::Address(EndpointClass::Logout),
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(logout::logout(call)),
    },
    Endpoint {
        path: logout::CONFIRM,
        methods: POST,
        label: Label::Logout,
        limit: Limit::Address(EndpointClass::Logout),
        form: Form::Required,
        repeatable: None,
        needs_lease: true,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(logout::confirm(call)),
    },
    Endpoint {
        path: "/",
        methods: GET,
        label: Label::Page,
        limit: Limit::None,
        form: Form::Required,
        repeatable: None,
        needs_lease: false,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(root_page::root(call)),
    },
    Endpoint {
        path: "/callback",
        methods: GET,
        label: Label::Page,
        limit: Limit::None,
        form: Form::Required,
        repeatable: None,
        needs_lease: false,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(root_page::callback(call)),
    },
    Endpoint {
        path: "/callback/silent",
        methods: GET,
        label: Label::Page,
        limit: Limit::None,
        form: Form::Required,
        repeatable: None,
        needs_lease: false,
        cors: Cors::None,
        failures: Failures::Page,
        handler: |call| Box::pin(root_page::silent_callback(call)),
    },
    account_row(account::sign_in::PATH, GET_THAT_CHANGES, |call| Box::pin(account::sign_in::show(call))),
    account_row(account::sign_in::PATH, POST, |call| Box::pin(account::sign_in::submit(call))),
    account_row(AccountPlace::Overview.path(), GET_THAT_CHANGES, |call| Box::pin(account::overview(call))),
    account_row(AccountPlace::Profile.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::profile::show(call))
    }),
    account_row(AccountPlace::Profile.path(), POST, |call| Box::pin(account::profile::submit(call))),
    account_row(AccountPlace::Password.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::password::show(call))
    }),
    account_row(AccountPlace::Password.path(), POST, |call| Box::pin(account::password::submit(call))),
    account_row(AccountPlace::Sessions.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::sessions::show(call))
    }),
    account_row(AccountPlace::Sessions.path(), POST, |call| Box::pin(account::sessions::submit(call))),
    account_row(AccountPlace::Applications.path(), GET_THAT_CHANGES, |call| {
        Box::pin(account::applications::show(call))
    }),
    account_row(AccountPlace::Applications.path(), POST, |call| {
        Box::pin(account::applications::submit(call))
    }),
    account_row(AccountPlace::Data.path(), GET_THAT_CHANGES, |call| Box::pin(account::data::show(call))),
    account_row(AccountPlace::Data.path(), POST, |call| Box::pin(account::data::submit(call))),
    account_row(account::data::EXPORT, GET_THAT_CHANGES, |call| Box::pin(account::data::export(call))),
];
