//! Text from results, made harmless: error kinds, names and answers come from whatever was under load.

/// For HTML and SVG, in text and in quoted attributes alike.
pub fn html(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            other => written.push(printable(other)),
        }
    }
    written
}

/// For a line or a table cell of Markdown.
pub fn markdown(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '\\' | '`' | '|' | '*' | '[' | ']' | '#' => {
                written.push('\\');
                written.push(character);
            }
            '\n' | '\r' | '\t' => written.push(' '),
            other => written.push(printable(other)),
        }
    }
    written
}

/// As a block of code in Markdown, which is indented: no text ends it.
pub(super) fn markdown_block(text: &str) -> String {
    let lines = text.lines().map(|line| line.chars().map(printable).collect::<String>());
    lines.map(|line| format!("    {line}\n")).collect()
}

/// The first `most` characters, with an ellipsis where there were more.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Control characters are no XML, and those that turn the writing direction could make a report say something else.
fn printable(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        character if character.is_control() => '\u{fffd}',
        character => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(html("<script>\"&'\u{0}\u{202e}"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}\u{fffd}");
        assert_eq!(markdown("a|b\n<b>`[x](y)"), "a\\|b &lt;b&gt;\\`\\[x\\](y)");
    }

    #[test]
    fn a_block_is_ended_by_nothing_in_it() {
        assert_eq!(
            markdown_block("GET / HTTP/1.1\r\n\r\n```\n<b>\u{202e}"),
            "    GET / HTTP/1.1\n    \n    ```\n    <b>\u{fffd}\n"
        );
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(shortened("äöüß", 4), "äöüß");
        assert_eq!(shortened("äöüßx", 4), "äöü…");
    }
}
