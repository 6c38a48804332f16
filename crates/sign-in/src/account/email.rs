//! The address of an account: proven by a code or a link, and changed.
//!
//! A new address counts when it is proven, and not before: until then the present one stays. The present one is told. Whoever
//! has the session and not the mailbox cannot put somebody else's address there, and whoever has the mailbox and not the
//! session cannot put it into somebody else's account: the code is typed, or the link opened, in the browser that asked.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Language as MailLanguage, Mail, Message};
use symbolon_pages::{
    AccountPlace, EmailError, EmailPage, MailedCodeError, MailedCodeGoal, MailedCodePage, NewPassword, Notice,
};
use symbolon_protocol::email_address;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::precis::login_key;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::sign_in::email_code::EmailCode;
use symbolon_protocol::sign_in::mailed_code::{LIVES, MailedCode};
use symbolon_protocol::sign_in::registration::Standing;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

use super::{Person, Visitor, form, visitor};
use crate::after_answer::{after_answer, mail_language, may_be_told};
use crate::code_attempt::{self, status};
use crate::interaction::{Interaction, Pending, address, session_of};
use crate::login_page::append;
use crate::mailed_link::{self, Mailed, OpenedLink};
use crate::notice_page::notice;
use crate::sent_twice::Looks;
use crate::sign_in_goal::Freshness;
use crate::user_change::{Change, change, give_up_claim};
use crate::{known_browser, onward, recovery};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};
use symbolon_app::mail::language_of;
use symbolon_app::rate_limit::{Limited, LoginFrom};
use symbolon_app::registration::page_url;

const PLACE: AccountPlace = AccountPlace::Profile;

/// The path of the page with the address.
pub(in super::super) const PATH: &str = "/account/email";
/// The path of the page that waits for the code.
pub(in super::super) const VERIFY: &str = "/verify-email";
/// The path of the links in mails.
pub(in super::super) const LINK: &str = "/verify-email/link";
/// The path of the page that says that it is done.
pub(in super::super) const DONE: &str = "/verify-email/done";

/// An address that waits to be proven for an account.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PendingEmail {
    user: UserId,
    code: MailedCode,
    #[serde(default)]
    is_proven: bool,
}

impl Pending for PendingEmail {
    const PURPOSE: &'static str = "email";

    fn forget(&mut self, now: Option<Timestamp>) {
        self.is_proven &= now.is_some_and(|now| self.code.is_live(now));
    }
}

impl Mailed for PendingEmail {
    const LINK_PURPOSE: &'static str = "email link";
    const LINK_PATH: &'static str = LINK;

    fn code(&self) -> Option<&MailedCode> {
        Some(&self.code)
    }

    fn set_proven(&mut self) {
        self.is_proven = true;
    }
}

/// `GET /account/email`
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => page(call, &person, None),
        Visitor::Stranger(answer) => Ok(answer),
    }
}

/// `POST /account/email`: mails a code to the address, or says there that it has an account.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let person = match visitor(call, PLACE, Freshness::Fresh).await? {
        Visitor::Person(person) => person,
        Visitor::Stranger(answer) => return Ok(answer),
    };
    let form = form(call);
    let params = Params::parse(&form)?;
    if !person.accepts(call, &params, PLACE)? {
        return page(call, &person, Some(EmailError::Expired));
    }
    let Call { context, received, .. } = &*call;
    let Context { app, issuer, .. } = context;
    let Some(email) = email_address::typed(params.get("email")?.unwrap_or_default()) else {
        return page(call, &person, Some(EmailError::Email));
    };
    // The address may be the one that the account has, and has not proven yet.
    let from = known_browser::origin(context, received, email);
    let limited = app.rate_limits.check_mail(&issuer.id, email, from.clone(), app.now());
    if let Err(Limited { retry_after_seconds }) = limited {
        return page(call, &person, Some(EmailError::TooManyAttempts { retry_after_seconds }));
    }
    let (code, expires_at) = (EmailCode::draw(&*app.random), app.now() + LIVES);
    let mailed = MailedCode::new(email, &code, &issuer.sign_in_key, expires_at, &*app.random);
    let pending = PendingEmail { user: person.user.id.clone(), code: mailed, is_proven: false };
    let interaction = Interaction::begin(context, received, pending);
    // Without room for a link the code is enough; there always is, because an address is short.
    let url = mailed_link::link(context, &interaction, None)?;
    let url = url.unwrap_or_else(|| SecretString::new(page_url(issuer, PATH)));
    let code = SecretString::new(code.expose().to_owned());
    let minutes = u32::try_from(LIVES.as_secs() / 60).unwrap_or(u32::MAX);
    let message = Message::VerifyEmail { code: Some(code), url, minutes };
    let (user, language) =
        (person.user.id.clone(), mail_language(call.language(), person.user.profile.locale.as_deref()));
    after_answer(context, tell(context.clone(), (email.to_owned(), user, from), language, message)).await;
    let to = address(context, VERIFY, &interaction.seal(context)?);
    Ok(onward::lead(received, &to, interaction.browser.cookie(issuer)))
}

