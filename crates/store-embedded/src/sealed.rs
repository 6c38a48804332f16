//! A look at one sealed secret, for whoever wants to know under which master key everything was sealed, without opening the
//! store. Nothing is changed, and a server that runs is not disturbed. What cannot be read says nothing: whoever opens the
//! store learns why.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::directory::DATABASE_FILE;

/// The sealed secret of an issuer of a data directory.
pub fn in_directory(data: &Path) -> Option<Vec<u8>> {
    let database = data.join(DATABASE_FILE);
    sealed_secret(&database, OpenFlags::empty())
}

/// The sealed secret of an issuer of a backup, next to which no file is made: it may lie where nobody can write.
pub fn in_backup(backup: &Path) -> Option<Vec<u8>> {
    let database = backup.join(DATABASE_FILE);
    // What has a meaning of its own in a URI is encoded.
    let path = database.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    sealed_secret(Path::new(&format!("file:{path}?immutable=1")), OpenFlags::SQLITE_OPEN_URI)
}

fn sealed_secret(database: &Path, more: OpenFlags) -> Option<Vec<u8>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(database, flags).ok()?;
    connection.query_row("SELECT sealed_secret FROM issuers LIMIT 1", (), |row| row.get(0)).ok()
}
