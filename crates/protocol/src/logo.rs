//! Logos: the images that an issuer and its clients show on pages. Administrators upload them, so that no page loads an
//! image from somebody else, who would learn who is about to sign in.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;
use symbolon_crypto::{digest, encoding};

use crate::branding::address;
use crate::id::ClientId;

/// The largest logo, in bytes.
pub const LARGEST: usize = 64 * 1024;

/// The path of the issuer's logo, relative to the issuer.
pub const PATH: &str = "/branding/logo";

/// The last part of the path of a client's logo.
const FILE: &str = "logo";

/// What an answer with a logo allows its content, should somebody open it by itself. An SVG is a document: it may have
/// scripts and name files of others. As an `<img>` it runs and loads nothing; by itself it is kept from that by this. Its own
/// style is allowed, because without it many drawings are black, and it can load nothing either.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// The kinds of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoType {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
    /// SVG.
    Svg,
}

impl LogoType {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Webp, Self::Svg];

    /// The media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }

    /// The kind of a media type (RFC 9110 8.3.1: without regard to case and parameters).
    pub fn of_media_type(text: &str) -> Option<Self> {
        let essence = text.split(';').next().unwrap_or_default().trim();
        Self::ALL.into_iter().find(|kind| kind.media_type().eq_ignore_ascii_case(essence))
    }

    /// The kind of an image by its first bytes.
    pub fn of_content(content: &[u8]) -> Option<Self> {
        match content {
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => is_svg(content).then_some(Self::Svg),
        }
    }
}

/// Whether a text begins as an SVG does: a declaration, comments and a document type may come before its element.
fn is_svg(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    for (begin, end) in [("<?", "?>"), ("<!--", "-->"), ("<!DOCTYPE", ">"), ("<!--", "-->")] {
        while let Some(behind) = rest.strip_prefix(begin).and_then(|inside| inside.split_once(end)) {
            rest = behind.1.trim_start();
        }
    }
    rest.strip_prefix("<svg")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_whitespace() || "/>".contains(c)))
}

/// What an SVG may not have, in lower case: scripts and foreign elements have no place in a drawing, and entities can make a
/// small file large.
const NOT_IN_SVG: [&str; 3] = ["<script", "<foreignobject", "<!entity"];

/// Why something cannot be a logo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogoFault {
    /// It is larger than [`LARGEST`].
    TooLarge,
    /// It is no image of these kinds.
    Unknown,
    /// It is an image of another kind than was said.
    Other {
        /// What was said.
        said: LogoType,
        /// What its first bytes say.
        found: LogoType,
    },
    /// It is an SVG with something that may not be in it.
    Active(&'static str),
}

impl fmt::Display for LogoFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(f, "a logo has {} KiB at most: make it smaller", LARGEST / 1024),
            Self::Unknown => f.write_str("the body is no PNG, JPEG, WebP or SVG: convert it to one of them"),
            Self::Other { said, found } => write!(
                f,
                "the body is {found}, and not {said}: send it with content-type {found}",
                said = said.media_type(),
                found = found.media_type()
            ),
            Self::Active(part) => write!(f, "an SVG may not have {part}: take it out, or send a PNG"),
        }
    }
}

impl std::error::Error for LogoFault {}

/// A logo.
#[derive(Clone, PartialEq, Eq)]
pub struct Logo {
    kind: LogoType,
    content: Arc<[u8]>,
    digest: SmolStr,
}

impl Logo {
    /// Reads an image that was sent as `said`.
    ///
    /// # Errors
    /// [`LogoFault`], which says what to do.
    pub fn read(said: LogoType, content: &[u8]) -> Result<Self, LogoFault> {
        if content.len() > LARGEST {
            return Err(LogoFault::TooLarge);
        }
        let found = LogoType::of_content(content).ok_or(LogoFault::Unknown)?;
        if found != said {
            return Err(LogoFault::Other { said, found });
        }
        if found == LogoType::Svg {
            let text = content.to_ascii_lowercase();
            let has = |part: &&str| memchr::memmem::find(&text, part.as_bytes()).is_some();
            if let Some(part) = NOT_IN_SVG.into_iter().find(has) {
                return Err(LogoFault::Active(part));
            }
        }
        Ok(Self::of(found, content))
    }

    /// A logo that a store kept; `None` if the media type is none that this build knows.
    pub fn kept(media_type: &str, content: &[u8]) -> Option<Self> {
        LogoType::of_media_type(media_type).map(|kind| Self::of(kind, content))
    }

    fn of(kind: LogoType, content: &[u8]) -> Self {
        let digest = digest::sha256(&[kind.media_type().as_bytes(), &[0], content]);
        let digest = encoding::encode(digest.first_chunk::<12>().unwrap_or(&[0; 12]));
        Self { kind, content: content.into(), digest: digest.into() }
    }

