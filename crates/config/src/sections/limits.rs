//! Rate limits per endpoint class.

use std::num::NonZeroU32;

use super::Section;
use super::listen::is_off;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;
use crate::units::Rate;
use crate::value::Value;

/// A limit on a number; `None` means no limit.
pub type Cap = Option<NonZeroU32>;

/// A key for a limit on simultaneous things; 0 removes the limit, which gives up a protection.
const fn cap(path: &'static str, env: &'static str, flag: &'static str, default: &'static str) -> Key {
    Key::new(path, env, flag, ValueKind::Count { min: 0, max: 1_000_000 })
        .default(default)
        .live()
        .weakens(|value| matches!(value, Value::Count(0)), "One limit of what may be at once is lifted.")
}

/// A key for one rate limit. Removing it gives up a protection.
const fn limit(path: &'static str, env: &'static str, flag: &'static str, default: &'static str) -> Key {
    Key::new(path, env, flag, ValueKind::Rate)
        .default(default)
        .live()
        .weakens(|value| matches!(value, Value::Rate(None)), "One rate limit is lifted.")
}

pub(crate) const SECTION: Section = Section {
    title: "Rate limits",
    intro: "A limit is a bucket: that many requests at once, refilled evenly over the span. `client` counts per \
            authenticated client, so that a back-end is not punished for its one address; `address` counts \
            requests that nobody authenticated, per client address (per /64 of IPv6). Beyond a limit the answer \
            is 429 with Retry-After.",
    keys: &[
        Key::new("rate_limits", "SYMBOLON_RATE_LIMITS", "--rate-limits", ValueKind::Switch)
            .default("true")
            .live()
            .doc("Rate limits as a whole. Off lifts every cap, those per user and account too.")
            .weakens(
                is_off,
                "Rate limits are off: passwords and codes can be guessed as fast as the server answers.",
            ),
        limit(
            "rate_limit.authorize.address",
            "SYMBOLON_RATE_LIMIT_AUTHORIZE_ADDRESS",
            "--rate-limit-authorize-address",
            "1200/m",
        )
        .doc("Authorization requests per address."),
        limit(
            "rate_limit.authorize.user",
            "SYMBOLON_RATE_LIMIT_AUTHORIZE_USER",
            "--rate-limit-authorize-user",
            "30/m",
        )
        .doc(
            "Authorization codes per user. Each is kept until it ends; a redeemed one counts a tenth. Beyond it the client is \
             told `temporarily_unavailable`, and no code is made.",
        ),
        limit(
            "rate_limit.assertion.client",
            "SYMBOLON_RATE_LIMIT_ASSERTION_CLIENT",
            "--rate-limit-assertion-client",
            "500/s",
        )
        .doc(
            "Client assertions per client that signs them, at all endpoints together. Each leaves a mark until nobody could \
             use it again.",
        ),
        limit(
            "rate_limit.token.client",
            "SYMBOLON_RATE_LIMIT_TOKEN_CLIENT",
            "--rate-limit-token-client",
            "1000/s",
        )
        .doc("Token requests per authenticated client."),
        limit(
            "rate_limit.token.address",
            "SYMBOLON_RATE_LIMIT_TOKEN_ADDRESS",
            "--rate-limit-token-address",
            "600/m",
        )
        .doc("Token requests of public clients, and failed client authentications, per address."),
        limit(
            "rate_limit.userinfo.user",
            "SYMBOLON_RATE_LIMIT_USERINFO_USER",
            "--rate-limit-userinfo-user",
            "60/s",
        )
        .doc(
            "UserInfo requests per user and client of the token. What is refused here does not count against the \
             client, so one user cannot use up what the client's other users need.",
        ),
        limit(
            "rate_limit.userinfo.client",
            "SYMBOLON_RATE_LIMIT_USERINFO_CLIENT",
            "--rate-limit-userinfo-client",
            "1000/s",
        )
        .doc("UserInfo requests per client of the token, for all its users together."),
        limit(
            "rate_limit.userinfo.address",
            "SYMBOLON_RATE_LIMIT_USERINFO_ADDRESS",
            "--rate-limit-userinfo-address",
            "600/m",
        )
        .doc("UserInfo requests without a valid token per address."),
        limit(
            "rate_limit.introspect.client",
            "SYMBOLON_RATE_LIMIT_INTROSPECT_CLIENT",
            "--rate-limit-introspect-client",
            "2000/s",
        )
        .doc("Introspection requests per authenticated client."),
        limit(
            "rate_limit.introspect.address",
            "SYMBOLON_RATE_LIMIT_INTROSPECT_ADDRESS",
            "--rate-limit-introspect-address",
            "300/m",
        )
        .doc("Introspection requests with failed client authentication per address."),
        limit(
            "rate_limit.revoke.client",
            "SYMBOLON_RATE_LIMIT_REVOKE_CLIENT",
            "--rate-limit-revoke-client",
            "500/s",
        )
        .doc("Revocation requests per authenticated client."),
        limit(
            "rate_limit.revoke.address",
            "SYMBOLON_RATE_LIMIT_REVOKE_ADDRESS",
            "--rate-limit-revoke-address",
            "300/m",
        )
        .doc("Revocation requests of public clients, and failed client authentications, per address."),
        limit(
            "rate_limit.par.client",
            "SYMBOLON_RATE_LIMIT_PAR_CLIENT",
            "--rate-limit-par-client",
            "500/s",
        )
        .doc("Pushed authorization requests per authenticated client. Each is kept until it is used, for a minute at most."),
        limit(
            "rate_limit.par.address",
            "SYMBOLON_RATE_LIMIT_PAR_ADDRESS",
            "--rate-limit-par-address",
            "600/m",
        )
        .doc(
            "Pushed authorization requests of public clients, and failed client authentications, per address.",
        ),
        limit(
            "rate_limit.device_authorization.client",
            "SYMBOLON_RATE_LIMIT_DEVICE_AUTHORIZATION_CLIENT",
            "--rate-limit-device-authorization-client",
            "50/s",
        )
        .doc("Device authorization requests per authenticated client. Each is kept for ten minutes."),
        limit(
            "rate_limit.device_authorization.address",
            "SYMBOLON_RATE_LIMIT_DEVICE_AUTHORIZATION_ADDRESS",
            "--rate-limit-device-authorization-address",
            "60/m",
        )
        .doc("Device authorization requests of public clients, and failed client authentications, per address."),
        limit(
            "rate_limit.backchannel_authentication.client",
            "SYMBOLON_RATE_LIMIT_BACKCHANNEL_AUTHENTICATION_CLIENT",
            "--rate-limit-backchannel-authentication-client",
            "50/s",
        )
        .doc("Backchannel authentication requests per authenticated client. Each asks a person, and is kept for five minutes."),
        limit(
            "rate_limit.backchannel_authentication.address",
            "SYMBOLON_RATE_LIMIT_BACKCHANNEL_AUTHENTICATION_ADDRESS",
            "--rate-limit-backchannel-authentication-address",
            "60/m",
        )
        .doc("Backchannel authentication requests with failed client authentication per address."),
        limit(
            "rate_limit.client_registration.address",
            "SYMBOLON_RATE_LIMIT_CLIENT_REGISTRATION_ADDRESS",
            "--rate-limit-client-registration-address",
            "60/m",
        )
        .doc("Registrations of clients by themselves, requests that read, change or delete one, and metadata documents of clients that are fetched, per address."),
        limit(
            "rate_limit.logout.address",
            "SYMBOLON_RATE_LIMIT_LOGOUT_ADDRESS",
            "--rate-limit-logout-address",
            "600/m",
        )
        .doc("Logout requests, and answers to the page that asks whether to sign out, per address."),
        limit(
            "rate_limit.login.account",
            "SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT",
            "--rate-limit-login-account",
            "10/m",
        )
        .doc("Failed passwords and e-mail codes per login name and address. It delays and never locks the account."),
        limit(
            "rate_limit.login.address",
            "SYMBOLON_RATE_LIMIT_LOGIN_ADDRESS",
            "--rate-limit-login-address",
            "60/m",
        )
        .doc("Failed passwords and e-mail codes per address, whatever the account."),
        limit(
            "rate_limit.login.success",
            "SYMBOLON_RATE_LIMIT_LOGIN_SUCCESS",
            "--rate-limit-login-success",
            "60/m",
        )
        .doc("Right passwords per login name and address; login forms that a signed-in browser sends again, per user and address."),
        limit(
            "rate_limit.email_code.send",
            "SYMBOLON_RATE_LIMIT_EMAIL_CODE_SEND",
            "--rate-limit-email-code-send",
            "3/15m",
        )
        .doc("Codes and links sent to one e-mail address, or asked for by one name, whoever asks for them."),
        limit(
            "rate_limit.mail.address",
            "SYMBOLON_RATE_LIMIT_MAIL_ADDRESS",
            "--rate-limit-mail-address",
            "30/15m",
        )
        .doc("Mails that people ask for by typing an address or a name, per address that they ask from: codes, links, registration, recovery. A right code gives nine tenths back."),
        cap(
            "rate_limit.login.account_in_flight",
            "SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT_IN_FLIGHT",
            "--rate-limit-login-account-in-flight",
            "4",
        )
        .doc("Passwords that are checked at once per login name and address, right ones too. 0 is no limit."),
        cap(
            "rate_limit.login.address_in_flight",
            "SYMBOLON_RATE_LIMIT_LOGIN_ADDRESS_IN_FLIGHT",
            "--rate-limit-login-address-in-flight",
            "32",
        )
        .doc("Passwords that are checked at once per address, whatever the account. 0 is no limit."),
        cap(
            "rate_limit.login.sessions",
            "SYMBOLON_RATE_LIMIT_LOGIN_SESSIONS",
            "--rate-limit-login-sessions",
            "100",
        )
        .doc(
            "Sessions of one user that began by signing in. Beyond it a sign-in ends the oldest. Those made through the \
             admin API are not counted. 0 is no limit.",
        ),
        limit(
            "rate_limit.admin.address",
            "SYMBOLON_RATE_LIMIT_ADMIN_ADDRESS",
            "--rate-limit-admin-address",
            "60/m",
        )
        .doc("Requests to the admin API with a wrong secret per address."),
        Key::new(
            "rate_limit.connections.address",
            "SYMBOLON_RATE_LIMIT_CONNECTIONS_ADDRESS",
            "--rate-limit-connections-address",
            ValueKind::Count { min: 0, max: 1_000_000 },
        )
        .unset("512, or a quarter of `http.max_connections` where that is less")
        .live()
        .doc(
            "Open connections of the public listener per address; more are closed at once. Trusted proxies are exempt: of \
             them so many requests may be in flight per forwarded address, and more are answered 429. 0 is no limit.",
        )
        .weakens(|value| matches!(value, Value::Count(0)), "One address may hold every connection."),
    ],
};

