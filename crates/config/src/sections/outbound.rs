//! Calls to addresses that others named.

use super::Section;
use super::listen::is_on;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;

const ALLOW_PRIVATE: &str = "outbound.allow_private";

pub(crate) const SECTION: Section = Section {
    title: "Calls to others",
    intro: "The provider calls addresses that others named: those of clients, to tell of logouts \
            ([logout](../topics/logout.md)) and to read keys, request objects, metadata and sectors, and those of trusted \
            issuers and identity providers. It follows no redirect, waits 5 s, and reads 256 KiB of identity providers and \
            64 KiB of others.",
    keys: &[
        Key::new(ALLOW_PRIVATE, "SYMBOLON_OUTBOUND_ALLOW_PRIVATE", "--outbound-allow-private", ValueKind::Switch)
            .default("false")
            .live()
            .doc(
                "Lets calls go to loopback, private and link-local addresses, and by plain http: for applications in the \
                 provider's own network. Otherwise they go to public addresses by https alone.",
            )
            .weakens(
                is_on,
                "Whoever may register a client can have the provider call services inside its own network.",
            ),
    ],
};

/// Calls to addresses that others named.
#[derive(Clone, Copy, Debug)]
pub struct OutboundCalls {
    /// Whether they may go to private addresses, and by http.
    pub allow_private: bool,
}

pub(crate) fn build(reader: &mut Reader) -> OutboundCalls {
    OutboundCalls { allow_private: reader.switch(ALLOW_PRIVATE) }
}
