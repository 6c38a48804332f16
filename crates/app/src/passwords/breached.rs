//! The local copy of a list of breached passwords (NIST SP 800-63B 5.1.1.2): SHA-1 digests in a text file, ordered, which stays on
//! the disk. A look-up is a binary search of some forty short reads.
//!
//! A password is only asked about when somebody chooses it. What cannot be asked is refused for the moment: an operator who
//! names a list means it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use symbolon_crypto::digest::{SHA1_BYTES, sha1_of_listed_password};
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::precis::opaque_string;
use tokio::sync::Semaphore;
use tokio::task::{self, JoinHandle};

use super::Busy;

/// The longest line, in bytes: 40 digits, a colon, a count and the line's end. A line is looked for within so many bytes.
const LONGEST_LINE: usize = 96;
/// How many places of a file are looked at before it is used.
const PROBES: u64 = 256;
/// How many look-ups read at once. They share their threads with other work of the server, which must not wait for a slow disk.
const READERS: usize = 8;
/// How long somebody waits for a look-up.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Hexadecimal digits of a digest.
const DIGITS: usize = 2 * SHA1_BYTES;

type Sha1 = [u8; SHA1_BYTES];

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ListFault {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is a directory, a device or a pipe.
    #[error("is not a file")]
    NotAFile,
    /// It has no line.
    #[error("is empty")]
    Empty,
    /// A line is no digest.
    #[error("has a line at byte {0} that does not begin with the 40 hexadecimal digits of a SHA-1 digest")]
    Line(u64),
    /// A line stands before one with a smaller digest.
    #[error("is not ordered by digest: the line at byte {0} belongs further up")]
    Order(u64),
    /// The disk does not answer.
    #[error("was not read within {} s", LONGEST_WAIT.as_secs())]
    Slow,
}

impl ListFault {
    /// How to mend it.
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::Io(_) | Self::NotAFile => "name a file that the user whom the server runs as may read",
            Self::Empty | Self::Line(_) => {
                "name the list of SHA-1 digests, one a line, with or without a colon and a count behind it, as \
                 haveibeenpwned-downloader writes it into one file"
            }
            Self::Order(_) => "order it by digest (LC_ALL=C sort), not by count",
            Self::Slow => "name a file on a disk of this machine that is not overloaded",
        }
    }
}

/// A line of the file.
struct Line {
    begins: u64,
    ends: u64,
    digest: Sha1,
}

/// An open list. It goes on with the file that was opened, if another takes the name.
pub struct BreachedPasswords {
    file: File,
    /// Where the last line ends.
    ends: u64,
}

impl BreachedPasswords {
    /// Opens a list, and looks at its ends and at places between.
    ///
    /// # Errors
    /// [`ListFault`]
    pub fn open(path: &Path) -> Result<Self, ListFault> {
        // Before it is opened: a pipe is open when somebody writes into it, and not before.
        if !std::fs::metadata(path)?.is_file() {
            return Err(ListFault::NotAFile);
        }
        let file = File::open(path)?;
        let ends = file.metadata()?.len();
        let mut list = Self { file, ends };
        list.ends = list.without_blank_end()?;
        if list.ends == 0 {
            return Err(ListFault::Empty);
        }
        let mut before: Option<Line> = None;
        for probe in 0..=PROBES {
            let at = (u128::from(list.ends - 1) * u128::from(probe) / u128::from(PROBES)) as u64;
            let line = list.line_around(at)?;
            match &before {
                Some(before) if before.begins == line.begins => continue,
                Some(before) if before.digest >= line.digest => return Err(ListFault::Order(line.begins)),
                _ => before = Some(line),
            }
        }
        Ok(list)
    }

    /// Where the last line ends, whatever line breaks follow it.
    fn without_blank_end(&self) -> Result<u64, ListFault> {
        let begins = self.ends.saturating_sub(LONGEST_LINE as u64);
        let tail = self.read(begins, self.ends)?;
        Ok(begins + tail.trim_ascii_end().len() as u64)
    }

