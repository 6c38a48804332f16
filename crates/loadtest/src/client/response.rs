//! Answers: where they end (RFC 9112 6.3), and what is read from them.

use super::ClientError;

/// More header fields than this in one answer are refused.
const MAX_HEADERS: usize = 64;

/// A whole answer, borrowed from its connection.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// The status code.
    pub status: u16,
    /// The status line and the header fields as sent.
    head: &'a [u8],
    /// The body, without transfer coding.
    pub body: &'a [u8],
}

impl<'a> Response<'a> {
    /// An answer with its status line and header fields as HTTP/1.1 writes them.
    pub(super) fn new(status: u16, head: &'a [u8], body: &'a [u8]) -> Self {
        Self { status, head, body }
    }

    /// The status line and the header fields as sent.
    pub fn head(&self) -> &'a [u8] {
        self.head
    }

    /// Bytes of head and body, without what a transfer coding adds.
    pub fn size(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// The first header field of that name, trimmed; names are compared without case (RFC 9110 5.1).
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers(name).next()
    }

    /// Every header field of that name, in order, for fields that come several times (RFC 6265 3).
    pub fn headers<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        let mut rest = self.head;
        std::iter::from_fn(move || {
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let (line, after) = rest.split_at_checked(end + 1)?;
                rest = after;
                let Some((field, value)) = line.split_at_checked(name.len()) else { continue };
                if field.eq_ignore_ascii_case(name.as_bytes())
                    && let Some(value) = value.strip_prefix(b":")
                {
                    return std::str::from_utf8(value.trim_ascii()).ok();
                }
            }
            None
        })
    }

    /// The body as text; empty if it is not UTF-8.
    pub fn text(&self) -> &'a str {
        std::str::from_utf8(self.body).unwrap_or("")
    }
}

/// Whether the answer is whole.
pub(super) enum Progress {
    /// More bytes must come.
    Partial,
    /// All there.
    Complete,
}

/// How the body ends.
#[derive(Clone, Copy)]
enum Framing {
    /// After so many bytes; none for 204 and 304.
    Length(usize),
    /// Chunked: the next undecoded byte, and where the decoded body ends so far.
    Chunked { raw: usize, end: usize },
    /// With the connection.
    UntilClose,
}

#[derive(Clone, Copy)]
struct Head {
    status: u16,
    length: usize,
    framing: Framing,
    closes: bool,
}

/// Follows one answer through the bytes as they come.
pub(super) struct Parser {
    head: Option<Head>,
    body_end: usize,
}

impl Parser {
    pub(super) fn new() -> Self {
        Self { head: None, body_end: 0 }
    }

    /// Looks at the first `filled` bytes of `buffer`; decodes chunks in place.
    pub(super) fn advance(&mut self, buffer: &mut [u8], filled: usize) -> Result<Progress, ClientError> {
        let mut head = loop {
            match self.head {
                Some(head) => break head,
                None => match parse_head(buffer.get(..filled).unwrap_or_default())? {
                    // RFC 9110 15.2: interim answers precede the final one; none is asked for, so one is an error.
                    Some(head) if head.status < 200 => return Err(ClientError::Malformed("interim answer")),
                    Some(head) => self.head = Some(head),
                    None => return Ok(Progress::Partial),
                },
            }
        };
        match head.framing {
            Framing::Length(length) => {
                self.body_end = head.length + length;
                Ok(if filled >= self.body_end { Progress::Complete } else { Progress::Partial })
            }
            Framing::UntilClose => {
                self.body_end = filled;
                Ok(Progress::Partial)
            }
            Framing::Chunked { mut raw, mut end } => {
                let progress = decode_chunks(buffer, filled, &mut raw, &mut end)?;
                self.body_end = end;
                head.framing = Framing::Chunked { raw, end };
                self.head = Some(head);
                Ok(progress)
            }
        }
    }

    /// Whether the end of the stream is a proper end of the answer (RFC 9112 6.3, rule 8).
    pub(super) fn end_of_stream(&mut self, filled: usize) -> bool {
        self.body_end = filled;
        matches!(self.head, Some(Head { framing: Framing::UntilClose, .. }))
    }

    /// Where the answer ends in the buffer, once it is whole.
    pub(super) fn end(&self) -> usize {
        match self.head {
            Some(Head { framing: Framing::Chunked { raw, .. }, .. }) => raw,
            _ => self.body_end,
        }
    }

    /// Whether the server closes the connection after this answer.
    pub(super) fn closes(&self) -> bool {
        self.head.is_none_or(|head| head.closes)
    }

    pub(super) fn response<'a>(&self, buffer: &'a [u8]) -> Option<Response<'a>> {
        let head = self.head?;
        Some(Response {
            status: head.status,
            head: buffer.get(..head.length)?,
            body: buffer.get(head.length..self.body_end)?,
        })
    }
}

