//! How the answer of the authorization endpoint reaches the client (`response_mode`).

/// A response mode (OAuth 2.0 Multiple Response Types 2.1, OAuth 2.0 Form Post Response Mode, JWT Secured Authorization Response
/// Mode 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResponseMode {
    /// In the query of the redirect URI: the default of `response_type=code`.
    #[default]
    Query,
    /// In its fragment: the default of all other response types.
    Fragment,
    /// As a form that the browser posts.
    FormPost,
    /// As a signed JWT in the query.
    QueryJwt,
    /// As a signed JWT in the fragment.
    FragmentJwt,
    /// As a signed JWT in a form that the browser posts.
    FormPostJwt,
}

impl ResponseMode {
    /// Every value, as discovery lists them.
    pub const VALUES: [&'static str; 7] =
        ["query", "fragment", "form_post", "query.jwt", "fragment.jwt", "form_post.jwt", "jwt"];

    /// Reads a `response_mode`. `default` is that of the response type, which `jwt` alone stands for (JARM 2.3.4).
    pub fn parse(text: &str, default: Self) -> Option<Self> {
        match text {
            "query" => Some(Self::Query),
            "fragment" => Some(Self::Fragment),
            "form_post" => Some(Self::FormPost),
            "query.jwt" => Some(Self::QueryJwt),
            "fragment.jwt" => Some(Self::FragmentJwt),
            "form_post.jwt" => Some(Self::FormPostJwt),
            "jwt" if default == Self::Query => Some(Self::QueryJwt),
            "jwt" => Some(Self::FragmentJwt),
            _ => None,
        }
    }

    /// Whether the answer stands in the query of an address.
    pub const fn is_query(self) -> bool {
        matches!(self, Self::Query | Self::QueryJwt)
    }

    /// Whether the browser posts a form.
    pub const fn is_form_post(self) -> bool {
        matches!(self, Self::FormPost | Self::FormPostJwt)
    }

    /// Whether the parameters are the claims of a signed JWT.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::QueryJwt | Self::FragmentJwt | Self::FormPostJwt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_read_and_the_signed_ones_follow_the_plain_ones() {
        for text in ResponseMode::VALUES {
            for default in [ResponseMode::Query, ResponseMode::Fragment] {
                let mode = ResponseMode::parse(text, default).unwrap();
                assert_eq!(mode.is_signed(), text.ends_with("jwt"), "{text}");
                assert_eq!(mode.is_form_post(), text.starts_with("form_post"), "{text}");
                let is_default = text == "jwt" && default == ResponseMode::Query;
                assert_eq!(mode.is_query(), text.starts_with("query") || is_default, "{text}");
            }
        }
        for text in ["", "web_message", "query.", "JWT", "query.jwt.jwt"] {
            assert_eq!(ResponseMode::parse(text, ResponseMode::Query), None, "{text}");
        }
    }
}