    /// Whether a digest stands in the list.
    fn contains(&self, digest: &Sha1) -> Result<bool, ListFault> {
        let (mut low, mut high) = (0, self.ends);
        while low < high {
            let line = self.line_around(low + (high - low) / 2)?;
            match line.digest.cmp(digest) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = line.ends + 1,
                std::cmp::Ordering::Greater => high = line.begins,
            }
        }
        Ok(false)
    }

    /// The line to which the byte at `at` belongs; a line break belongs to the line that it ends.
    fn line_around(&self, at: u64) -> Result<Line, ListFault> {
        let room = LONGEST_LINE as u64;
        let (from, to) = (at.saturating_sub(room), self.ends.min(at + room));
        let text = self.read(from, to)?;
        let here = (at - from) as usize;
        let (before, behind) = text.split_at_checked(here).unwrap_or((&text, &[]));
        let begins = match before.iter().rposition(|byte| *byte == b'\n') {
            Some(place) => from + place as u64 + 1,
            None if from == 0 => 0,
            None => return Err(ListFault::Line(from)),
        };
        let ends = match behind.iter().position(|byte| *byte == b'\n') {
            Some(place) => at + place as u64,
            None if to == self.ends => to,
            None => return Err(ListFault::Line(begins)),
        };
        let line = text.get((begins - from) as usize..(ends - from) as usize);
        let digest = line.and_then(digest_of).ok_or(ListFault::Line(begins))?;
        Ok(Line { begins, ends, digest })
    }

    fn read(&self, from: u64, to: u64) -> Result<Vec<u8>, ListFault> {
        let mut bytes = vec![0; (to - from) as usize];
        self.file.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }
}

/// The digest at the beginning of a line; `None` if something other than a colon follows it.
fn digest_of(line: &[u8]) -> Option<Sha1> {
    let (digits, rest) = line.trim_ascii_end().split_at_checked(DIGITS)?;
    if !rest.is_empty() && !rest.starts_with(b":") {
        return None;
    }
    let mut digest = [0; SHA1_BYTES];
    for (byte, pair) in digest.iter_mut().zip(digits.as_chunks::<2>().0) {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? * 16 + low?).ok()?;
    }
    Some(digest)
}

/// The list in use.
enum InUse {
    /// None is configured.
    Nothing,
    /// This one.
    List(BreachedPasswords),
    /// One that could not be opened, and why: nothing can be said about a password.
    Unreadable(Unread),
}

/// Why a list was not read, and how to mend it.
struct Unread {
    fault: String,
    mend: &'static str,
}

impl From<&ListFault> for Unread {
    fn from(fault: &ListFault) -> Self {
        Self { fault: fault.to_string(), mend: fault.mend() }
    }
}

/// What the server asks about passwords that somebody chooses.
pub(super) struct BreachCheck {
    in_use: ArcSwap<InUse>,
    /// A permit for each look-up that may read.
    readers: Arc<Semaphore>,
}

impl Default for BreachCheck {
    fn default() -> Self {
        Self { in_use: ArcSwap::from_pointee(InUse::Nothing), readers: Arc::new(Semaphore::new(READERS)) }
    }
}

impl BreachCheck {
    /// Uses the list in a file, or none. Where the file cannot be used, the list that was used before stays.
    ///
    /// # Errors
    /// [`ListFault`]
    pub(super) fn use_file(&self, path: Option<&Path>) -> Result<(), ListFault> {
        self.take_over(path.map(BreachedPasswords::open).transpose())
    }

    /// Like [`use_file`](Self::use_file), for a server that runs: the reads of the disk are off the threads that serve.
    ///
    /// # Errors
    /// [`ListFault`]
    pub(super) async fn use_file_anew(&self, path: Option<PathBuf>) -> Result<(), ListFault> {
        let open = move || path.as_deref().map(BreachedPasswords::open).transpose();
        let opened = task::spawn_blocking(open).await;
        self.take_over(opened.unwrap_or_else(|fault| Err(io::Error::other(fault).into())))
    }

    fn take_over(&self, opened: Result<Option<BreachedPasswords>, ListFault>) -> Result<(), ListFault> {
        match opened {
            Ok(list) => {
                self.in_use.store(Arc::new(list.map_or(InUse::Nothing, InUse::List)));
                Ok(())
            }
            Err(fault) => {
                if !matches!(**self.in_use.load(), InUse::List(_)) {
                    self.in_use.store(Arc::new(InUse::Unreadable(Unread::from(&fault))));
                }
                Err(fault)
            }
        }
    }

