//! Cuts off a batch that a power cut left incomplete at the end of fjall's journal.
//!
//! A batch that was being written at a power cut may have reached the disk in any part, even its end without its
//! middle, because a disk writes sectors in any order. fjall (3.1) takes such a batch for damage and does not open the
//! journal. But this batch was not acknowledged, and there is at most one, because the next is written only after the
//! sync of the one before. So it may be cut off. If a whole batch *follows* the broken one, durable data was damaged:
//! then the journal is left unchanged and refused.
//!
//! A batch on disk is a start (tag 1, number of items, sequence number), that many items (tag 2 with key and value, or
//! tag 4) and an end (tag 3, XXH3 of the items' bytes, four bytes of magic); numbers are little-endian. A new journal
//! is 64 MiB of zeros.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const CLEAR: u8 = 4;
const MAGIC: &[u8; 4] = b"FJL\x03";

/// Repairs the newest journal in fjall's directory; older ones were synced before fjall began the next. Returns how
/// many bytes were cut off, up to the last that was not zero.
///
/// # Errors
/// An error of the file system, or `InvalidData` if durable data was damaged.
pub(super) fn heal(directory: &Path) -> io::Result<u64> {
    let Some(path) = newest(directory)? else { return Ok(0) };
    let file = OpenOptions::new().read(true).write(true).open(&path)?;
    let valid = valid_bytes(&file)?;
    let used = used_bytes(&file, valid)?;
    if used == 0 {
        return Ok(0);
    }
    let mut rest = vec![0; usize::try_from(used).map_err(io::Error::other)?];
    file.read_exact_at(&mut rest, valid)?;
    if let Some(offset) = whole_batch(&rest) {
        let place = valid.saturating_add(offset);
        let what = format!("{} is damaged at byte {valid}: a whole batch follows at {place}", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    file.set_len(valid)?;
    file.sync_all()?;
    Ok(used)
}

/// The length from `valid` to the last byte that is not zero. Holes in the file are skipped.
fn used_bytes(file: &File, valid: u64) -> io::Result<u64> {
    let mut chunk = vec![0; 64 << 10];
    let (mut at, mut used) = (valid, 0);
    loop {
        at = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(used),
            Err(error) => return Err(error.into()),
        };
        let read = file.read_at(&mut chunk, at)?;
        if read == 0 {
            return Ok(used);
        }
        let last = chunk.iter().take(read).rposition(|byte| *byte != 0);
        used = last.map_or(used, |last| at - valid + last as u64 + 1);
        at += read as u64;
    }
}

/// The newest journal in fjall's directory.
pub(super) fn newest(directory: &Path) -> io::Result<Option<PathBuf>> {
    let mut newest: Option<(u64, PathBuf)> = None;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if let Some(number) = journal_number(&path)
            && newest.as_ref().is_none_or(|(highest, _)| number > *highest)
        {
            newest = Some((number, path));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

/// The number of the journal in this file; `None` if it is not a journal.
pub(super) fn journal_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".jnl")?.parse().ok()
}

/// The length of the whole batches at the beginning of the file.
fn valid_bytes(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let mut valid = 0;
    while let Some(bytes) = batch(&mut reader, length.saturating_sub(valid))? {
        valid += bytes;
    }
    Ok(valid)
}

/// The offset of the first whole batch in `rest`, except at its beginning.
fn whole_batch(rest: &[u8]) -> Option<u64> {
    (1..rest.len()).find_map(|offset| {
        let mut tail = rest.get(offset..).filter(|tail| tail.first() == Some(&START))?;
        let room = u64::try_from(tail.len()).ok()?;
        batch(&mut tail, room).ok().flatten().and_then(|_| u64::try_from(offset).ok())
    })
}

/// Reads a batch; returns its length if it is whole.
fn batch(reader: &mut impl Read, room: u64) -> io::Result<Option<u64>> {
    let mut scan = Scan { reader, read: 0, room };
    match scan.batch() {
        Ok(true) => Ok(Some(scan.read)),
        Ok(false) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

struct Scan<'a, R> {
    reader: &'a mut R,
    read: u64,
    room: u64,
}

impl<R: Read> Scan<'_, R> {
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.read += N as u64;
        Ok(bytes)
    }

    fn batch(&mut self) -> io::Result<bool> {
        if self.take::<1>()? != [START] {
            return Ok(false);
        }
        let items = u32::from_le_bytes(self.take()?);
        let _sequence: [u8; 8] = self.take()?;
        let mut hash = Xxh3::new();
        for _ in 0..items {
            if !self.item(&mut hash)? {
                return Ok(false);
            }
        }
        if self.take::<1>()? != [END] {
            return Ok(false);
        }
        let wanted = u64::from_le_bytes(self.take()?);
        Ok(self.take::<4>()? == *MAGIC && wanted == hash.digest())
    }

    fn item(&mut self, hash: &mut Xxh3) -> io::Result<bool> {
        let tag: [u8; 1] = self.take()?;
        hash.update(&tag);
        match tag {
            [ITEM] => {}
            [CLEAR] => {
                hash.update(&self.take::<8>()?);
                return Ok(true);
            }
            _ => return Ok(false),
        }
        // Kind of value, compression, table.
        hash.update(&self.take::<10>()?);
        let key: [u8; 2] = self.take()?;
        let plain: [u8; 4] = self.take()?;
        let stored: [u8; 4] = self.take()?;
        hash.update(&key);
        hash.update(&plain);
        hash.update(&stored);
        // Nothing here is compressed, so both lengths must be equal. A torn header may contain anything.
        let bytes = u64::from(u16::from_le_bytes(key)) + u64::from(u32::from_le_bytes(stored));
        if plain != stored || bytes > self.room.saturating_sub(self.read) {
            return Ok(false);
        }
        self.pass(bytes, hash)?;
        Ok(true)
    }

    fn pass(&mut self, bytes: u64, hash: &mut Xxh3) -> io::Result<()> {
        let mut chunk = [0; 4096];
        let mut left = bytes;
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
            let Some(piece) = chunk.get_mut(..size) else { return Ok(()) };
            self.reader.read_exact(piece)?;
            hash.update(piece);
            left -= size as u64;
        }
        self.read += bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{get, open, put, wait};
    use super::*;

    const SECTOR: usize = 512;

    /// A closed journal with three batches, the last of several sectors; returns its file and the end of each batch.
    fn written(directory: &Path) -> (PathBuf, Vec<u64>) {
        let journal = open(directory);
        for (key, size) in [(1, 10), (2, 10), (3, 5_000)] {
            wait(&journal, journal.append([put(key, &vec![7; size])]));
        }
        drop(journal);
        let path = newest(directory).unwrap().unwrap();
        let mut reader = BufReader::new(File::open(&path).unwrap());
        let (mut ends, mut at) = (Vec::new(), 0);
        while let Some(bytes) = batch(&mut reader, u64::MAX).unwrap() {
            at += bytes;
            ends.push(at);
        }
        // Without most of the 64 MiB of zeros, which only take time.
        File::options().write(true).open(&path).unwrap().set_len(at + 1_000).unwrap();
        (path, ends)
    }

    fn zero(path: &Path, from: usize, to: usize) {
        let mut bytes = fs::read(path).unwrap();
        bytes[from..to].fill(0);
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn a_batch_torn_in_any_way_is_cut_off_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (path, ends) = written(directory.path());
        let whole = fs::read(&path).unwrap();
        let [.., before, end] = ends[..] else { panic!("three batches: {ends:?}") };
        let (before, end) = (usize::try_from(before).unwrap(), usize::try_from(end).unwrap());
        let sectors: Vec<(usize, usize)> = (before / SECTOR..=end / SECTOR)
            .map(|sector| ((sector * SECTOR).max(before), ((sector + 1) * SECTOR).min(end)))
            .collect();
        // Every single sector lost, and every number of sectors lost at the end.
        for (index, (from, to)) in sectors.iter().enumerate() {
            for lost in [(*from, *to), (*from, end)] {
                fs::write(&path, &whole).unwrap();
                zero(&path, lost.0, lost.1);
                heal(directory.path()).unwrap();
                let journal = open(directory.path());
                assert!(get(&journal, 1).is_some() && get(&journal, 2).is_some(), "sector {index} lost");
                assert_eq!(get(&journal, 3), None, "sector {index} lost");
            }
        }
    }

    #[test]
    fn damage_to_what_was_durable_is_refused_and_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (path, ends) = written(directory.path());
        let at = usize::try_from(ends[ends.len() - 3]).unwrap() + 30;
        zero(&path, at, at + 8);
        let before = fs::read(&path).unwrap();
        let error = heal(directory.path()).unwrap_err();
        assert!(error.to_string().contains("is damaged at byte"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_whole_journal_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (path, _) = written(directory.path());
        let before = fs::read(&path).unwrap();
        assert_eq!(heal(directory.path()).unwrap(), 0);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
