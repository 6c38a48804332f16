//! E-mail addresses as people type them.

/// The longest address, in bytes (RFC 5321 4.5.3.1.3: 256 with its angle brackets).
pub const LONGEST: usize = 254;

/// Whether a text may be an e-mail address. Checks only what every address has (RFC 5322 3.4.1): whether it exists, only a
/// mail can show. What could begin a header or a command of its own (white space, control characters, angle brackets) is in
/// none that is accepted.
pub fn is_sound(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let sound = |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control());
    text.len() <= LONGEST
        && sound(local)
        && sound(domain)
        && !domain.starts_with('.')
        && !domain.ends_with('.')
}

/// An address that somebody typed into a form: without the white space around it, and without what no address of a person
/// has. `None` if it is no address.
pub fn typed(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_plain = !text.contains(['<', '>', '"', '\\', ',', ';', '(', ')', '[', ']', ':']);
    let is_one = text.matches('@').count() == 1;
    (is_plain && is_one && is_sound(text)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_has_two_sound_parts() {
        for good in ["a@b", "ann.smith+tag@mail.example.com", "jos\u{e9}@m\u{fc}ller.example"] {
            assert!(is_sound(good) && typed(&format!(" {good}\n")) == Some(good), "{good}");
        }
        for bad in ["", "a", "a@", "@b", "a@.b", "a@b.", "a b@c", "a@b\r\nBcc: c@d", "a@b\0", "a@b\u{2028}c"]
        {
            assert!(!is_sound(bad) && typed(bad).is_none(), "{bad:?}");
        }
        let long = format!("{}@b.example", "a".repeat(250));
        assert!(!is_sound(&long));
    }

    #[test]
    fn what_belongs_to_headers_and_lists_is_no_address_of_a_form() {
        for bad in [
            "Ann <ann@example.com>",
            "a@b.example,c@d.example",
            "\"a\"@b.example",
            "a@b@c.example",
            "a@b.example> RCPT",
            "a@[127.0.0.1]",
        ] {
            assert!(typed(bad).is_none(), "{bad}");
        }
    }
}
