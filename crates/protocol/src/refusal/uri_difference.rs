//! In what a URI that was sent differs from the registered ones, in words.

use url::Url;

use crate::redirect_uri::LONGEST;

/// The most parts in which two URIs may differ to be called alike.
const MOST_PARTS: usize = 2;

/// The registered URIs, the one that is most like the sent one first, and in what that one differs; without the latter if
/// none is like it. A text that is longer than any registered URI is like none: anybody may send it, so it is not parsed.
pub(crate) fn closest<'r>(registered: &'r [String], sent: &str) -> (Vec<&'r str>, Option<String>) {
    if sent.len() > LONGEST {
        return (registered.iter().map(String::as_str).collect(), None);
    }
    let parsed = Url::parse(sent).ok();
    let mut rated: Vec<(Vec<&str>, &str)> =
        registered.iter().map(|own| (differing_parts(own, sent, parsed.as_ref()), own.as_str())).collect();
    // A stable sort: of equally good ones the first registered comes first.
    rated.sort_by_key(|(parts, _)| parts.len());
    let words = rated
        .first()
        .filter(|(parts, _)| (1..=MOST_PARTS).contains(&parts.len()))
        .map(|(parts, _)| format!("it differs in {}", parts.join(" and ")));
    (rated.into_iter().map(|(_, own)| own).collect(), words)
}

/// The parts of two URIs that differ, by their names. More than [`MOST_PARTS`] if one of them is no URI.
fn differing_parts(own: &str, sent: &str, parsed: Option<&Url>) -> Vec<&'static str> {
    if own == sent {
        return Vec::new();
    }
    if own.eq_ignore_ascii_case(sent) {
        return vec!["upper and lower case"];
    }
    if own.trim_end_matches('/') == sent.trim_end_matches('/') {
        return vec!["the slash at the end"];
    }
    let (Ok(a), Some(b)) = (Url::parse(own), parsed) else {
        return vec!["the scheme", "the host", "the path"];
    };
    let port = match a.scheme() == b.scheme() {
        true => a.port_or_known_default() != b.port_or_known_default(),
        // Another scheme has another default, which is no difference of its own.
        false => a.port() != b.port(),
    };
    let path = match (a.path(), b.path()) {
        (a, b) if a == b => None,
        (a, b) if a.trim_end_matches('/') == b.trim_end_matches('/') => {
            Some("the slash at the end of the path")
        }
        (a, b) if a.eq_ignore_ascii_case(b) => Some("upper and lower case of the path"),
        _ => Some("the path"),
    };
    let user = (a.username(), a.password()) != (b.username(), b.password());
    let parts: Vec<&str> = [
        (a.scheme() != b.scheme()).then_some("the scheme"),
        user.then_some("the user name"),
        (a.host_str() != b.host_str()).then_some("the host"),
        port.then_some("the port"),
        path,
        (a.query() != b.query()).then_some("the query"),
        (a.fragment() != b.fragment()).then_some("the fragment"),
    ]
    .into_iter()
    .flatten()
    .collect();
    match parts.is_empty() {
        // Equal to a parser, but not as text.
        true => vec!["the way it is written: a default port, an escape, a dot segment or upper case"],
        false => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(registered: &[&str], sent: &str) -> Option<String> {
        let registered: Vec<String> = registered.iter().map(|own| (*own).to_owned()).collect();
        closest(&registered, sent).1
    }

    #[test]
    fn one_difference_is_named() {
        let own = "https://rp.example/cb";
        for (sent, part) in [
            ("https://rp.example/cb/", "the slash at the end"),
            ("http://rp.example/cb", "the scheme"),
            ("https://rp.example:8443/cb", "the port"),
            ("https://rp.example:443/cb", "the way it is written"),
            ("https://RP.example/cb", "upper and lower case"),
            ("https://rp.example/CB", "upper and lower case"),
            ("https://rp.example/cb?x=1", "the query"),
            ("https://rp.example/cb#x", "the fragment"),
            ("https://www.rp.example/cb", "the host"),
            ("https://rp.example/callback", "the path"),
            ("https://rp.example/cb/?x=1", "the slash at the end of the path and the query"),
            ("https://me@rp.example/cb", "the user name"),
            ("http://rp.example:3000/cb", "the scheme and the port"),
        ] {
            let told = words(&[own], sent).unwrap_or_default();
            assert!(told.starts_with(&format!("it differs in {part}")), "{sent}: {told}");
        }
        assert_eq!(
            words(&["https://rp.example/"], "https://rp.example").as_deref(),
            Some("it differs in the slash at the end")
        );
    }

    #[test]
    fn the_closest_one_comes_first_and_strangers_are_not_compared() {
        let registered = ["https://a.example/x".to_owned(), "http://localhost:3000/cb".to_owned()];
        let (order, told) = closest(&registered, "http://localhost:3001/cb");
        assert_eq!(order, ["http://localhost:3000/cb", "https://a.example/x"]);
        assert_eq!(told.as_deref(), Some("it differs in the port"));
        for sent in ["com.example.app:/cb", "not a uri", "", "http://evil.example:81/y"] {
            assert_eq!(words(&["https://a.example/x"], sent), None, "{sent}");
        }
        assert_eq!(closest(&[], "https://a.example/x"), (Vec::new(), None));
    }
}
