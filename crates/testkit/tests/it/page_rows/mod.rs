//! What holds for every page of the endpoint table, asked of each row: a form of another origin does nothing, and `HEAD`
//! changes nothing.

mod foreign_forms;
mod guarded;
mod head;

use axum::http::Method;
use serde_json::{Value, json};
use symbolon_app::http::{Endpoint, Failures};
use symbolon_server::endpoints;
use symbolon_testkit::{Answer, Browser, Options};

use crate::login::{PASSWORD, Scene, hidden};
use crate::mailbox::Mailbox;

const OTHER: &str = "other@example.com";

/// A server at which every page can be reached.
struct World {
    scene: Scene,
    mailbox: Mailbox,
}

impl World {
    fn with(options: impl FnOnce(Options) -> Options) -> Self {
        let mailbox = Mailbox::open();
        let world = Self { scene: Scene::with(options(mailbox.options())), mailbox };
        world.set(json!({
            "registration": "open",
            "self_deletion": true,
            "sign_in_methods": ["password", "passkey", "email_code", "magic_link"],
        }));
        world
    }

    fn set(&self, settings: Value) {
        let answer = self.scene.server.admin("PATCH", "/settings", Some(settings));
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    fn browser(&self) -> Browser {
        self.scene.server.browser()
    }

    /// The sign-in page of a request of the demo's application.
    fn at_login(&self, browser: &Browser) -> Answer {
        self.scene.at_login(browser, &self.scene.rp.authorization_request())
    }

    /// A browser in which a person has just signed in, and what the sign-in page answered.
    fn signed_in(&self, more: &[(&str, &str)]) -> (Browser, Answer) {
        let browser = self.browser();
        let (transaction, csrf) = hidden(&self.at_login(&browser));
        let mut form = vec![
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", OTHER),
            ("password", PASSWORD),
        ];
        form.extend_from_slice(more);
        let answer = browser.post("/login", &form);
        assert_eq!(answer.status, 303, "{answer:?}");
        (browser, answer)
    }

    /// The link of the next mail that leads to a page.
    fn mailed_link(&self, path: &str) -> String {
        loop {
            let mail = self.mailbox.next();
            if mail.text.contains(&format!("{path}?")) {
                return mail.link();
            }
        }
    }
}

/// The rows whose answers are pages.
fn pages() -> impl Iterator<Item = &'static Endpoint> {
    endpoints::all().filter(|endpoint| endpoint.failures == Failures::Page)
}

fn allows(endpoint: &Endpoint, method: &Method) -> bool {
    endpoint.methods.contains(method)
}
