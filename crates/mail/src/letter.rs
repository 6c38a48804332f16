//! A mail as it goes over the wire: RFC 5322 with MIME, and its envelope.

use std::time::{Duration, UNIX_EPOCH};

use lettre::Address;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use symbolon_config::Sender;
use symbolon_protocol::logo::Logo;
use symbolon_protocol::time::Timestamp;

use crate::Rendered;
use crate::render::LOGO_ID;

/// The address is none that mail can be sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no mail can be sent to this address")]
pub struct UnfitAddress;

/// A mail, ready to be sent.
pub struct Letter {
    /// The recipient (RFC 5321 section 4.1.1.3).
    pub(crate) to: Address,
    /// The sender (RFC 5321 section 4.1.1.2).
    pub(crate) from: Address,
    /// Header and body.
    pub(crate) text: Vec<u8>,
}

impl Letter {
    /// Writes a mail. `id` names it for good: a copy that is sent again has the same `Message-ID` (RFC 5322 section 3.6.4) and
    /// the same date, by which its recipient's programs know it.
    ///
    /// # Errors
    /// [`UnfitAddress`].
    pub fn new(
        from: &Sender,
        to: &str,
        rendered: Rendered,
        id: &str,
        written_at: Timestamp,
    ) -> Result<Self, UnfitAddress> {
        // lettre panics at such a name.
        if from.name.as_deref().is_some_and(|name| name.contains(char::is_control)) {
            return Err(UnfitAddress);
        }
        let to = address(to)?;
        let sender = address(&from.address)?;
        let message_id = format!("<{id}@{}>", sender.domain());
        let Rendered { subject, text, html, logo } = rendered;
        let parts = MultiPart::alternative().singlepart(SinglePart::plain(text));
        let parts = match logo {
            None => parts.singlepart(SinglePart::html(html)),
            Some(logo) => parts.multipart(with_logo(html, &logo)?),
        };
        let message = lettre::Message::builder()
            .message_id(Some(message_id))
            .date(UNIX_EPOCH + Duration::from_millis(written_at.millis()))
            .from(Mailbox::new(from.name.clone(), sender.clone()))
            .to(Mailbox::new(None, to.clone()))
            .subject(subject)
            // RFC 3834 section 5: nobody's absence is answered to us.
            .raw_header(header("Auto-Submitted", "auto-generated"))
            .raw_header(header("X-Auto-Response-Suppress", "All"))
            .multipart(parts)
            .map_err(|_| UnfitAddress)?;
        Ok(Self { to, from: sender, text: message.formatted() })
    }

    /// Whether an address needs a server that takes SMTPUTF8 (RFC 6531 section 3.2).
    pub(crate) fn needs_utf8(&self) -> bool {
        let is_ascii = |address: &Address| AsRef::<str>::as_ref(address).is_ascii();
        !(is_ascii(&self.to) && is_ascii(&self.from))
    }
}

