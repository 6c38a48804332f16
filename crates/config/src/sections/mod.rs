//! The table of keys, one file per section, and the typed values of each section.

pub(crate) mod cluster;
pub(crate) mod issuer;
pub(crate) mod lifetimes;
pub(crate) mod limits;
pub(crate) mod listen;
pub(crate) mod mail;
pub(crate) mod mutual_tls;
pub(crate) mod outbound;
pub(crate) mod security;
pub(crate) mod storage;
pub(crate) mod telemetry;

use super::key::Key;

/// A group of keys under one heading of the reference.
pub(crate) struct Section {
    /// The heading.
    pub(crate) title: &'static str,
    /// An introduction to the keys.
    pub(crate) intro: &'static str,
    /// The keys.
    pub(crate) keys: &'static [Key],
}

/// Every section in the order of the reference.
pub(crate) const SECTIONS: &[Section] = &[
    issuer::SECTION,
    listen::SECTION,
    mutual_tls::SECTION,
    storage::SECTION,
    cluster::SECTION,
    security::SECTION,
    limits::SECTION,
    mail::SECTION,
    outbound::SECTION,
    telemetry::SECTION,
    lifetimes::SECTION,
];
