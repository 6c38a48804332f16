//! The `traceparent` header: W3C Trace Context section 3.2.

use http::{HeaderMap, HeaderName};

static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The flag that the caller traces this request (section 3.2.2.3.1).
const SAMPLED: u8 = 1;

/// The span of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The id of its trace. Never 0.
    pub trace_id: u128,
    /// The id of the span. Never 0.
    pub span_id: u64,
    /// Whether the caller records the span.
    pub sampled: bool,
}

impl TraceParent {
    /// The parent named by a request; `None` if the header is missing or malformed.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(&TRACEPARENT)?.to_str().ok()?)
    }

    /// Parses `version-traceid-parentid-flags`, lower-case hexadecimal.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        // 3.2.2: version ff is invalid, version 00 has exactly four parts, later ones may have more.
        let valid = is_hex(version, 2)
            && version != "ff"
            && (version != "00" || parts.next().is_none())
            && is_hex(trace, 32)
            && is_hex(span, 16)
            && is_hex(flags, 2);
        if !valid {
            return None;
        }
        let trace_id = u128::from_str_radix(trace, 16).ok()?;
        let span_id = u64::from_str_radix(span, 16).ok()?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        // 3.2.2.3 and 3.2.2.4: ids of zeros are invalid.
        (trace_id != 0 && span_id != 0).then_some(Self { trace_id, span_id, sampled: flags & SAMPLED != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_parent_is_read_with_its_flag() {
        let parent = TraceParent::parse(&format!("00-{TRACE}-{SPAN}-01")).unwrap();
        let expected = TraceParent {
            trace_id: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            span_id: 0x00f0_67aa_0ba9_02b7,
            sampled: true,
        };
        assert_eq!(parent, expected);
        assert!(!TraceParent::parse(&format!("00-{TRACE}-{SPAN}-00")).unwrap().sampled);
        // A later version may say more, and other flags.
        assert!(TraceParent::parse(&format!("cc-{TRACE}-{SPAN}-03-what")).unwrap().sampled);
    }

    #[test]
    fn what_is_not_well_formed_names_nobody() {
        let zeros = |n| "0".repeat(n);
        for header in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-what"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", zeros(32)),
            format!("00-{TRACE}-{}-01", zeros(16)),
            format!("00-{TRACE}-{SPAN}-0x"),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
        ] {
            assert_eq!(TraceParent::parse(&header), None, "{header}");
        }
    }
}