    /// Whether a password stands in the list, as it was typed or as it is hashed (RFC 8265 4.2.2).
    ///
    /// # Errors
    /// [`Busy`]: the file cannot be read now, or enough others read it.
    pub(super) async fn has(&self, password: &SecretString) -> Result<bool, Busy> {
        let in_use = self.in_use.load_full();
        match &*in_use {
            InUse::Nothing => return Ok(false),
            InUse::Unreadable(why) => return Err(unread(why)),
            InUse::List(_) => {}
        }
        let Ok(permit) = Arc::clone(&self.readers).try_acquire_owned() else {
            return Err(Busy { retry_after_seconds: 1 });
        };
        let typed = sha1_of_listed_password(password);
        let hashed =
            sha1_of_listed_password(&SecretString::new(opaque_string(password.expose()).into_owned()));
        // Reads of a disk, off the threads that serve.
        let looking = task::spawn_blocking(move || -> Result<bool, ListFault> {
            // Given back when the reads have ended, also where nobody waits for them any more.
            let _permit = permit;
            match &*in_use {
                InUse::List(list) => Ok(list.contains(&typed)? || list.contains(&hashed)?),
                InUse::Nothing | InUse::Unreadable(_) => Ok(false),
            }
        });
        waited_for(looking).await.map_err(|fault| unread(&Unread::from(&fault)))
    }
}

/// What a look-up found, if it ends in time.
async fn waited_for(looking: JoinHandle<Result<bool, ListFault>>) -> Result<bool, ListFault> {
    match tokio::time::timeout(LONGEST_WAIT, looking).await {
        Ok(Ok(found)) => found,
        Ok(Err(fault)) => Err(io::Error::other(fault).into()),
        Err(_) => Err(ListFault::Slow),
    }
}

