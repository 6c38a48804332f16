//! Reads one sealed secret without opening the store, to find out under which master key the secrets were sealed.
//! Changes nothing, and does not disturb a running server. Anything unreadable gives `None`: the reason is reported
//! when the store is opened.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::directory::DATABASE_FILE;

/// The sealed secret of any one issuer in a data directory.
pub fn in_directory(data: &Path) -> Option<Vec<u8>> {
    let database = data.join(DATABASE_FILE);
    sealed_secret(&database, OpenFlags::empty())
}

/// The sealed secret of any one issuer in a backup. Creates no file next to it, because the place may not be writable.
pub fn in_backup(backup: &Path) -> Option<Vec<u8>> {
    let database = backup.join(DATABASE_FILE);
    // Percent-encodes the characters that have a meaning in a URI.
    let path = database.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    sealed_secret(Path::new(&format!("file:{path}?immutable=1")), OpenFlags::SQLITE_OPEN_URI)
}

fn sealed_secret(database: &Path, more: OpenFlags) -> Option<Vec<u8>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(database, flags).ok()?;
    connection.query_row("SELECT sealed_secret FROM issuers LIMIT 1", (), |row| row.get(0)).ok()
}