/// Mails the code, or says that the address has another account: one mail in either case.
async fn tell(
    context: Context,
    (email, user, from): (String, UserId, LoginFrom),
    language: MailLanguage,
    message: Message,
) {
    let Context { app, issuer, .. } = &context;
    let found = match app.store.user_by_login(&issuer.id, &email).await {
        Ok(found) => found.map(|(found, _)| found),
        Err(error) => {
            tracing::warn!(target: "symbolon::mail", %error, "no mail was sent to a new address");
            return;
        }
    };
    let is_own = found.as_ref().is_some_and(|found| found.id == user);
    let (to, language, message) = match (Standing::of(&email, found.as_deref()), found) {
        (Standing::Proven, Some(found)) if !is_own => {
            let to = found.email.clone().unwrap_or_else(|| email.clone());
            if !may_be_told(&context, &to, &email, from) {
                return;
            }
            let message = Message::AccountExists { url: page_url(issuer, recovery::PATH) };
            (to, language_of(&found, language.tag()), message)
        }
        _ => (email, language, message),
    };
    let mail = Mail { to, language, user: Some(user), client: None, message };
    context.app.queue_mail(&context.issuer, &mail).await;
}

/// `GET /verify-email`: the page that waits for the code.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show_verify(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let params = Params::parse(received.encoded())?;
    if params.get("transaction")?.is_none() {
        return Ok(redirect(false, &format!("{}{PATH}", context.issuer.prefix)));
    }
    let interaction = Interaction::<PendingEmail>::open(context, received, &params)?;
    code_page(call, &interaction, None)
}

/// `GET /verify-email/link`: in the browser that asked, leads on without the code. Uses nothing up.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn link(call: &mut Call) -> Result<Response, Failure> {
    match mailed_link::open::<PendingEmail>(call)? {
        OpenedLink::Here(interaction) => {
            let to = address(&call.context, VERIFY, &interaction.seal(&call.context)?);
            let cookie = interaction.browser.cookie(&call.context.issuer);
            Ok(onward::lead(&call.received, &to, cookie))
        }
        OpenedLink::Elsewhere(code) => {
            notice((&call.context, call.language()), StatusCode::OK, Notice::OtherBrowser { code }, None)
        }
        OpenedLink::Over => {
            let again = format!("{}{PATH}", call.context.issuer.prefix);
            notice((&call.context, call.language()), StatusCode::GONE, Notice::LinkOver, Some(again))
        }
    }
}

/// `POST /verify-email`: the address becomes the account's.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn verify(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let Call { context, received, .. } = &*call;
    let interaction = Interaction::<PendingEmail>::open(context, received, &params)?;
    if !interaction.accepts((context, received), &params, Purpose::MailedCode, "")? {
        context.refused(RefusedRequest::anonymous(Reason::PageFormExpired.into(), None));
        return code_page(call, &interaction, Some(MailedCodeError::Expired));
    }
    let context = context.clone();
    let PendingEmail { user, code, is_proven } = interaction.pending.clone();
    // Whoever asked must still be signed in: the page may be left open in a browser that somebody else uses now.
    let session = session_of(&context, &call.received, &mut call.durable).await?;
    if session.is_none_or(|(_, session)| session.user != user) {
        return Ok(redirect(true, &format!("{}{PATH}", context.issuer.prefix)));
    }
    let typed = params.get("code")?.unwrap_or_default();
    if !is_proven && let Err(error) = code_attempt::check(call, &code, typed).await? {
        return code_page(call, &interaction, Some(error));
    }
    if !code.is_live(context.app.now()) {
        return code_page(call, &interaction, Some(MailedCodeError::UsedUp));
    }
    call.must_complete();
    if !code_attempt::use_up(&context, &code).await?.told().await? {
        call.may_be_given_up();
        return match is_proven_by_first(&context, &user, code.email()).await? {
            true => Ok(redirect(true, &format!("{}{DONE}", context.issuer.prefix))),
            false => code_page(call, &interaction, Some(MailedCodeError::UsedUp)),
        };
    }
    let language = mail_language(call.language(), None);
    match set_email(&context, &user, code.email(), language).await? {
        Change::Made => Ok(redirect(true, &format!("{}{DONE}", context.issuer.prefix))),
        Change::Taken | Change::Gone => {
            notice((&context, call.language()), StatusCode::CONFLICT, Notice::AccountExists, None)
        }
    }
}

