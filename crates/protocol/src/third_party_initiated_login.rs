//! Initiating a login from a third party (OpenID Connect Core 1.0 4): here the third party is the provider itself, whose pages
//! lead to the application, which then asks for a sign-in as always.

use crate::client::Client;
use crate::redirect_uri::{append_query, origin};

/// The address that opens a client: its `initiate_login_uri` with `iss`, which section 4 requires. Its home page comes along as
/// `target_link_uri` if it is on the same origin: section 4 has clients refuse targets elsewhere, and some have no other idea of
/// where to go. `login_hint` is left out, so that no address names the person. None where the client registered no such URI.
pub fn address(client: &Client, issuer_url: &str) -> Option<String> {
    let uri = client.initiate_login_uri.as_deref()?;
    let home = client.displayed("client_uri").filter(|home| origin(home) == origin(uri));
    let mut params = vec![("iss", issuer_url)];
    if let Some(home) = &home {
        params.push(("target_link_uri", home));
    }
    Some(append_query(uri, &params))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::fixture;

    const ISSUER: &str = "https://id.example/t";

    fn client(uri: Option<&str>, home: Option<&str>) -> Client {
        let mut client = fixture::client("shop");
        client.initiate_login_uri = uri.map(str::to_owned);
        if let Some(home) = home {
            client.display.insert("client_uri".to_owned(), home.into());
        }
        client
    }

    #[test]
    fn the_issuer_comes_along_and_the_home_page_if_it_is_the_clients_own() {
        let of = |uri, home| address(&client(uri, home), ISSUER);
        assert_eq!(of(None, Some("https://rp.example/")), None);
        let own = Some("https://rp.example/go?tenant=1");
        assert_eq!(
            of(own, None).as_deref(),
            Some("https://rp.example/go?tenant=1&iss=https%3A%2F%2Fid.example%2Ft")
        );
        assert_eq!(
            of(own, Some("https://rp.example/home")).as_deref(),
            Some(
                "https://rp.example/go?tenant=1&iss=https%3A%2F%2Fid.example%2Ft\
                 &target_link_uri=https%3A%2F%2Frp.example%2Fhome"
            )
        );
        assert_eq!(of(own, Some("https://www.rp.example/")), of(own, None));
    }
}
