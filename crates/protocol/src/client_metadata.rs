//! Client metadata as JSON (RFC 7591 2, OpenID Connect Dynamic Client Registration 2) to and from [`Client`].
//!
//! Every operation first builds a whole document (the defaults, or the client's present metadata with a patch), and
//! then reads it with one set of checks. Members that nobody knows are refused, and so are members that request
//! unsupported features: an administrator relies on what was accepted. (Applications that register themselves may send
//! members that nobody knows, RFC 7591 2: [`client_registration`](crate::client_registration) takes those out before.)

mod assertion_issuers;
mod backchannel;
mod certificate_subject;
mod encryption;
mod grant_types;
mod initiate_login_uri;
mod keys;
mod logout_uris;
mod redirect_uris;
mod request_uris;
mod response_types;
mod secrets;
pub(crate) mod sector;
mod settings;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use crate::branding::{self, Branding};
use crate::claim_definition;
use crate::client::{Client, TokenExchangePolicy};
use crate::client_secret::ClientSecret;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, refused_in_paths};
use crate::json::merge_patch;
use crate::redirect_uri::{self, RedirectUriForm};
use crate::refusal::{Details, Reason};
use crate::scope::Scope;
use crate::settings::{ClientOverrides, LONGEST_LIFE};
use crate::time::Timestamp;
use crate::token::id_jag::{self, IdJagAudience};
use crate::translation::{self, MOST_TRANSLATIONS};
use crate::unknown_member::{self, Members};

pub use secrets::{regenerate_secret, secret_digests};
pub use sector::{check_document, document_needed, document_unread};
pub use settings::is_below_default;

/// A JSON object of metadata.
pub type Metadata = Map<String, Value>;

/// The most values in a list.
const MAX_VALUES: usize = 256;
/// The longest override of a lifetime, in seconds.
const MAX_LIFETIME: u64 = LONGEST_LIFE.as_secs();
/// The longest life of a code, in seconds (RFC 6749 4.1.2: a maximum of 10 minutes is recommended).
const MAX_CODE_LIFETIME: u64 = 600;
/// Registered members for features that are not supported (encryption, forced authentication). They are refused, so
/// that nobody relies on a protection that does not exist.
const UNSUPPORTED: [&str; 5] = [
    "request_object_encryption_alg",
    "request_object_encryption_enc",
    "introspection_encrypted_response_alg",
    "require_auth_time",
    "software_statement",
];
/// The member that asks for tokens which are bound to the client's certificate (RFC 8705 3.4).
const CERTIFICATE_BOUND: &str = "tls_client_certificate_bound_access_tokens";
/// The member with the types of authorization details that a client may ask for (RFC 9396 10). Whether the issuer has each is found out when
/// it is asked for: that is a setting, which changes by itself.
const DETAILS_TYPES: &str = "authorization_details_types";
/// Members of a shown client that a change cannot set. They are accepted, so that what was shown can be sent back.
const SHOWN_ONLY: [&str; 5] =
    ["created_at", "updated_at", "client_id_issued_at", "client_secrets", "client_secret_expires_at"];
/// Members that are stored and displayed, without other effect.
const DISPLAY_URIS: [&str; 4] = ["logo_uri", "client_uri", "policy_uri", "tos_uri"];
const DISPLAY_OTHERS: [&str; 6] = [
    "contacts",
    "application_type",
    "software_id",
    "software_version",
    "sector_identifier_uri",
    "allow_claims_without_scope",
];

/// Members that may be given in further languages, as `client_name#de` (OpenID Connect Dynamic Client Registration 1.0
/// 2.1).
pub const IN_LANGUAGES: [&str; 5] = ["client_name", "logo_uri", "client_uri", "policy_uri", "tos_uri"];

/// A created or changed client, with its secret if that is new. The secret cannot be shown later.
#[must_use]
pub struct Registration {
    /// The record to store.
    pub client: Client,
    /// The new secret, to be shown now.
    pub client_secret: Option<SecretString>,
    /// What the administrator should know of what was accepted.
    pub warnings: Vec<Warning>,
}

