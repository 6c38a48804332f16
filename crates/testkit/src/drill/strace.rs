//! Reads the output of strace: which system call did what to which file, in the order of the kernel's answers.

use std::collections::HashMap;

use super::Micros;

/// The calls that change a file, a directory or a descriptor, including those that are not modelled.
const CALLS: &str = "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,\
    fdatasync,sync_file_range,msync,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,\
    symlinkat,close,dup,dup2,dup3,fcntl,lseek,mmap,copy_file_range,sendfile,splice,io_uring_setup";

/// The command that runs another one and records its calls on files.
pub fn wrapper(trace: &std::path::Path) -> Vec<String> {
    let trace = trace.to_string_lossy().into_owned();
    let words = ["strace", "-f", "--seccomp-bpf", "-ttt", "-xx", "-s", "16777216", "-o", &trace, "-e"];
    words.iter().map(|word| (*word).to_owned()).chain([format!("trace={CALLS}")]).collect()
}

/// Whether a call begins or has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The kernel has been asked.
    Entered,
    /// The kernel has answered.
    Answered {
        /// The number it returned; negative for an error.
        result: i64,
    },
}

/// One line of the trace: a call begins or ends.
#[derive(Clone, Debug)]
pub struct Event {
    /// The thread.
    pub thread: u32,
    /// When the line was written.
    pub at: Micros,
    /// The name of the call.
    pub name: String,
    /// Its arguments as text.
    pub arguments: Vec<String>,
    /// Beginning or end.
    pub stage: Stage,
}

/// Turns lines into events.
#[derive(Default)]
pub struct Reader {
    unfinished: HashMap<u32, (String, String)>,
}

impl Reader {
    /// The events of one line: two if no other thread's call came between, none for signals and exits.
    pub fn read(&mut self, line: &str) -> Vec<Event> {
        let Some((thread, rest)) = line.split_once(' ') else { return Vec::new() };
        let Ok(thread) = thread.parse() else { return Vec::new() };
        let Some((at, text)) = rest.trim_start().split_once(' ') else { return Vec::new() };
        let Some(at) = micros(at) else { return Vec::new() };
        let event = |name: &str, arguments: &str, stage| Event {
            thread,
            at,
            name: name.to_owned(),
            arguments: split(arguments),
            stage,
        };
        if let Some(resumed) = text.strip_prefix("<... ") {
            let (Some((_, tail)), Some((name, head))) =
                (resumed.split_once(" resumed>"), self.unfinished.remove(&thread))
            else {
                return Vec::new();
            };
            let Some((tail, result)) = answered(tail) else { return Vec::new() };
            return vec![event(&name, &format!("{head}{tail}"), Stage::Answered { result })];
        }
        let Some((name, rest)) = text.split_once('(') else { return Vec::new() };
        if let Some(head) = rest.strip_suffix(" <unfinished ...>") {
            self.unfinished.insert(thread, (name.to_owned(), head.to_owned()));
            return vec![event(name, head, Stage::Entered)];
        }
        let Some((arguments, result)) = answered(rest) else { return Vec::new() };
        vec![event(name, arguments, Stage::Entered), event(name, arguments, Stage::Answered { result })]
    }
}

/// Splits `ARGUMENTS) = RESULT ...`. Short calls are padded before the equals sign; errors and flags are followed by
/// words in brackets.
fn answered(text: &str) -> Option<(&str, i64)> {
    let (arguments, result) = text.rmatch_indices("= ").find_map(|(at, sign)| {
        let arguments = text.get(..at)?.trim_end().strip_suffix(')')?;
        Some((arguments, text.get(at + sign.len()..)?))
    })?;
    let result = result.split_whitespace().next()?;
    let number = match result.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).unwrap_or(0),
        None => result.parse().ok()?,
    };
    Some((arguments, number))
}

fn micros(text: &str) -> Option<Micros> {
    let (seconds, fraction) = text.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000 + fraction.parse::<u64>().ok()?)
}

/// Splits arguments at commas outside of quotes, brackets and braces.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted, mut begin) = (Vec::new(), 0_i32, false, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'[' | b'{' | b'(' if !quoted => depth += 1,
            b']' | b'}' | b')' if !quoted => depth -= 1,
            b',' if !quoted && depth == 0 => {
                parts.push(text[begin..at].trim().to_owned());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim().to_owned());
    parts
}

/// The bytes of every quoted string in an argument, one after the other: `-xx` writes each byte as `\xNN`.
pub fn bytes(argument: &str) -> Vec<u8> {
    assert!(!argument.contains("\"..."), "strace cut a string short");
    let mut out = Vec::with_capacity(argument.len() / 4);
    for quoted in argument.split('"').skip(1).step_by(2) {
        let digits = quoted.as_bytes().chunks_exact(4).map(|code| (digit(code[2]) << 4) | digit(code[3]));
        out.extend(digits);
    }
    out
}

fn digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        _ => byte - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line_begins_and_ends_a_call() {
        let events = Reader::default().read(r#"12  5.000007 pwrite64(9, "\x61\x2c\x29", 3, 4096) = 3"#);
        assert_eq!(events.len(), 2);
        assert_eq!((events[1].thread, events[1].at, &*events[1].name), (12, 5_000_007, "pwrite64"));
        assert_eq!(events[1].arguments[3], "4096");
        assert_eq!(bytes(&events[1].arguments[1]), b"a,)");
        assert_eq!(events[1].stage, Stage::Answered { result: 3 });
    }

    #[test]
    fn an_interrupted_call_is_put_together() {
        let mut reader = Reader::default();
        assert_eq!(reader.read("12 5.000001 fsync(9 <unfinished ...>")[0].stage, Stage::Entered);
        assert!(reader.read("13 5.000002 +++ exited with 0 +++").is_empty());
        let events = reader.read("12 5.000003 <... fsync resumed>)       = -1 EIO (Input/output error)");
        assert_eq!((&*events[0].arguments[0], events[0].stage), ("9", Stage::Answered { result: -1 }));
    }

    #[test]
    fn vectors_are_joined_and_padding_is_ignored() {
        let events = Reader::default().read(
            r#"1 5.0 writev(4, [{iov_base="\x61\x62", iov_len=2}, {iov_base="\x63", iov_len=1}], 2) = 3"#,
        );
        assert_eq!(bytes(&events[0].arguments[1]), b"abc");
        let events = Reader::default().read("1 5.0 close(4)                      = 0");
        assert_eq!(events[1].stage, Stage::Answered { result: 0 });
        let events = Reader::default().read("1 5.0 fcntl(4, F_GETFD)        = 0x1 (flags FD_CLOEXEC)");
        assert_eq!((&*events[1].arguments[1], events[1].stage), ("F_GETFD", Stage::Answered { result: 1 }));
    }
}
