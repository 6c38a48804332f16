//! Validation of settings.

use std::time::Duration;

use serde_json::{Map, Value};
use symbolon_protocol::authorization_details;
use symbolon_protocol::branding;
use symbolon_protocol::claim_definition;
use symbolon_protocol::pkce::policy;
use symbolon_protocol::revocation::KEPT_AT_LEAST;
use symbolon_protocol::settings::{IssuerSettings, LONGEST_LIFE, Lifetimes, MOST_ACCOUNTS};
use symbolon_protocol::sign_in::origin::MOST_ORIGINS;
use symbolon_protocol::sign_in::puzzle;
use symbolon_protocol::sign_in::second_factor_roles::MOST_ROLES;
use symbolon_protocol::ui_locale::UiLocale;
use symbolon_protocol::unknown_member;

use super::super::error::AdminError;
use super::client_registration;

/// The most work of a password hash, in KiB: what `argon2.import_work` may be at most. An attempt is answered after some
/// twelve seconds then.
const MOST_PASSWORD_WORK_KIB: u64 = 16 << 20;
/// Settings that follow from changes of others, or have endpoints of their own, so that nobody may set them here.
const FOLLOWING: [&str; 5] = [
    "outlived",
    "signing_algorithm_before",
    "clients_define_claims",
    "clients_sign_userinfo",
    "identity_providers",
];

const DAY: u64 = 86_400;
const YEAR: u64 = 365 * DAY;

/// The longest lifetime of access tokens, in seconds. Tombstones are kept at least as long.
const LONGEST_ACCESS_TOKEN: u64 = 30 * DAY;
const _: () = assert!(LONGEST_ACCESS_TOKEN <= KEPT_AT_LEAST.as_secs());

/// For how long a device may stand in for a second factor, in seconds. What ends it is a tombstone.
const LONGEST_DEVICE: u64 = 30 * DAY;
const _: () = assert!(LONGEST_DEVICE < KEPT_AT_LEAST.as_secs());

/// The longest lifetime of a refresh-token family, in seconds.
const LONGEST_FAMILY: u64 = 10 * YEAR;
const _: () = assert!(LONGEST_FAMILY <= LONGEST_LIFE.as_secs());

/// The settings as JSON, without the members that only the server sets.
pub(crate) fn document(settings: &IssuerSettings) -> Map<String, Value> {
    let set = IssuerSettings {
        outlived: None,
        signing_algorithm_before: None,
        clients_define_claims: false,
        clients_sign_userinfo: false,
        identity_providers: Vec::new(),
        ..settings.clone()
    };
    let mut document = match serde_json::to_value(set) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    };
    // What is empty is left out of what is stored: an earlier release refuses members that it does not know.
    for name in [
        "attributes",
        "authorization_details_types",
        "claims",
        "client_id_metadata_documents",
        "client_registration_resources",
        "login_api_origins",
        "second_factor_roles",
        "trusted_issuers",
    ] {
        document.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    }
    if let Some(Value::Object(lifetimes)) = document.get_mut("lifetimes") {
        lifetimes.entry("session_idle").or_insert_with(|| 0.into());
    }
    document.entry("second_factor").or_insert_with(|| "optional".into());
    document.entry("sign_in_methods").or_insert(Value::Null);
    document.entry("sign_in_page").or_insert_with(|| "all_at_once".into());
    document.entry("offer_passkey").or_insert(Value::Bool(true));
    document.entry("remember_device_days").or_insert_with(|| 0.into());
    let usual = IssuerSettings::default();
    let accounts = usual.accounts_per_browser;
    document.entry("accounts_per_browser").or_insert_with(|| accounts.into());
    document.entry("self_deletion").or_insert(Value::Bool(false));
    document.entry("session_management").or_insert(Value::Bool(false));
    document.entry("require_pushed_authorization_requests").or_insert(Value::Bool(false));
    document.entry("token_exchange_id_jag").or_insert(Value::Bool(false));
    document.entry("consent_version").or_insert_with(|| 0.into());
    document.entry("consent_lifetime_seconds").or_insert(Value::Null);
    document.entry("registration").or_insert(Value::Null);
    document.entry("registration_puzzle").or_insert_with(|| 0.into());
    document.entry("client_registration").or_insert_with(|| "off".into());
    document.entry("client_registration_scope").or_insert(Value::Null);
    document.entry("client_registration_full_scope").or_insert(Value::Bool(false));
    document.entry("client_registration_require_software_statement").or_insert(Value::Bool(false));
    document.entry("client_registration_grant_types").or_insert(Value::Null);
    document
        .entry("client_registration_most_clients")
        .or_insert_with(|| usual.client_registration_most_clients.into());
    document
        .entry("client_registration_unused_days")
        .or_insert_with(|| usual.client_registration_unused_days.into());
    document.entry("client_registration_tokens_from").or_insert(Value::Null);
    document.entry("branding").or_insert_with(|| Value::Object(Map::new()));
    document.entry("default_language").or_insert_with(|| UiLocale::default().tag().into());
    document
}

