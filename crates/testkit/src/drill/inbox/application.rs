//! An application that is told of logouts (OpenID Connect Back-Channel Logout 1.0, section 2.5).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::Arrived;

/// Serves one request.
pub(super) fn serve(stream: TcpStream, arrived: &Arrived) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let status = if arrived.is_away() { "503 Service Unavailable" } else { "200 OK" };
    if !arrived.is_away() {
        arrived.take_logout(sid_in(&body)?);
    }
    let head = format!("HTTP/1.1 {status}\r\ncache-control: no-store\r\ncontent-length: 0\r\n");
    stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).ok()
}

/// The session that a logout token names (section 2.4).
fn sid_in(body: &[u8]) -> Option<String> {
    let (_, token) = form_urlencoded::parse(body).find(|(name, _)| name == "logout_token")?;
    let (_, claims) = crate::decode_jwt(&token);
    claims["sid"].as_str().map(str::to_owned)
}