/// Something that was accepted although it is weaker than it should be. The message names no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// A given secret is shorter than [`LONG`](crate::client_secret::LONG).
    #[error(
        "client_secret has {0} characters and should have 32 at least: replace it by one that is drawn here \
         (regenerate-secret with keep_old_seconds)"
    )]
    ShortSecret(usize),
    /// A secret came as a digest, which says nothing of the secret's strength.
    #[error(
        "client_secret_digests has a secret whose strength cannot be judged: send only digests of secrets that a provider drew, with 32 \
         characters or more, and replace any other by one that is drawn here (regenerate-secret with keep_old_seconds)"
    )]
    UncheckedSecret,
    /// A form of redirect URIs that only some clients are allowed.
    #[error("redirect_uri_forms allows {name}: {risk}", name = .0.as_str(), risk = .0.risk())]
    Form(RedirectUriForm),
}

/// A new client. `client_id` and `client_secret` are generated unless given. `key` is the issuer's for client secrets.
///
/// # Errors
/// `invalid_request`, naming the member.
pub fn create(
    metadata: Metadata,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    build(metadata, None, key, now, random)
}

/// The client with all metadata replaced: omitted members get their defaults (RFC 7592 2.2). `client_id`,
/// `created_at` and the secrets are kept, unless a new `client_secret` is given.
///
/// # Errors
/// `invalid_request`, naming the member.
pub fn replace(
    client: &Client,
    metadata: Metadata,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    build(metadata, Some(client), key, now, random)
}

/// The client with some members changed; members that are `null` get their defaults (RFC 7396).
///
/// # Errors
/// `invalid_request`, naming the member.
pub fn patch(
    client: &Client,
    mut patch: Metadata,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    let mut document = document(client);
    settings::gather(&mut patch)?;
    merge_patch(&mut document, patch);
    build(document, Some(client), key, now, random)
}

/// The client as JSON. Of its secrets only what may be known of them.
pub fn view(client: &Client) -> Metadata {
    let mut shown = document(client);
    settings::show_earlier_names(&mut shown);
    shown
}

/// The client as JSON, by the present names alone.
pub(crate) fn document(client: &Client) -> Metadata {
    let mut out = client.display.clone();
    let members = json!({
        "client_id": client.client_id,
        "client_name": client.client_name,
        "redirect_uris": client.redirect_uris,
        "post_logout_redirect_uris": client.post_logout_redirect_uris,
        "grant_types": client.grant_types,
        "response_types": client.response_types(),
        "scope": client.scope,
        "token_endpoint_auth_method": client.token_endpoint_auth_method,
        "subject_type": if client.sector.is_some() { sector::PAIRWISE } else { sector::PUBLIC },
        "is_trusted": client.is_trusted,
        "skip_consent": client.skip_consent,
        "audiences": client.audiences,
        "access_token_audiences": client.access_token_audiences,
        "allowed_redirect_origins": client.allowed_redirect_origins,
        "settings": client.settings,
        "created_at": client.created_at,
        "updated_at": client.updated_at,
    });
    let exchange = serde_json::to_value(&client.token_exchange).unwrap_or_default();
    let logout = serde_json::to_value(&client.logout).unwrap_or_default();
    for object in [members, exchange, logout] {
        if let Value::Object(object) = object {
            out.extend(object);
        }
    }
    if !client.redirect_uri_forms.is_empty() {
        out.insert("redirect_uri_forms".to_owned(), json!(client.redirect_uri_forms));
    }
    if !client.assertion_issuers.is_empty() {
        out.insert("assertion_issuers".to_owned(), json!(client.assertion_issuers));
    }
    if !client.request_uris.is_empty() {
        out.insert("request_uris".to_owned(), json!(client.request_uris));
    }
    if client.require_signed_request_object {
        out.insert("require_signed_request_object".to_owned(), true.into());
    }
    if client.require_pushed_authorization_requests {
        out.insert("require_pushed_authorization_requests".to_owned(), true.into());
    }
    if !client.authorization_details_types.is_empty() {
        out.insert(DETAILS_TYPES.to_owned(), json!(client.authorization_details_types));
    }
    if client.dpop_bound_access_tokens {
        out.insert("dpop_bound_access_tokens".to_owned(), true.into());
    }
    if client.tls_client_certificate_bound_access_tokens {
        out.insert("tls_client_certificate_bound_access_tokens".to_owned(), true.into());
    }
    if let Some(subject) = &client.certificate_subject {
        out.insert(subject.member().to_owned(), subject.value().into());
    }
    if !client.default_acr_values.is_empty() {
        out.insert("default_acr_values".to_owned(), json!(client.default_acr_values));
    }
    if !client.client_secrets.is_empty() {
        out.insert("client_secrets".to_owned(), client.client_secrets.iter().map(secret_view).collect());
    }
    backchannel::show(&mut out, client);
    encryption::show(&mut out, &encryption::ID_TOKEN, client.id_token_encryption);
    encryption::show(&mut out, &encryption::USERINFO, client.userinfo_encryption);
    for (name, value) in [
        ("jwks", json!(client.jwks)),
        ("jwks_uri", json!(client.jwks_uri)),
        ("token_endpoint_auth_signing_alg", json!(client.token_endpoint_auth_signing_alg)),
        ("id_token_signed_response_alg", json!(client.id_token_signed_response_alg)),
        ("authorization_signed_response_alg", json!(client.authorization_signed_response_alg)),
        ("userinfo_signed_response_alg", json!(client.userinfo_signed_response_alg)),
        ("introspection_signed_response_alg", json!(client.introspection_signed_response_alg)),
        ("request_object_signing_alg", json!(client.request_object_signing_alg)),
        ("access_token_signed_response_alg", json!(client.access_token_signed_response_alg)),
        ("default_max_age", json!(client.default_max_age)),
        ("initiate_login_uri", json!(client.initiate_login_uri)),
        ("branding", json!(client.branding)),
    ] {
        if !value.is_null() {
            out.insert(name.to_owned(), value);
        }
    }
    out
}

