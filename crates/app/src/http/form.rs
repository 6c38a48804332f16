//! Reading request bodies, with limits of length and time.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use symbolon_protocol::params::MAX_LENGTH;
use symbolon_protocol::refusal::Reason;
use tokio::time::timeout;

use super::{Context, Failure};
use crate::rate_limit::{BodyInFlight, NoRoom};

/// How much of a body is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// The maximum length in bytes.
    pub most: usize,
    /// The time within which the whole body must arrive.
    pub within: Duration,
}

impl Context {
    /// The limits of a form: no endpoint takes more than all parameters of a request may have.
    pub fn form_limits(&self) -> BodyLimits {
        let config = self.app.config.load();
        BodyLimits { most: MAX_LENGTH.min(config.http.max_body), within: config.http.request_timeout }
    }
}

impl From<NoRoom> for Failure {
    fn from(no_room: NoRoom) -> Self {
        match no_room {
            NoRoom::Budget => Self::Unavailable { retry_after: 1 },
            NoRoom::Share => Self::TooMany { retry_after: 1, refusal: Reason::AddressRateLimited.into() },
        }
    }
}

/// Reads a body within its limits. Its bytes are counted in `in_flight`.
///
/// # Errors
/// 413 if the body is longer; 408 if it takes longer; 400 if the client broke off; 503 or 429 if the budget of all
/// bodies or the share of the address is used up.
pub async fn read_body(
    mut body: Body,
    limits: BodyLimits,
    in_flight: &mut BodyInFlight,
) -> Result<Bytes, Failure> {
    let BodyLimits { most, within } = limits;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > most {
        return Err(Failure::TooLarge);
    }
    let mut collecting = pin!(collect(&mut body, most, in_flight));
    // The body has mostly arrived together with the head. Polling once before `timeout` avoids a timer in that case.
    match poll_fn(|context| Poll::Ready(collecting.as_mut().poll(context))).await {
        Poll::Ready(collected) => collected,
        Poll::Pending => timeout(within, collecting).await.unwrap_or(Err(Failure::TooSlow)),
    }
}

/// Collects the body, unless it is longer than `most`. A body of one piece is not copied.
async fn collect(body: &mut Body, most: usize, in_flight: &mut BodyInFlight) -> Result<Bytes, Failure> {
    let (mut first, mut all) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| Failure::BrokenBody)?.into_data() else { continue };
        let length = first.len().max(all.len());
        if length + piece.len() > most {
            return Err(Failure::TooLarge);
        }
        in_flight.grow(piece.len(), length == 0 && body.is_end_stream())?;
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

/// Reads a form (RFC 6749 3.2: `application/x-www-form-urlencoded`) within the limits of the configuration.
///
/// # Errors
/// 415 for another media type; the errors of [`read_body`].
pub async fn read_form(
    headers: &HeaderMap,
    body: Body,
    limits: BodyLimits,
    in_flight: &mut BodyInFlight,
) -> Result<Bytes, Failure> {
    if !is_form(headers) {
        return Err(Failure::NotAForm);
    }
    read_body(body, limits, in_flight).await
}

/// Reads a JSON text (RFC 8259) within the limits. Only `application/json` is taken: a page of another origin can send
/// that only if a preflight allows it (Fetch standard, CORS-safelisted request-header).
///
/// # Errors
/// 415 for another media type; the errors of [`read_body`].
pub async fn read_json(
    headers: &HeaderMap,
    body: Body,
    limits: BodyLimits,
    in_flight: &mut BodyInFlight,
) -> Result<Bytes, Failure> {
    if !is_of_type(headers, "application/json") {
        return Err(Failure::NotJson);
    }
    read_body(body, limits, in_flight).await
}

/// Whether the Content-Type is that of a form.
pub fn is_form(headers: &HeaderMap) -> bool {
    is_of_type(headers, "application/x-www-form-urlencoded")
}

/// Whether the Content-Type is this one, whatever its parameters.
fn is_of_type(headers: &HeaderMap, wanted: &str) -> bool {
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(wanted)
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

    async fn read(body: Body, limits: BodyLimits) -> Result<Bytes, Failure> {
        read_body(body, limits, &mut BodyInFlight::unlimited()).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_must_be_short_and_come_in_time() {
        assert_eq!(read(Body::from("12345678"), LIMITS).await.ok().as_deref(), Some(&b"12345678"[..]));
        assert!(matches!(read(Body::from("123456789"), LIMITS).await, Err(Failure::TooLarge)));
        assert_eq!(read(pieces(4), LIMITS).await.ok().as_deref(), Some(&b"xxxx"[..]));
        assert!(matches!(read(pieces(7), LIMITS).await, Err(Failure::TooSlow)));
        let patient = BodyLimits { within: Duration::from_secs(60), ..LIMITS };
        assert!(matches!(read(pieces(9), patient).await, Err(Failure::TooLarge)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_long_is_read_no_further_than_the_bound() {
        let begun = tokio::time::Instant::now();
        let patient = BodyLimits { within: Duration::from_secs(60), ..LIMITS };
        assert!(matches!(read(pieces(1_000_000), patient).await, Err(Failure::TooLarge)));
        assert_eq!(begun.elapsed().as_secs(), 8);
    }
}
