//! What is mailed to an address that somebody typed and that no account has. The page tells nobody whether there is such an
//! account; who reads the mail of the address may know.

use symbolon_mail::{Language, Mail, Message};
use symbolon_protocol::email_address;
use symbolon_protocol::sign_in::registration::Registration;

use symbolon_app::http::Context;
use symbolon_app::registration::{PATH as REGISTER, page_url};

/// The mail to a name that no account has: where people may register, and if the name is an address.
pub(super) fn mail(context: &Context, typed: &str, language: Language) -> Option<Mail> {
    let Context { app, issuer, .. } = context;
    let to = email_address::typed(typed).filter(|_| app.registration(issuer) == Registration::Open)?;
    let message = Message::AccountUnknown { register_url: Some(page_url(issuer, REGISTER)) };
    Some(Mail { to: to.to_owned(), language, user: None, message })
}

/// As [`mail`], unless this address has had too many mails sent (NIST SP 800-63B 5.2.2). Asked for only when the answer is on
/// its way: what it counts and finds must not show in it.
pub(super) fn limited_mail(context: &Context, typed: &str, language: Language) -> Option<Mail> {
    let mail = mail(context, typed, language)?;
    context.app.rate_limits.check_mail(context.remote, context.app.now()).ok().map(|()| mail)
}
