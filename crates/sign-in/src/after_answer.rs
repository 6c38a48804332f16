//! What is done when the answer is on its way: whoever measures how long an answer takes learns nothing from it.

use std::future::Future;

use http::{HeaderMap, header};
use symbolon_mail::{Language, Mail};

use symbolon_app::http::Context;

/// Does work when the answer is on its way. A server that stops waits for it.
pub(super) async fn after_answer(context: &Context, work: impl Future<Output = ()> + Send + 'static) {
    let mut working = context.app.detached.finish_even_if_dropped(async move {
        tokio::task::yield_now().await;
        work.await;
    });
    // Begun here, and finished in a task of its own when it is dropped.
    tokio::select! {
        biased;
        () = &mut working => {}
        () = std::future::ready(()) => {}
    }
}

/// Queues a mail. A failure is told in the log: whoever asked for it may not learn whether there was one to send.
pub(super) async fn queue(context: &Context, mail: &Mail) {
    if let Err(error) = context.app.send_mail(&context.issuer, mail).await {
        let template = mail.message.template();
        tracing::warn!(target: "symbolon::mail", %error, template, "a mail could not be queued");
    }
}

/// The language that the browser prefers (RFC 9110 12.5.4), as far as it lists the preferred ones first.
pub(super) fn mail_language(headers: &HeaderMap) -> Language {
    let wanted =
        headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Language::wanted(wanted.split(',').filter_map(|range| range.split(';').next()))
}