fn secret_view(secret: &ClientSecret) -> Value {
    json!({
        "id": secret.id,
        "created_at": secret.created_at,
        "expires_at": secret.expires_at,
        "last_used_at": secret.last_used_at,
    })
}

impl Registration {
    /// The client as JSON, with the secret if it is new (RFC 7591 3.2.1).
    pub fn view(&self) -> Metadata {
        let mut out = view(&self.client);
        if let Some(secret) = &self.client_secret {
            out.insert("client_secret".to_owned(), secret.expose().into());
            // RFC 7591 3.2.1: required beside a secret; 0 means that it does not expire.
            out.insert("client_secret_expires_at".to_owned(), 0.into());
        }
        out
    }
}

/// Reads a whole document.
fn build(
    mut document: Metadata,
    current: Option<&Client>,
    key: &HmacKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Registration, OAuthError> {
    settings::gather(&mut document)?;
    let doc = &mut Members::new(document);
    refuse_unsupported(doc)?;
    let client_id = client_id(doc, current, random)?;
    let denied = settings::denied(doc);
    let method = take(doc, "token_endpoint_auth_method")?.unwrap_or_default();
    let response_types = response_types::read(doc)?;
    let grant_types = grant_types::read(doc, method, &response_types)?;
    let given = secrets::Given::read(doc)?;
    let own = current.map(|client| client.client_secrets.live(now)).unwrap_or_default();
    let redirect_uri_forms = redirect_uris::forms(doc)?;
    let too_short = given.too_short().map(Warning::ShortSecret);
    let unchecked = given.is_unchecked(&own, key, now).then_some(Warning::UncheckedSecret);
    let forms = redirect_uri_forms.iter().copied().map(Warning::Form);
    let warnings = too_short.into_iter().chain(unchecked).chain(forms).collect();
    let (client_secrets, client_secret) = secrets::secrets(method, given, own, key, now, random)?;
    let client_name = client_name(doc)?;
    let redirect_uris = redirect_uris::read(doc, &grant_types, &redirect_uri_forms)?;
    let sector = sector::read(doc, &redirect_uris, &redirect_uri_forms)?;
    let assertion_issuers = assertion_issuers::read(doc, method)?;
    let signs_itself = assertion_issuers.is_empty();
    let keys::Keys { jwks, jwks_uri } = keys::read(doc, method, &redirect_uri_forms, signs_itself)?;
    let request_uris = request_uris::read(doc, &redirect_uri_forms)?;
    let backchannel = backchannel::read(doc, &grant_types, &redirect_uri_forms)?;
    let published = jwks_uri.is_some();
    let encryption = |doc: &mut _, names| encryption::read(doc, names, jwks.as_ref(), published);
    let id_token_encryption = encryption(doc, &encryption::ID_TOKEN)?;
    let userinfo_encryption = encryption(doc, &encryption::USERINFO)?;
    let client = Client {
        client_id,
        client_secrets,
        client_name,
        logout: logout_uris::read(doc, &redirect_uris, &redirect_uri_forms)?,
        redirect_uris,
        post_logout_redirect_uris: redirect_uris::read_post_logout(doc, &redirect_uri_forms)?,
        redirect_uri_forms,
        response_types: response_types::agree(response_types, &grant_types)?,
        grant_types,
        scope: scope(doc)?,
        token_endpoint_auth_method: method,
        certificate_subject: certificate_subject::read(doc, method)?,
        jwks,
        jwks_uri,
        assertion_issuers,
        token_endpoint_auth_signing_alg: take(doc, "token_endpoint_auth_signing_alg")?,
        id_token_signed_response_alg: take(doc, "id_token_signed_response_alg")?,
        authorization_signed_response_alg: take(doc, "authorization_signed_response_alg")?,
        userinfo_signed_response_alg: algorithm_or_none(doc, "userinfo_signed_response_alg")?,
        id_token_encryption,
        userinfo_encryption,
        introspection_signed_response_alg: algorithm_or_none(doc, "introspection_signed_response_alg")?,
        request_object_signing_alg: take(doc, "request_object_signing_alg")?,
        request_uris,
        require_signed_request_object: take(doc, "require_signed_request_object")?.unwrap_or_default(),
        access_token_signed_response_alg: take(doc, "access_token_signed_response_alg")?,
        dpop_bound_access_tokens: take(doc, "dpop_bound_access_tokens")?.unwrap_or_default(),
        tls_client_certificate_bound_access_tokens: take(doc, CERTIFICATE_BOUND)?.unwrap_or_default(),
        is_trusted: take(doc, "is_trusted")?.unwrap_or_default(),
        skip_consent: take(doc, "skip_consent")?.unwrap_or_default(),
        require_pushed_authorization_requests: take(doc, "require_pushed_authorization_requests")?
            .unwrap_or_default(),
        authorization_details_types: list(doc, DETAILS_TYPES)?,
        token_exchange: token_exchange(doc)?,
        audiences: list(doc, "audiences")?,
        access_token_audiences: list(doc, "access_token_audiences")?,
        allowed_redirect_origins: origins(doc)?,
        default_max_age: take(doc, "default_max_age")?,
        default_acr_values: take(doc, "default_acr_values")?.unwrap_or_default(),
        initiate_login_uri: initiate_login_uri::read(doc)?,
        backchannel,
        sector,
        settings: overrides(doc)?,
        branding: branding(doc)?,
        dynamic_registration: current.and_then(|client| client.dynamic_registration.clone()),
        is_from_document: false,
        display: display(doc)?,
        created_at: current.map_or(now, |client| client.created_at),
        updated_at: current.map_or(now, |client| later(client.updated_at, now)),
        unknown_members: current.map(|client| client.unknown_members.clone()).unwrap_or_default(),
    };
    doc.ignore(&SHOWN_ONLY);
    doc.know(unknown_member::names_of::<ClientOverrides>());
    doc.finish()?;
    if current.is_none() {
        grant_types::check_exchange(&client)?;
    }
    settings::keeps_to_profile(&client, &denied)?;
    // RFC 9449 5, RFC 8705 3: whoever asks for a bound token proves a key, which the authorization endpoint has no place for.
    if client.requires_bound_tokens() && client.response_types().iter().any(|own| own.has_token()) {
        let mend = "leave it out, or use response types without token";
        let name = if client.requires_proof() { "dpop_bound_access_tokens" } else { CERTIFICATE_BOUND };
        return Err(invalid(name, format!("cannot hold for tokens that pass through the browser: {mend}")));
    }
    Ok(Registration { client, client_secret, warnings })
}

/// Always later than before, even if the clock has not advanced: stores detect lost races by `updated_at`.
pub(crate) fn later(before: Timestamp, now: Timestamp) -> Timestamp {
    now.max(Timestamp::from_millis(before.millis().saturating_add(1)))
}

fn invalid(name: &str, why: impl std::fmt::Display) -> OAuthError {
    let description = format!("{name} {why}");
    OAuthError::with(ErrorCode::InvalidRequest, Reason::ClientMetadataInvalid, description)
        .about(Details::of(name))
}

/// A member by its type; absent and `null` mean the same (RFC 7591 2).
fn take<T: DeserializeOwned>(doc: &mut Members, name: &'static str) -> Result<Option<T>, OAuthError> {
    match doc.take(name) {
        None | Some(Value::Null) => Ok(None),
        // The parser's message contains characters that error_description must not contain.
        Some(value) => serde_json::from_value(value)
            .map(Some)
            .map_err(|error| invalid(name, format!("is not valid: {error}").replace(['"', '`'], "'"))),
    }
}

/// An algorithm where `none` means the same as absent, so that no answer is ever a JWT without a signature.
fn algorithm_or_none(doc: &mut Members, name: &'static str) -> Result<Option<Algorithm>, OAuthError> {
    match doc.get(name) {
        Some(value) if *value == "none" => {
            doc.take(name);
            Ok(None)
        }
        _ => take(doc, name),
    }
}

fn list(doc: &mut Members, name: &'static str) -> Result<Vec<String>, OAuthError> {
    let values: Vec<String> = take(doc, name)?.unwrap_or_default();
    if values.len() > MAX_VALUES {
        return Err(invalid(name, "has more than 256 values"));
    }
    if values.iter().any(|value| value.is_empty() || value.len() > 2048) {
        return Err(invalid(name, "must hold texts of 1 to 2048 bytes"));
    }
    Ok(values)
}

/// Refuses members that would change the meaning of the rest.
fn refuse_unsupported(doc: &mut Members) -> Result<(), OAuthError> {
    for name in UNSUPPORTED {
        let is_off =
            |value: &Value| value.is_null() || *value == false || *value == "none" || *value == json!([]);
        if doc.take(name).is_some_and(|value| !is_off(&value)) {
            return Err(invalid(name, "is not supported: leave it out"));
        }
    }
    Ok(())
}

fn client_id(
    doc: &mut Members,
    current: Option<&Client>,
    random: &dyn Random,
) -> Result<ClientId, OAuthError> {
    match (take::<ClientId>(doc, "client_id")?, current) {
        (Some(given), Some(client)) if given != client.client_id => {
            Err(invalid("client_id", "cannot be changed"))
        }
        (_, Some(client)) => Ok(client.client_id.clone()),
        (Some(given), None) => match refused_in_paths(given.as_str()) {
            Some(why) => Err(invalid("client_id", why)),
            None => Ok(given),
        },
        // Starts with a letter, so that no id looks like a command-line option.
        (None, None) => Ok(ClientId::trusted(format!("c{}", random::token_128(random)))),
    }
}

fn client_name(doc: &mut Members) -> Result<String, OAuthError> {
    let name: String = take(doc, "client_name")?.ok_or_else(|| invalid("client_name", "is required"))?;
    check_name("client_name", &name)?;
    Ok(name)
}

fn check_name(member: &str, name: &str) -> Result<(), OAuthError> {
    if name.trim().is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
        return Err(invalid(member, "must be 1 to 255 bytes without control characters"));
    }
    Ok(())
}

