//! What the pages and the login API share about codes that are sent by e-mail: the browser's cookie, the mail, the tries.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Mail, Message};
use symbolon_pages::Language;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::precis::login_key;
use symbolon_protocol::refusal::{Details, Reason, Refusal, shown_login_name};
use symbolon_protocol::sign_in::email_code::{CodeRefused, EmailCode, SentCode};
use symbolon_protocol::sign_in::email_code_use::{EmailCodeTry, Recipient};
use symbolon_protocol::user::User;
use symbolon_store::StoreError;

use crate::after_answer::{after_answer, mail_language, may_be_told};
use crate::unknown_account;
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::email_code::{self, NewCode};
use symbolon_app::http::{Call, Context, Failure, cookies, remove_cookie, set_cookie};
use symbolon_app::issuer::IssuerState;
use symbolon_app::rate_limit::LoginFrom;

/// The name of the cookie in load scripts.
const COOKIE_OF_SCRIPTS: &str = "authrim_otp_session";

/// The name of the cookie that keeps what is known about a code.
fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_email_code")
}

/// The cookie by which the browser keeps what is known about a code that is about to be sent.
pub(super) fn remember(context: &Context, new: &NewCode) -> Option<HeaderValue> {
    let Context { app, issuer, .. } = context;
    set_cookie(issuer, &cookie_name(issuer), &new.sealed, new.sent.expires_at().since(app.now()))
}

/// Whether two spellings are one address.
pub(super) fn is_same(address: &str, other: &str) -> bool {
    login_key(address.trim()) == login_key(other.trim())
}

/// The mail with a code, in the person's language or that of the page; `None` for a user without an address.
pub(super) fn mail_to(user: &User, page: Language, code: &EmailCode, lives: Duration) -> Option<Mail> {
    let minutes = u32::try_from(lives.as_secs() / 60).unwrap_or(u32::MAX);
    let code = SecretString::new(code.expose().to_owned());
    let message = Message::EmailCode { code, minutes };
    let language = mail_language(page, user.profile.locale.as_deref());
    Some(Mail { to: user.email.clone()?, language, user: Some(user.id.clone()), client: None, message })
}

/// A code that was asked for: what is left to do when the answer is on its way. Until then nothing was looked up, so the answer
/// takes as long for every name.
pub(super) struct CodeRequest {
    pub(super) context: Context,
    /// The name or address, as it was typed.
    pub(super) name: String,
    /// Where it was asked for.
    pub(super) from: LoginFrom,
    /// Whether only an address counts: a user's name may look like an address of somebody else.
    pub(super) by_address_alone: bool,
    /// The language of the page.
    pub(super) page: Language,
    /// The client in whose request it was asked for.
    pub(super) client: Option<ClientId>,
    pub(super) new: NewCode,
}

impl CodeRequest {
    /// Mails the code to who has the name, at an address that was proven to be theirs, or to an address that no account has that
    /// none has it, where people may register. `mail` makes the mail to a user.
    pub(super) async fn mail_after_answer(
        self,
        mail: impl FnOnce(&Self, &User) -> Option<Mail> + Send + 'static,
    ) {
        let context = self.context.clone();
        let mailing = async move {
            match self.mail(mail).await {
                Ok(Some(mail)) => {
                    let client = self.client.clone();
                    self.context.app.queue_mail(&self.context.issuer, &Mail { client, ..mail }).await;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(target: "symbolon::mail", %error, "a code that was asked for is not mailed");
                }
            }
        };
        after_answer(&context, mailing).await;
    }

    /// The mail, if there is one to send. An address gets no more codes by all names of its account than by its own.
    async fn mail(
        &self,
        mail: impl FnOnce(&Self, &User) -> Option<Mail> + Send,
    ) -> Result<Option<Mail>, StoreError> {
        let Context { app, issuer, .. } = &self.context;
        let Some((user, _)) = app.store.user_by_login(&issuer.id, &self.name).await? else {
            return Ok(unknown_account::mail(&self.context, &self.name, mail_language(self.page, None)));
        };
        let address =
            user.mailable_address().filter(|own| !self.by_address_alone || is_same(own, &self.name));
        let has_room = |own: &&str| may_be_told(&self.context, own, &self.name, self.from.clone());
        let Some(address) = address.filter(has_room) else { return Ok(None) };
        // Before the mail: a code whose recipient is not noted leads nowhere.
        let NewCode { sent, .. } = &self.new;
        let recipient = sent.recipient(&user.id, address, &issuer.sign_in_key);
        let code = (sent.id(), sent.expires_at());
        app.store.note_recipient(&issuer.id, code, recipient).await?.told().await?;
        Ok(mail(self, &user))
    }
}

