//! A message in words: subject, plain text and HTML.

use std::time::{Duration, UNIX_EPOCH};

use askama::Template;
use fluent_bundle::FluentArgs;
use symbolon_crypto::SecretString;
use symbolon_protocol::branding::Button;
use symbolon_protocol::logo::Logo;
use symbolon_protocol::time::Timestamp;

use crate::texts;
use crate::{Language, MailBrand, Message};

/// The most characters of a text that somebody else chose, such as the name of a device.
const LONGEST_CHOSEN: usize = 80;

/// Why a message could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A language's file lacks a text; a test sees to it that none does.
    #[error("the text {0} of a mail is missing")]
    Text(&'static str),
    /// The template engine failed; with compiled templates only memory can cause this.
    #[error(transparent)]
    Template(#[from] askama::Error),
}

/// A message in words.
pub struct Rendered {
    /// The subject: one line.
    pub subject: String,
    /// The text for readers that show no HTML.
    pub text: String,
    /// The HTML document. It loads nothing.
    pub html: String,
    /// The logo that the HTML shows by [`LOGO_ID`].
    pub(crate) logo: Option<Logo>,
}

/// The `Content-ID` of the logo (RFC 2392).
pub(crate) const LOGO_ID: &str = "logo";

/// What both templates are filled with.
struct Parts {
    subject: String,
    text: String,
    code: Option<String>,
    /// A link, and the name of its button.
    link: Option<(String, String)>,
    /// Names and values of what happened.
    facts: Vec<(String, String)>,
    note: String,
    footer: String,
    /// Labels and addresses at the foot.
    links: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "mail.txt")]
struct Plain<'p> {
    text: &'p str,
    code: Option<&'p str>,
    url: Option<&'p str>,
    facts: &'p [(String, String)],
    note: &'p str,
    footer: &'p str,
    links: &'p [(String, String)],
    brand: &'p MailBrand,
}

#[derive(Template)]
#[template(path = "mail.html")]
struct Html<'p> {
    language: Language,
    subject: &'p str,
    text: &'p str,
    code: Option<&'p str>,
    url: Option<&'p str>,
    action: &'p str,
    facts: &'p [(String, String)],
    note: &'p str,
    footer: &'p str,
    links: &'p [(String, String)],
    brand: &'p MailBrand,
    has_logo: bool,
}

impl Html<'_> {
    /// The colours of the button, where the mail is shown light.
    const fn light(&self) -> &Button {
        let [light, _] = &self.brand.buttons;
        light
    }

    /// The same where it is shown dark.
    const fn dark(&self) -> &Button {
        let [_, dark] = &self.brand.buttons;
        dark
    }
}

impl Rendered {
    /// Renders a message of an issuer, or of a client, which it presents by its brand.
    ///
    /// # Errors
    /// [`RenderError`].
    pub fn new(message: &Message, language: Language, brand: &MailBrand) -> Result<Self, RenderError> {
        let parts = Parts::new(message, language, brand)?;
        let Parts { subject, text, code, link, facts, note, footer, links } = &parts;
        let (url, action) = match link {
            Some((url, action)) => (Some(url.as_str()), action.as_str()),
            None => (None, ""),
        };
        let code = code.as_deref();
        let logo = brand.shown_logo();
        let plain = Plain { text, code, url, facts, note, footer, links, brand }.render()?;
        let html = Html {
            language,
            subject,
            text,
            code,
            url,
            action,
            facts,
            note,
            footer,
            links,
            brand,
            has_logo: logo.is_some(),
        };
        let html = html.render()?;
        Ok(Self { subject: parts.subject, text: plain, html, logo: logo.cloned() })
    }
}

impl Parts {
    fn new(message: &Message, language: Language, brand: &MailBrand) -> Result<Self, RenderError> {
        let template = message.template();
        let mut arguments = FluentArgs::new();
        arguments.set("issuer", one_line(&brand.name));
        if let Some(minutes) = minutes(message) {
            arguments.set("lifetime", lifetime(language, minutes)?);
        }
        let own = |attribute| {
            texts::text(language, template, attribute, &arguments).ok_or(RenderError::Text(template))
        };
        let link = match link(message) {
            Some(url) => Some((url.to_owned(), own(Some("action"))?)),
            None => None,
        };
        let label =
            |id: &'static str| texts::text(language, id, None, &arguments).ok_or(RenderError::Text(id));
        let links = brand
            .links()
            .map(|(id, uri)| Ok((label(id)?, uri.to_owned())))
            .collect::<Result<_, RenderError>>()?;
        let facts = facts(message)
            .into_iter()
            .map(|(id, value)| Ok((label(id)?, value)))
            .collect::<Result<_, RenderError>>()?;
        Ok(Self {
            subject: one_line(&own(None)?),
            text: own(Some("text"))?,
            code: match message {
                Message::EmailCode { code, .. }
                | Message::Registration { code, .. }
                | Message::MagicLink { code: Some(code), .. }
                | Message::VerifyEmail { code: Some(code), .. } => Some(code.expose().to_owned()),
                _ => None,
            },
            link,
            facts,
            note: own(Some("note"))?,
            footer: label("footer")?,
            links,
        })
    }
}

