//! Trying a code that was mailed, and using it up.

use http::StatusCode;
use symbolon_pages::MailedCodeError;
use symbolon_protocol::refusal::{Details, Reason, Refusal, shown_login_name};
use symbolon_protocol::sign_in::mailed_code::{MailedCode, TRIES};
use symbolon_store::Outcome;

use crate::known_browser;
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::one_use::use_once;
use symbolon_app::rate_limit::Limited;

/// The kind of the marks.
const MARK: &str = "mailed-code";

/// Whether the code is right. A try is used up before it is looked at: so of any number of requests at once, on any number of
/// nodes, as many are looked at as there are tries.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn check(
    call: &mut Call,
    code: &MailedCode,
    typed: &str,
) -> Result<Result<(), MailedCodeError>, Failure> {
    let Call { context, received, durable, .. } = call;
    let Context { app, issuer, .. } = &*context;
    let now = app.now();
    if !code.is_live(now) {
        refused(context, code, Reason::EmailCodeExpired);
        return Ok(Err(MailedCodeError::UsedUp));
    }
    // An account has the address already where its person proves it only now.
    let from = known_browser::origin(context, received, code.email());
    let _in_flight = match app.rate_limits.begin_login(&issuer.id, code.email(), from.clone(), now) {
        Ok(in_flight) => in_flight,
        Err(Limited { retry_after_seconds }) => {
            refused(context, code, Reason::SignInRateLimited);
            return Ok(Err(MailedCodeError::TooManyAttempts { retry_after_seconds }));
        }
    };
    let mut has_try = false;
    for number in 0..TRIES {
        if use_once((app, issuer), MARK, &code.try_mark(number), code.expires_at()).await?.take(durable) {
            has_try = true;
            break;
        }
    }
    if !has_try {
        refused(context, code, Reason::EmailCodeUsedUp);
        return Ok(Err(MailedCodeError::UsedUp));
    }
    if code.check(typed, &issuer.sign_in_key) {
        return Ok(Ok(()));
    }
    app.rate_limits.failed_login(&issuer.id, code.email(), from, now);
    let refusal = Refusal::about(Reason::EmailCodeWrong, details(context, code));
    context.sign_in_failed(RefusedRequest { actor: Actor::User, ..RefusedRequest::anonymous(refusal, None) });
    Ok(Err(MailedCodeError::Wrong))
}

/// Uses a code, or the link that stands for it, up; false if it was used before.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn use_up(context: &Context, code: &MailedCode) -> Result<Outcome<bool>, Failure> {
    let at = (&*context.app, &*context.issuer);
    let used = use_once(at, MARK, &code.use_mark(), code.expires_at()).await?;
    Ok(used.map(|is_first| {
        if !is_first {
            refused(context, code, Reason::EmailCodeUsedUp);
        }
        is_first
    }))
}

fn refused(context: &Context, code: &MailedCode, reason: Reason) {
    let refusal = Refusal::about(reason, details(context, code));
    context.refused(RefusedRequest::anonymous(refusal, None));
}

/// The address, as it may be written down.
fn details(context: &Context, code: &MailedCode) -> Details {
    let digest = context.issuer.login_name_digest(code.email());
    Details::default().login_name(&shown_login_name(code.email(), false), &digest)
}

/// The status of a page with an error: a code or form that was refused, fields to mend, or an attempt that may be repeated.
pub(super) const fn status(error: Option<MailedCodeError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        Some(MailedCodeError::Wrong | MailedCodeError::UsedUp | MailedCodeError::Expired) => {
            StatusCode::FORBIDDEN
        }
        Some(MailedCodeError::Password(_)) => StatusCode::BAD_REQUEST,
        Some(MailedCodeError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(MailedCodeError::Busy) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