/// The settings as they are shown: also by the names of earlier versions.
pub(crate) fn shown(settings: &IssuerSettings) -> Map<String, Value> {
    let mut shown = document(settings);
    policy::show_earlier_name(&mut shown);
    shown
}

/// Replaces the settings named in `named` within `onto`; `null` restores a default.
///
/// # Errors
/// 400 that names the setting.
pub(crate) fn read(
    mut onto: Map<String, Value>,
    mut named: Map<String, Value>,
) -> Result<IssuerSettings, AdminError> {
    let defaults = document(&IssuerSettings::default());
    if let Some(name) = FOLLOWING.into_iter().find(|own| named.contains_key(*own)) {
        return Err(AdminError::invalid(format!("{name} is not valid: it follows from changes")));
    }
    policy::read_earlier_name(&mut named).map_err(AdminError::invalid)?;
    refuse_unknown(&named)?;
    for (name, value) in named {
        let value = match (onto.get(&name), value) {
            (_, Value::Null) => defaults.get(&name).cloned().unwrap_or_default(),
            (Some(Value::Object(own)), Value::Object(parts)) => {
                let mut own = own.clone();
                own.extend(parts);
                Value::Object(own)
            }
            (_, value) => value,
        };
        // Each value is tried alone on valid settings, so that the error belongs to this setting.
        let mut probe = defaults.clone();
        probe.insert(name.clone(), value.clone());
        if let Err(error) = serde_json::from_value::<IssuerSettings>(Value::Object(probe)) {
            let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            return Err(AdminError::invalid(format!("{name} is not valid: {error}")));
        }
        onto.insert(name, value);
    }
    serde_json::from_value(Value::Object(onto))
        .map_err(|error| AdminError::invalid(format!("the settings are not valid: {error}")))
}

/// Refuses names that no setting has.
fn refuse_unknown(named: &Map<String, Value>) -> Result<(), AdminError> {
    let own = unknown_member::names_of::<IssuerSettings>();
    let known: Vec<&str> = own.iter().copied().filter(|name| !FOLLOWING.contains(name)).collect();
    unknown_member::check(named, &known, "")?;
    if let Some(Value::Object(lifetimes)) = named.get("lifetimes") {
        unknown_member::check(lifetimes, unknown_member::names_of::<Lifetimes>(), "lifetimes")?;
    }
    if let Some(Value::Object(given)) = named.get("branding") {
        branding::check_members(given)?;
    }
    Ok(())
}

