//! Requests and answers of HTTP/1.1, as visitors know them, to and from HTTP/2.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::response;
use http::uri::{Authority, Parts, PathAndQuery, Scheme, Uri};
use http::{Method, Request};

use super::ClientError;

/// More header fields than this in one request are refused.
const MAX_HEADERS: usize = 64;

/// Header fields that are of the connection, which HTTP/2 does not have (RFC 9113 8.2.2); `host` becomes `:authority`
/// (RFC 9113 8.3.1).
const DROPPED: [&str; 7] =
    ["connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// The head and the body of a request in the bytes of HTTP/1.1. They are copied once.
///
/// # Errors
/// [`ClientError::Request`]
pub(super) fn request(bytes: &[u8], scheme: &Scheme) -> Result<(Request<()>, Bytes), ClientError> {
    let bytes = Bytes::copy_from_slice(bytes);
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut fields);
    let Ok(httparse::Status::Complete(length)) = parsed.parse(&bytes) else {
        return Err(ClientError::Request("its head is not one of HTTP/1.1"));
    };
    let method = Method::from_bytes(parsed.method.unwrap_or_default().as_bytes());
    let path = bytes.slice_ref(parsed.path.unwrap_or_default().as_bytes());
    let mut uri = Parts::default();
    uri.scheme = Some(scheme.clone());
    let path = PathAndQuery::from_maybe_shared(path);
    uri.path_and_query = Some(path.map_err(|_| ClientError::Request("its path is none"))?);
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    for field in parsed.headers.iter() {
        let value = bytes.slice_ref(field.value);
        if field.name.eq_ignore_ascii_case("host") {
            let authority = Authority::from_maybe_shared(value.clone());
            uri.authority = Some(authority.map_err(|_| ClientError::Request("its host is none"))?);
        }
        if DROPPED.iter().any(|dropped| field.name.eq_ignore_ascii_case(dropped)) {
            continue;
        }
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let name = name.map_err(|_| ClientError::Request("a header field has no name"))?;
        let value = HeaderValue::from_maybe_shared(value);
        headers.append(name, value.map_err(|_| ClientError::Request("a header field is none"))?);
    }
    let mut request = Request::new(());
    *request.method_mut() = method.map_err(|_| ClientError::Request("its method is none"))?;
    *request.uri_mut() = Uri::from_parts(uri).map_err(|_| ClientError::Request("it has no host"))?;
    *request.headers_mut() = headers;
    Ok((request, bytes.slice(length..)))
}

/// Appends the head of an answer as HTTP/1.1 writes it.
pub(super) fn write_head(head: &response::Parts, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/2 ");
    out.extend_from_slice(head.status.as_str().as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in &head.headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Response;

    #[test]
    fn a_request_keeps_all_but_what_is_of_the_connection() {
        let bytes = b"POST /t?a=b HTTP/1.1\r\nHost: [::1]:8\r\nConnection: keep-alive\r\nTE: trailers\r\n\
            Content-Length: 3\r\nCookie: a=b; c=d\r\nAccept: x\r\naccept: y\r\n\r\na=b";
        let (request, body) = request(bytes, &Scheme::HTTPS).unwrap();
        assert_eq!(
            (request.method(), request.uri().to_string().as_str()),
            (&Method::POST, "https://[::1]:8/t?a=b")
        );
        let headers: Vec<_> =
            request.headers().iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            headers,
            [("content-length", "3"), ("cookie", "a=b; c=d"), ("accept", "x"), ("accept", "y")]
        );
        assert_eq!(body, "a=b");
    }

    #[test]
    fn what_is_no_request_is_said() {
        for bytes in [
            &b"GET / HTTP/1.1\r\nhost: x"[..],
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n",
            b"\r\n",
        ] {
            let error = request(bytes, &Scheme::HTTP).unwrap_err();
            assert_eq!(error.kind(), "request", "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn fields_of_an_answer_are_found() {
        let answer =
            http::Response::builder().status(302).header("set-cookie", "a").header("set-cookie", "b");
        let (head, ()) = answer.header("location", "/x").body(()).unwrap().into_parts();
        let mut out = Vec::new();
        write_head(&head, &mut out);
        let response = Response::new(302, &out, b"body");
        assert_eq!(response.headers("Set-Cookie").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((response.header("Location"), response.text()), (Some("/x"), "body"));
    }
}
