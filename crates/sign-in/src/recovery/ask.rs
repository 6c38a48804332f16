//! The page that asks whose password is forgotten.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Language as MailLanguage, Mail, Message};
use symbolon_pages::{ForgotPasswordPage, Notice, RecoveryError};
use symbolon_protocol::id::ClientId;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::sign_in::recovery::{LIVES, RecoveryLink};
use symbolon_store::StoreError;

use super::{PATH, PendingRecovery, RESET, SealedLink};
use crate::after_answer::{after_answer, mail_language, may_be_told};
use crate::interaction::{Interaction, PendingAuthorization};
use crate::known_browser;
use crate::login_form::is_plain_name;
use crate::login_page::{self, append};
use crate::mailed_link;
use crate::notice_page::notice;
use crate::onward::{self, Onward};
use crate::requesting_client::appearance;
use crate::unknown_account;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, Received, html, redirect};
use symbolon_app::mail::language_of;
use symbolon_app::rate_limit::{Limited, LoginFrom};
use symbolon_app::registration::page_url;

/// `GET /forgot-password`, with what the person wants to sign in for, or without.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let params = Params::parse(received.encoded())?;
    if params.get("sent")?.is_some() {
        return notice((context, call.language()), StatusCode::OK, Notice::RecoverySent, None);
    }
    let interaction = match Interaction::<PendingRecovery>::reopened(context, received, &params) {
        Some(own) => own,
        None => {
            let Onward { authorization, ui_locale } = Onward::of(context, received, &params)?;
            Interaction::begin(context, received, PendingRecovery { authorization, ui_locale })
        }
    };
    let choice = interaction.choice_cookie(context, &params)?;
    let mut response = page((context, received), &interaction, "", None).await?;
    append(response.headers_mut(), choice);
    Ok(response)
}

/// `POST /forgot-password`.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let here = (context, received);
    let params = Params::parse(&received.form)?;
    let interaction = Interaction::<PendingRecovery>::open(context, received, &params)?;
    let name = params.get("username")?.unwrap_or_default().trim();
    if !interaction.accepts((context, received), &params, Purpose::ForgotPassword, "")? {
        context.refused(RefusedRequest::anonymous(Reason::PageFormExpired.into(), None));
        return page(here, &interaction, name, Some(RecoveryError::Expired)).await;
    }
    if name.is_empty() || !is_plain_name(name) {
        return page(here, &interaction, "", Some(RecoveryError::Name)).await;
    }
    let Context { app, issuer, .. } = context;
    let from = known_browser::origin(context, received, name);
    let limited = app.rate_limits.check_mail(&issuer.id, name, from.clone(), app.now());
    if let Err(Limited { retry_after_seconds }) = limited {
        context.refused(RefusedRequest::anonymous(Reason::SignInRateLimited.into(), None));
        return page(here, &interaction, name, Some(RecoveryError::TooManyAttempts { retry_after_seconds }))
            .await;
    }
    let asked = RecoveryRequest {
        context: context.clone(),
        name: name.to_owned(),
        from,
        language: mail_language(interaction.language, None),
        authorization: interaction.pending.authorization.clone(),
    };
    let work = async move {
        if let Err(error) = asked.tell().await {
            tracing::warn!(target: "symbolon::mail", %error, "no mail was sent to somebody who forgot a password");
        }
    };
    after_answer(context, work).await;
    let language =
        interaction.pending.ui_locale.map(|_| format!("&ui_locales={}", interaction.language.tag()));
    let sent = format!("{}{PATH}?sent=1{}", context.issuer.prefix, language.unwrap_or_default());
    Ok(redirect(true, &sent))
}

/// Somebody who asked for a link.
struct RecoveryRequest {
    context: Context,
    name: String,
    /// Where it was asked for.
    from: LoginFrom,
    /// That of the page, for whoever has none of their own.
    language: MailLanguage,
    authorization: Option<PendingAuthorization>,
}

impl RecoveryRequest {
    /// Mails the link, or to an address that no account has that none has it, where people may register.
    async fn tell(self) -> Result<(), StoreError> {
        let Context { app, issuer, .. } = &self.context;
        let found = app.store.user_by_login(&issuer.id, &self.name).await?;
        let Some((user, hash)) = found else {
            if let Some(mail) = unknown_account::mail(&self.context, &self.name, self.language) {
                let mail = Mail { client: self.client(), ..mail };
                self.context.app.queue_mail(&self.context.issuer, &mail).await;
            }
            return Ok(());
        };
        let link = RecoveryLink::new(&user, hash.as_ref(), app.now(), &*app.random);
        let (Some(link), Some(to)) = (link, user.email.clone()) else { return Ok(()) };
        if !may_be_told(&self.context, &to, &self.name, self.from.clone()) {
            return Ok(());
        }
        let Some(url) = self.url(link) else { return Ok(()) };
        let minutes = u32::try_from(LIVES.as_secs() / 60).unwrap_or(u32::MAX);
        let message = Message::ResetPassword { url, minutes };
        let language = language_of(&user, self.language.tag());
        let (user, client) = (Some(user.id.clone()), self.client());
        let mail = Mail { to, language, user, client, message };
        self.context.app.queue_mail(&self.context.issuer, &mail).await;
        Ok(())
    }

    /// The client whose request they came from.
    fn client(&self) -> Option<ClientId> {
        self.authorization.as_ref()?.client_id()
    }

    /// The link, with what the person wants to sign in for unless it would be too long.
    fn url(&self, link: RecoveryLink) -> Option<SecretString> {
        let issuer = &self.context.issuer;
        let whole = SealedLink { link: link.clone(), authorization: self.authorization.clone() };
        let url =
            |sealed: SealedLink| Some(page_url(issuer, &format!("{RESET}?link={}", sealed.seal(issuer)?)));
        let url = match url(whole) {
            Some(url) if url.len() <= mailed_link::LONGEST => url,
            _ => url(SealedLink { link, authorization: None })?,
        };
        Some(SecretString::new(url))
    }
}

/// The page, before or after an attempt.
async fn page(
    (context, received): (&Context, &Received),
    interaction: &Interaction<PendingRecovery>,
    username: &str,
    error: Option<RecoveryError>,
) -> Result<Response, Failure> {
    let wanted = interaction.pending.authorization.as_ref();
    let look = appearance(context, wanted).await?;
    let page = ForgotPasswordPage {
        language: interaction.language,
        issuer_name: look.name,
        action: format!("{}{PATH}", context.issuer.prefix),
        transaction: interaction.seal(context)?,
        csrf: interaction.csrf_token(context, Purpose::ForgotPassword, ""),
        username: username.to_owned(),
        sign_in_uri: onward::page_with(context, received, wanted, login_page::PATH)?,
        error,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response =
        html(status(error), page, &Policy { language: interaction.language, ..Policy::default() });
    if let Some(RecoveryError::TooManyAttempts { retry_after_seconds }) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}

/// The status of a page with an error.
pub(super) const fn status(error: Option<RecoveryError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        Some(RecoveryError::Name | RecoveryError::Password(_)) => StatusCode::BAD_REQUEST,
        Some(RecoveryError::Code | RecoveryError::Expired) => StatusCode::FORBIDDEN,
        Some(RecoveryError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(RecoveryError::Busy) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