/// The HTML with the image that it shows (RFC 2387, RFC 2392).
fn with_logo(html: String, logo: &Logo) -> Result<MultiPart, UnfitAddress> {
    let kind = ContentType::parse(logo.media_type()).map_err(|_| UnfitAddress)?;
    let image = Attachment::new_inline(LOGO_ID.to_owned()).body(logo.content().to_vec(), kind);
    Ok(MultiPart::related().singlepart(SinglePart::html(html)).singlepart(image))
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// Reads an address. Its domain is written in ASCII (RFC 5891 section 4), which every server understands.
fn address(text: &str) -> Result<Address, UnfitAddress> {
    // No grammar of addresses is relied on for this: what follows a line break would be a header or a command.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) || text.len() > 254 {
        return Err(UnfitAddress);
    }
    let (local, domain) = text.rsplit_once('@').ok_or(UnfitAddress)?;
    let domain = match domain.is_ascii() {
        true => domain.to_owned(),
        false => url::Host::parse(domain).map_err(|_| UnfitAddress)?.to_string(),
    };
    Address::new(local, domain).map_err(|_| UnfitAddress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolon_protocol::logo::LogoType;

    use crate::brand::plain;
    use crate::{Language, MailBrand, Message};

    fn sender() -> Sender {
        Sender { name: Some("Éxample, \"Inc.\"".into()), address: "no-reply@op.example".into() }
    }

    fn rendered(issuer: &str) -> Rendered {
        let message = Message::EmailCode { code: "042137".into(), minutes: 5 };
        Rendered::new(&message, Language::German, &plain(issuer)).unwrap()
    }

    fn letter(to: &str, issuer: &str) -> Result<String, UnfitAddress> {
        let letter =
            Letter::new(&sender(), to, rendered(issuer), "id-1", Timestamp::from_seconds(1_800_000_000))?;
        Ok(String::from_utf8(letter.text).unwrap())
    }

    fn header_lines(letter: &str) -> Vec<&str> {
        letter.split("\r\n\r\n").next().unwrap().split("\r\n").collect()
    }

    #[test]
    fn it_has_the_headers_that_mail_has() {
        let letter = letter("ann@müller.example", "op.example").unwrap();
        assert!(letter.is_ascii(), "{letter}");
        for line in [
            "To: ann@xn--mller-kva.example",
            "Message-ID: <id-1@op.example>",
            "Date: Fri, 15 Jan 2027 08:00:00 +0000",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
        ] {
            assert!(header_lines(&letter).contains(&line), "{line}\n{letter}");
        }
        assert!(letter.contains("Subject: Ihr Code "), "{letter}");
        assert!(letter.contains("text/plain") && letter.contains("text/html") && letter.contains("042137"));
    }

    /// The image is a part of the mail beside the HTML that shows it: nothing is fetched when it is opened.
    #[test]
    fn a_logo_travels_in_the_mail() {
        let message = Message::PasswordChanged { at: Timestamp::EPOCH };
        let logo = Logo::read(LogoType::Png, b"\x89PNG\r\n\x1a\n and more").ok();
        let brand = MailBrand { logo, ..plain("op") };
        let rendered = Rendered::new(&message, Language::English, &brand).unwrap();
        let letter = Letter::new(&sender(), "a@b.example", rendered, "i", Timestamp::EPOCH).unwrap();
        let text = String::from_utf8(letter.text).unwrap();
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}: {text}"));
        let order = ["multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png"];
        assert!(order.map(place).is_sorted(), "{text}");
        for part in ["Content-ID: <logo>", "Content-Disposition: inline", "iVBORw0KGgo"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("src=3D\"http") && !text.contains("src=\"http"), "{text}");
    }

    #[test]
    fn line_breaks_in_addresses_are_refused() {
        for to in [
            "a@b.example\r\nBcc: all@example.com",
            "a@b.example\nBcc: all@example.com",
            "a\r\n.\r\nMAIL FROM:<x@y>@b.example",
            "\"a\r\nBcc: x\"@b.example",
            "\"a b\"@b.example",
            "a@b.example\r",
            "a@b.example\0",
            "a@b.example> RCPT TO:<c@d.example",
            "a@b\u{2028}.example",
            "a@b@c.example",
            "",
            "a",
            "@b.example",
            "a@",
        ] {
            assert_eq!(letter(to, "op.example").err(), Some(UnfitAddress), "{to:?}");
        }
        let long = format!("{}@b.example", "a".repeat(250));
        assert_eq!(letter(&long, "op.example").err(), Some(UnfitAddress));
    }

    #[test]
    fn line_breaks_in_names_add_no_header() {
        let plain = header_lines(&letter("a@b.example", "op").unwrap()).len();
        for name in ["op\r\nBcc: all@example.com", "op\nBcc: x", "op\rBcc: x", "ö\r\n\r\nbody"] {
            let letter = letter("a@b.example", name).unwrap();
            let lines = header_lines(&letter);
            assert!(lines.iter().all(|line| !line.to_ascii_lowercase().starts_with("bcc")), "{letter}");
            // Folded lines begin with a blank (RFC 5322 section 2.2.3).
            let fields = lines.iter().filter(|line| !line.starts_with([' ', '\t'])).count();
            assert!(fields <= plain && letter.contains("Auto-Submitted"), "{letter}");
        }
        let evil = Sender { name: Some("x\r\nBcc: y@z".into()), address: "a@b.example".into() };
        let letter = Letter::new(&evil, "a@b.example", rendered("op"), "i", Timestamp::EPOCH);
        assert_eq!(letter.err(), Some(UnfitAddress));
    }
}
