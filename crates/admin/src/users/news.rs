//! Mail that tells people what an administrator changed of what they sign in with: the mail that they get of their own changes. So
//! nobody who has got hold of the admin API takes an account over unnoticed.

use symbolon_app::mail::language_of;
use symbolon_mail::{Mail, Message};
use symbolon_protocol::precis::login_key;
use symbolon_protocol::user::User;

use crate::call::Call;

/// Tells a user, if they have an address. The change is done: a queue that is full or out of reach is only logged.
pub(crate) async fn tell(call: &Call, user: &User, message: Message) {
    let Some(to) = user.email.clone() else { return };
    let language = language_of(user, call.issuer.settings.load().default_language.tag());
    let mail = Mail { to, language, user: Some(user.id.clone()), client: None, message };
    call.app.queue_mail(&call.issuer, &mail).await;
}

/// Tells the address that a user had, if it is theirs no longer.
pub(super) async fn tell_of_address(call: &Call, before: &User, after: &User) {
    let Some(old) = before.email.as_deref() else { return };
    let message = match &after.email {
        Some(new) if login_key(new) == login_key(old) => return,
        Some(new) => Message::EmailChanged { email: new.clone(), at: call.now() },
        None => Message::EmailRemoved { at: call.now() },
    };
    tell(call, before, message).await;
}
