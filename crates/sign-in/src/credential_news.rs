//! Mail that tells people what has changed of what they sign in with, so that they learn of a change that is not theirs.

use symbolon_mail::{Mail, Message};
use symbolon_protocol::user::User;

use crate::after_answer::mail_language;
use symbolon_app::http::language::{locale, page_language};
use symbolon_app::http::{Context, Received};

/// Tells a user by mail, if they have an address. The change is done: a queue that is full or out of reach is only logged.
pub(super) async fn tell(context: &Context, received: &Received, user: &User, message: Message) {
    let Some(to) = user.email.clone() else { return };
    let page = page_language(locale(&received.headers, &context.issuer, None));
    let language = mail_language(page, user.profile.locale.as_deref());
    let mail = Mail { to, language, user: Some(user.id.clone()), client: None, message };
    context.app.queue_mail(&context.issuer, &mail).await;
}
