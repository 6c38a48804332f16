//! Texts that come from outside, in the form in which the database takes them.

use symbolon_crypto::digest::sha256;
use symbolon_crypto::encoding;
use symbolon_protocol::precis::{login_key, login_keys};
use symbolon_store::columns::TextForm;

/// The forms in which the columns of clients and users have their texts.
pub(super) const TEXT_FORM: TextForm = TextForm { looked_up, looked_up_before, searched };

/// The longest text of an index, in bytes: an entry must be less than a third of a page.
const LONGEST: usize = 1_024;

/// What is looked up whatever its case. A text that the database has no room for in an index, or cannot hold, stands
/// there as its digest: it is found by itself only, as every other.
pub(super) fn looked_up(text: &str) -> String {
    fitting(login_key(text))
}

/// Under what a text may stand there: the form of now, and those that records of before have.
pub(super) fn looked_up_as(text: &str) -> Vec<String> {
    login_keys(text).into_iter().map(fitting).collect()
}

/// As records of before have it.
fn looked_up_before(text: &str) -> String {
    fitting(text.to_lowercase())
}

fn fitting(key: String) -> String {
    if key.len() <= LONGEST && !key.contains('\0') {
        return key;
    }
    format!("sha-256 {}", encoding::encode(&sha256(&[key.as_bytes()])))
}

/// What is searched through, or for: in lower case, and without the one character that the database refuses.
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
