//! Request parameters in `application/x-www-form-urlencoded`: the query of `/authorize` and every form.

use std::borrow::Cow;

use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};

/// The longest query or form that is parsed, in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;
/// The most parameters of a request, empty ones included.
pub const MAX_PARAMETERS: usize = 256;

/// The parameters of one request, in order. Values without escapes are borrowed from the request.
///
/// No Debug, because forms contain secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Params<'a> {
    list: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Params<'a> {
    /// Parses a query (without its `?`) or the body of a form.
    ///
    /// # Errors
    /// `invalid_request` for more than [`MAX_LENGTH`] bytes or [`MAX_PARAMETERS`] parameters, broken percent
    /// encoding, and text that is not UTF-8 (RFC 6749 appendix B).
    pub fn parse(encoded: &'a [u8]) -> Result<Self, OAuthError> {
        // RFC 6749 3.1 and 3.2: parameters sent without a value are treated as if they were omitted.
        Self::read(encoded, false)
    }

    /// Parses the body of a page's form, in which a field that was left empty says something.
    ///
    /// # Errors
    /// As of [`Params::parse`].
    pub fn of_form(encoded: &'a [u8]) -> Result<Self, OAuthError> {
        Self::read(encoded, true)
    }

    fn read(encoded: &'a [u8], keeps_empty: bool) -> Result<Self, OAuthError> {
        if encoded.len() > MAX_LENGTH {
            let description = "the request is longer than 64 KiB";
            return Err(OAuthError::invalid_request(Reason::RequestTooLong, description));
        }
        let text = std::str::from_utf8(encoded).map_err(|_| NOT_FORM)?;
        let mut list = Vec::with_capacity(16);
        let (mut begin, mut count) = (0, 0);
        for end in memchr::memchr_iter(b'&', encoded).chain([encoded.len()]) {
            let pair = text.get(begin..end).unwrap_or_default();
            begin = end + 1;
            if pair.is_empty() {
                continue;
            }
            count += 1;
            if count > MAX_PARAMETERS {
                let description = "the request has more than 256 parameters";
                return Err(OAuthError::invalid_request(Reason::RequestTooLong, description));
            }
            let equals =
                memchr::memchr(b'=', pair.as_bytes()).filter(|equals| keeps_empty || equals + 1 < pair.len());
            let Some((name, value)) = equals.and_then(|at| Some((pair.get(..at)?, pair.get(at + 1..)?)))
            else {
                continue;
            };
            let (Some(name), Some(value)) = (decode(name), decode(value)) else { return Err(NOT_FORM) };
            list.push((name, value));
        }
        Ok(Self { list })
    }

    /// The value of a parameter that may be sent once.
    ///
    /// # Errors
    /// `invalid_request` if it is repeated (RFC 6749 3.1, 3.2).
    pub fn get(&self, name: &str) -> Result<Option<&str>, OAuthError> {
        let mut values = self.get_all(name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(repeated(name)),
            (value, None) => Ok(value),
        }
    }

    /// The value of a required parameter.
    ///
    /// # Errors
    /// `invalid_request` if it is missing, empty or repeated.
    pub fn require(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name)?.ok_or_else(|| missing(name))
    }

    /// Refuses repeated parameters, known or not, except for those in `but`.
    ///
    /// # Errors
    /// `invalid_request` (RFC 6749 3.2, 5.2).
    pub fn refuse_repeated(&self, but: &[&str]) -> Result<(), OAuthError> {
        let names = || self.list.iter().map(|(name, _)| &**name);
        let repeated_name = names()
            .enumerate()
            .find(|(place, name)| !but.contains(name) && names().take(*place).any(|before| before == *name));
        repeated_name.map_or(Ok(()), |(_, name)| {
            // Unknown names are not repeated in the error, because it may be shown on a page or sent to a client: an
            // attacker could choose the text.
            Err(if NAMED.contains(&name) { repeated(name) } else { REPEATED.about(Details::of(name)) })
        })
    }

    /// All values of a parameter that may be repeated (RFC 8693 2.1: `audience`, `resource`).
    pub fn get_all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.list.iter().filter(move |(own, _)| own == name).map(|(_, value)| &**value)
    }

    /// All parameters with a value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// Parameters that an error may name if they are repeated.
const NAMED: [&str; 35] = [
    "acr_values",
    "actor_token",
    "actor_token_type",
    "audience",
    "authorization_details",
    "claims",
    "client_assertion",
    "client_assertion_type",
    "client_id",
    "client_secret",
    "code",
    "code_challenge",
    "code_challenge_method",
    "code_verifier",
    "display",
    "grant_type",
    "id_token_hint",
    "login_hint",
    "max_age",
    "nonce",
    "prompt",
    "redirect_uri",
    "refresh_token",
    "request",
    "request_uri",
    "requested_token_type",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
    "subject_token",
    "subject_token_type",
    "token",
    "token_type_hint",
];
const REPEATED: OAuthError =
    OAuthError::invalid_request(Reason::ParameterRepeated, "a parameter must not be repeated");

