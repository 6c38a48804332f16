//! Adding a passkey to an account.
//!
//! It needs a fresh sign-in at the account (WebAuthn 13.4.1): whoever may add a passkey owns the account from then on. Only
//! where the test endpoints are on, a load script may add the first one to an account that has no password and no
//! authenticator, or to a new account, without a session.

use std::sync::Arc;

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use symbolon_crypto::random;
use symbolon_mail::Message;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::refusal::Details;
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::passkey::{Account, NewCredential};
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::{Profile, User};
use symbolon_store::port::{Created, Enrolled};

use super::answer::{FirstStep, Wanted, ok, signed_in, told};
use super::{allowed_origin, body, email, offered, person};
use crate::credential_news;
use crate::interaction::session_of;
use crate::passkey_addition::{add, check_room, not_allowed};
use crate::passkey_challenge::{Ceremony, Challenge, refused, relying_party};
use symbolon_app::http::csrf::INTERACTION_LIVES;
use symbolon_app::http::{Call, Context, Failure};

/// Adding a passkey.
#[derive(Serialize, Deserialize)]
struct Adding {
    user: UserId,
    /// The account to create, unless there is one.
    new: Option<NewAccount>,
}

#[derive(Clone, Serialize, Deserialize)]
struct NewAccount {
    email: String,
    name: Option<String>,
}

impl Ceremony for Adding {
    const PURPOSE: &'static str = "passkey registration";
}

#[derive(Deserialize)]
struct OptionsRequest {
    email: Option<String>,
    #[serde(rename = "userId")]
    user_id: Option<UserId>,
    name: Option<String>,
}

/// `POST /api/auth/passkey/register/options`
///
/// # Errors
/// [`Failure`]
pub(super) async fn options(call: &mut Call) -> Result<Response, Failure> {
    let origin = allowed_origin(call)?;
    offered(call, SignInMethod::Passkey)?;
    let asked: OptionsRequest = body(call)?;
    let address = asked.email.as_deref().map(email).transpose()?;
    let named = named(&call.context, asked.user_id.as_ref(), address).await?;
    let (user, new) = match &named {
        Some(user) => (User::clone(user), None),
        None => {
            let name = asked.name.as_deref().map(person).transpose()?.filter(|name| !name.is_empty());
            let email = address.ok_or_else(not_allowed)?.to_owned();
            let new = NewAccount { email, name: name.map(str::to_owned) };
            let id = UserId::trusted(format!("u{}", random::token_128(&*call.context.app.random)));
            (new_user(&call.context, id, &new), Some(new))
        }
    };
    let holder = Holder::of(call, &user, new.is_some()).await?;
    let set = &holder.enrolled.set;
    check_room(&user, set)?;
    let challenge = Challenge::make(&call.context, &origin, Adding { user: user.id.clone(), new })?;
    let name = user.email.as_deref().unwrap_or(user.id.as_str());
    let display_name = user.profile.name.as_deref().unwrap_or(name);
    let account = Account { user: &user.id, name, display_name };
    let options = relying_party(&call.context, &origin)?.creation_options(account, &set.passkeys, &challenge);
    Ok(ok(Map::from_iter([("options".to_owned(), options), ("userId".to_owned(), json!(user.id))])))
}

#[derive(Deserialize)]
struct Answered {
    #[serde(rename = "userId")]
    user_id: UserId,
    credential: Value,
    #[serde(rename = "deviceName")]
    device_name: Option<String>,
}

