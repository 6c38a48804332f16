//! The journal's half of a backup: one file, table by table.
//!
//! The file begins with a line that names its form. Then follow for each table its name (length as one byte) and its
//! records: length of the key (two bytes, never 0), length of the value (four bytes), key, value; a key of length 0
//! ends the table. Numbers are big-endian. The file's digest is in `SHA256SUMS`, so no part has its own.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{BackupFailure, io_error};
use crate::journal::{JournalSnapshot, Op, Table};

const HEAD: &[u8] = b"symbolon journal 1\n";

/// The longest value that is accepted: the journal's values stay far below it.
const LONGEST_VALUE: u32 = 16 << 20;

/// Writes all records of a snapshot to a new file and syncs it; returns how many.
pub(super) fn write(snapshot: &JournalSnapshot, path: &Path) -> Result<u64, BackupFailure> {
    let created = File::options().write(true).create_new(true).mode(0o600).open(path);
    let mut out = BufWriter::with_capacity(1 << 20, created.map_err(io_error(path))?);
    let io = |error| io_error(path)(error);
    out.write_all(HEAD).map_err(io)?;
    let mut count = 0;
    for table in Table::ALL {
        let name = table.name().as_bytes();
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        out.write_all(&[length]).and_then(|()| out.write_all(name)).map_err(io)?;
        for record in snapshot.table(table) {
            let (key, value) = record?;
            write_record(&mut out, &key, &value).map_err(io)?;
            count += 1;
        }
        out.write_all(&[0, 0]).map_err(io)?;
    }
    let file = out.into_inner().map_err(|error| io(error.into_error()))?;
    file.sync_all().map_err(io)?;
    Ok(count)
}

fn write_record(out: &mut impl Write, key: &[u8], value: &[u8]) -> io::Result<()> {
    let invalid = |_| io::Error::other("a record of the journal is too long");
    let key_length = u16::try_from(key.len()).map_err(invalid)?;
    let value_length = u32::try_from(value.len()).map_err(invalid)?;
    out.write_all(&key_length.to_be_bytes())?;
    out.write_all(&value_length.to_be_bytes())?;
    out.write_all(key)?;
    out.write_all(value)
}

/// Reads a file whose digest was checked, and passes each record to `each`; returns how many.
pub(crate) fn read(
    path: &Path,
    mut each: impl FnMut(Op) -> Result<(), BackupFailure>,
) -> Result<u64, BackupFailure> {
    let damaged = |what: &str| BackupFailure::Damaged { path: path.to_owned(), what: what.into() };
    let cut_short = |_| damaged("it is cut short");
    let mut input = BufReader::with_capacity(1 << 20, File::open(path).map_err(io_error(path))?);
    let mut head = [0; HEAD.len()];
    input.read_exact(&mut head).map_err(cut_short)?;
    if head != HEAD {
        return Err(damaged("it does not begin as the journal's half of a backup does"));
    }
    let mut count = 0;
    let mut missing = Table::ALL.to_vec();
    loop {
        let mut length = [0; 1];
        if input.read(&mut length).map_err(io_error(path))? == 0 {
            break;
        }
        let name = bytes(&mut input, usize::from(length[0])).map_err(cut_short)?;
        let table = Table::ALL.into_iter().find(|table| table.name().as_bytes() == name);
        let table = table.ok_or_else(|| damaged("it has a table that this program does not know"))?;
        let tables = missing.len();
        missing.retain(|other| *other != table);
        if missing.len() == tables {
            return Err(damaged("it has a table twice"));
        }
        loop {
            let mut key_length = [0; 2];
            input.read_exact(&mut key_length).map_err(cut_short)?;
            let key_length = usize::from(u16::from_be_bytes(key_length));
            if key_length == 0 {
                break;
            }
            let mut value_length = [0; 4];
            input.read_exact(&mut value_length).map_err(cut_short)?;
            let value_length = u32::from_be_bytes(value_length);
            if value_length > LONGEST_VALUE {
                return Err(damaged("it has a record of impossible length"));
            }
            let key = bytes(&mut input, key_length).map_err(cut_short)?;
            let value = bytes(&mut input, value_length as usize).map_err(cut_short)?;
            each(Op { table, key: key.into(), value: Some(value.into()) })?;
            count += 1;
        }
    }
    // A backup from before this index existed does not contain it; it is built when the store is opened.
    if missing.iter().all(|table| *table == Table::FamiliesOfUser) {
        Ok(count)
    } else {
        Err(damaged("it is cut short"))
    }
}

fn bytes(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}