/// The limits of one endpoint class; `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLimit {
    /// Per authenticated client.
    pub client: Option<Rate>,
    /// Per address, for requests that are not authenticated.
    pub address: Option<Rate>,
}

/// The limits of sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginLimits {
    /// Failed passwords per login name and address.
    pub account: Option<Rate>,
    /// Failed passwords per address.
    pub address: Option<Rate>,
    /// Right passwords per login name and address; forms that a signed-in browser sends again, per user and address.
    pub success: Option<Rate>,
    /// Passwords checked simultaneously per login name and address.
    pub account_in_flight: Cap,
    /// Passwords checked simultaneously per address.
    pub address_in_flight: Cap,
    /// Sessions per user that began by signing in.
    pub sessions: Cap,
    /// Codes sent per e-mail address.
    pub email_codes: Option<Rate>,
    /// Mails asked for per address.
    pub mails: Option<Rate>,
}

/// All rate limits. If `enabled` is false, each is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    /// Whether rate limits apply.
    pub enabled: bool,
    /// Authorization requests per address.
    pub authorize: Option<Rate>,
    /// Authorization codes per user.
    pub authorize_user: Option<Rate>,
    /// Client assertions per client.
    pub assertion_client: Option<Rate>,
    /// The token endpoint.
    pub token: EndpointLimit,
    /// UserInfo.
    pub userinfo: EndpointLimit,
    /// UserInfo requests per user and client.
    pub userinfo_user: Option<Rate>,
    /// Introspection.
    pub introspect: EndpointLimit,
    /// Revocation.
    pub revoke: EndpointLimit,
    /// Pushed authorization requests.
    pub par: EndpointLimit,
    /// Device authorization requests.
    pub device_authorization: EndpointLimit,
    /// Backchannel authentication requests.
    pub backchannel_authentication: EndpointLimit,
    /// Registrations of clients by themselves, and their management, per address.
    pub client_registration: Option<Rate>,
    /// Logout requests and confirmations per address.
    pub logout: Option<Rate>,
    /// Sign-in.
    pub login: LoginLimits,
    /// Wrong admin secrets per address.
    pub admin_address: Option<Rate>,
    /// Open connections per address; for clients of a trusted proxy, requests in flight per address.
    pub connections: Cap,
    /// Bytes of all request bodies in flight together. Applies even if rate limits are off.
    pub body_budget: usize,
}