/// `POST /api/auth/passkey/register/verify`
///
/// # Errors
/// [`Failure`]
pub(super) async fn verify(call: &mut Call) -> Result<Response, Failure> {
    let origin = allowed_origin(call)?;
    offered(call, SignInMethod::Passkey)?;
    let Answered { user_id, credential, device_name } = body(call)?;
    let context = call.context.clone();
    let no = |why| refused(why, Details::of_user(&user_id));
    let answer = NewCredential::parse(credential).map_err(no)?;
    let text = answer.challenge().map_err(no)?;
    let challenge = Challenge::<Adding>::open(&context, &origin, &text)?;
    let Adding { user, new } = &challenge.ceremony;
    if *user != user_id {
        return Err(not_allowed());
    }
    let user = match new {
        Some(new) => Arc::new(new_user(&context, user_id.clone(), new)),
        None => named(&context, Some(&user_id), None).await?.ok_or_else(not_allowed)?,
    };
    let holder = Holder::of(call, &user, new.is_some()).await?;
    check_room(&user, &holder.enrolled.set)?;
    let (known, name) = (&holder.enrolled.set.passkeys, device_name.as_deref());
    let added = relying_party(&context, &origin)?.register(&answer, &text, known, name, context.app.now());
    let added = added.map_err(no)?;
    challenge.use_up(call, &text).await?;
    if new.is_some() {
        create(&context, &user).await?;
    }
    let has_session = holder.has_session;
    let news = new.is_none().then(|| Message::NewPasskey { name: added.name.clone(), at: added.created_at });
    let enrolled = add(&context, &user, &added, holder.enrolled, has_session).await?;
    context.audit(Event::PasskeyAdded, Some(&user.id), None);
    if let Some(news) = news {
        credential_news::tell(&context, &call.received, &user, news).await;
    }
    let about = json!({ "verified": true, "passkeyId": added.id, "message": "the passkey was added" });
    if has_session {
        return Ok(ok(told(&user, about)));
    }
    let proven = Proven::by(Factor::Passkey { is_synced: added.is_synced }, context.app.now());
    let first = FirstStep { proven, proof: None, enrolled };
    signed_in(call, (&origin, &Wanted::default()), (&user, first), about).await
}

/// The user that a request names; both names must be the same one's.
async fn named(
    context: &Context,
    id: Option<&UserId>,
    address: Option<&str>,
) -> Result<Option<Arc<User>>, Failure> {
    let Context { app, issuer, .. } = context;
    let found = match (id, address) {
        (Some(id), _) => app.store.user(&issuer.id, id).await?,
        (None, Some(address)) => app.store.user_by_login(&issuer.id, address).await?.map(|(user, _)| user),
        (None, None) => None,
    };
    if id.is_some() && found.is_none() {
        return Err(not_allowed());
    }
    Ok(found)
}

/// Somebody who may add a passkey to an account.
struct Holder {
    enrolled: Enrolled,
    /// Whether the browser has a session of this account.
    has_session: bool,
}

impl Holder {
    /// Whoever sends a request, if they may add a passkey to this account. Refused alike whether there is such an account
    /// or not.
    ///
    /// # Errors
    /// 403
    async fn of(call: &mut Call, user: &User, is_new: bool) -> Result<Self, Failure> {
        let Call { context, received, durable, .. } = call;
        let Context { app, issuer, .. } = &*context;
        let now = app.now();
        let session = session_of(context, received, durable).await?;
        let own = session.filter(|(_, session)| !is_new && session.user == user.id);
        let is_fresh = own.as_ref().is_some_and(|(_, session)| {
            session.is_sign_in() && now.since(session.auth_time) <= INTERACTION_LIVES
        });
        let has_session = own.is_some();
        if !is_fresh && (has_session || !app.config.load().security.test_endpoints) {
            return Err(not_allowed());
        }
        if !user.may_sign_in() {
            return Err(not_allowed());
        }
        if is_new {
            return Ok(Self { enrolled: Enrolled::default(), has_session });
        }
        let enrolled = app.store.authenticators(&issuer.id, &user.id).await?;
        if !is_fresh {
            let passwords = app.store.passwords_of(&issuer.id, std::slice::from_ref(&user.id)).await?;
            let is_bare = passwords.iter().all(Option::is_none) && enrolled.set.is_empty();
            if !is_bare {
                return Err(not_allowed());
            }
        }
        Ok(Self { enrolled, has_session })
    }
}

fn new_user(context: &Context, id: UserId, new: &NewAccount) -> User {
    let now = context.app.now();
    User {
        id,
        email: Some(new.email.clone()),
        email_verified: false,
        profile: Profile { name: new.name.clone(), ..Profile::default() }.into(),
        active: true,
        created_at: now,
        updated_at: now,
    }
}

/// Creates the account of somebody who has proven to have its passkey.
async fn create(context: &Context, user: &User) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    match app.store.create_user(&issuer.id, user.clone(), None).await? {
        Created::Created => {
            context.audit(Event::UserCreated, Some(&user.id), None);
            Ok(())
        }
        // Somebody else has taken the address meanwhile.
        Created::Exists => Err(not_allowed()),
    }
}
