//! A server of mail: as much of SMTP (RFC 5321) as it takes to be handed a text.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use super::{Arrived, MailCopy};
use crate::drill::unix_micros;

/// Serves a connection until it ends.
pub(super) fn serve(stream: TcpStream, arrived: &Arrived) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
    let mut stream = stream;
    let mut say = |text: &str| stream.write_all(format!("{text}\r\n").as_bytes()).ok();
    if arrived.is_away() {
        // RFC 5321 3.8: the server closes the connection.
        return say("421 away");
    }
    say("220 drill.example")?;
    let mut recipient = String::new();
    while let Some(line) = lines.next() {
        if arrived.is_away() {
            return say("421 away");
        }
        match line.get(..4)? {
            "RCPT" => {
                recipient = line.split_once('<')?.1.split_once('>')?.0.to_owned();
                say("250 ok")?;
            }
            "DATA" => {
                say("354 go on")?;
                // Only a whole text is taken (RFC 5321 4.1.1.4).
                let text = text_from(&mut lines)?;
                if !arrived.take_mail(&recipient, copy_of(&text)) {
                    return None;
                }
                say("250 taken")?;
            }
            "QUIT" => return say("221 bye"),
            _ => say("250 ok")?,
        }
    }
    None
}

/// The text up to its last line; `None` if the connection ended before.
fn text_from(lines: &mut impl Iterator<Item = String>) -> Option<Vec<String>> {
    let mut text = Vec::new();
    loop {
        match lines.next()? {
            last if last == "." => return Some(text),
            line => text.push(line),
        }
    }
}

fn copy_of(text: &[String]) -> MailCopy {
    let message = text.iter().find_map(|line| line.strip_prefix("Message-ID:")).unwrap_or_default();
    let is_code = |line: &&str| line.len() == 6 && line.bytes().all(|byte| byte.is_ascii_digit());
    let code = text.iter().map(|line| line.trim()).find(is_code).map(str::to_owned);
    MailCopy { message: message.trim().to_owned(), code, link: link_in(text), at: unix_micros() }
}

/// The path and query of the link for a new password. The text may be quoted-printable (RFC 2045 6.7), which breaks long lines, and a line
/// that begins with a dot has another one before it (RFC 5321 4.5.2).
fn link_in(text: &[String]) -> Option<String> {
    let mut whole = String::new();
    for line in text {
        let line = line.strip_prefix('.').unwrap_or(line);
        match line.strip_suffix('=') {
            Some(part) => whole.push_str(part),
            None => whole.extend([line, "\n"]),
        }
    }
    let whole = whole.replace("=3D", "=");
    let link = whole.get(whole.find("/reset-password?link=")?..)?;
    let is_within = |c: char| !c.is_whitespace() && !matches!(c, '"' | '<' | '>');
    Some(link.chars().take_while(|c| is_within(*c)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_broke_off_is_not_taken() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
        assert_eq!(text_from(&mut lines("a\nb\n.\nQUIT")).map(|text| text.len()), Some(2));
        assert_eq!(text_from(&mut lines("a\nb")), None);
    }

    #[test]
    fn a_link_is_whole_however_its_line_is_broken() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let broken = lines("Open:\nhttp://op.example/reset-password?link=3Dabc-=\n..def\n\n<a href=3D\"x\">");
        assert_eq!(link_in(&broken).as_deref(), Some("/reset-password?link=abc-.def"));
        assert_eq!(
            link_in(&lines("http://op.example/reset-password?link=ab\n")).as_deref(),
            Some("/reset-password?link=ab")
        );
        assert_eq!(link_in(&lines("Your code:\n042137")), None);
    }

    #[test]
    fn a_copy_is_known_by_its_message_id_and_has_the_code() {
        let text = ["Message-ID: <1@op.example>", "Date: 123456 ", "", "Your code:", " 042137", ""];
        let copy = copy_of(&text.map(str::to_owned));
        assert_eq!((&*copy.message, copy.code.as_deref()), ("<1@op.example>", Some("042137")));
    }
}