/// A link that is displayed. A `javascript:` URI would run at the provider's origin.
fn check_link(member: &str, uri: &str) -> Result<(), OAuthError> {
    if uri.len() > 2048 || redirect_uri::origin(uri).is_none() {
        return Err(invalid(member, "must be an http or https URL"));
    }
    Ok(())
}

/// The members in further languages.
fn translations(doc: &mut Members, shown: &mut Metadata) -> Result<(), OAuthError> {
    for name in IN_LANGUAGES {
        for (member, value) in doc.take_translations(name) {
            if !translation::tag_of(&member, name).is_some_and(translation::is_tag) {
                return Err(invalid(name, "has a translation whose language is no tag of RFC 5646"));
            }
            match &value {
                Value::Null => continue,
                Value::String(text) if name == "client_name" => check_name(&member, text)?,
                Value::String(text) => check_link(&member, text)?,
                _ => return Err(invalid(&member, "must be a text")),
            }
            shown.insert(member, value);
        }
    }
    if shown.keys().filter(|member| member.contains('#')).count() > MOST_TRANSLATIONS {
        return Err(invalid(
            "client_name",
            "and other members are in more than 64 further languages together",
        ));
    }
    Ok(())
}

fn origins(doc: &mut Members) -> Result<Vec<String>, OAuthError> {
    const NAME: &str = "allowed_redirect_origins";
    let origins = list(doc, NAME)?;
    match origins.iter().find(|origin| redirect_uri::origin(origin).as_ref() != Some(*origin)) {
        Some(bad) => Err(invalid(NAME, format!("has {bad}, which is no origin such as https://rp.example"))),
        None => Ok(origins),
    }
}