const NOT_FORM: OAuthError = OAuthError::invalid_request(
    Reason::FormMalformed,
    "the parameters are not valid application/x-www-form-urlencoded UTF-8",
);

/// `invalid_request` for a repeated parameter.
pub(crate) fn repeated(name: &str) -> OAuthError {
    let description = format!("{name} must not be repeated");
    OAuthError::with(ErrorCode::InvalidRequest, Reason::ParameterRepeated, description)
        .about(Details::of(name))
}

/// `invalid_request` for a missing parameter.
fn missing(name: &str) -> OAuthError {
    let description = format!("{name} is missing");
    OAuthError::with(ErrorCode::InvalidRequest, Reason::ParameterMissing, description)
        .about(Details::of(name))
}

/// Decodes one name or value; `None` for a broken escape or bytes that are not UTF-8.
pub(crate) fn decode(text: &str) -> Option<Cow<'_, str>> {
    let mut rest = text.as_bytes();
    let Some(mut plain) = escape(rest) else { return Some(Cow::Borrowed(text)) };
    let mut decoded = Vec::with_capacity(text.len());
    loop {
        let (before, from) = rest.split_at_checked(plain)?;
        decoded.extend_from_slice(before);
        rest = match from {
            [b'+', after @ ..] => {
                decoded.push(b' ');
                after
            }
            [b'%', high, low, after @ ..] => {
                decoded.push(hex(*high)? << 4 | hex(*low)?);
                after
            }
            [] => break,
            _ => return None,
        };
        plain = escape(rest).unwrap_or(rest.len());
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

/// The position of the first escape. Most names and values are too short for a vectorized search to pay off.
fn escape(bytes: &[u8]) -> Option<usize> {
    if bytes.len() > 32 {
        return memchr::memchr2(b'%', b'+', bytes);
    }
    bytes.iter().position(|byte| matches!(byte, b'%' | b'+'))
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Params<'_> {
        Params::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn values_are_decoded_and_plain_ones_borrowed() {
        let params = parse("a=b+c%20d&n=%C3%A4&plain=x-y&flag&empty=&&k==v");
        assert_eq!(params.get("a"), Ok(Some("b c d")));
        assert_eq!(params.get("n"), Ok(Some("ä")));
        assert_eq!(params.get("k"), Ok(Some("=v")));
        assert!(matches!(params.list[2].1, Cow::Borrowed("x-y")));
    }

    #[test]
    fn empty_values_count_as_absent() {
        let params = parse("scope=&state&scope=openid");
        assert_eq!(params.get("scope"), Ok(Some("openid")));
        assert_eq!(params.get("state"), Ok(None));
        assert!(params.require("state").is_err());
    }

    #[test]
    fn repeats_are_refused_but_where_asked_for() {
        let params = parse("a=1&b=2&a=1");
        assert_eq!(params.get("a").map_err(|e| e.code), Err(ErrorCode::InvalidRequest));
        assert_eq!(params.get_all("a").collect::<Vec<_>>(), ["1", "1"]);
        assert_eq!(params.refuse_repeated(&[]).map_err(|e| e.code), Err(ErrorCode::InvalidRequest));
        assert_eq!(params.refuse_repeated(&["b"]).map_err(|e| e.code), Err(ErrorCode::InvalidRequest));
        assert_eq!(params.refuse_repeated(&["a"]), Ok(()));
        assert_eq!(parse("a=1&b=1&a=").refuse_repeated(&[]), Ok(()));
    }

    #[test]
    fn an_error_names_only_parameters_that_we_know() {
        let told = |query: &str| parse(query).refuse_repeated(&[]).unwrap_err().description;
        assert_eq!(told("state=1&state=2"), "state must not be repeated");
        assert_eq!(told("call+0900+now=1&call+0900+now=2"), "a parameter must not be repeated");
    }

    #[test]
    fn broken_forms_are_invalid_requests() {
        let long = format!("a={}", "x".repeat(MAX_LENGTH));
        let many = "a=1&".repeat(MAX_PARAMETERS + 1);
        let empties = "a&".repeat(MAX_PARAMETERS + 1);
        for bad in [&b"a=%"[..], b"a=%4", b"a=%zz", b"a=%ff", b"a=\xff", long.as_bytes(), many.as_bytes()] {
            assert!(Params::parse(bad).is_err(), "{:?}", String::from_utf8_lossy(bad).get(..8));
        }
        assert!(Params::parse(empties.as_bytes()).is_err());
        assert!(Params::parse("a=1&".repeat(MAX_PARAMETERS).as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn any_bytes_never_panic(bytes: Vec<u8>) {
            if let Ok(params) = Params::parse(&bytes) {
                for (name, _) in params.iter() {
                    let _ = params.get(name);
                }
            }
        }

        #[test]
        fn what_is_serialised_is_read_back(pairs in prop::collection::vec((".{1,8}", ".{1,20}"), 0..10)) {
            let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            let params = parse(&text);
            let read = params.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect::<Vec<_>>();
            prop_assert_eq!(read, pairs);
        }
    }
}