pub(crate) fn build(reader: &mut Reader) -> RateLimits {
    let enabled = reader.switch("rate_limits");
    let login = login(reader, enabled);
    let connections = connections(reader).filter(|_| enabled);
    let mut rate = |path| reader.rate(path).filter(|_| enabled);
    RateLimits {
        enabled,
        authorize: rate("rate_limit.authorize.address"),
        authorize_user: rate("rate_limit.authorize.user"),
        assertion_client: rate("rate_limit.assertion.client"),
        token: EndpointLimit {
            client: rate("rate_limit.token.client"),
            address: rate("rate_limit.token.address"),
        },
        userinfo: EndpointLimit {
            client: rate("rate_limit.userinfo.client"),
            address: rate("rate_limit.userinfo.address"),
        },
        userinfo_user: rate("rate_limit.userinfo.user"),
        introspect: EndpointLimit {
            client: rate("rate_limit.introspect.client"),
            address: rate("rate_limit.introspect.address"),
        },
        revoke: EndpointLimit {
            client: rate("rate_limit.revoke.client"),
            address: rate("rate_limit.revoke.address"),
        },
        par: EndpointLimit { client: rate("rate_limit.par.client"), address: rate("rate_limit.par.address") },
        device_authorization: EndpointLimit {
            client: rate("rate_limit.device_authorization.client"),
            address: rate("rate_limit.device_authorization.address"),
        },
        backchannel_authentication: EndpointLimit {
            client: rate("rate_limit.backchannel_authentication.client"),
            address: rate("rate_limit.backchannel_authentication.address"),
        },
        client_registration: rate("rate_limit.client_registration.address"),
        logout: rate("rate_limit.logout.address"),
        login,
        admin_address: rate("rate_limit.admin.address"),
        connections,
        body_budget: body_budget(reader),
    }
}