    /// Its media type.
    pub const fn media_type(&self) -> &'static str {
        self.kind.media_type()
    }

    /// The image.
    pub const fn content(&self) -> &Arc<[u8]> {
        &self.content
    }

    /// A digest of the image, which is part of its address.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The query of its address: caches may keep for ever what an address with this query answers.
    pub fn query(&self) -> String {
        format!("v={}", self.digest)
    }

    /// Its address relative to the issuer: of the issuer's, or of a client's.
    pub fn address(&self, client: Option<&ClientId>) -> String {
        let path = client.map_or_else(|| PATH.to_owned(), |client| address::of_client(client, FILE));
        format!("{path}?{}", self.query())
    }
}

impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logo({}, {} bytes, {})", self.media_type(), self.content.len(), self.digest)
    }
}

/// The client in the path of a logo, which may have an issuer's prefix before it.
pub fn client_in(path: &str) -> Option<ClientId> {
    address::client_in(path, FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

    #[test]
    fn a_kind_is_told_by_the_first_bytes() {
        for (content, kind) in [
            (PNG, Some(LogoType::Png)),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Some(LogoType::Jpeg)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some(LogoType::Webp)),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Some(LogoType::Svg)),
            (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a -->\n<svg>", Some(LogoType::Svg)),
            (b"<?xml version='1.0'?><!DOCTYPE svg PUBLIC 'a' 'b'><!-- b --><svg/>", Some(LogoType::Svg)),
            (b"<svgx>", None),
            (b"<html><svg>", None),
            (b"GIF89a", None),
            (b"RIFF\x10\0\0\0WAVEfmt ", None),
            (b"\x89PNG", None),
            (b"", None),
        ] {
            assert_eq!(LogoType::of_content(content), kind, "{content:?}");
        }
    }

    #[test]
    fn what_is_said_must_be_so_and_small() {
        let logo = Logo::read(LogoType::Png, PNG).unwrap();
        assert_eq!((logo.media_type(), &**logo.content()), ("image/png", PNG));
        assert_eq!(Logo::kept("image/png", PNG), Some(logo.clone()));
        assert_eq!(Logo::kept("image/gif", PNG), None);
        assert_ne!(Logo::read(LogoType::Png, &[PNG, b"x"].concat()).unwrap().digest(), logo.digest());
        let told = |said, content: &[u8]| Logo::read(said, content).unwrap_err().to_string();
        assert_eq!(
            told(LogoType::Webp, PNG),
            "the body is image/png, and not image/webp: send it with content-type image/png"
        );
        assert!(told(LogoType::Png, b"hello").contains("convert it"));
        let most = [PNG, &vec![0; LARGEST - PNG.len()]].concat();
        assert!(Logo::read(LogoType::Png, &most).is_ok());
        assert!(told(LogoType::Png, &[&most[..], &[0]].concat()).contains("64 KiB at most"));
    }

    #[test]
    fn a_drawing_has_nothing_active() {
        for (inside, part) in
            [("<script>alert(1)</script>", "<script"), ("<g><ForeignObject/></g>", "<foreignobject")]
        {
            let svg = format!("<svg>{inside}</svg>");
            let refused = Logo::read(LogoType::Svg, svg.as_bytes()).unwrap_err();
            assert_eq!(refused, LogoFault::Active(part), "{svg}");
        }
        let laughs = b"<!DOCTYPE svg [<!ENTITY a 'ha'>]><svg>&a;</svg>";
        assert!(Logo::read(LogoType::Svg, laughs).is_err());
        assert!(
            Logo::read(LogoType::Svg, b"<svg><style>path{fill:red}</style><path d='M0 0'/></svg>").is_ok()
        );
    }

    #[test]
    fn media_types_compare_without_case_and_parameters() {
        assert_eq!(LogoType::of_media_type("Image/SVG+xml; charset=utf-8"), Some(LogoType::Svg));
        assert_eq!(LogoType::of_media_type("image/gif"), None);
        for kind in LogoType::ALL {
            assert_eq!(LogoType::of_media_type(kind.media_type()), Some(kind));
        }
    }

    #[test]
    fn an_address_names_the_content() {
        let logo = Logo::read(LogoType::Png, PNG).unwrap();
        let app = ClientId::parse("app").unwrap();
        assert_eq!(logo.address(None), format!("/branding/logo?v={}", logo.digest()));
        assert_eq!(logo.address(Some(&app)), format!("/branding/clients/app/logo?v={}", logo.digest()));
        assert_eq!(client_in("/acme/branding/clients/app/logo"), Some(app));
    }
}
