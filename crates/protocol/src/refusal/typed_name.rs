//! Which typed login names may be written down.

/// The part of a typed login name that may be shown. A name that names nobody may be a password, typed into the wrong
/// field: it is shown only if it has the form of an e-mail address, else its first character and its length are.
pub fn shown_login_name(typed: &str, is_known: bool) -> String {
    if is_known || is_address(typed) {
        return typed.to_owned();
    }
    let length = typed.chars().count();
    typed.chars().next().map_or_else(String::new, |first| format!("{first}... ({length} characters)"))
}

/// Whether a text has one `@`, a name before it, and a domain of at least two labels behind it.
fn is_address(text: &str) -> bool {
    let Some((name, domain)) = text.split_once('@') else { return false };
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let labels: Vec<&str> = domain.split('.').collect();
    let is_top = |label: &&str| label.len() >= 2 && label.bytes().all(|byte| byte.is_ascii_alphabetic());
    text.len() <= 200
        && !name.is_empty()
        && !text.contains(char::is_whitespace)
        && labels.len() >= 2
        && labels.iter().all(|label| is_label(label))
        && labels.last().is_some_and(is_top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_wrong_field_is_not_written_down() {
        for typed in ["correct horse", "hunter2", "p@ssword", "p@ss word.xy", "a@b.", "@b.example", "a@b.c0"]
        {
            let shown = shown_login_name(typed, false);
            assert!(!shown.contains(typed) && shown.contains("characters"), "{shown}");
        }
        assert_eq!(shown_login_name("hunter2", false), "h... (7 characters)");
        assert_eq!(shown_login_name("", false), "");
    }

    #[test]
    fn an_address_and_a_name_that_there_is_are() {
        assert_eq!(shown_login_name("Ann@mail.example.com", false), "Ann@mail.example.com");
        assert_eq!(shown_login_name("ann", true), "ann");
    }
}
