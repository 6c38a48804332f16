//! How pages present an issuer: by its own branding, and on pages of a client's requests by the client's before that.

use symbolon_mail::MailBrand;
use symbolon_pages::{Brand, ByLanguage};
use symbolon_protocol::branding::Branding;
use symbolon_protocol::client::Client;
use symbolon_protocol::discovery;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::logo::Logo;

use super::IssuerState;

/// What a page says of the provider.
#[derive(Clone, Debug)]
pub struct Appearance {
    /// The name in its head.
    pub name: String,
    /// Logo, style sheet, links and texts.
    pub brand: Brand,
}

impl IssuerState {
    /// The issuer's name on pages: that of its branding, else its URL without the scheme and without a slash at its end.
    pub fn display_name(&self) -> String {
        let base = discovery::base(&self.url);
        let address = || base.split_once("://").map_or(base, |(_, rest)| rest).to_owned();
        self.settings.load().branding.name.clone().unwrap_or_else(address)
    }

    /// How its own pages present it.
    pub fn brand(&self) -> Brand {
        self.brand_with(None)
    }

    /// How its pages present it, where links and texts of a client's branding go before its own.
    fn brand_with(&self, own: Option<&Branding>) -> Brand {
        let settings = self.settings.load();
        let displayed = |member: &str| {
            ByLanguage::of(|language| displayed(own, &settings.branding, (member, language.tag())))
        };
        let (style, logo) = (self.style.load(), self.logo.load());
        Brand {
            style: style.as_ref().map(|style| format!("{}{}", self.prefix, style.address(None))),
            logo: logo.as_ref().map(|logo| self.logo_address(logo, None)),
            help_uri: displayed("help_uri"),
            policy_uri: displayed("policy_uri"),
            tos_uri: displayed("tos_uri"),
            intro: displayed("intro"),
            foot: displayed("foot"),
        }
    }

    /// How its own pages present it, with the name.
    pub fn appearance(&self) -> Appearance {
        Appearance { name: self.display_name(), brand: self.brand() }
    }

    /// How pages of a client's requests present it. What the client's branding names goes before the issuer's. Accent and
    /// variables go together, because their contrast was checked together.
    pub fn appearance_for(&self, client: &Client, logo: Option<&Logo>) -> Appearance {
        let Some(own) = client.branding.as_deref() else { return self.appearance() };
        let style = own.style_sheet();
        let style = style.map(|style| format!("{}{}", self.prefix, style.address(Some(&client.client_id))));
        // A name of its own has the logo of its own beside it.
        let logo = logo.filter(|_| client.has_name_in_head());
        let logo = logo.map(|logo| self.logo_address(logo, Some(&client.client_id)));
        let brand = self.brand_with(Some(own));
        Appearance {
            name: own.name.clone().unwrap_or_else(|| self.display_name()),
            brand: Brand { style: style.or(brand.style), logo: logo.or(brand.logo), ..brand },
        }
    }

    /// How its mail presents it, or the client in whose request the mail was asked for, with that client's logo: as pages in the
    /// mail's language do, with the logo itself.
    pub fn mail_brand(&self, client: Option<&Client>, logo: Option<Logo>, language: &str) -> MailBrand {
        let settings = self.settings.load();
        let own = client.and_then(|client| client.branding.as_deref());
        let coloured = own.filter(|own| own.style_sheet().is_some()).unwrap_or(&settings.branding);
        let of_client = logo.filter(|_| client.is_some_and(Client::has_name_in_head));
        let displayed = |member| displayed(own, &settings.branding, (member, language));
        MailBrand {
            name: own.and_then(|own| own.name.clone()).unwrap_or_else(|| self.display_name()),
            issuer_url: self.url.to_string(),
            buttons: coloured.buttons(),
            logo: of_client.or_else(|| self.logo.load().as_deref().cloned()),
            help_uri: displayed("help_uri"),
            policy_uri: displayed("policy_uri"),
            tos_uri: displayed("tos_uri"),
            foot: displayed("foot"),
        }
    }

    /// The address of a logo on its pages: its own, or a client's.
    pub fn logo_address(&self, logo: &Logo, client: Option<&ClientId>) -> String {
        format!("{}{}", self.prefix, logo.address(client))
    }
}

/// A member of a client's branding, else of its issuer's, in a language: the client's in every language before the issuer's in any.
fn displayed(own: Option<&Branding>, issuers: &Branding, (member, language): (&str, &str)) -> Option<String> {
    let own = own.and_then(|own| own.displayed_in(member, language));
    own.or_else(|| issuers.displayed_in(member, language)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::scene;

    #[test]
    fn a_slash_at_the_end_of_the_url_is_in_no_name_and_no_origin() {
        for (url, name, origin) in [
            ("https://login.example", "login.example", "https://login.example"),
            ("https://login.example/", "login.example", "https://login.example"),
            ("https://login.example/acme", "login.example/acme", "https://login.example"),
            ("https://login.example:8443/acme/", "login.example:8443/acme", "https://login.example:8443"),
        ] {
            let issuer = scene::issuer(url, &super::super::host_and_prefix(url).1, 1);
            assert_eq!((&*issuer.display_name(), issuer.origin()), (name, origin), "{url}");
        }
    }
}