fn scope(doc: &mut Members) -> Result<Scope, OAuthError> {
    match take::<String>(doc, "scope")? {
        Some(text) => Scope::parse(&text).map_err(|why| invalid("scope", format!("is not valid: {why}"))),
        None => Scope::parse("openid profile email").map_err(|why| invalid("scope", why)),
    }
}

fn token_exchange(doc: &mut Members) -> Result<TokenExchangePolicy, OAuthError> {
    const TARGETS: &str = "allowed_token_exchange_resources";
    let named = doc.get(TARGETS).is_some_and(|targets| !targets.is_null());
    let targets = list(doc, TARGETS)?;
    Ok(TokenExchangePolicy {
        allowed: take(doc, "token_exchange_allowed")?.unwrap_or_default(),
        targets: named.then_some(targets),
        subject_token_clients: take(doc, "allowed_subject_token_clients")?.unwrap_or_default(),
        id_tokens: take(doc, "id_token_exchange_allowed")?.unwrap_or_default(),
        subject_token_issuers: list(doc, "allowed_subject_token_issuers")?,
        id_jag_audiences: id_jag_audiences(doc)?,
        delegation_mode: take(doc, "delegation_mode")?.unwrap_or_default(),
    })
}

fn id_jag_audiences(doc: &mut Members) -> Result<Vec<IdJagAudience>, OAuthError> {
    const NAME: &str = "id_jag_audiences";
    let entries: Vec<IdJagAudience> = take(doc, NAME)?.unwrap_or_default();
    id_jag::check_audiences(&entries).map_err(|why| invalid(NAME, why))?;
    Ok(entries)
}