/// Whether an address is a user's own and proven, by a form that was sent before this one.
async fn is_proven_by_first(context: &Context, id: &UserId, email: &str) -> Result<bool, Failure> {
    let Context { app, issuer, .. } = context;
    let mut looks = Looks::begin();
    loop {
        let user = app.store.user(&issuer.id, id).await?;
        let own = user.as_ref().and_then(|user| user.mailable_address());
        if own.is_some_and(|own| login_key(own) == login_key(email)) {
            return Ok(true);
        }
        if !looks.again().await {
            return Ok(false);
        }
    }
}

/// `GET /verify-email/done`
///
/// # Errors
/// [`Failure::Internal`]
pub(in super::super) async fn done(call: &mut Call) -> Result<Response, Failure> {
    let to = format!("{}{PATH}", call.context.issuer.prefix);
    notice((&call.context, call.language()), StatusCode::OK, Notice::EmailProven, Some(to))
}

/// Makes a proven address a user's own, and tells the one that was theirs before.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
async fn set_email(
    context: &Context,
    id: &UserId,
    email: &str,
    language: MailLanguage,
) -> Result<Change, Failure> {
    let Context { app, issuer, .. } = context;
    let found = app.store.user_by_login(&issuer.id, email).await?.map(|(user, _)| user);
    if let Some(other) = found.as_ref().filter(|found| found.id != *id) {
        match Standing::of(email, Some(other)) {
            Standing::Claimed => give_up_claim(context, other).await?,
            Standing::Free | Standing::Proven => return Ok(Change::Taken),
        }
    }
    let Some(before) = app.store.user(&issuer.id, id).await? else { return Ok(Change::Gone) };
    let is_same = |own: &str| login_key(own) == login_key(email);
    let made = change(context, id, |user| {
        // An address that only differs in how it is written stays as it is.
        let own = user.email.clone().filter(|own| is_same(own));
        User { email: Some(own.unwrap_or_else(|| email.to_owned())), email_verified: true, ..user.clone() }
    });
    let made = made.await?;
    if made == Change::Made {
        let old = before.email.clone().filter(|own| !is_same(own));
        let changes = match old {
            Some(_) => json!({ "email": "changed", "email_verified": true }),
            None => json!({ "email_verified": true }),
        };
        context.audit_change(Event::EmailProven, id, None, json!({ "changes": changes }));
        if let Some(to) = old {
            let message = Message::EmailChanged { email: email.to_owned(), at: app.now() };
            let language = language_of(&before, language.tag());
            let mail = Mail { to, language, user: Some(id.clone()), client: None, message };
            context.app.queue_mail(&context.issuer, &mail).await;
        }
    }
    Ok(made)
}

/// The page with the address.
fn page(call: &Call, person: &Person, error: Option<EmailError>) -> Result<Response, Failure> {
    let issuer = &call.context.issuer;
    let page = EmailPage {
        language: person.language,
        issuer_name: issuer.display_name(),
        email: person.user.email.clone(),
        is_verified: person.user.email_verified,
        action: format!("{}{PATH}", issuer.prefix),
        csrf: person.browser.token(issuer, person.form(PLACE)),
        back_uri: format!("{}{}", issuer.prefix, PLACE.path()),
        error,
    };
    let status = match error {
        None => StatusCode::OK,
        Some(EmailError::Email) => StatusCode::BAD_REQUEST,
        Some(EmailError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(EmailError::Expired) => StatusCode::FORBIDDEN,
    };
    let page = page.render_for(&issuer.prefix, &issuer.brand());
    let mut response = person.page(&call.context, status, page)?;
    if let Some(EmailError::TooManyAttempts { retry_after_seconds }) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds));
    }
    Ok(response)
}

/// The page that waits for the code.
fn code_page(
    call: &Call,
    interaction: &Interaction<PendingEmail>,
    error: Option<MailedCodeError>,
) -> Result<Response, Failure> {
    let context = &call.context;
    let page = MailedCodePage {
        language: interaction.language,
        issuer_name: context.issuer.display_name(),
        goal: MailedCodeGoal::Email,
        email: interaction.pending.code.email().to_owned(),
        is_proven: interaction.pending.is_proven,
        code: None,
        new_password: NewPassword::NotAsked,
        action: format!("{}{VERIFY}", context.issuer.prefix),
        transaction: interaction.seal(context)?,
        csrf: interaction.csrf_token(context, Purpose::MailedCode, ""),
        again_uri: format!("{}{PATH}", context.issuer.prefix),
        error,
    };
    let page = page
        .render_for(&context.issuer.prefix, &context.issuer.brand())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response =
        html(status(error), page, &Policy { language: interaction.language, ..Policy::default() });
    if let Some(MailedCodeError::TooManyAttempts { retry_after_seconds }) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}
