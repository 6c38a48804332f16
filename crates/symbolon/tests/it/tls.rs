use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::place::{Place, text};

const NAME: &str = "login.test";

fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

/// Writes the two files of a certificate that nobody but itself issued; their paths.
pub(crate) fn certificate(place: &Place, file: &str, name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = params(name).self_signed(&key).unwrap();
    write(place, file, &certificate.pem(), &key)
}

fn write(place: &Place, file: &str, chain: &str, key: &KeyPair) -> (String, String) {
    let (certificate, of_key) = (place.path(&format!("{file}.pem")), place.path(&format!("{file}.key")));
    fs::write(&certificate, chain).unwrap();
    fs::write(&of_key, key.serialize_pem()).unwrap();
    (text(&certificate).to_owned(), text(&of_key).to_owned())
}

fn management((certificate, key): &(String, String)) -> [(&'static str, &str); 2] {
    [("SYMBOLON_MANAGEMENT_TLS_CERTIFICATE_FILE", certificate), ("SYMBOLON_MANAGEMENT_TLS_KEY_FILE", key)]
}

pub(crate) fn public((certificate, key): &(String, String)) -> [(&'static str, &str); 3] {
    [
        ("SYMBOLON_ISSUER", "https://issuer.test"),
        ("SYMBOLON_TLS_CERTIFICATE_FILE", certificate),
        ("SYMBOLON_TLS_KEY_FILE", key),
    ]
}

#[test]
fn commands_speak_tls_to_a_management_listener_that_does() {
    let place = Place::new();
    let (own, other) = (certificate(&place, "own", NAME), certificate(&place, "other", NAME));
    let _server = place.serve(&management(&own));
    // The certificate of the configuration, whatever name is in it.
    assert!(place.run_with(&["keys", "list"], &management(&own), "").good().contains("active"));
    let told = place.run_with(&["keys", "list"], &management(&other), "").bad(1);
    assert!(told.contains("--ca"), "{told}");
    let url = format!("https://{}", place.management());
    let list = ["keys", "list", "--server", &url];
    assert!(place.run(&list).bad(2).contains("--ca"));
    place.run(&[&list[..], &["--ca", &own.0]].concat()).good();
    assert!(place.run(&[&list[..], &["--ca", &other.0]].concat()).bad(1).contains("--ca"));
    assert!(place.run(&[&list[..], &["--ca", &own.1]].concat()).bad(2).contains("own.key"));
    let plain = format!("http://{}", place.management());
    assert!(place.run(&["keys", "list", "--server", &plain]).bad(1).contains("it may speak https"));
}

#[test]
fn an_authority_is_believed_for_the_names_that_it_vouches_for() {
    let mut of_authority = params("authority");
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(of_authority, KeyPair::generate().unwrap()).unwrap();
    for (name, believed) in [("127.0.0.1", true), (NAME, false)] {
        let place = Place::new();
        let key = KeyPair::generate().unwrap();
        let leaf = params(name).signed_by(&key, &authority).unwrap();
        let files = write(&place, "leaf", &leaf.pem(), &key);
        let ca = place.path("ca.pem");
        fs::write(&ca, authority.pem()).unwrap();
        let _server = place.serve(&management(&files));
        let url = format!("https://{}", place.management());
        let ran = place.run(&["keys", "list", "--server", &url, "--ca", text(&ca)]);
        if believed { drop(ran.good()) } else { drop(ran.bad(1)) }
    }
}

#[test]
fn what_the_server_cannot_use_is_named_by_the_check_and_before_a_port_opens() {
    let place = Place::new();
    let (own, other) = (certificate(&place, "own", "issuer.test"), certificate(&place, "other", NAME));
    let good = place.run_with(&["config", "check"], &public(&own), "").good();
    assert!(good.contains("the configuration is good"), "{good}");
    let warned = place.run_with(&["config", "check"], &public(&other), "").good();
    assert!(
        warned.contains("warning: tls.certificate_file: The certificate is not for `issuer.test`"),
        "{warned}"
    );
    let mixed = (own.0.clone(), other.1.clone());
    let missing = (own.0.clone(), "/nonexistent/key".to_owned());
    for (files, problem) in [(&mixed, "is not the key of the certificate"), (&missing, "does not exist")] {
        for command in [&["config", "check"][..], &["serve"]] {
            let told = place.run_with(command, &public(files), "").bad(2);
            assert!(told.contains("tls.key_file = ") && told.contains(problem), "{told}");
        }
    }
    assert!(!place.path("data").exists(), "nothing was begun");
}

/// A client that believes one certificate only.
struct Client(Arc<ClientConfig>);

type Stream = StreamOwned<ClientConnection, TcpStream>;

impl Client {
    fn believing(certificate: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self(Arc::new(config))
    }

    /// A connection on which one request was answered; none where the server shows another certificate.
    fn connect(&self, place: &Place) -> Option<Stream> {
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(Arc::clone(&self.0), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(place.listen()).unwrap());
        stream.write_all(b"").and_then(|()| stream.flush()).ok()?;
        ask(&mut stream);
        Some(stream)
    }
}

#[test]
fn http2_is_offered_only_where_it_is_spoken() {
    for (switch, negotiated) in [("true", &b"h2"[..]), ("false", b"http/1.1")] {
        let place = Place::new();
        let own = certificate(&place, "own", NAME);
        let with = [&public(&own)[..], &[("SYMBOLON_HTTP_HTTP2", switch)]].concat();
        let _server = place.serve(&with);
        let mut client = Client::believing(&own.0);
        Arc::make_mut(&mut client.0).alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(client.0, name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(place.listen()).unwrap());
        stream.conn.complete_io(&mut stream.sock).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(negotiated));
    }
}

/// One request on a connection that stays open.
fn ask(stream: &mut Stream) {
    stream.write_all(b"GET /assets/nothing HTTP/1.1\r\nhost: login.test\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    let length = loop {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "closed");
        answer.extend_from_slice(&piece[..read]);
        let head = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        let Some((head, _)) = head.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap_or("0");
        break head.len() + 4 + length.trim().parse::<usize>().unwrap();
    };
    while answer.len() < length {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "closed");
        answer.extend_from_slice(&piece[..read]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 404"));
}

#[test]
fn a_renewed_certificate_is_shown_after_sighup_and_open_connections_go_on() {
    let place = Place::new();
    let (first, second) = (certificate(&place, "first", NAME), certificate(&place, "second", NAME));
    let shown = (text(&place.path("shown.pem")).to_owned(), text(&place.path("shown.key")).to_owned());
    let show = |files: &(String, String)| {
        fs::copy(&files.0, &shown.0).unwrap();
        fs::copy(&files.1, &shown.1).unwrap();
    };
    show(&first);
    let server = place.serve(&public(&shown));
    let (of_first, of_second) = (Client::believing(&first.0), Client::believing(&second.0));
    let mut open = of_first.connect(&place).unwrap();
    assert!(of_second.connect(&place).is_none());
    // Half of a renewal: the old certificate stays.
    fs::copy(&second.0, &shown.0).unwrap();
    server.hang_up();
    server.wait_for_log("the old certificates stay in use");
    server.wait_for_log("the configuration was taken over");
    assert!(of_second.connect(&place).is_none());
    ask(&mut open);
    show(&second);
    server.hang_up();
    server.wait_for_log("certificates and keys were read again");
    server.wait_for_log("the configuration was taken over");
    assert!(of_first.connect(&place).is_none());
    assert!(of_second.connect(&place).is_some());
    ask(&mut open);
}