/// The user to whom a code leads that was right: who had it mailed, if name and proven address are still theirs. The name is
/// looked up now, and what was noted tells whether the account that it leads to is the one that got the mail, at the address
/// that it has.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn recipient(
    context: &Context,
    sent: &SentCode,
    noted: Option<Recipient>,
) -> Result<Option<Arc<User>>, Failure> {
    let Context { app, issuer, .. } = context;
    if let Some(user) = sent.handed_out_for() {
        return match known_owner(context, user, sent.name()).await? {
            None => owner(context, user, sent.name()).await,
            known => Ok(known),
        };
    }
    let found = app.store.user_by_login(&issuer.id, sent.name()).await?.map(|(user, _)| user);
    let Some(user) = found else { return Ok(None) };
    let Some(address) = user.mailable_address() else { return Ok(None) };
    let now = sent.recipient(&user.id, address, &issuer.sign_in_key);
    Ok((noted == Some(now)).then_some(user))
}

/// What the browser keeps about a code that was sent: the last one that was sent, if it has several.
pub(super) fn sent(headers: &HeaderMap, issuer: &IssuerState) -> Option<SentCode> {
    let own = cookie_name(issuer);
    let found = [own.as_str(), COOKIE_OF_SCRIPTS]
        .into_iter()
        .flat_map(|name| cookies(headers, name))
        .filter_map(|value| email_code::open(issuer, value));
    found.max_by_key(SentCode::expires_at)
}

/// Tries a code. A right one is used up by that. Of any number of requests at once, on any number of nodes, as many are told
/// anything as a code has tries, and the work is the same whether it is right.
///
/// # Errors
/// [`Failure`]: the store is out of reach, or has no room.
pub(super) async fn attempt(call: &mut Call, sent: &SentCode, typed: &str) -> Result<EmailCodeTry, Failure> {
    let Call { context, durable, .. } = call;
    let Context { app, issuer, .. } = &*context;
    let is_right = sent.check(EmailCode::parse(typed).as_ref(), &issuer.sign_in_key).is_ok();
    let code = (sent.id(), sent.expires_at());
    Ok(app.store.try_email_code(&issuer.id, code, is_right).await?.take(durable))
}

/// The user by the record that is kept in memory, if active and the owner of the address by it. Spares the look-up by the address
/// where that would find the same: a change of the record drops the copies of all nodes.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn known_owner(
    context: &Context,
    id: &UserId,
    address: &str,
) -> Result<Option<Arc<User>>, Failure> {
    let found = context.app.store.user(&context.issuer.id, id).await?;
    let is_owner = |user: &Arc<User>| user.email.as_deref().is_some_and(|own| is_same(own, address));
    Ok(found.filter(|user| user.may_sign_in() && is_owner(user)))
}

/// The user, if active and still the owner of the address: it may have been given to somebody else since.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn owner(
    context: &Context,
    id: &UserId,
    address: &str,
) -> Result<Option<Arc<User>>, Failure> {
    let found = context.app.store.user_by_login(&context.issuer.id, address).await?;
    Ok(found.map(|(user, _)| user).filter(|user| user.id == *id && user.may_sign_in()))
}

/// Notes a wrong code in the audit log, as an attempt with a wrong password is.
pub(super) fn failed(context: &Context, reason: Reason, typed: &str, client: Option<&ClientId>) {
    let refusal = Refusal::about(reason, details(context, typed));
    let request = RefusedRequest::anonymous(refusal, client);
    context.sign_in_failed(RefusedRequest { actor: Actor::User, ..request });
}

/// The typed address, as it may be written down.
pub(super) fn details(context: &Context, typed: &str) -> Details {
    let digest = context.issuer.login_name_digest(typed);
    Details::default().login_name(&shown_login_name(typed, true), &digest)
}

pub(super) const fn reason_of(why: CodeRefused) -> Reason {
    match why {
        CodeRefused::Expired => Reason::EmailCodeExpired,
        CodeRefused::OtherAddress => Reason::EmailCodeOtherAddress,
        CodeRefused::Wrong => Reason::EmailCodeWrong,
    }
}

/// Has the browser forget the code, by either name of the cookie.
pub(super) fn forget(call: &Call, response: &mut Response) {
    let issuer = &call.context.issuer;
    let own = cookie_name(issuer);
    for name in [own.as_str(), COOKIE_OF_SCRIPTS] {
        if cookies(&call.received.headers, name).next().is_some()
            && let Some(cookie) = remove_cookie(issuer, name)
        {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
}
