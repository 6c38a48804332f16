//! The endpoints that a person's browser calls: authorization, the pages for login, consent, logout and the account, and
//! the walk-through of development mode. [`ENDPOINTS`] are their rows in the endpoint table. Applications that draw their own
//! pages sign people in by the login API, whose rows are [`LOGIN_API`].

mod account;
mod after_answer;
mod assets;
mod authorization_attempt;
mod authorization_details;
mod authorization_response;
mod authorize;
mod branding;
mod browser_accounts;
mod check_session;
mod chosen_password;
mod code_attempt;
mod consent;
mod consent_page;
mod credential_news;
pub mod demo;
mod device;
mod email_code;
mod email_code_attempt;
mod email_code_page;
mod endpoints;
mod first_factor;
mod front_channel;
mod identity_provider;
mod interaction;
mod known_browser;
mod login;
mod login_api;
mod login_form;
mod login_page;
mod logout;
mod magic_link;
mod mailed_link;
mod next_step;
mod notice_page;
mod onward;
mod outbox;
mod passkey_addition;
mod passkey_attempt;
mod passkey_challenge;
mod passkey_offer;
mod passkey_offer_page;
mod passkey_sign_in;
mod password_attempt;
mod recovery;
mod refusal_pause;
mod registration;
mod remembered_device;
mod request_account;
mod requesting_client;
mod root_page;
mod second_factor;
mod second_factor_attempt;
mod second_factor_page;
mod second_factor_policy;
mod second_factor_setup;
mod select_account;
mod select_account_page;
mod sent_twice;
mod session_begin;
mod session_end;
mod session_quota;
mod sign_in_goal;
mod signed_in;
mod step_up;
mod unknown_account;
mod upstream_logout;
mod user_change;

pub use assets::asset_routes;
pub use endpoints::ENDPOINTS;
pub use login_api::LOGIN_API;

#[cfg(test)]
mod tests {
    use symbolon_app::http::Call;

    use super::authorize;

    fn size<'a, F>(_handler: impl Fn(&'a mut Call) -> F) -> usize {
        size_of::<F>()
    }

    /// It is allocated for one request: what is larger than a kilobyte leaves the allocator's fast path.
    #[test]
    fn the_future_of_the_authorization_endpoint_is_small() {
        assert!(size(authorize::authorize) <= 1_024, "{}", size(authorize::authorize));
    }
}