/// How long a code or link is valid.
fn minutes(message: &Message) -> Option<u32> {
    match message {
        Message::EmailCode { minutes, .. }
        | Message::MagicLink { minutes, .. }
        | Message::ResetPassword { minutes, .. }
        | Message::Registration { minutes, .. }
        | Message::VerifyEmail { minutes, .. }
        | Message::Invitation { minutes, .. } => Some(*minutes),
        _ => None,
    }
}

fn link(message: &Message) -> Option<&str> {
    match message {
        Message::MagicLink { url, .. }
        | Message::ResetPassword { url, .. }
        | Message::VerifyEmail { url, .. }
        | Message::Invitation { url, .. } => Some(url.expose()),
        Message::Registration { url, .. } => url.as_ref().map(SecretString::expose),
        Message::AccountUnknown { register_url } => register_url.as_deref(),
        Message::AccountExists { url } => Some(url),
        _ => None,
    }
}

/// What happened: the names of its labels, and its values.
fn facts(message: &Message) -> Vec<(&'static str, String)> {
    match message {
        Message::NewDevice { device, address, place, at } => {
            let device = (!device.is_empty()).then(|| ("label-device", chosen(device)));
            let place = place.as_deref().map(|place| ("label-place", chosen(place)));
            let (address, time) = (("label-address", chosen(address)), ("label-time", time(*at)));
            [device, Some(address), place, Some(time)].into_iter().flatten().collect()
        }
        Message::NewPasskey { name, at } => vec![("label-passkey", chosen(name)), ("label-time", time(*at))],
        Message::ProviderConnected { name, at } | Message::ProviderDisconnected { name, at } => {
            vec![("label-provider", chosen(name)), ("label-time", time(*at))]
        }
        Message::PasswordChanged { at }
        | Message::EmailRemoved { at }
        | Message::NewGenerator { at }
        | Message::NewRecoveryCodes { at }
        | Message::GeneratorRemoved { at } => vec![("label-time", time(*at))],
        Message::EmailChanged { email, at } => {
            vec![("label-email", chosen(email)), ("label-time", time(*at))]
        }
        _ => Vec::new(),
    }
}

/// So many minutes in words, in the largest unit that fits.
fn lifetime(language: Language, minutes: u32) -> Result<String, RenderError> {
    let (id, count) = match minutes {
        minutes if minutes > 0 && minutes.is_multiple_of(24 * 60) => ("days", minutes / (24 * 60)),
        minutes if minutes > 0 && minutes.is_multiple_of(60) => ("hours", minutes / 60),
        minutes => ("minutes", minutes),
    };
    let mut arguments = FluentArgs::new();
    arguments.set("count", count);
    texts::text(language, id, None, &arguments).ok_or(RenderError::Text(id))
}

/// A time to the minute, in UTC: nobody knows the reader's zone.
fn time(at: Timestamp) -> String {
    let text = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at.millis())).to_string();
    match text.get(..16) {
        Some(to_the_minute) => format!("{} UTC", to_the_minute.replace('T', " ")),
        None => text,
    }
}

/// A text without line breaks and other control characters.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect()
}

