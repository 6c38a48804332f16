//! The names of places by network address, from a file of the operator in MaxMind's format (`.mmdb`), held in memory.
//!
//! Nothing depends on it: an address that the table does not know, and a record that cannot be read, have no place. Why so:
//! `docs/decisions/073-places-from-a-file.md`.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use maxminddb::{MaxMindDbError, Reader};
use serde::Deserialize;

/// The most characters of a name that are shown.
const LONGEST_NAME: usize = 40;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlacesFault {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is a directory, a device or a pipe.
    #[error("is not a file")]
    NotAFile,
    /// It has another form.
    #[error("is no database in MaxMind's format: {0}")]
    Form(#[from] MaxMindDbError),
}

impl PlacesFault {
    /// How to mend it.
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::Io(_) | Self::NotAFile => "name a file that the user whom the server runs as may read",
            Self::Form(_) => "name an unpacked .mmdb file of cities or countries, such as GeoLite2-City.mmdb",
        }
    }
}

/// A table of places.
pub struct PlaceTable {
    reader: Reader<Vec<u8>>,
}

/// What is read of a record.
#[derive(Deserialize)]
struct Record<'r> {
    #[serde(borrow, default)]
    city: Place<'r>,
    #[serde(borrow, default)]
    country: Place<'r>,
}

/// A city or a country.
#[derive(Default, Deserialize)]
struct Place<'r> {
    /// Its names, by language.
    #[serde(borrow, default)]
    names: BTreeMap<&'r str, &'r str>,
}

impl Place<'_> {
    /// Its name in a language, else in English.
    fn name(&self, language: &str) -> Option<String> {
        let name = self.names.get(language).or_else(|| self.names.get("en"))?;
        let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        (!name.trim().is_empty()).then_some(name)
    }
}

impl PlaceTable {
    /// Reads a table.
    ///
    /// # Errors
    /// [`PlacesFault`]
    pub fn read(path: &Path) -> Result<Self, PlacesFault> {
        // Before it is opened: a pipe is open when somebody writes into it, and not before.
        if !std::fs::metadata(path)?.is_file() {
            return Err(PlacesFault::NotAFile);
        }
        Ok(Self { reader: Reader::from_source(std::fs::read(path)?)? })
    }

    /// The city and the country of an address, as far as they are known, in the language with this tag.
    pub fn place(&self, address: IpAddr, language: &str) -> Option<String> {
        let found = self.reader.lookup(address.to_canonical()).ok()?;
        let record: Record<'_> = found.decode().ok()??;
        let names: Vec<String> =
            [record.city, record.country].iter().filter_map(|place| place.name(language)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// The table in a file, if one is named.
///
/// # Errors
/// [`PlacesFault`]
pub(crate) fn read(path: Option<&Path>) -> Result<Option<PlaceTable>, PlacesFault> {
    path.map(PlaceTable::read).transpose()
}

/// Says that the configured file was not taken into use.
pub(crate) fn tell_of_unused(fault: &PlacesFault) {
    let mend = fault.mend();
    tracing::error!(%fault, mend, "places_file cannot be used; a table that was in use stays");
}
