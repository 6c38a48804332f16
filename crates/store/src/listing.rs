//! Listings: by pages, for people, and by cursors, for reading everything.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use symbolon_crypto::encoding;
use symbolon_protocol::family::Family;
use symbolon_protocol::session::Session;
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::time::Timestamp;

/// How many of the records that a search finds are counted, if the page does not need more.
pub const COUNTED: u64 = 1_000;

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The records of the page.
    pub items: Vec<T>,
    /// How many records match in all. Of a search [`PageRequest::most_found`] at most.
    pub total: u64,
}

/// Which page of a listing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Counts from 1.
    pub page: u32,
    /// Records on a page, 1 to 1,000.
    pub limit: u32,
    /// Part of a name, id or e-mail address, whatever its case.
    pub search: Option<String>,
}

impl PageRequest {
    /// Records on the page, with `limit` forced into its bounds.
    pub fn limit(&self) -> u32 {
        self.limit.clamp(1, 1_000)
    }

    /// How many records come before the page.
    pub fn skipped(&self) -> u64 {
        u64::from(self.page.max(1) - 1) * u64::from(self.limit())
    }

    /// How many records a search finds before it stops: a search looks at one record after the other, so it must not go on
    /// for the sake of their number. [`COUNTED`], or one more than the page ends with, which says that there is another page.
    pub fn most_found(&self) -> u64 {
        (self.skipped() + u64::from(self.limit()) + 1).max(COUNTED)
    }

    /// The text to search for; `None` if it is empty.
    pub fn text(&self) -> Option<&str> {
        self.search.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }
}

/// A session as it is listed.
#[derive(Clone, Debug)]
pub struct ListedSession {
    /// The session.
    pub session: Arc<Session>,
    /// Its last use, as far as this node knows.
    pub last_used_at: Timestamp,
    /// When it ends by itself, if it is not used ([`Session::ends_at`]).
    pub ends_at: Timestamp,
    /// Where it began, if that was noted; only in lists.
    pub origin: Option<SessionOrigin>,
}

/// The position in a listing of all sessions. As text: 22 characters of base64url.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCursor(pub [u8; 16]);

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encoding::encode(&self.0))
    }
}

impl FromStr for SessionCursor {
    type Err = InvalidCursor;
    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        encoding::decode_array(text).map(Self).map_err(|_| InvalidCursor)
    }
}

/// The position in a listing of a user's refresh-token families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyCursor(pub [u8; 16]);

/// A piece of a listing of a user's refresh-token families.
#[derive(Clone, Debug)]
pub struct NextFamilies {
    /// Some families.
    pub items: Vec<Arc<Family>>,
    /// Where to continue; `None` at the end.
    pub next: Option<FamilyCursor>,
}

/// A text that is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a cursor from an earlier answer")]
pub struct InvalidCursor;

/// A piece of a listing of all sessions.
#[derive(Clone, Debug)]
pub struct NextSessions {
    /// Some sessions.
    pub items: Vec<ListedSession>,
    /// Where to continue; `None` at the end.
    pub next: Option<SessionCursor>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_from_its_text() {
        let cursor = SessionCursor([7; 16]);
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", "x", "AAAAAAAAAAAAAAAAAAAAAB", "AAAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAAAA"]
        {
            assert_eq!(bad.parse::<SessionCursor>(), Err(InvalidCursor), "{bad}");
        }
    }
}