fn parse_head(bytes: &[u8]) -> Result<Option<Head>, ClientError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let parsed = response.parse(bytes).map_err(|_| ClientError::Malformed("head"))?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let status = response.code.ok_or(ClientError::Malformed("status"))?;
    let mut content_length = None;
    let mut chunked = false;
    let mut closes = response.version == Some(0);
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(header.value).ok();
            content_length = Some(
                text.and_then(|text| text.trim().parse().ok())
                    .ok_or(ClientError::Malformed("content-length"))?,
            );
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = header.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
        } else if header.name.eq_ignore_ascii_case("connection") {
            closes |= header.value.trim_ascii().eq_ignore_ascii_case(b"close");
        }
    }
    let framing = match (status, chunked, content_length) {
        (204 | 304, _, _) => Framing::Length(0),
        (_, true, _) => Framing::Chunked { raw: length, end: length },
        (_, false, Some(content_length)) => Framing::Length(content_length),
        (_, false, None) => Framing::UntilClose,
    };
    closes |= matches!(framing, Framing::UntilClose);
    Ok(Some(Head { status, length, framing, closes }))
}

/// Moves the data of every whole chunk down to the end of the body (RFC 9112 7.1).
fn decode_chunks(
    buffer: &mut [u8],
    filled: usize,
    raw: &mut usize,
    end: &mut usize,
) -> Result<Progress, ClientError> {
    loop {
        let rest = buffer.get(*raw..filled).unwrap_or_default();
        let (line, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(parsed)) => parsed,
            Ok(httparse::Status::Partial) => return Ok(Progress::Partial),
            Err(_) => return Err(ClientError::Malformed("chunk size")),
        };
        let size = usize::try_from(size).map_err(|_| ClientError::TooLarge)?;
        if size == 0 {
            // RFC 9112 7.1.2: a trailer section, or just an empty line, ends the body.
            let trailer = rest.get(line..).unwrap_or_default();
            let length = if trailer.starts_with(b"\r\n") {
                Some(2)
            } else {
                memchr::memmem::find(trailer, b"\r\n\r\n").map(|at| at + 4)
            };
            let Some(length) = length else { return Ok(Progress::Partial) };
            *raw += line + length;
            return Ok(Progress::Complete);
        }
        let data = *raw + line;
        let after = data.checked_add(size).and_then(|at| at.checked_add(2)).ok_or(ClientError::TooLarge)?;
        if after > filled {
            return Ok(Progress::Partial);
        }
        buffer.copy_within(data..data + size, *end);
        *end += size;
        *raw = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the bytes in pieces of `step` and returns status, body and whether the server closes.
    fn read(bytes: &[u8], step: usize) -> Result<Option<(u16, Vec<u8>, bool)>, ClientError> {
        let mut parser = Parser::new();
        let mut buffer = vec![0; bytes.len()];
        let mut filled = 0;
        for piece in bytes.chunks(step) {
            buffer[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
            if let Progress::Complete = parser.advance(&mut buffer, filled)? {
                let response = parser.response(&buffer).unwrap();
                return Ok(Some((response.status, response.body.to_vec(), parser.closes())));
            }
        }
        Ok(parser.end_of_stream(filled).then(|| {
            let response = parser.response(&buffer).unwrap();
            (response.status, response.body.to_vec(), parser.closes())
        }))
    }

    #[test]
    fn every_framing_in_pieces_of_every_size() {
        let cases: [(&[u8], u16, &[u8], bool); 6] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello", false),
            (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", false),
            (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nab", 200, b"ab", true),
            (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, b"until the end", true),
            (
                b"HTTP/1.1 201 C\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n",
                201,
                b"hello world",
                false,
            ),
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nt: v\r\n\r\n", 200, b"a", false),
        ];
        for (bytes, status, body, closes) in cases {
            for step in 1..=bytes.len() {
                let got = read(bytes, step).unwrap().unwrap();
                assert_eq!(got, (status, body.to_vec(), closes), "{}", String::from_utf8_lossy(bytes));
            }
        }
    }

    #[test]
    fn cut_and_malformed_answers_are_not_taken() {
        for cut in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell"[..],
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
            b"HTTP/1.1 200 O",
        ] {
            assert!(read(cut, cut.len()).unwrap().is_none());
        }
        for bad in [
            &b"SSH-2.0-x\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        ] {
            assert!(read(bad, bad.len()).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn header_fields_are_found_without_case() {
        let bytes = b"HTTP/1.1 302 Found\r\nX-Location: no\r\nlocation:  https://a/?b=c \r\n\
            Link: 1\r\nlink: 2\r\ncontent-length: 0\r\n\r\n";
        let mut buffer = bytes.to_vec();
        let mut parser = Parser::new();
        assert!(matches!(parser.advance(&mut buffer, bytes.len()), Ok(Progress::Complete)));
        let response = parser.response(&buffer).unwrap();
        assert_eq!(response.header("Location"), Some("https://a/?b=c"));
        assert_eq!(response.header("Locatio"), None);
        assert_eq!(response.header("Set-Cookie"), None);
        assert_eq!(response.headers("LINK").collect::<Vec<_>>(), ["1", "2"]);
    }
}
