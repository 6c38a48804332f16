use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use symbolon_testkit::Browser;

use crate::place::{Place, Server};

const PASSWORD: &str = "correct horse battery";

const AUTHORIZE: &str = "/authorize?client_id=app&response_type=code&scope=openid&redirect_uri=https://a.example/cb\
                         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbGzgYFWlX-w&code_challenge_method=S256";

/// A running server, and a client to sign in at.
pub(crate) fn serve(place: &Place) -> Server {
    serve_with(place, &[])
}

/// The same with settings.
pub(crate) fn serve_with(place: &Place, with: &[(&str, &str)]) -> Server {
    let server = place.serve(with);
    let client = ["client", "create", "--name", "App", "--client-id", "app"];
    place.run(&[&client[..], &["--redirect-uri", "https://a.example/cb"]].concat()).good();
    server
}

/// Whether the password signs the user in.
pub(crate) fn signs_in(place: &Place, email: &str) -> bool {
    signs_in_at(&format!("http://{}", place.listen()), email, PASSWORD)
}

/// Whether a password signs a user in at a server.
pub(crate) fn signs_in_at(url: &str, email: &str, password: &str) -> bool {
    let browser = Browser::new(url);
    let to_login = browser.get(AUTHORIZE).location();
    let page = browser.get(to_login.strip_prefix("http://issuer.test").unwrap_or(&to_login));
    let hidden = |name| page.field(name).unwrap();
    let (transaction, csrf_token) = (hidden("transaction"), hidden("csrf_token"));
    let form = [("transaction", &*transaction), ("csrf_token", &csrf_token), ("username", email)];
    let answer = browser.post("/login", &[&form[..], &[("password", password)]].concat());
    assert!(matches!(answer.status, 303 | 403), "{answer:?}");
    answer.status == 303
}

#[test]
fn a_password_comes_by_a_pipe_a_file_or_not_at_all() {
    let place = Place::new();
    let _server = serve(&place);
    let create = |email: &str, more: &[&str], input: &str| {
        let arguments = [&["user", "create", "--email", email], more].concat();
        place.run_with(&arguments, &[], input).good();
        signs_in(&place, email)
    };
    assert!(create("pipe@example.com", &[], "correct horse battery\n"));
    assert!(create("dash@example.com", &["--password-file", "-"], "correct horse battery"));
    assert!(!create("empty@example.com", &[], ""));
    assert!(!create("line@example.com", &[], "\n"));
    assert!(!create("none@example.com", &["--no-password"], "correct horse battery\n"));
    std::fs::write(place.path("password"), PASSWORD).unwrap();
    assert!(create("file@example.com", &["--password-file", "password"], "another one that is not read\n"));
    let refused = ["user", "create", "--email", "x@example.com"];
    place.run_with(&[&refused[..], &["--password-file", "-"]].concat(), &[], "").bad(2);
    place.run_with(&refused, &[], "short\n").bad(2);
}

/// A terminal: the end at which a person sits.
struct Terminal(File);

impl Terminal {
    fn open() -> (Self, OwnedFd) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let other = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        (Self(File::from(master)), other.into())
    }

    fn types(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }
}

/// Reads until the prompt is there: what is typed before it is thrown away.
fn prompted(stderr: &mut ChildStderr, prompt: &str) {
    let (mut seen, mut byte) = (String::new(), [0]);
    while !seen.ends_with(prompt) {
        stderr.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error} after {seen:?}"));
        seen.push(char::from(byte[0]));
    }
}

/// Answers each prompt; exit code, and what the terminal showed of what was typed.
pub(crate) fn typed(place: &Place, arguments: &[&str], answers: &[(&str, &str)]) -> (i32, String) {
    let (mut terminal, input) = Terminal::open();
    let kept = input.try_clone().unwrap();
    let mut child = place
        .command(arguments, &[])
        .stdin(Stdio::from(input))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = child.stderr.take().unwrap();
    for (prompt, answer) in answers {
        prompted(&mut stderr, prompt);
        terminal.types(answer);
    }
    drop(std::io::copy(&mut stderr, &mut std::io::sink()));
    let code = child.wait().unwrap().code().unwrap();
    // The terminal is as it was before: this is shown.
    terminal.types("seen");
    let mut shown = Vec::new();
    while !shown.ends_with(b"seen") {
        let mut piece = [0; 64];
        let read = terminal.0.read(&mut piece).unwrap();
        shown.extend_from_slice(&piece[..read]);
    }
    drop(kept);
    (code, String::from_utf8(shown).unwrap())
}

#[test]
fn a_terminal_is_asked_twice_and_shows_nothing() {
    let place = Place::new();
    let _server = serve(&place);
    let line = format!("{PASSWORD}\n");
    let create = ["user", "create", "--email", "ann@example.com"];
    let twice = [("(none if empty): ", &*line), ("Once more: ", &*line)];
    assert_eq!(typed(&place, &create, &twice), (0, "seen".to_owned()));
    assert!(signs_in(&place, "ann@example.com"));
    let set = ["user", "set-password", "ann@example.com"];
    assert_eq!(typed(&place, &set, &[("New password: ", &line), ("Once more: ", "other\n")]).0, 2);
    assert_eq!(typed(&place, &set, &[("New password: ", "\n")]).0, 2);
    let create = ["user", "create", "--email", "bob@example.com"];
    assert_eq!(typed(&place, &create, &[("(none if empty): ", "\n")]).0, 0);
    assert!(!signs_in(&place, "bob@example.com"));
}

#[test]
fn ctrl_c_leaves_the_terminal_as_it_was() {
    let place = Place::new();
    place.run(&["user", "create", "--email", "ann@example.com", "--no-password"]).good();
    let set = ["user", "set-password", "ann@example.com"];
    assert_eq!(typed(&place, &set, &[("New password: ", "half\u{3}")]), (1, "seen".to_owned()));
}