/// Checks the bounds.
///
/// # Errors
/// 400 that names the setting.
pub(crate) fn check(settings: &IssuerSettings) -> Result<(), AdminError> {
    let spans = [
        // RFC 6749 4.1.2: a code lives ten minutes at most.
        ("lifetimes.code", settings.lifetimes.code, 1, 600),
        ("lifetimes.access_token", settings.lifetimes.access_token, 1, LONGEST_ACCESS_TOKEN),
        ("lifetimes.id_token", settings.lifetimes.id_token, 1, 30 * DAY),
        ("lifetimes.refresh_token_idle", settings.lifetimes.refresh_token_idle, 60, LONGEST_FAMILY),
        ("lifetimes.refresh_token_absolute", settings.lifetimes.refresh_token_absolute, 60, LONGEST_FAMILY),
        ("lifetimes.session", settings.lifetimes.session, 60, YEAR),
        ("lifetimes.session_idle", settings.lifetimes.session_idle, 0, YEAR),
        ("refresh_retry_window", settings.refresh_retry_window, 0, 60),
        ("key_rotation_days", days(settings.key_rotation_days), 0, 10 * YEAR),
        ("audit_days", days(settings.audit_days), DAY, 10 * YEAR),
        ("remember_device_days", days(settings.remember_device_days), 0, LONGEST_DEVICE),
    ];
    for (name, span, least, most) in spans {
        if !(least..=most).contains(&span.as_secs()) {
            let unit = if name.ends_with("_days") { DAY } else { 1 };
            return Err(AdminError::invalid(format!("{name} must be {} to {}", least / unit, most / unit)));
        }
    }
    if !(1..=100).contains(&settings.token_exchange_max_targets) {
        return Err(AdminError::invalid("token_exchange_max_targets must be 1 to 100"));
    }
    if !(1..=MOST_ACCOUNTS).contains(&settings.accounts_per_browser) {
        return Err(AdminError::invalid(format!("accounts_per_browser must be 1 to {MOST_ACCOUNTS}")));
    }
    let longest_consent = LONGEST_LIFE.as_secs();
    if settings.consent_lifetime_seconds.is_some_and(|life| !(60..=longest_consent).contains(&life)) {
        return Err(AdminError::invalid(format!("consent_lifetime_seconds must be 60 to {longest_consent}")));
    }
    if settings.password_work_kib.is_some_and(|work| work > MOST_PASSWORD_WORK_KIB) {
        return Err(AdminError::invalid(format!(
            "password_work_kib must be at most {MOST_PASSWORD_WORK_KIB}"
        )));
    }
    settings.branding.validate().map_err(AdminError::invalid)?;
    settings.attributes.validate().map_err(|error| AdminError::invalid(error.to_string()))?;
    claim_definition::check(&settings.claims)
        .and_then(|()| claim_definition::check_attributes(&settings.claims, &settings.attributes))
        .map_err(|why| AdminError::invalid(format!("claims is not valid: {why}")))?;
    authorization_details::check_types(&settings.authorization_details_types).map_err(AdminError::invalid)?;
    if settings.login_api_origins.len() > MOST_ORIGINS {
        return Err(AdminError::invalid(format!("login_api_origins has {MOST_ORIGINS} entries at most")));
    }
    if settings.second_factor_roles.ids().len() > MOST_ROLES {
        return Err(AdminError::invalid(format!("second_factor_roles has {MOST_ROLES} entries at most")));
    }
    if settings.registration_puzzle > puzzle::MOST_BITS {
        return Err(AdminError::invalid(format!("registration_puzzle must be 0 to {}", puzzle::MOST_BITS)));
    }
    client_registration::check(settings)?;
    // An idle limit above the absolute one would have no effect, so this is probably a mistake.
    if settings.lifetimes.refresh_token_idle > settings.lifetimes.refresh_token_absolute {
        return Err(AdminError::invalid(
            "lifetimes.refresh_token_idle is longer than refresh_token_absolute",
        ));
    }
    let idle = settings.lifetimes.session_idle;
    if !idle.is_zero() && (idle.as_secs() < 60 || idle > settings.lifetimes.session) {
        return Err(AdminError::invalid("lifetimes.session_idle must be 0, or 60 to lifetimes.session"));
    }
    let sound = |text: &String| (1..=2048).contains(&text.len()) && !text.chars().any(char::is_control);
    if !settings.introspection_audience.as_ref().is_none_or(sound) {
        return Err(AdminError::invalid(
            "introspection_audience must be 1 to 2048 bytes without control characters",
        ));
    }
    Ok(())
}

