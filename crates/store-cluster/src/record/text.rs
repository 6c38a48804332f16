//! Converts texts that come from outside into the form in which the database stores them.

use symbolon_crypto::digest::sha256;
use symbolon_crypto::encoding;
use symbolon_protocol::precis::{login_key, login_keys};
use symbolon_store::columns::TextForm;

/// The forms in which the columns of clients and users store texts.
pub(super) const TEXT_FORM: TextForm = TextForm { looked_up, looked_up_before, searched };

/// The longest text of an index, in bytes: an entry must be less than a third of a page.
const LONGEST: usize = 1_024;

/// The key under which a text is looked up, whatever its case. If the text is too long for an index, or the database
/// cannot store it, the key is a digest, which finds the same text and no other.
pub(super) fn looked_up(text: &str) -> String {
    fitting(login_key(text))
}

/// Every key under which a text may be stored: in the current form, and in those of earlier releases.
pub(super) fn looked_up_as(text: &str) -> Vec<String> {
    login_keys(text).into_iter().map(fitting).collect()
}

/// The form of earlier releases.
fn looked_up_before(text: &str) -> String {
    fitting(text.to_lowercase())
}

fn fitting(key: String) -> String {
    if key.len() <= LONGEST && !key.contains('\0') {
        return key;
    }
    format!("sha-256 {}", encoding::encode(&sha256(&[key.as_bytes()])))
}

/// A text that is searched through, or searched for: in lower case, and without NUL, which the database refuses.
pub(super) fn searched(text: &str) -> String {
    text.to_lowercase().replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_typed_can_be_looked_up() {
        assert_eq!(looked_up("Änn@Example.com"), "änn@example.com");
        let long = "İ".repeat(600);
        assert!(long.to_lowercase().len() > LONGEST);
        for odd in [long.as_str(), "ann\0"] {
            let found = looked_up(odd);
            assert!(found.len() < 64 && !found.contains('\0'), "{found}");
            assert_eq!(found, looked_up(&odd.to_uppercase()));
            assert_ne!(found, looked_up(&format!("{odd}x")));
        }
    }

    #[test]
    fn whatever_is_typed_can_be_searched_for() {
        assert_eq!(searched("Ä\0b"), "ä\u{fffd}b");
    }
}
