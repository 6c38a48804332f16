//! Messages on a channel: four bytes of length, then JSON.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::SILENCE;

/// The longest message before both sides have proved themselves.
pub(super) const FIRST: usize = 4 * 1024;
/// The longest message to an agent: its part of the seed is in it.
pub(super) const TO_AGENT: usize = 64 * 1024 * 1024;
/// The longest message of an agent: what it counted in a second, or refresh-token families.
pub(super) const TO_COORDINATOR: usize = 32 * 1024 * 1024;

/// Bytes that are read or written at once: each such piece must come within [`SILENCE`].
const PIECE: usize = 64 * 1024;

/// The message as it is sent.
///
/// # Errors
/// It is longer than `limit`.
pub(super) fn encode(message: &impl Serialize, limit: usize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    let told = u32::try_from(length).ok().filter(|_| length <= limit);
    let told = told.ok_or_else(|| too_long(length, limit))?;
    if let Some(start) = frame.first_chunk_mut() {
        *start = told.to_be_bytes();
    }
    Ok(frame)
}

/// Sends a message.
///
/// # Errors
/// The other side is gone, or took nothing for as long as [`SILENCE`]; the message is longer than `limit`.
pub(super) async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
    limit: usize,
) -> io::Result<()> {
    for piece in encode(message, limit)?.chunks(PIECE) {
        in_time(SILENCE, stream.write_all(piece)).await?;
    }
    in_time(SILENCE, stream.flush()).await
}

/// The next message. Memory is taken as its bytes come, not as it announces.
///
/// # Errors
/// The other side is gone or silent for as long as [`SILENCE`]; the message is longer than `limit`, or makes no sense.
pub(super) async fn read<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
    limit: usize,
) -> io::Result<T> {
    let mut length = [0; 4];
    in_time(SILENCE, stream.read_exact(&mut length)).await?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > limit {
        return Err(too_long(length, limit));
    }
    let mut message = Vec::new();
    while message.len() < length {
        let most = (length - message.len()).min(PIECE);
        let read = in_time(SILENCE, (&mut *stream).take(most as u64).read_buf(&mut message)).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    // Without the error's own words: they might quote a secret.
    serde_json::from_slice(&message)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it sent what makes no sense"))
}

async fn in_time<T>(time: Duration, task: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let silent =
        || io::Error::new(io::ErrorKind::TimedOut, format!("it was silent for {} s", time.as_secs()));
    timeout(time, task).await.map_err(|_| silent())?
}

fn too_long(length: usize, limit: usize) -> io::Error {
    let told = format!("a message of {length} bytes, and {limit} is the most");
    io::Error::new(io::ErrorKind::InvalidData, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_now<T: DeserializeOwned>(bytes: &[u8], limit: usize) -> io::Result<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(read(&mut &*bytes, limit))
    }

    #[test]
    fn messages_come_as_they_were_sent() {
        let text = "é".repeat(100_000);
        let frame = encode(&text, FIRST * 100).unwrap();
        assert_eq!(read_now::<String>(&frame, FIRST * 100).unwrap(), text);
    }

    #[test]
    fn what_is_too_long_cut_off_or_nonsense_is_refused() {
        let told = encode(&"x".repeat(FIRST), FIRST).unwrap_err().to_string();
        assert!(told.contains("4098 bytes, and 4096 is the most"), "{told}");
        let announced = u32::MAX.to_be_bytes();
        assert!(read_now::<String>(&announced, TO_AGENT).unwrap_err().to_string().contains("is the most"));
        let whole = encode(&"secret", FIRST).unwrap();
        let cut = read_now::<String>(&whole[..whole.len() - 1], FIRST).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
        let told = read_now::<u32>(&whole, FIRST).unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
    }
}