fn overrides(doc: &mut Members) -> Result<ClientOverrides, OAuthError> {
    if let Some(Value::Object(given)) = doc.get("settings") {
        unknown_member::check(given, unknown_member::names_of::<ClientOverrides>(), "settings")?;
    }
    let own: ClientOverrides = take(doc, "settings")?.unwrap_or_default();
    let bounded = [
        ("settings.code_lifetime", own.code_lifetime, 1, MAX_CODE_LIFETIME),
        ("settings.access_token_lifetime", own.access_token_lifetime, 1, MAX_LIFETIME),
        ("settings.id_token_lifetime", own.id_token_lifetime, 1, MAX_LIFETIME),
        ("settings.refresh_token_idle_lifetime", own.refresh_token_idle_lifetime, 1, MAX_LIFETIME),
        ("settings.refresh_token_absolute_lifetime", own.refresh_token_absolute_lifetime, 1, MAX_LIFETIME),
        ("settings.refresh_retry_window", own.refresh_retry_window, 0, 60),
        ("settings.consent_lifetime_seconds", own.consent_lifetime_seconds, 60, LONGEST_LIFE.as_secs()),
    ];
    for (name, value, least, most) in bounded {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            return Err(invalid(name, format!("must be {least} to {most} seconds")));
        }
    }
    // The text of an error must not contain quotation marks (RFC 6749 5.2), which expressions do.
    claim_definition::check(&own.claims).map_err(|why| {
        invalid("settings.claims", format!("is not valid: {why}").replace(['"', '`', '\\'], "'"))
    })?;
    Ok(own)
}

fn branding(doc: &mut Members) -> Result<Option<Box<Branding>>, OAuthError> {
    if let Some(Value::Object(given)) = doc.get("branding") {
        branding::check_members(given)?;
    }
    let own: Option<Branding> = take(doc, "branding")?;
    let own = own.filter(|own| !own.is_empty());
    if let Some(own) = &own {
        // The message begins with the member's name.
        own.validate().map_err(|why| {
            OAuthError::with(ErrorCode::InvalidRequest, Reason::ClientMetadataInvalid, why)
                .about(Details::of("branding"))
        })?;
    }
    Ok(own.map(Box::new))
}

fn display(doc: &mut Members) -> Result<Metadata, OAuthError> {
    let mut shown = Metadata::new();
    for name in DISPLAY_URIS {
        if let Some(uri) = take::<String>(doc, name)? {
            check_link(name, &uri)?;
            shown.insert(name.to_owned(), uri.into());
        }
    }
    for name in DISPLAY_OTHERS {
        if let Some(value) = take::<Value>(doc, name)? {
            if value.to_string().len() > 4096 {
                return Err(invalid(name, "is longer than 4096 bytes"));
            }
            shown.insert(name.to_owned(), value);
        }
    }
    translations(doc, &mut shown)?;
    Ok(shown)
}

#[cfg(test)]
mod tests;
