//! What is done when the answer is on its way: whoever measures how long an answer takes learns nothing from it.

use std::future::Future;
use std::time::Duration;

use symbolon_crypto::random::{self, Random};
use symbolon_mail::Language;
use symbolon_protocol::precis::login_key;

use symbolon_app::http::Context;
use symbolon_app::rate_limit::LoginFrom;

/// How long after an answer work begins: 50 to 305 ms, at random. If it began at once, a second request that follows the answer
/// closely would wait for the commits of the work, and its time would tell how much work there was. At a fixed time, whoever
/// asks then would learn it.
fn pause(random: &dyn Random) -> Duration {
    let [share] = random::bytes::<1>(random);
    Duration::from_millis(50 + u64::from(share))
}

/// Does work a moment after the answer. A server that stops waits for it.
pub(super) async fn after_answer(context: &Context, work: impl Future<Output = ()> + Send + 'static) {
    let pause = pause(&*context.app.random);
    let mut working = context.app.detached.finish_even_if_dropped(async move {
        tokio::time::sleep(pause).await;
        work.await;
    });
    // Begun here, and finished in a task of its own when it is dropped.
    tokio::select! {
        biased;
        () = &mut working => {}
        () = std::future::ready(()) => {}
    }
}

/// Whether the address of an account may get a mail that was asked for by another of its names. Each name has a limit of its
/// own, and the address another one: so nobody floods it by several names. `from`: where it was asked for, because a known browser
/// has mails of its own, which nobody else can use up.
pub(super) fn may_be_told(context: &Context, address: &str, typed: &str, from: impl Into<LoginFrom>) -> bool {
    let Context { app, issuer, .. } = context;
    login_key(address) == login_key(typed.trim())
        || app.rate_limits.check_recipient(&issuer.id, address, from, app.now()).is_ok()
}

/// The language of a mail to whoever reads a page: what the person's profile says, then that of the page.
pub(super) fn mail_language(page: symbolon_pages::Language, locale: Option<&str>) -> Language {
    Language::wanted(locale.into_iter().chain([page.tag()]))
}
