//! The outbox of development mode.

use askama::Template;

use crate::Language;
use crate::page::{is_web, page};

/// The mails that would have been sent, the newest first.
#[derive(Template)]
#[template(path = "outbox.html")]
pub struct OutboxPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The mails.
    pub mails: Vec<OutboxMailView>,
}

/// One mail of the outbox.
pub struct OutboxMailView {
    /// The recipient's address.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// The plain text. Web addresses in it become links.
    pub text: String,
}

/// A piece of a text.
struct Piece<'t> {
    text: &'t str,
    is_link: bool,
}

impl OutboxMailView {
    /// The text in pieces: web addresses, and what stands between them.
    fn pieces(&self) -> Vec<Piece<'_>> {
        let words = self.text.split_inclusive(char::is_whitespace);
        words
            .flat_map(|word| {
                let (text, blank) = word.split_at(word.trim_end().len());
                [Piece { text, is_link: is_web(text) }, Piece { text: blank, is_link: false }]
            })
            .filter(|piece| !piece.text.is_empty())
            .collect()
    }
}

page!(OutboxPage);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_addresses_become_links_and_nothing_else_does() {
        let text = "Open this:\n\nhttps://op.example/x?a=1&b=2\n\njavascript:alert(1) <b>\n".to_owned();
        let mails = vec![OutboxMailView { to: "a@b".into(), subject: "<s>".into(), text }];
        let page = OutboxPage { language: Language::English, issuer_name: "op".into(), mails };
        let html = page.render().unwrap();
        let link = "<a href=\"https://op.example/x?a=1&#38;b=2\">https://op.example/x?a=1&#38;b=2</a>";
        assert!(html.contains(link), "{html}");
        assert!(
            !html.contains("href=\"javascript") && !html.contains("<b>") && !html.contains("<s>"),
            "{html}"
        );
        assert!(html.contains("Open this:\n\n"), "{html}");
    }

    #[test]
    fn an_empty_outbox_says_so() {
        let page = OutboxPage { language: Language::English, issuer_name: "op".into(), mails: Vec::new() };
        assert!(page.render().unwrap().contains(page.t().outbox_empty));
    }
}
