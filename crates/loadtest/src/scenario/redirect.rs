//! Where a reference in an answer leads.

use url::Url;

use super::Wrong;

/// A reference that was followed to its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference(Url);

impl Reference {
    /// Resolves it against the address of the answer that it stands in (RFC 3986 5), by authority and path with query.
    ///
    /// # Errors
    /// [`Wrong`] `location` where it is none.
    pub(crate) fn resolve(reference: &str, (authority, path): (&str, &str)) -> Result<Self, Wrong> {
        let base = Url::parse(&format!("http://{authority}{path}"));
        let url = base.and_then(|base| base.join(reference));
        url.map(Self).map_err(|error| Wrong::new("location", error.to_string()))
    }

    /// What a request for it names: its path and query.
    pub(crate) fn path_and_query(&self) -> String {
        let url = &self.0;
        url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
    }

    /// Its host and port, without a port that its scheme implies.
    pub(crate) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether HTTP can ask for it.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.0.scheme(), "http" | "https")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_somewhere() {
        let at = |reference: &str| Reference::resolve(reference, ("h:8", "/a/b?c=d")).unwrap();
        assert_eq!(at("").path_and_query(), "/a/b?c=d");
        assert_eq!(at("x?y=z#f").path_and_query(), "/a/x?y=z");
        assert_eq!((at("/x").authority(), at("/x").is_http()), ("h:8".to_owned(), true));
        assert_eq!((at("https://o/x").authority(), at("app:x").is_http()), ("o".to_owned(), false));
        assert_eq!(Reference::resolve("http://[", ("h", "/")).unwrap_err().kind, "location");
    }
}
