//! Lingering close (RFC 9112 9.6): if a socket is closed while its client still sends, the kernel resets the
//! connection, and the client may lose an answer that it has not read yet.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

/// How long a client may go on sending after the last answer.
const LINGERING: Duration = Duration::from_secs(5);

/// How many reads, of 32 KiB each, are made at most.
const READS: usize = 1 << 10;

/// Reads and discards what a client sends after the last answer.
#[derive(Debug)]
pub(super) struct Lingering {
    until: Pin<Box<Sleep>>,
    reads: usize,
}

impl Lingering {
    pub(super) fn begin() -> Self {
        Self { until: Box::pin(tokio::time::sleep(LINGERING)), reads: READS }
    }

    /// Ready when the client has closed too, or a limit of time or size is reached.
    pub(super) fn poll<S: AsyncRead>(
        &mut self,
        mut stream: Pin<&mut S>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut unread = [0; 32 << 10];
        while self.until.as_mut().poll(context).is_pending() && self.reads > 0 {
            let mut buffer = ReadBuf::new(&mut unread);
            ready!(stream.as_mut().poll_read(context, &mut buffer))?;
            if buffer.filled().is_empty() {
                break;
            }
            self.reads -= 1;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::AsyncWriteExt;
    use tokio::time::Instant;

    async fn linger<S: AsyncRead + Unpin>(mut stream: S) -> Duration {
        let (began, mut lingering) = (Instant::now(), Lingering::begin());
        poll_fn(|context| lingering.poll(Pin::new(&mut stream), context)).await.unwrap();
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_the_client() {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        theirs.write_all(&vec![b'x'; 1 << 19]).await.unwrap();
        drop(theirs);
        assert_eq!(linger(ours).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stays_has_its_time() {
        let (ours, _theirs) = tokio::io::duplex(1024);
        let lasted = linger(ours).await;
        assert!(lasted >= LINGERING && lasted < LINGERING * 2, "{lasted:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_cease_is_left() {
        let endless = tokio::io::repeat(b'x');
        assert!(linger(endless).await < LINGERING);
    }
}
