//! Where a session began, by what its person may recognize it: the kind of browser and of system, and the address.
//!
//! Browsers name themselves in `User-Agent` (RFC 9110 10.1.5), truly or not, so nothing is decided by it. What is kept is not
//! that text but the names in it that are known: it would fill records, tell more than a person needs, and come from anybody.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Where a session began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrigin {
    /// The kinds of browser and system, as far as they are known.
    pub device: Option<String>,
    /// The address that the sign-in came from.
    pub address: Option<IpAddr>,
}

impl SessionOrigin {
    /// The kind of system alone, if it is known.
    pub fn system(&self) -> Option<&'static str> {
        let device = self.device.as_deref()?;
        let last = device.rsplit(BETWEEN).next()?;
        SYSTEMS.iter().map(|(_, name)| *name).find(|name| *name == last)
    }
}

/// What stands between the kind of browser and the kind of system.
const BETWEEN: &str = " · ";

/// The most bytes of a `User-Agent` that are looked at.
const LOOKED_AT: usize = 1_024;

/// What names a browser, the more particular first: most browsers name those that they descend from too.
const BROWSERS: [(&str, &str); 10] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Vivaldi/", "Vivaldi"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// What names a system, the more particular first.
const SYSTEMS: [(&str, &str); 8] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
    ("X11", "Unix"),
];

/// The kinds of browser and system that a `User-Agent` names, such as `Firefox · Linux`; `None` if none is known.
pub fn device(user_agent: &str) -> Option<String> {
    // Cut between characters.
    let end = (0..=user_agent.len().min(LOOKED_AT)).rev().find(|end| user_agent.is_char_boundary(*end));
    let looked_at = user_agent.get(..end.unwrap_or_default()).unwrap_or_default();
    let named = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| looked_at.contains(mark)).map(|(_, name)| *name)
    };
    let found: Vec<&str> = [named(&BROWSERS), named(&SYSTEMS)].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join(BETWEEN))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_usual_browsers_are_known_by_their_own_names() {
        for (user_agent, expected) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox · Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
                "Chrome · Windows",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
                "Edge · Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15",
                "Safari · macOS",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1",
                "Chrome · iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0 Mobile Safari/537.36",
                "Samsung Internet · Android",
            ),
            (
                "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
                "Chrome · ChromeOS",
            ),
            ("something on Linux", "Linux"),
        ] {
            let device = device(user_agent);
            assert_eq!(device.as_deref(), Some(expected), "{user_agent}");
            let system = SessionOrigin { device, address: None }.system();
            assert_eq!(system, expected.rsplit(" · ").next(), "{user_agent}");
        }
        for unknown in ["", "curl/8.5.0", "\u{e4}\u{1f600}"] {
            assert_eq!(device(unknown), None, "{unknown}");
        }
        for (device, system) in [(None, None), (Some("Firefox"), None), (Some("iPad"), Some("iPad"))] {
            let origin = SessionOrigin { device: device.map(str::to_owned), address: None };
            assert_eq!(origin.system(), system, "{device:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_sent_what_is_kept_is_short_and_ours(user_agent in ".{0,2000}") {
            if let Some(device) = device(&user_agent) {
                prop_assert!(device.len() <= 40, "{device}");
            }
        }
    }
}