const fn days(count: u32) -> Duration {
    Duration::from_secs(count as u64 * DAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use symbolon_protocol::pkce::PkcePolicy;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    fn patched(value: Value) -> Result<IssuerSettings, AdminError> {
        let settings = read(document(&IssuerSettings::default()), object(value))?;
        check(&settings).map(|()| settings)
    }

    fn told(value: Value) -> String {
        patched(value).err().map(|error| error.told().1.into_owned()).expect("refused")
    }

    #[test]
    fn the_defaults_are_sound() {
        assert!(check(&IssuerSettings::default()).is_ok());
    }

    #[test]
    fn what_is_not_named_stays() {
        let settings =
            patched(json!({ "lifetimes": { "code": 30 }, "token_exchange": false })).expect("valid");
        assert_eq!(settings.lifetimes.code.as_secs(), 30);
        assert_eq!(settings.lifetimes.access_token, IssuerSettings::default().lifetimes.access_token);
        assert!(!settings.token_exchange);
        let back = read(document(&settings), object(json!({ "token_exchange": null }))).expect("valid");
        assert!(back.token_exchange);
        assert_eq!(back.lifetimes.code.as_secs(), 30);
    }

    #[test]
    fn errors_name_the_setting() {
        assert!(told(json!({ "require_pkce": "yes" })).starts_with("require_pkce is not valid"));
        assert!(told(json!({ "pkce": "sometimes" })).starts_with("pkce is not valid"));
        assert!(told(json!({ "pkce": false })).starts_with("pkce is not valid"));
        assert!(told(json!({ "pkce": "or_nonce", "require_pkce": true })).contains("contradict"));
        assert_eq!(told(json!({ "no_such": null })), "unknown member \"no_such\"");
        assert_eq!(
            told(json!({ "audit_day": 9 })),
            "unknown member \"audit_day\"; did you mean \"audit_days\"?"
        );
        assert_eq!(
            told(json!({ "lifetimes": { "acess_token": 1 } })),
            "unknown member \"lifetimes.acess_token\"; did you mean \"lifetimes.access_token\"?"
        );
        assert_eq!(told(json!({ "outlived": null })), "outlived is not valid: it follows from changes");
        assert_eq!(told(json!({ "lifetimes": { "code": 0 } })), "lifetimes.code must be 1 to 600");
        assert_eq!(told(json!({ "audit_days": 0 })), "audit_days must be 1 to 3650");
        assert!(told(json!({ "password_work_kib": 16_777_217 })).contains("at most 16777216"));
        let back = patched(json!({ "password_work_kib": null })).expect("valid");
        assert_eq!(back, IssuerSettings::default());
        assert!(told(json!({ "clients_define_claims": true })).contains("follows from changes"));
        assert!(told(json!({ "clients_sign_userinfo": true })).contains("follows from changes"));
        let twice = json!({ "claims": [{ "name": "a", "value": 1 }, { "name": "a", "source": "sub" }] });
        assert_eq!(told(twice), "claims is not valid: the claim a: it is defined twice");
        assert!(told(json!({ "claims": [{ "name": "a" }] })).starts_with("claims is not valid"));
        assert!(told(json!({ "claims": [{ "name": "sub", "value": 1 }] })).contains("reserved"));
        assert!(
            told(json!({ "login_api_origins": ["https://*.com"] }))
                .starts_with("login_api_origins is not valid")
        );
        assert!(told(json!({ "default_language": "tlh" })).starts_with("default_language is not valid"));
        assert_eq!(
            told(json!({ "branding": { "acent": {} } })),
            "unknown member \"branding.acent\"; did you mean \"branding.accent\"?"
        );
        assert!(told(json!({ "branding": { "help_uri": "x" } })).starts_with("branding.help_uri must be"));
        let named = patched(json!({ "branding": { "name": "Acme", "foot": "Hi" } })).expect("valid");
        let unnamed = json!({ "branding": { "name": null } });
        let foot = read(document(&named), object(unnamed)).expect("valid").branding;
        assert_eq!((foot.name, foot.foot.as_deref()), (None, Some("Hi")));
        let german = patched(json!({ "default_language": "de" })).expect("valid");
        assert_eq!(document(&german)["default_language"], "de");
        assert!(told(json!({ "signing_algorithm": "none" })).starts_with("signing_algorithm is not valid"));
        assert!(
            told(json!({ "token_exchange_subject_token_types": [] })).contains("turn token exchange off")
        );
    }

    #[test]
    fn registration_by_applications_is_off_until_it_is_set_and_bounded() {
        let usual = document(&IssuerSettings::default());
        assert_eq!(usual["client_registration"], "off");
        assert_eq!(usual["client_registration_most_clients"], 10_000);
        let set = json!({
            "client_registration": "open", "client_registration_scope": "openid tools",
            "client_registration_grant_types": ["authorization_code"], "client_registration_most_clients": 5,
            "client_registration_unused_days": 0, "client_registration_tokens_from": 7,
            "client_registration_resources": ["https://mcp.example/mcp"], "client_registration_full_scope": true,
            "client_registration_require_software_statement": true,
            "client_id_metadata_documents": ["app.example", "*.tools.example", "*"],
        });
        let settings = patched(set.clone()).expect("valid");
        let shown = shown(&settings);
        for (name, value) in object(set) {
            assert_eq!(shown[&name], value, "{name}");
        }
        assert_eq!(read(document(&IssuerSettings::default()), shown).expect("as it is shown"), settings);
        for (name, value) in [
            ("client_registration", json!("everybody")),
            ("client_registration_scope", json!("")),
            ("client_registration_full_scope", json!("yes")),
            ("client_registration_grant_types", json!([])),
            ("client_registration_grant_types", json!(["password"])),
            ("client_registration_resources", json!(["tools"])),
            ("client_registration_resources", json!(["https://mcp.example/mcp#tools"])),
            ("client_registration_resources", json!(vec!["https://mcp.example"; 257])),
            ("client_id_metadata_documents", json!(["https://app.example"])),
            ("client_id_metadata_documents", json!(vec!["app.example"; 257])),
            ("client_registration_most_clients", json!(0)),
            ("client_registration_unused_days", json!(4_000)),
        ] {
            assert!(told(json!({ name: value })).starts_with(name), "{name}");
        }
    }

    #[test]
    fn a_schema_is_replaced_as_a_whole_and_its_faults_are_named() {
        assert_eq!(document(&IssuerSettings::default())["attributes"], json!([]));
        let schema = json!([{ "name": "team", "type": "list", "scope": "work" }]);
        let settings = patched(json!({ "attributes": schema })).expect("valid");
        assert_eq!(settings.attributes.definitions().len(), 1);
        let shown = shown(&settings);
        assert_eq!(read(document(&IssuerSettings::default()), shown).expect("as it is shown"), settings);
        let back = read(document(&settings), object(json!({ "attributes": null }))).expect("valid");
        assert_eq!(back, IssuerSettings::default());
        assert!(told(json!({ "attributes": [{ "name": "x" }] })).starts_with("attributes is not valid"));
        assert!(
            told(json!({ "attributes": [{ "name": "sub", "type": "list" }] }))
                .starts_with("attributes.sub is")
        );
    }

    #[test]
    fn the_pkce_policy_goes_by_both_names_and_what_is_shown_can_be_sent_back() {
        for (sent, policy, earlier) in [
            (json!({}), PkcePolicy::OrNonce, None),
            (json!({ "pkce": "required" }), PkcePolicy::Required, Some(true)),
            (json!({ "require_pkce": true }), PkcePolicy::Required, Some(true)),
            (json!({ "require_pkce": false }), PkcePolicy::Optional, Some(false)),
            (json!({ "pkce": "or_nonce" }), PkcePolicy::OrNonce, None),
        ] {
            let settings = patched(sent.clone()).expect("valid");
            assert_eq!(settings.pkce, policy, "{sent}");
            let shown = shown(&settings);
            assert_eq!(shown["pkce"], policy.as_str(), "{sent}");
            assert_eq!(shown.get("require_pkce").and_then(Value::as_bool), earlier, "{sent}");
            let again = read(document(&IssuerSettings::default()), shown).expect("valid");
            assert_eq!(again, settings, "{sent}");
            let back = read(document(&settings), object(json!({ "require_pkce": null }))).expect("valid");
            assert_eq!(back.pkce, PkcePolicy::OrNonce, "{sent}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_sound_or_refused(number in any::<u64>(), text in ".*") {
            for value in [json!(number), json!(text), json!({ "code": number }), json!([text])] {
                for name in ["lifetimes", "audit_days", "introspection_audience", "token_exchange_max_targets"] {
                    let _ = patched(json!({ name: value }));
                }
            }
        }
    }
}
