//! A certificate in a header that a proxy sets: its DER as a byte sequence of structured fields (RFC 9440 2.1), or PEM in
//! which the characters that a header cannot have are percent-encoded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;

/// The longest header that is read, in bytes.
pub const MAX_HEADER: usize = 16 * 1024;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// The DER of the certificate in a header; `None` for anything else. Of several certificates in PEM the first is the
/// client's.
pub fn read_header(value: &str) -> Option<Vec<u8>> {
    let value = value.trim();
    if value.len() > MAX_HEADER {
        return None;
    }
    // RFC 8941 3.3.5: a byte sequence stands between colons.
    if let Some(sequence) = value.strip_prefix(':') {
        return decoded(sequence.strip_suffix(':')?);
    }
    let pem = percent_decode_str(value).decode_utf8().ok()?;
    let (_, rest) = pem.split_once(BEGIN)?;
    let (body, _) = rest.split_once(END)?;
    let body: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    decoded(&body)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok().filter(|der| !der.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_proxies_are_read_and_nothing_else() {
        let der = Some(b"certificate".to_vec());
        for (value, read) in [
            (":Y2VydGlmaWNhdGU=:", &der),
            ("-----BEGIN%20CERTIFICATE-----%0AY2VydGlm%0AaWNhdGU%3D%0A-----END%20CERTIFICATE-----%0A", &der),
            ("-----BEGIN CERTIFICATE----- Y2VydGlmaWNhdGU= -----END CERTIFICATE-----", &der),
            (
                "-----BEGIN%20CERTIFICATE-----%0AY2VydGlmaWNhdGU%3D%0A-----END%20CERTIFICATE-----%0A\
                 -----BEGIN%20CERTIFICATE-----%0AAAAA%0A-----END%20CERTIFICATE-----",
                &der,
            ),
            (":Y2VydGlmaWNhdGU=", &None),
            ("Y2VydGlmaWNhdGU=", &None),
            ("::", &None),
            (":Y2V ydGlmaWNhdGU=:", &None),
            ("-----BEGIN%20CERTIFICATE-----%0AY2VydGlmaWNhdGU%3D", &None),
            ("-----BEGIN%20CERTIFICATE-----%FF-----END%20CERTIFICATE-----", &None),
            ("(null)", &None),
            ("", &None),
        ] {
            assert_eq!(read_header(value), *read, "{value}");
        }
        // A `+` is one of base64 and no space.
        let plus = "-----BEGIN%20CERTIFICATE-----%0A++++%0A-----END%20CERTIFICATE-----";
        assert_eq!(read_header(plus), Some(vec![0xfb, 0xef, 0xbe]));
        assert_eq!(read_header(&format!(":{}:", "AAAA".repeat(MAX_HEADER))), None);
    }
}