/// A text that somebody else chose: one line, not long enough to tell a story.
fn chosen(text: &str) -> String {
    let mut line: String = one_line(text).chars().take(LONGEST_CHOSEN + 1).collect();
    if line.chars().count() > LONGEST_CHOSEN {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::branding::Branding;
    use symbolon_protocol::logo::LogoType;

    use super::*;
    use crate::brand::plain;
    use crate::message::every_message;

    fn rendered(message: &Message, language: Language) -> Rendered {
        Rendered::new(message, language, &plain("op.example")).unwrap()
    }

    #[test]
    fn every_message_is_rendered_in_every_language() {
        for language in Language::ALL {
            for message in every_message() {
                let Rendered { subject, text, html, .. } = rendered(&message, language);
                assert!(subject.contains("op.example"), "{subject}");
                assert!(text.contains("\n-- \n"), "{text}");
                assert!(!text.contains("\n\n\n") && !text.starts_with('\n'), "{text}");
                assert!(html.contains(&format!("lang=\"{}\"", language.tag())), "{html}");
                assert!(!html.contains("src=") && !html.contains("url("), "nothing is loaded: {html}");
                for part in [&text, &html] {
                    assert_eq!(
                        part.contains("https://op.example/x?token=s3cret"),
                        link(&message).is_some_and(|url| url.contains("s3cret")),
                        "{part}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_code_stands_alone_in_its_line_and_not_in_the_subject() {
        let message = Message::EmailCode { code: "042137".into(), minutes: 5 };
        let Rendered { subject, text, html, .. } = rendered(&message, Language::English);
        assert!(text.contains("\n\n    042137\n\n"), "{text}");
        assert!(html.contains(">042137<"), "{html}");
        assert!(text.contains("valid for 5 minutes"), "{text}");
        assert_eq!(subject, "Your code for op.example");
        assert!(rendered(&message, Language::German).text.contains("Gültigkeit: 5 Minuten"));
    }

    #[test]
    fn times_are_told_in_the_largest_unit() {
        let told = |minutes| lifetime(Language::English, minutes).unwrap();
        assert_eq!(
            [1, 5, 60, 90, 1_440, 10_080].map(told),
            ["1 minute", "5 minutes", "1 hour", "90 minutes", "1 day", "7 days"]
        );
        assert_eq!(told(0), "0 minutes");
        assert_eq!(lifetime(Language::German, 2_880).unwrap(), "2 Tage");
        assert_eq!(time(Timestamp::from_seconds(1_800_000_000)), "2027-01-15 08:00 UTC");
    }

    #[test]
    fn what_others_chose_is_escaped_shortened_and_one_line() {
        let name = format!("<script>\r\nBcc: x{}", "y".repeat(200));
        let message = Message::NewPasskey { name, at: Timestamp::EPOCH };
        let Rendered { text, html, .. } = rendered(&message, Language::English);
        assert!(!html.contains("<script>"), "{html}");
        assert!(text.contains("Passkey: <script>  Bcc: xyyy") && text.contains("y…\n"), "{text}");
    }

    #[test]
    fn a_place_shortens_no_address() {
        let (address, place) = ("2001:db8:1111:2222:3333:4444:5555:6666", "x".repeat(60));
        let message = |place: Option<String>| Message::NewDevice {
            device: String::new(),
            address: address.to_owned(),
            place,
            at: Timestamp::EPOCH,
        };
        let with = rendered(&message(Some(place.clone())), Language::English).text;
        assert!(with.contains(&format!("Address: {address}\nPlace: {place}\n")), "{with}");
        let without = rendered(&message(None), Language::English).text;
        assert!(without.contains(address) && !without.contains("Place"), "{without}");
    }

    #[test]
    fn an_issuer_with_line_breaks_in_its_name_adds_no_header() {
        let message = Message::PasswordChanged { at: Timestamp::EPOCH };
        let name = "Evil\r\nBcc: all@example.com\u{2028}x";
        let rendered = Rendered::new(&message, Language::English, &plain(name)).unwrap();
        assert!(!rendered.subject.chars().any(|c| c.is_control() || c == '\u{2028}'), "{}", rendered.subject);
    }

    fn acme() -> MailBrand {
        let branding: Branding = serde_json::from_str(
            r##"{"accent":{"light":"#0a4d8c","dark":"#8cc4ff"},"name":"Acme & \"Sons\""}"##,
        )
        .unwrap();
        let png = b"\x89PNG\r\n\x1a\n and more";
        MailBrand {
            buttons: branding.buttons(),
            logo: Logo::read(LogoType::Png, png).ok(),
            help_uri: Some("https://acme.example/help?a=1&b=2".into()),
            policy_uri: Some("https://acme.example/privacy".into()),
            tos_uri: Some("https://acme.example/terms".into()),
            foot: Some("Acme <Ltd>, Example Street 1".into()),
            ..plain("Acme & \"Sons\"")
        }
    }

    #[test]
    fn a_brand_has_name_logo_colours_links_and_foot_in_every_language() {
        let message = Message::AccountExists { url: "https://op.example/forgot-password".into() };
        for language in Language::ALL {
            let Rendered { subject, text, html, logo } = Rendered::new(&message, language, &acme()).unwrap();
            assert!(subject.contains("Acme & \"Sons\""), "{subject}");
            for part in ["https://acme.example/privacy", "https://acme.example/terms"] {
                assert!(text.contains(part) && html.contains(&format!("href=\"{part}\"")), "{part}");
            }
            assert!(
                text.contains("https://acme.example/help?a=1&b=2") && text.contains("Acme <Ltd>, Example")
            );
            assert!(html.contains("Acme &#60;Ltd&#62;, Example Street 1"), "{html}");
            assert!(html.contains("background:#0a4d8c;color:#ffffff"), "{html}");
            assert!(html.contains("background:#8cc4ff!important"), "{html}");
            assert!(logo.is_some() && html.matches(" src=").count() == 1, "{html}");
            assert!(html.contains("src=\"cid:logo\""), "{html}");
            assert!(!text.contains("\n\n\n"), "{text}");
        }
    }

    /// The words of the links are those of the language, and an image that no program of mail draws is left out.
    #[test]
    fn links_are_named_and_a_drawing_is_left_out() {
        let message = Message::PasswordChanged { at: Timestamp::EPOCH };
        let svg = Logo::read(LogoType::Svg, b"<svg xmlns='http://www.w3.org/2000/svg'></svg>").ok();
        let brand = MailBrand { logo: svg, ..acme() };
        let Rendered { text, html, logo, .. } = Rendered::new(&message, Language::German, &brand).unwrap();
        assert!(text.contains("Datenschutzerklärung: https://acme.example/privacy"), "{text}");
        assert!(logo.is_none() && !html.contains(" src="), "{html}");
        let bare = rendered(&message, Language::English);
        assert!(!bare.text.contains("Privacy") && !bare.html.contains("<img"), "{}", bare.text);
    }
}
