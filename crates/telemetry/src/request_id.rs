//! Request ids: one per request, taken from a well-formed header, or generated without a system call.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName};
use smol_str::SmolStr;
use symbolon_figures::thread_stripe;

use super::trace::TraceParent;

/// The header that carries a request id in and out.
pub static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const STRIPES: usize = 64;
const INBOUND_LENGTHS: std::ops::RangeInclusive<usize> = 8..=64;

/// The id of a request: unique, short, not secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Id);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Id {
    Own { process: u32, number: u64 },
    Inbound(SmolStr),
}

impl RequestId {
    /// The id that the request carries: `X-Request-Id` if it is 8 to 64 characters of `[A-Za-z0-9._-]`, else the
    /// trace id of a valid `traceparent` (W3C Trace Context section 3.2). Other values are ignored, so that no
    /// unchecked text reaches the log.
    pub fn inbound(headers: &HeaderMap) -> Option<Self> {
        let named = headers.get(&X_REQUEST_ID).and_then(|value| value.to_str().ok());
        if let Some(id) = named.filter(|id| is_well_formed(id)) {
            return Some(Self(Id::Inbound(SmolStr::new(id))));
        }
        let parent = TraceParent::of(headers)?;
        Some(Self(Id::Inbound(smol_str::format_smolstr!("{:032x}", parent.trace_id))))
    }

    /// Whether the request carried the id.
    pub const fn is_inbound(&self) -> bool {
        matches!(self.0, Id::Inbound(_))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Id::Own { process, number } => {
                f.write_str(str::from_utf8(&hexadecimal(*process, *number)).map_err(|_| fmt::Error)?)
            }
            Id::Inbound(id) => f.write_str(id),
        }
    }
}

/// 8 and 16 hexadecimal digits. Formatted by hand, because every audit record contains an id, and `format!` takes
/// several times as long.
fn hexadecimal(process: u32, number: u64) -> [u8; 24] {
    let id = u128::from(process) << u64::BITS | u128::from(number);
    std::array::from_fn(|place| match (id >> (4 * (23 - place)) & 0xf) as u8 {
        digit @ 0..10 => b'0' + digit,
        letter => b'a' + letter - 10,
    })
}

fn is_well_formed(id: &str) -> bool {
    INBOUND_LENGTHS.contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Generates request ids, and numbers requests so that some can be sampled.
#[derive(Debug)]
pub struct RequestIds {
    process: u32,
    key: u64,
    counters: Box<[Counter]>,
}

/// Aligned to cache lines of its own, so that two cores never write to the same line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

impl RequestIds {
    /// `random` must differ between processes: 32 bits of it begin every id, the rest hides the number of requests.
    pub fn new(random: [u8; 12]) -> Self {
        let [a, b, c, d, key @ ..] = random;
        Self {
            process: u32::from_be_bytes([a, b, c, d]),
            key: u64::from_be_bytes(key),
            counters: (0..STRIPES).map(|_| Counter::default()).collect(),
        }
    }

    /// The next id, and the request's number within this stripe of threads (from 0).
    #[inline]
    pub fn next(&self) -> (RequestId, u64) {
        let stripe = thread_stripe() % STRIPES;
        let count = self.counters.get(stripe).map_or(0, |counter| counter.0.fetch_add(1, Ordering::Relaxed));
        let number = count.wrapping_mul(STRIPES as u64).wrapping_add(stripe as u64);
        let id = Id::Own { process: self.process, number: scramble(number.wrapping_add(self.key)) };
        (RequestId(id), count)
    }
}

/// A permutation of the 64-bit numbers (the finalizer of SplitMix64), so distinct inputs give distinct outputs.
pub(super) const fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn own_ids_are_unique_across_threads() {
        let ids = RequestIds::new(*b"abcdefghijkl");
        let seen = Mutex::new(HashSet::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        assert!(seen.lock().unwrap().insert(ids.next().0.to_string()));
                    }
                });
            }
        });
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.len(), 4_000);
        assert!(seen.iter().all(|id| id.len() == 24 && id.starts_with("61626364")));
    }

    #[test]
    fn own_ids_are_hexadecimal() {
        let id = RequestId(Id::Own { process: 0x0123_4567, number: 0x89ab_cdef_0f1e_2d3c });
        assert_eq!(id.to_string(), "0123456789abcdef0f1e2d3c");
    }

    #[test]
    fn the_count_runs_from_zero() {
        let ids = RequestIds::new([0; 12]);
        assert_eq!([ids.next().1, ids.next().1, ids.next().1], [0, 1, 2]);
    }

    #[test]
    fn well_formed_inbound_ids_are_taken() {
        let id = RequestId::inbound(&headers(&[("x-request-id", "edge-7.4_Z")])).unwrap();
        assert_eq!(id.to_string(), "edge-7.4_Z");
        assert!(id.is_inbound());
    }

    #[test]
    fn malformed_inbound_ids_are_ignored() {
        let long = "a".repeat(65);
        for id in ["short", long.as_str(), "with space", "a\"injected\"", "line%0abreak"] {
            assert_eq!(RequestId::inbound(&headers(&[("x-request-id", id)])), None, "{id}");
        }
        assert_eq!(RequestId::inbound(&HeaderMap::new()), None);
    }

    #[test]
    fn a_valid_traceparent_gives_its_trace_id() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        for parent in [format!("00-{trace}-00f067aa0ba902b7-01"), format!("01-{trace}-00f067aa0ba902b7-01-x")]
        {
            let id = RequestId::inbound(&headers(&[("traceparent", &parent), ("x-request-id", "bad id")]));
            assert_eq!(id.unwrap().to_string(), trace);
        }
        assert_eq!(RequestId::inbound(&headers(&[("traceparent", trace)])), None);
    }
}
