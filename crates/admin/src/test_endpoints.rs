//! Endpoints that only load tests need: sessions without a login, sign-in codes without a mail, the signing key, families for
//! tokens that were signed elsewhere, and mail. Disabled unless the configuration sets `test_endpoints`.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::Compact;
use symbolon_crypto::random;
use symbolon_mail::{Language, Mail, Message};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::revocation;
use symbolon_protocol::scope::Scope;
use symbolon_protocol::settings::LONGEST_LIFE;
use symbolon_protocol::token::refresh_token::{RegisteredToken, family_of_registered};
use symbolon_protocol::user::{User, UserProfile};
use symbolon_store::port::Created;

use crate::admin_created::{self, Lives};
use crate::call::{Call, Concerns, Payload, created, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use crate::{signing_keys, users};
use symbolon_app::audit::ChangedFields;
use symbolon_app::email_code;
use symbolon_app::http::set_cookie;
use symbolon_app::mail::MailOutcome;
use symbolon_protocol::sign_in::email_code::LIVES;

/// The default lifetime of a session, in seconds.
const DEFAULT_SESSION: u64 = 3600;
/// How long a mail's code is valid by default, and at most, in minutes.
const DEFAULT_MAIL: u64 = 5;
const LONGEST_MAIL: u64 = 24 * 60;
/// The longest session, in seconds.
pub(super) const MAX_TTL: u64 = LONGEST_LIFE.as_secs();
/// The longest lifetime of a token or family, in seconds: tombstones and retired keys are kept that long.
pub(super) const MAX_TOKEN_TTL: u64 = revocation::KEPT_AT_LEAST.as_secs();

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::taking(
            Method::POST,
            "/test/sessions",
            "NewTestSession",
            "Opens a session without a login",
            session,
        )
        .answers(201, reference("TestSession")),
        Operation::taking(
            Method::POST,
            "/test/email-codes",
            "NewTestEmailCode",
            "Draws a sign-in code that is not sent by mail",
            email_code,
        )
        .answers(201, reference("TestEmailCode")),
        Operation::get("/test/signing-key", "Hands out the RS256 key with its private half", signing_key)
            .answers(200, reference("TestSigningKey")),
        Operation::taking(
            Method::POST,
            "/test/tokens",
            "RegisteredToken",
            "Registers a refresh token that was signed elsewhere with the issuer's key",
            token,
        )
        .answers(201, reference("RegisteredTokenResult")),
        Operation::taking(
            Method::POST,
            "/test/mails",
            "NewTestMail",
            "Puts a mail with a code into the queue",
            mail,
        )
        .answers(201, reference("TestMail")),
    ]
}

/// 403 unless the test endpoints are enabled.
fn allowed(call: &Call) -> Result<(), AdminError> {
    if call.app.config.load().security.test_endpoints {
        return Ok(());
    }
    Err(AdminError::access_denied("the test endpoints are off"))
}

async fn session(call: Call, payload: Payload) -> Answer {
    allowed(&call)?;
    let mut fields = payload.fields().await?;
    let named: String = fields.require_either(["user_id", "userId"])?;
    if named.is_empty() {
        return Err(AdminError::invalid("user_id is empty"));
    }
    let ttl = fields.bounded("ttl_seconds", 1..=MAX_TTL)?.unwrap_or(DEFAULT_SESSION);
    fields.finish()?;
    let user = active_user(&call, &named).await?;
    let (id, session) = admin_created::session(&call, user.id.clone(), Duration::from_secs(ttl));
    let (expires_at, made) = (session.expires_at, ChangedFields::made(&session));
    call.app.store.open_session(call.id(), &id, session).await?.told().await?;
    call.audit(Event::SessionCreated, Concerns { user: Some(&user.id), ..Concerns::default() }, made);
    let cookie = set_cookie(&call.issuer, &call.issuer.cookie, id.expose(), Duration::from_secs(ttl));
    let cookie = cookie.as_ref().and_then(|cookie| cookie.to_str().ok());
    Ok(created(&json!({
        "session_id": id.expose(),
        "user_id": user.id,
        "expires_at": expires_at,
        "cookie_value": cookie,
    })))
}

async fn email_code(call: Call, payload: Payload) -> Answer {
    allowed(&call)?;
    let mut fields = payload.fields().await?;
    let email = users::email(&mut fields)?.ok_or_else(|| AdminError::invalid("email is required"))?;
    let may_create = fields.take("create_user")?.unwrap_or(true);
    fields.finish()?;
    let found = call.app.store.user_by_login(call.id(), &email).await?;
    let user = match found.map(|(user, _)| user) {
        Some(user) if user.may_sign_in() => user.id.clone(),
        None if may_create => new_user(&call, &email).await?,
        _ => return Err(AdminError::not_found("there is no such active user")),
    };
    let code = email_code::begin(&call.app, &call.issuer, (&email, Some(user.clone())), LIVES);
    let code = code.map_err(AdminError::internal)?;
    Ok(created(&json!({
        "success": true,
        "code": code.code.expose(),
        "otpSessionId": code.sealed,
        "expiresAt": code.sent.expires_at().seconds(),
        "userId": user,
    })))
}

