//! The addresses of what pages load of a client's branding, relative to the issuer.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::id::ClientId;

/// What stands before the id of a client.
const CLIENTS: &str = "/branding/clients/";

/// All characters of a client's id that are percent-encoded in a path: all but the unreserved ones (RFC 3986 2.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The path of a client's file.
pub fn of_client(client: &ClientId, file: &str) -> String {
    format!("{CLIENTS}{}/{file}", utf8_percent_encode(client.as_str(), SEGMENT))
}

/// The client whose file a path names; an issuer's prefix may stand before it.
pub fn client_in(path: &str, file: &str) -> Option<ClientId> {
    let (_, rest) = path.rsplit_once(CLIENTS)?;
    let id = percent_decode_str(rest.strip_suffix(file)?.strip_suffix('/')?).decode_utf8().ok()?;
    ClientId::parse(&id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_client_leads_back_to_it() {
        for id in ["app", "https://app.example/a?b#c", "%2f", "a/branding/clients/b", "logo"] {
            let client = ClientId::parse(id).unwrap();
            let path = of_client(&client, "logo");
            assert!(path.matches('/').count() == 4 && !path.contains(['?', '#']), "{path}");
            for prefix in ["", "/acme"] {
                assert_eq!(client_in(&format!("{prefix}{path}"), "logo"), Some(client.clone()), "{path}");
            }
            assert_eq!(client_in(&path, "style.css"), None);
        }
        for path in
            ["/branding/clients//logo", "/branding/clients/%ff/logo", "/branding/logo", "/branding/clients/a"]
        {
            assert_eq!(client_in(path, "logo"), None, "{path}");
        }
    }
}