fn unread(Unread { fault, mend }: &Unread) -> Busy {
    tracing::error!(
        target: "symbolon::password",
        key = "breached_passwords_file",
        %fault,
        mend,
        "the list of breached passwords was not read, so no new password is taken"
    );
    Busy { retry_after_seconds: 1 }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    /// A list of many digests, with lines of different lengths.
    fn many(count: u32, line_break: &str) -> (Vec<Sha1>, String) {
        let of = |number: u32| sha1_of_listed_password(&SecretString::new(format!("password {number}")));
        let mut digests: Vec<Sha1> = (0..count).map(of).collect();
        digests.sort_unstable();
        let hex = |digest: &Sha1| digest.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
        let line = |(place, digest): (usize, &Sha1)| match place % 3 {
            0 => format!("{}{line_break}", hex(digest)),
            1 => format!("{}:{}{line_break}", hex(digest), place),
            _ => format!("{}:{}{line_break}", hex(digest), u64::MAX - place as u64),
        };
        let text = digests.iter().enumerate().map(line).collect();
        (digests, text)
    }

    #[test]
    fn every_digest_of_the_list_is_found_and_no_other() {
        for (count, line_break) in [(1, "\n"), (2, "\r\n"), (7, "\n"), (1_000, "\r\n")] {
            let (digests, text) = many(count, line_break);
            for text in [text.clone(), text.trim_end().to_owned(), format!("{text}\n\n"), text.to_lowercase()]
            {
                let file = file(&text);
                let list = BreachedPasswords::open(file.path()).unwrap();
                for digest in &digests {
                    assert!(list.contains(digest).unwrap());
                    let mut other = *digest;
                    other[19] ^= 1;
                    assert!(!list.contains(&other).unwrap());
                }
                assert!(!list.contains(&[0; 20]).unwrap() && !list.contains(&[255; 20]).unwrap());
            }
        }
    }

    /// The digest that everybody knows, against a mistake in how it is made.
    #[test]
    fn the_digest_is_that_of_the_published_lists() {
        let list = file("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9545824\n");
        let list = BreachedPasswords::open(list.path()).unwrap();
        let digest = |text: &str| sha1_of_listed_password(&SecretString::new(text.into()));
        assert!(list.contains(&digest("password")).unwrap() && !list.contains(&digest("Password")).unwrap());
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_place() {
        let (_, text) = many(500, "\n");
        let mut lines: Vec<&str> = text.lines().collect();
        let reversed = lines.iter().rev().copied().collect::<Vec<_>>().join("\n");
        lines.push("password");
        let odd = lines.join("\n");
        let refused = |text: &str| BreachedPasswords::open(file(text).path()).map(drop).unwrap_err();
        assert!(matches!(refused(""), ListFault::Empty) && matches!(refused("\n\n"), ListFault::Empty));
        assert!(matches!(refused(&reversed), ListFault::Order(_)));
        assert!(matches!(refused(&odd), ListFault::Line(_)));
        assert!(matches!(refused(&"a".repeat(10_000)), ListFault::Line(_)));
        assert!(matches!(refused("password\n"), ListFault::Line(0)));
        assert!(matches!(BreachedPasswords::open(Path::new("/")), Err(ListFault::NotAFile)));
        assert!(matches!(BreachedPasswords::open(Path::new("/nonexistent")), Err(ListFault::Io(_))));
        for fault in [refused(""), refused(&reversed), refused(&odd)] {
            assert!(!fault.mend().is_empty() && !fault.to_string().is_empty());
        }
    }

    #[tokio::test]
    async fn a_list_that_cannot_be_opened_is_not_as_good_as_none() {
        let check = BreachCheck::default();
        let password = SecretString::new("password".into());
        assert_eq!(check.has(&password).await, Ok(false));
        assert!(check.use_file(Some(Path::new("/nonexistent"))).is_err());
        assert!(check.has(&password).await.is_err());
        let list = file("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9545824\n");
        check.use_file(Some(list.path())).unwrap();
        assert_eq!(check.has(&password).await, Ok(true));
        assert!(check.use_file(Some(Path::new("/nonexistent"))).is_err());
        assert_eq!(check.has(&password).await, Ok(true), "the list before stays");
        check.use_file(None).unwrap();
        assert_eq!(check.has(&password).await, Ok(false));
    }

    /// Opening a pipe would wait for somebody who writes into it.
    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(matches!(BreachedPasswords::open(&pipe), Err(ListFault::NotAFile)));
    }

    #[tokio::test]
    async fn only_some_read_at_once_and_the_others_are_told_to_come_again() {
        let (list, check) =
            (file("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9545824\n"), BreachCheck::default());
        let password = SecretString::new("password".into());
        let readers = u32::try_from(READERS).unwrap();
        let others = || Arc::clone(&check.readers).try_acquire_many_owned(readers).unwrap();
        let all = others();
        assert_eq!(check.has(&password).await, Ok(false), "without a list nothing is read");
        check.use_file_anew(Some(list.path().into())).await.unwrap();
        assert_eq!(check.has(&password).await, Err(Busy { retry_after_seconds: 1 }));
        drop(all);
        for _ in 0..2 * READERS {
            assert_eq!(check.has(&password).await, Ok(true));
        }
        drop(others());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_long_for_a_disk_that_does_not_answer() {
        let looking = task::spawn(std::future::pending::<Result<bool, ListFault>>());
        assert!(matches!(waited_for(looking).await, Err(ListFault::Slow)));
    }

    #[tokio::test]
    async fn why_a_list_is_not_used_is_kept_for_the_log() {
        let check = BreachCheck::default();
        assert!(check.use_file_anew(Some("/nonexistent".into())).await.is_err());
        let in_use = check.in_use.load_full();
        let InUse::Unreadable(Unread { fault, mend }) = &*in_use else { panic!("it is unreadable") };
        assert!(fault.contains("cannot be read") && mend.contains("may read"), "{fault}: {mend}");
    }

    /// RFC 8265 4.2.2: what is typed with another space is hashed with a common one, and signs in by either.
    #[tokio::test]
    async fn a_password_is_looked_up_as_it_was_typed_and_as_it_is_hashed() {
        let digest = sha1_of_listed_password(&SecretString::new("pass word".into()));
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let (list, check) = (file(&hex), BreachCheck::default());
        check.use_file(Some(list.path())).unwrap();
        for (typed, stands) in [("pass word", true), ("pass\u{3000}word", true), ("pass  word", false)] {
            assert_eq!(check.has(&SecretString::new(typed.into())).await, Ok(stands), "{typed}");
        }
    }
}
