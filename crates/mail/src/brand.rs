//! Whom a mail comes from, as it shows it: an issuer, or a client in its request.

use symbolon_protocol::branding::Button;
use symbolon_protocol::logo::Logo;

/// How a mail presents whom it comes from. A mail loads nothing: the logo travels in it, and no link says who opened it.
#[derive(Clone, Debug)]
pub struct MailBrand {
    /// The name in its texts.
    pub name: String,
    /// The URL of the issuer, at its foot.
    pub issuer_url: String,
    /// The button, where the mail is shown light and where it is shown dark.
    pub buttons: [Button; 2],
    /// The logo. Only a PNG or JPEG is shown: programs of mail draw nothing else.
    pub logo: Option<Logo>,
    /// Where people find help.
    pub help_uri: Option<String>,
    /// The privacy policy.
    pub policy_uri: Option<String>,
    /// The terms of service.
    pub tos_uri: Option<String>,
    /// A text at the foot.
    pub foot: Option<String>,
}

impl MailBrand {
    /// The logo, if programs of mail can show it.
    pub(crate) fn shown_logo(&self) -> Option<&Logo> {
        self.logo.as_ref().filter(|logo| matches!(logo.media_type(), "image/png" | "image/jpeg"))
    }

    /// Its links, with the names of their labels.
    pub(crate) fn links(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let links = [
            ("label-help", &self.help_uri),
            ("label-policy", &self.policy_uri),
            ("label-terms", &self.tos_uri),
        ];
        links.into_iter().filter_map(|(label, uri)| Some((label, uri.as_deref()?)))
    }
}

/// A brand of nothing but a name.
#[cfg(test)]
pub(crate) fn plain(name: &str) -> MailBrand {
    MailBrand {
        name: name.to_owned(),
        issuer_url: "https://op.example".to_owned(),
        buttons: symbolon_protocol::branding::Branding::default().buttons(),
        logo: None,
        help_uri: None,
        policy_uri: None,
        tos_uri: None,
        foot: None,
    }
}
