//! A server that runs: one HTTP/1.1 connection per request.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use symbolon_server::config::Config;
use tokio::net::TcpStream;

use super::ApiError;

/// More than any page of a listing.
const LONGEST_ANSWER: usize = 64 << 20;

/// Where the server is.
pub(super) struct Remote {
    authority: String,
    /// The path in front of `/api/admin`.
    prefix: String,
}

impl Remote {
    /// The server of a URL.
    pub(super) fn at(url: &str) -> Result<Self, ApiError> {
        let refuse = |why| ApiError::Url(url.to_owned(), why);
        let uri: Uri = url.parse().map_err(|_| refuse("it is not one"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(refuse("it is https: name the management listener, or a tunnel to it"));
            }
            _ => return Err(refuse("it must begin with http://")),
        }
        let authority = uri.authority().ok_or_else(|| refuse("it has no host"))?;
        let host = authority.host();
        let authority = format!("{host}:{}", authority.port_u16().unwrap_or(80));
        Ok(Self { authority, prefix: uri.path().trim_end_matches('/').to_owned() })
    }

    /// The management listener of the server that this configuration describes.
    pub(super) fn of(config: &Config) -> Result<Self, ApiError> {
        let address = reachable(config.listen.management);
        if config.listen.management_tls.is_some() {
            return Err(ApiError::Url(
                format!("https://{address}"),
                "it is https, and this command speaks plain http",
            ));
        }
        if address.port() == 0 {
            return Err(ApiError::NoPort);
        }
        Ok(Self { authority: address.to_string(), prefix: String::new() })
    }

    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<(StatusCode, Bytes), ApiError> {
        let failed = |error: &dyn std::fmt::Display| ApiError::Unreachable {
            address: self.authority.clone(),
            reason: error.to_string(),
        };
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = format!("{}{path}", self.prefix).parse().map_err(|error| failed(&error))?;
        let host = HeaderValue::from_str(&self.authority).map_err(|error| failed(&error))?;
        request.headers_mut().insert(header::HOST, host);
        let stream = TcpStream::connect(&self.authority).await.map_err(|error| failed(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST_ANSWER)
            .collect()
            .await
            .map_err(|error| failed(&error))?;
        drop(sender);
        connection.abort();
        Ok((status, body.to_bytes()))
    }
}

/// Who listens everywhere is reached on loopback.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let of = |url| Remote::at(url).map(|remote| (remote.authority, remote.prefix));
        assert_eq!(of("http://127.0.0.1:9090").unwrap(), ("127.0.0.1:9090".into(), String::new()));
        assert_eq!(of("http://[::1]:9/x/").unwrap(), ("[::1]:9".into(), "/x".into()));
        assert_eq!(of("http://admin.internal").unwrap().0, "admin.internal:80");
        for bad in ["https://x", "ftp://x", "127.0.0.1:9090", "/x", ""] {
            assert!(of(bad).unwrap_err().is_usage(), "{bad}");
        }
    }

    #[test]
    fn everywhere_is_here() {
        assert_eq!(reachable(([0, 0, 0, 0], 1).into()), ([127, 0, 0, 1], 1).into());
        assert_eq!(reachable("[::]:1".parse().unwrap()), "[::1]:1".parse().unwrap());
        assert_eq!(reachable(([10, 0, 0, 1], 1).into()), ([10, 0, 0, 1], 1).into());
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_named() {
        // Nobody listens there, and no test is given the port.
        let remote = Remote::at("http://127.0.0.1:1").unwrap();
        let error = remote.send(Request::new(Body::empty())).await.unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    }
}
