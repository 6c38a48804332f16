//! The language of a page: what the application asks for, then what the person chose in this browser, then what the
//! browser prefers, then the issuer's setting.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use symbolon_pages::Language;
use symbolon_protocol::ui_locale::UiLocale;

use super::{cookies, set_cookie};
use crate::issuer::IssuerState;

/// How long a browser keeps the person's choice.
const CHOICE_LIVES: Duration = Duration::from_secs(365 * 86_400);

/// The language of the pages that belongs to a locale.
pub const fn page_language(locale: UiLocale) -> Language {
    match locale {
        UiLocale::En => Language::English,
        UiLocale::De => Language::German,
        UiLocale::Es => Language::Spanish,
        UiLocale::Fr => Language::French,
        UiLocale::Ja => Language::Japanese,
        UiLocale::Ar => Language::Arabic,
    }
}

/// The locale of a page: of `ui_locales` (OpenID Connect Core 3.1.2.1), of the cookie, of `Accept-Language` (RFC 9110
/// 12.5.4), or the issuer's default.
pub fn locale(headers: &HeaderMap, issuer: &IssuerState, ui_locales: Option<&str>) -> UiLocale {
    ui_locales
        .and_then(UiLocale::of_ui_locales)
        .or_else(|| cookies(headers, &cookie_name(issuer)).find_map(UiLocale::lookup))
        .or_else(|| accepted(headers))
        .unwrap_or_else(|| issuer.settings.load().default_language)
}

/// The locale that the browser prefers, of those that there are. Several fields are one list (RFC 9110 5.2), and browsers
/// send one.
fn accepted(headers: &HeaderMap) -> Option<UiLocale> {
    headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok().and_then(UiLocale::of_accept_language)
}

/// The cookie that keeps a choice in this browser.
pub fn choice_cookie(issuer: &IssuerState, chosen: UiLocale) -> Option<HeaderValue> {
    set_cookie(issuer, &cookie_name(issuer), chosen.tag(), CHOICE_LIVES)
}

fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_language")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_has_its_pages() {
        for locale in UiLocale::ALL {
            assert_eq!(page_language(locale).tag(), locale.tag());
        }
        assert_eq!(UiLocale::ALL.len(), Language::ALL.len());
    }
}
