//! A parser for the answers of Redis (RESP version 2, of the Redis serialization protocol specification).

use redis::Value;

/// The deepest nesting of arrays. No answer to a command of the store has nested ones.
const DEPTH: u8 = 4;

/// Bytes that are not a valid answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// An answer, or the error that was sent in its place.
pub(super) type Reply = Result<Value, String>;

/// Parses the first answer in `bytes`; returns it and its length in bytes, or `None` while it is not complete.
pub(super) fn reply(bytes: &[u8]) -> Result<Option<(Reply, usize)>, Malformed> {
    let mut rest = Rest { bytes, at: 0 };
    if bytes.first() == Some(&b'-') {
        let Some(line) = rest.line()? else { return Ok(None) };
        let error = String::from_utf8_lossy(line.get(1..).unwrap_or_default()).into_owned();
        return Ok(Some((Err(error), rest.at)));
    }
    Ok(rest.value(DEPTH)?.map(|value| (Ok(value), rest.at)))
}

struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    /// The next line, without its end.
    fn line(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(end) = rest.iter().position(|byte| *byte == b'\r') else { return Ok(None) };
        match rest.get(end + 1) {
            None => Ok(None),
            Some(b'\n') => {
                self.at += end + 2;
                Ok(rest.get(..end))
            }
            Some(_) => Err(Malformed),
        }
    }

    /// A block of `length` bytes, followed by a line end.
    fn block(&mut self, length: usize) -> Result<Option<&'a [u8]>, Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((block, end)) =
            rest.get(..length.saturating_add(2)).and_then(|all| all.split_at_checked(length))
        else {
            return Ok(None);
        };
        self.at += length + 2;
        if end == b"\r\n" { Ok(Some(block)) } else { Err(Malformed) }
    }

    fn value(&mut self, depth: u8) -> Result<Option<Value>, Malformed> {
        let Some(line) = self.line()? else { return Ok(None) };
        let Some((kind, text)) = line.split_first() else { return Err(Malformed) };
        match kind {
            b'+' if text == b"OK" => Ok(Some(Value::Okay)),
            b'+' => Ok(Some(Value::SimpleString(String::from_utf8_lossy(text).into_owned()))),
            b':' => number(text).map(|number| Some(Value::Int(number))),
            b'$' => match length(text)? {
                None => Ok(Some(Value::Nil)),
                Some(length) => Ok(self.block(length)?.map(|block| Value::BulkString(block.to_vec()))),
            },
            b'*' => match length(text)? {
                None => Ok(Some(Value::Nil)),
                Some(length) => self.list(length, depth.checked_sub(1).ok_or(Malformed)?),
            },
            // An error within an array: no command of the store is answered with one.
            _ => Err(Malformed),
        }
    }

    fn list(&mut self, length: usize, depth: u8) -> Result<Option<Value>, Malformed> {
        // Each element takes three bytes at least, so a false length cannot make this allocate more than was received.
        let mut values = Vec::with_capacity(length.min(self.bytes.len() / 3));
        for _ in 0..length {
            match self.value(depth)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(Value::Array(values)))
    }
}

fn number(text: &[u8]) -> Result<i64, Malformed> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Malformed)
}

/// A length; `None` for -1, which stands for null.
fn length(text: &[u8]) -> Result<Option<usize>, Malformed> {
    match number(text)? {
        -1 => Ok(None),
        length => usize::try_from(length).map(Some).map_err(|_| Malformed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write(value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Nil => out.extend_from_slice(b"$-1\r\n"),
            Value::Okay => out.extend_from_slice(b"+OK\r\n"),
            Value::Int(number) => out.extend_from_slice(format!(":{number}\r\n").as_bytes()),
            Value::SimpleString(text) => out.extend_from_slice(format!("+{text}\r\n").as_bytes()),
            Value::BulkString(bytes) => {
                out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
                out.extend_from_slice(bytes);
                out.extend_from_slice(b"\r\n");
            }
            Value::Array(values) => {
                out.extend_from_slice(format!("*{}\r\n", values.len()).as_bytes());
                values.iter().for_each(|value| write(value, out));
            }
            _ => unreachable!("not of version 2"),
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Nil),
            Just(Value::Okay),
            any::<i64>().prop_map(Value::Int),
            "[A-Z]{3,8}".prop_map(Value::SimpleString),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(Value::BulkString),
        ];
        leaf.prop_recursive(2, 12, 4, |inner| proptest::collection::vec(inner, 0..4).prop_map(Value::Array))
    }

    proptest! {
        #[test]
        fn an_answer_is_read_when_it_is_all_there_and_not_before(value in value(), more in ".{0,8}") {
            let mut bytes = Vec::new();
            write(&value, &mut bytes);
            for end in 0..bytes.len() {
                prop_assert_eq!(reply(&bytes[..end]), Ok(None));
            }
            let length = bytes.len();
            bytes.extend_from_slice(more.as_bytes());
            prop_assert_eq!(reply(&bytes), Ok(Some((Ok(value), length))));
        }

        #[test]
        fn whatever_comes_is_an_answer_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((_, length))) = reply(&bytes) {
                prop_assert!(length > 0 && length <= bytes.len());
            }
        }
    }

    #[test]
    fn errors_and_what_is_no_answer() {
        let moved = b"-MOVED 7 10.0.0.1:6379\r\n:1\r\n";
        assert_eq!(reply(moved), Ok(Some((Err("MOVED 7 10.0.0.1:6379".into()), 24))));
        assert_eq!(reply(b"-MOVED 7"), Ok(None));
        for bad in [&b"!\r\n"[..], b"\r\n", b"$x\r\n", b"$-2\r\n", b"$1\r\nabc", b"*1\r\n-ERR\r\n", b"+a\rb"]
        {
            assert_eq!(reply(bad), Err(Malformed), "{bad:?}");
        }
        assert_eq!(reply(&b"*1\r\n".repeat(9)), Err(Malformed), "too deep");
        assert_eq!(reply(b"*9999999999\r\n:1\r\n"), Ok(None));
        assert_eq!(reply(b"$18446744073709551615\r\n"), Err(Malformed));
        assert_eq!(reply(b"$9223372036854775807\r\n"), Ok(None));
    }
}