/// The budget must have room for the longest body.
fn body_budget(reader: &mut Reader) -> usize {
    let (budget, longest) = (reader.bytes("http.body_budget"), reader.bytes("http.max_body"));
    if budget < longest && !reader.failed("http.body_budget") && !reader.failed("http.max_body") {
        let mend = format!("give {longest}B or more, or lower `http.max_body`");
        reader.refuse("http.body_budget", "is less than http.max_body", mend);
    }
    budget
}

/// The default is well below the limit of all connections, so that one address cannot use up all of them.
fn connections(reader: &mut Reader) -> Cap {
    let path = "rate_limit.connections.address";
    let most = reader.optional_count(path).unwrap_or_else(|| {
        let most = (reader.count("http.max_connections") / 4).clamp(1, 512);
        reader.settings.fill(path, Value::Count(most));
        most
    });
    NonZeroU32::new(u32::try_from(most).unwrap_or(u32::MAX))
}

fn login(reader: &mut Reader, enabled: bool) -> LoginLimits {
    let mut cap = |path| NonZeroU32::new(reader.small_count(path)).filter(|_| enabled);
    let (account_in_flight, address_in_flight) =
        (cap("rate_limit.login.account_in_flight"), cap("rate_limit.login.address_in_flight"));
    let sessions = cap("rate_limit.login.sessions");
    let mut rate = |path| reader.rate(path).filter(|_| enabled);
    LoginLimits {
        account: rate("rate_limit.login.account"),
        address: rate("rate_limit.login.address"),
        success: rate("rate_limit.login.success"),
        account_in_flight,
        address_in_flight,
        sessions,
        email_codes: rate("rate_limit.email_code.send"),
        mails: rate("rate_limit.mail.address"),
    }
}
