//! Links that sign in the browser that asked for them (NIST SP 800-63B 5.1.3).
//!
//! A link stands for the code of the same sign-in: it carries the code, sealed, and the digest of the cookie of the browser
//! that asked. In that browser it shows one button, whose form brings the code; opened anywhere else it shows the code, to be
//! typed where the sign-in began. Opening it uses nothing up and proves nothing, so a scanner of mail changes nothing. Tries,
//! use and time are those of the code, whose other half is a cookie of the browser that asked.

use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Mail, Message};
use symbolon_pages::{Language, MailedCodeGoal, MailedCodePage, NewPassword, Notice};
use symbolon_protocol::params::Params;
use symbolon_protocol::sign_in::email_code::LIVES_ON_PAGES;
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

use crate::after_answer::mail_language;
use crate::interaction::{Interaction, Page, PendingAuthorization, address, root};
use crate::login_page::{self, EMAIL_CODE_PATH, append};
use crate::mailed_link::{LINK, LONGEST};
use crate::notice_page::notice;
use crate::requesting_client::appearance;
use symbolon_app::email_code::NewCode;
use symbolon_app::http::csrf::{Browser, Purpose};
use symbolon_app::http::{Call, Context, Failure, Policy, Received, html};
use symbolon_app::issuer::IssuerState;
use symbolon_app::registration::page_url;

/// The path of the links.
pub(super) const PATH: &str = "/login/link";

/// The sealing purpose of the links.
const PURPOSE: &str = "magic link";

/// The sealed contents of a link.
#[derive(Serialize, Deserialize)]
struct Contents {
    /// The digest of the cookie of the browser that asked.
    browser: String,
    /// The code that the link stands for.
    code: String,
    /// Where the mail was sent.
    sent_to: String,
    expires_at: Timestamp,
    /// What the person signs in for.
    pending: PendingAuthorization,
}

impl Contents {
    /// Opens the text of a link; `None` if this issuer has not sealed it for this purpose.
    fn open(issuer: &IssuerState, sealed: &str) -> Option<Self> {
        serde_json::from_slice(issuer.interactions.open(PURPOSE, sealed).ok()?.expose()).ok()
    }
}

/// The browser that asks for a code, and what for.
pub(super) struct RequestingBrowser {
    /// The digest of its cookie.
    pub(super) browser: String,
    pub(super) pending: PendingAuthorization,
}

/// The link that stands for a code; `None` where the issuer sends none, or if it would be too long for programs of mail.
pub(super) fn link(
    context: &Context,
    RequestingBrowser { browser, pending }: RequestingBrowser,
    (new, sent_to): (&NewCode, &str),
) -> Option<SecretString> {
    if !login_page::offers(context, SignInMethod::MagicLink) {
        return None;
    }
    let contents = Contents {
        browser,
        code: new.code.expose().to_owned(),
        sent_to: sent_to.to_owned(),
        expires_at: new.sent.expires_at(),
        pending,
    };
    let sealed = context.issuer.interactions.seal(PURPOSE, &serde_json::to_vec(&contents).ok()?).ok()?;
    let url = page_url(&context.issuer, &format!("{PATH}?{LINK}={sealed}"));
    (url.len() <= LONGEST).then(|| SecretString::new(url))
}

/// The mail with a link: alone, or with its code where the issuer sends codes too. `None` for a user without an address.
pub(super) fn mail_to(
    user: &User,
    page: Language,
    url: SecretString,
    code: Option<SecretString>,
) -> Option<Mail> {
    let minutes = u32::try_from(LIVES_ON_PAGES.as_secs() / 60).unwrap_or(u32::MAX);
    let language = mail_language(page, user.profile.locale.as_deref());
    let message = Message::MagicLink { url, code, minutes };
    Some(Mail { to: user.email.clone()?, language, user: Some(user.id.clone()), client: None, message })
}

/// `GET /login/link`: uses nothing up.
///
/// # Errors
/// [`Failure`]
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let Call { context, received, .. } = &*call;
    let params = Params::parse(received.encoded())?;
    let opened = params.get(LINK)?.and_then(|sealed| Contents::open(&context.issuer, sealed));
    let Some(contents) = opened else { return over(call) };
    let here = Browser::of(&received.headers, &context.issuer);
    let is_here = here.is_some_and(|here| here.is(&contents.browser));
    let is_live = context.app.now() < contents.expires_at;
    match (is_here, is_live) {
        (true, true) => page((context, received), contents).await,
        (true, false) => {
            let pending = PendingAuthorization { email_code: None, ..contents.pending };
            let interaction = Interaction::begin(context, received, pending);
            login_page::ask(call, interaction, Page::Other).await
        }
        (false, true) => {
            let shown = Notice::OtherBrowser { code: Some(contents.code) };
            notice((context, call.language()), StatusCode::OK, shown, None)
        }
        (false, false) => over(call),
    }
}

/// The page for a link whose time is over, or that is not one of ours.
fn over(call: &Call) -> Result<Response, Failure> {
    let again = Some(root(&call.context));
    notice((&call.context, call.language()), StatusCode::GONE, Notice::LinkOver, again)
}

/// The page with the button.
async fn page((context, received): (&Context, &Received), contents: Contents) -> Result<Response, Failure> {
    let Contents { code, sent_to, pending, .. } = contents;
    let interaction = Interaction::begin(context, received, pending);
    let sealed = interaction.seal(context)?;
    let language = interaction.language;
    let look = appearance(context, Some(&interaction.pending)).await?;
    let page = MailedCodePage {
        language,
        issuer_name: look.name,
        goal: MailedCodeGoal::MagicLink,
        email: sent_to,
        is_proven: true,
        code: Some(code),
        new_password: NewPassword::NotAsked,
        action: address(context, EMAIL_CODE_PATH, &sealed),
        again_uri: address(context, login_page::PATH, &sealed),
        transaction: sealed,
        csrf: interaction.csrf_token(context, Purpose::Login, ""),
        error: None,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let policy = Policy { leads_to_client: true, language, ..Policy::default() };
    let mut response = html(StatusCode::OK, page, &policy);
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}
