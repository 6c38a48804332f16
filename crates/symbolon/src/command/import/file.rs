//! The files that are read: their text is UTF-8.

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};

use crate::command::CommandError;

/// A file behind its byte order mark.
pub(super) type Text<R> = Chain<Cursor<Vec<u8>>, R>;

/// Opens a file whose text is read.
///
/// # Errors
/// As [`open`] and [`text`].
pub(super) fn open_text(path: &str) -> Result<Text<File>, CommandError> {
    text(open(path)?, path)
}

/// The text of a file, without the byte order mark that some programs write before it.
///
/// # Errors
/// [`CommandError::Usage`] where it is UTF-16, which some programs write by themselves.
pub(super) fn text<R: Read>(mut file: R, path: &str) -> Result<Text<R>, CommandError> {
    let mut head = Vec::new();
    file.by_ref().take(3).read_to_end(&mut head).map_err(|source| unreadable(path, source))?;
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        let mend = format!("convert it to UTF-8: iconv -f UTF-16 -t UTF-8 {path}");
        return Err(CommandError::Usage(format!("{path} is UTF-16: {mend}")));
    }
    if head == b"\xef\xbb\xbf" {
        head.clear();
    }
    Ok(Cursor::new(head).chain(file))
}

/// Opens a file.
///
/// # Errors
/// [`CommandError::File`]; [`CommandError::Usage`] where it is a directory.
fn open(path: &str) -> Result<File, CommandError> {
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    let is_directory = file.metadata().map_err(|source| unreadable(path, source))?.is_dir();
    if is_directory {
        Err(CommandError::Usage(format!("{path} is a directory: name its files")))
    } else {
        Ok(file)
    }
}

/// Opens a file that is read more than once.
///
/// # Errors
/// As [`open`]; [`CommandError::Usage`] where it can be read once only, such as a pipe.
pub(super) fn check_readable_again(path: &str) -> Result<(), CommandError> {
    let is_file = open(path)?.metadata().map_err(|source| unreadable(path, source))?.is_file();
    if is_file {
        return Ok(());
    }
    Err(CommandError::Usage(format!("{path} is read more than once: save it as a file first")))
}

pub(super) fn unreadable(path: &str, source: io::Error) -> CommandError {
    CommandError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::import::samples;
    use crate::command::import::testing::{Noted, file, opened};

    #[test]
    fn every_reader_skips_the_mark_and_refuses_utf_16() {
        for (kind, sample) in samples::ALL {
            let sent = |bytes: &[u8]| {
                let (place, path) = file("");
                std::fs::write(place.path(), bytes).unwrap();
                let read = opened(&[kind, &path]).map_err(|error| error.to_string())?;
                let server = Noted::default();
                server.import(false, |importer| read(importer)).0.map(|()| server.sent.into_inner())
            };
            let marked = sent(&[b"\xef\xbb\xbf", sample.as_bytes()].concat());
            assert!(marked.is_ok() && marked == sent(sample.as_bytes()), "{kind}");
            for (mark, bytes) in
                [(0xfeff_u16, u16::to_le_bytes as fn(u16) -> [u8; 2]), (0xfeff, u16::to_be_bytes)]
            {
                let wide: Vec<u8> =
                    std::iter::once(mark).chain(sample.encode_utf16()).flat_map(bytes).collect();
                let refused = sent(&wide).unwrap_err();
                assert!(refused.contains("is UTF-16: convert it to UTF-8"), "{kind}: {refused}");
            }
        }
    }

    #[test]
    fn what_is_read_twice_must_be_a_file() {
        for kind in ["keycloak", "firebase", "authentik", "symbolon"] {
            let refused = opened(&[kind, "/dev/null"]).err().unwrap().to_string();
            assert!(refused.contains("read more than once"), "{kind}: {refused}");
        }
    }

    #[test]
    fn a_file_shorter_than_a_mark_is_read_whole() {
        for short in ["", "a", "{}"] {
            let mut all = String::new();
            text(short.as_bytes(), "x").unwrap().read_to_string(&mut all).unwrap();
            assert_eq!(all, short);
        }
    }
}
