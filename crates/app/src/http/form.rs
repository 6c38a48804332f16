//! Reading bodies, bounded in length and time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::timeout;

use super::{Context, Failure};

/// How much of a body that is too long is still read and dropped, in bytes: a client that is cut off while it sends
/// never sees why.
const DISCARDED: usize = 16 << 20;
/// For how long.
const DISCARDING: Duration = Duration::from_secs(2);

/// How much of a body is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// Bytes.
    pub most: usize,
    /// The time in which it must have come.
    pub within: Duration,
}

impl Context {
    /// The limits of the configuration.
    pub fn body_limits(&self) -> BodyLimits {
        let config = self.app.config.load();
        BodyLimits { most: config.http.max_body, within: config.http.request_timeout }
    }
}

/// Reads a body within its limits.
///
/// # Errors
/// 413 where it is longer; 408 where it takes longer; 400 where the client broke off.
pub async fn read_body(mut body: Body, limits: BodyLimits) -> Result<Bytes, Failure> {
    let BodyLimits { most, within } = limits;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let read = if announced > most {
        Err(Failure::TooLarge)
    } else {
        let mut collecting = pin!(collect(&mut body, most));
        // A body mostly came with its head: then no timer is needed.
        match poll_fn(|context| Poll::Ready(collecting.as_mut().poll(context))).await {
            Poll::Ready(collected) => collected,
            Poll::Pending => timeout(within, collecting).await.unwrap_or(Err(Failure::TooSlow)),
        }
    };
    if matches!(read, Err(Failure::TooLarge)) {
        // A connection that is read to the end of its request may go on. One that is not lingers when it is closed:
        // whether the client stops by then or not, it gets its answer.
        drop(timeout(DISCARDING.min(within), Box::pin(discard(body))).await);
    }
    read
}

/// The whole body, unless it is longer than `most`. One that came in one piece is not copied.
async fn collect(body: &mut Body, most: usize) -> Result<Bytes, Failure> {
    let (mut first, mut all) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| Failure::BrokenBody)?.into_data() else { continue };
        if first.len().max(all.len()) + piece.len() > most {
            return Err(Failure::TooLarge);
        }
        if first.is_empty() && all.is_empty() {
            first = piece;
            continue;
        }
        if all.is_empty() {
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&piece);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

async fn discard(mut body: Body) {
    let mut left = DISCARDED;
    while let Some(Ok(frame)) = body.frame().await {
        match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Reads a form (RFC 6749 3.2: `application/x-www-form-urlencoded`) within the limits of the configuration.
///
/// # Errors
/// 415 for another type; those of [`read_body`].
pub async fn read_form(headers: &HeaderMap, body: Body, limits: BodyLimits) -> Result<Bytes, Failure> {
    if !is_form(headers) {
        return Err(Failure::NotAForm);
    }
    read_body(body, limits).await
}

/// Whether the body is said to be a form.
pub fn is_form(headers: &HeaderMap) -> bool {
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::task::Poll;

    use super::*;

    const LIMITS: BodyLimits = BodyLimits { most: 8, within: Duration::from_secs(5) };

    /// A body of pieces, each after a pause.
    mod slow {
        use std::pin::Pin;
        use std::task::{Context, Poll};

        use bytes::Bytes;
        use hyper::body::{Body, Frame};
        use tokio::time::{Interval, interval};

        pub(super) struct Pieces<F>(pub(super) F, Interval);

        impl<F> Pieces<F> {
            pub(super) fn every_second(next: F) -> Self {
                Self(next, interval(std::time::Duration::from_secs(1)))
            }
        }

        impl<F> Body for Pieces<F>
        where
            F: FnMut() -> Poll<Option<Result<Bytes, std::convert::Infallible>>> + Unpin,
        {
            type Data = Bytes;
            type Error = std::convert::Infallible;

            fn poll_frame(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Result<Frame<Bytes>, std::convert::Infallible>>> {
                let this = self.get_mut();
                std::task::ready!(this.1.poll_tick(context));
                (this.0)().map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn pieces(mut left: usize) -> Body {
        Body::new(slow::Pieces::every_second(move || {
            let Some(rest) = left.checked_sub(1) else { return Poll::Ready(None) };
            left = rest;
            Poll::Ready(Some(Ok::<_, Infallible>(Bytes::from_static(b"x"))))
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_must_be_short_and_come_in_time() {
        assert_eq!(read_body(Body::from("12345678"), LIMITS).await.ok().as_deref(), Some(&b"12345678"[..]));
        assert!(matches!(read_body(Body::from("123456789"), LIMITS).await, Err(Failure::TooLarge)));
        assert_eq!(read_body(pieces(4), LIMITS).await.ok().as_deref(), Some(&b"xxxx"[..]));
        assert!(matches!(read_body(pieces(7), LIMITS).await, Err(Failure::TooSlow)));
        let patient = BodyLimits { within: Duration::from_secs(60), ..LIMITS };
        assert!(matches!(read_body(pieces(9), patient).await, Err(Failure::TooLarge)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_long_is_not_read_for_ever() {
        let begun = tokio::time::Instant::now();
        let patient = BodyLimits { within: Duration::from_secs(60), ..LIMITS };
        assert!(matches!(read_body(pieces(1_000_000), patient).await, Err(Failure::TooLarge)));
        assert!(begun.elapsed() < Duration::from_secs(15));
    }
}