/// Creates a user with nothing but an e-mail address.
async fn new_user(call: &Call, email: &str) -> Result<UserId, AdminError> {
    let now = call.now();
    let user = User {
        id: UserId::trusted(format!("u{}", random::token_128(&*call.app.random))),
        email: Some(email.to_owned()),
        email_verified: false,
        profile: UserProfile::default(),
        active: true,
        created_at: now,
        updated_at: now,
    };
    let (id, made) = (user.id.clone(), ChangedFields::made(&user));
    if call.app.store.create_user(call.id(), user, None).await? == Created::Exists {
        return Err(AdminError::conflict("another user has just got this address"));
    }
    call.audit(Event::UserCreated, Concerns { user: Some(&id), ..Concerns::default() }, made);
    Ok(id)
}

/// The active user with this id or e-mail address: load scripts have lists of either.
async fn active_user(call: &Call, named: &str) -> Result<std::sync::Arc<User>, AdminError> {
    let mut found = match UserId::parse(named) {
        Ok(id) => call.app.store.user(call.id(), &id).await?,
        Err(_) => None,
    };
    if found.is_none() && named.contains('@') {
        found = call.app.store.user_by_login(call.id(), named).await?.map(|(user, _)| user);
    }
    found
        .filter(|user| user.may_sign_in())
        .ok_or_else(|| AdminError::not_found("there is no such active user"))
}

async fn signing_key(call: Call) -> Answer {
    allowed(&call)?;
    signing_keys::ensure(&call, std::iter::once(Algorithm::Rs256)).await?;
    let ring = call.issuer.keys.load_full();
    let active = ring
        .signing(Algorithm::Rs256, call.now())
        .ok_or_else(|| AdminError::internal("no RS256 key is active"))?;
    let pem = active.key.to_pkcs8_pem().map_err(AdminError::internal)?;
    let public: Value = json!(active.key.public().jwk());
    Ok(ok(&json!({ "kid": active.key.kid(), "privatePEM": pem.expose(), "publicJWK": public })))
}

async fn mail(call: Call, payload: Payload) -> Answer {
    allowed(&call)?;
    let mut fields = payload.fields().await?;
    let to: String = fields.require("to")?;
    let code = fields.secret("code")?.ok_or_else(|| AdminError::invalid("code is required"))?;
    let minutes = fields.bounded("minutes", 1..=LONGEST_MAIL)?.unwrap_or(DEFAULT_MAIL);
    let language = Language::wanted(fields.text("language")?.as_deref());
    fields.finish()?;
    let message = Message::EmailCode { code, minutes: u32::try_from(minutes).unwrap_or(1) };
    let (template, mail) = (message.template(), Mail { to, language, user: None, client: None, message });
    let is_queued = call.app.send_mail(&call.issuer, &mail).await? == MailOutcome::Queued;
    let made = json!({ "template": template, "language": language, "queued": is_queued });
    call.audit(Event::MailQueued, Concerns::default(), ChangedFields::made(&made));
    Ok(created(&json!({ "queued": is_queued })))
}

async fn token(call: Call, payload: Payload) -> Answer {
    allowed(&call)?;
    let mut fields = payload.fields().await?;
    let token = fields.secret("token")?.ok_or_else(|| AdminError::invalid("token is required"))?;
    let (user, client): (UserId, ClientId) = (fields.require("userId")?, fields.require("clientId")?);
    let scope: Scope = fields.require("scope")?;
    let ttl =
        fields.bounded("ttl", 1..=MAX_TOKEN_TTL)?.ok_or_else(|| AdminError::invalid("ttl is required"))?;
    fields.finish()?;
    // Only the `jti` is read here; the signature is verified whenever the token is presented.
    let not_ours = || AdminError::invalid("token is not a JWT with a jti");
    let payload = Compact::parse(token.expose()).and_then(|jwt| jwt.payload()).map_err(|_| not_ours())?;
    let registered = RegisteredToken::parse(&payload).ok_or_else(not_ours)?;
    let lives = Duration::from_secs(ttl);
    let lives = Lives { idle: lives, absolute: lives };
    let family = admin_created::family(&call, client, user, scope, lives);
    let (concerns, made) = ((family.user.clone(), family.client.clone()), ChangedFields::made(&family));
    let id = family_of_registered(call.id(), &registered.jti);
    let begun = call.app.store.begin_family(call.id(), &id, family.into()).await?.told().await?;
    if begun == Created::Exists {
        return Err(AdminError::conflict("a token of this jti is registered already"));
    }
    let (user, client) = (Some(&concerns.0), Some(&concerns.1));
    call.audit(Event::FamilyBegun, Concerns { user, client, detail: Value::Null }, made);
    Ok(created(&json!({ "success": true, "version": 1, "jti": registered.jti, "expiresIn": ttl })))
}
