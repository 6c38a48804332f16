//! A request and its answer for the report, without what would let somebody in.

use crate::client::{Response, Unasked};
use crate::results::Example;

/// More of a request or an answer is left out.
const MOST: usize = 1_500;
/// A run of so many letters, digits and `-._~+/=%` may be a token, a cookie or a signature.
const SECRET: usize = 20;
/// So much of it is shown, to tell one from another.
const SHOWN: usize = 4;
/// Parameters and members whose values are hidden however short they are.
const HIDDEN: [&str; 7] =
    ["password", "client_secret", "code_verifier", "code", "authorization", "basic", "csrf_token"];

/// What was sent and what came, with what was wrong about it.
pub(super) fn of(request: &[u8], response: Option<&Response<'_>>, detail: String) -> Example {
    let answer = response.map_or_else(String::new, |response| {
        let mut text = String::from_utf8_lossy(response.head()).into_owned();
        text.push_str(&String::from_utf8_lossy(response.body));
        shown(&text)
    });
    Example { detail, request: shown(&String::from_utf8_lossy(request)), answer }
}

/// What came without being asked for; `request` is what was sent before a second answer.
pub(super) fn of_unasked(unasked: Unasked, request: &[u8], came: &[u8]) -> Example {
    let request = match unasked {
        Unasked::Second => shown(&String::from_utf8_lossy(request)),
        Unasked::Idle => String::new(),
    };
    Example { detail: unasked.detail().into(), request, answer: shown(&String::from_utf8_lossy(came)) }
}

/// The text with everything that may be a secret shortened.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    // The word before the current one, and whether only what separates a name from its value stood between them.
    let (mut name, mut names) = (String::new(), false);
    for character in text.chars().take(MOST).chain(['\0']) {
        if is_of_a_token(character) {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            write_word(&mut out, &word, names && is_hidden(&name));
            name = std::mem::take(&mut word);
            names = true;
        }
        // `name=value`, `name: value`, `"name":"value"`.
        names &= matches!(character, '=' | ':' | '"' | ' ');
        if character != '\0' {
            out.push(character);
        }
    }
    if text.chars().nth(MOST).is_some() {
        out.push('…');
    }
    out
}

/// `=` separates parameters, so it ends a word here, although Base64 may end with it.
fn is_of_a_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~' | '+' | '/' | '%')
}

fn is_hidden(name: &str) -> bool {
    HIDDEN.iter().any(|hidden| name.eq_ignore_ascii_case(hidden))
}

fn write_word(out: &mut String, word: &str, hidden: bool) {
    // What has slashes is a path or a URL, of which every part is looked at on its own.
    for (position, part) in word.split('/').enumerate() {
        if position > 0 {
            out.push('/');
        }
        if hidden {
            out.push('…');
        } else if part.len() >= SECRET && !is_a_name(part) {
            out.push_str(&part.chars().take(SHOWN).collect::<String>());
            out.push('…');
        } else {
            out.push_str(part);
        }
    }
}

/// Names of fields and members are long now and then, but have no digits and no capitals in them.
fn is_a_name(word: &str) -> bool {
    let ordinary = |character: char| character.is_ascii_lowercase() || matches!(character, '_' | '-' | '.');
    word.chars().all(ordinary) && word.contains(['_', '-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_shortened_and_the_rest_is_readable() {
        let request = "POST /api/token HTTP/1.1\r\nauthorization: Basic YTpi\r\n\
            content-type: application/x-www-form-urlencoded\r\ncookie: s=g1_0123456789abcdefghij\r\n\r\n\
            grant_type=refresh_token&refresh_token=rt_ABCDEFGHIJKLMNOPQRSTU&password=short&code=c1";
        let shown = shown(request);
        for secret in ["YTpi", "0123456789abcdefghij", "GHIJKLMNOPQRSTU", "short", "code=c1"] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        for readable in
            ["POST /api/token HTTP/1.1", "grant_type=refresh_token&refresh_token=rt_A…", "content-type"]
        {
            assert!(shown.contains(readable), "{readable}: {shown}");
        }
    }

    #[test]
    fn members_of_json_are_hidden_by_name() {
        let told = shown(r#"{"active":true,"client_secret":"s3cret","sub":"user-1","code":"x"}"#);
        assert_eq!(told, r#"{"active":true,"client_secret":"…","sub":"user-1","code":"…"}"#);
    }

    #[test]
    fn long_texts_end() {
        let told = shown(&"a ".repeat(MOST));
        assert!(told.ends_with('…') && told.len() < MOST + 10);
    }
}
