//! Clients that show a certificate in the handshake with our own listener (RFC 8705): no proxy is between.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use symbolon_crypto::{digest, encoding};
use symbolon_testkit::decode_jwt;

use crate::place::{Place, Server, text};
use crate::tls::{certificate, public};

const NAME: &str = "issuer.test";
const REDIRECT_URI: &str = "https://rp.example/callback";
/// The same in a query or a form.
const ENCODED_URI: &str = "https%3A%2F%2Frp.example%2Fcallback";

type Authority = CertifiedIssuer<'static, KeyPair>;

/// A certificate with its key.
struct Holder {
    key: KeyPair,
    der: CertificateDer<'static>,
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Holder {
    fn self_signed(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let der = params(name).self_signed(&key).unwrap().der().clone();
        Self { key, der }
    }

    fn of(authority: &Authority, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let der = params(name).signed_by(&key, authority).unwrap().der().clone();
        Self { key, der }
    }

    fn thumbprint(&self) -> String {
        encoding::encode(&digest::sha256(&[&self.der]))
    }

    /// The certificate's key as a client registers it (RFC 7518 6.2.1).
    fn jwks(&self) -> Value {
        let (_, point) = self.key.public_key_raw().split_at(1);
        let (x, y) = point.split_at(32);
        let [x, y] = [x, y].map(encoding::encode);
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": x, "y": y }] })
    }
}

struct Scene {
    /// It ends before its directory goes.
    _server: Server,
    place: Place,
    roots: RootCertStore,
    authority: Authority,
}

struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let own = certificate(&place, "own", NAME);
        let mut of_authority = params("authority");
        of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(of_authority, KeyPair::generate().unwrap()).unwrap();
        let file = place.path("authorities.pem");
        fs::write(&file, authority.pem()).unwrap();
        let asks = [
            ("SYMBOLON_TLS_CLIENT_CERTIFICATES", "true"),
            ("SYMBOLON_TLS_CLIENT_CA_FILE", text(&file)),
            ("SYMBOLON_RATE_LIMITS", "off"),
        ];
        let server = place.serve(&[&public(&own)[..], &asks].concat());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&own.0).unwrap()).unwrap();
        Self { _server: server, place, roots, authority }
    }

    /// One request by who shows this certificate, or none.
    fn ask(&self, holder: Option<&Holder>, head: &str, body: &str) -> Answer {
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let config = match holder {
            None => builder.with_no_client_auth(),
            Some(Holder { key, der }) => {
                let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![der.clone()], key).unwrap()
            }
        };
        let name = ServerName::try_from(NAME).unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(self.place.listen()).unwrap());
        let rest = format!("host: {NAME}\r\ncontent-length: {}\r\nconnection: close", body.len());
        write!(stream, "{head}\r\n{rest}\r\n\r\n{body}").unwrap();
        let mut answer = Vec::new();
        // Who closes without saying so in TLS has sent the whole answer all the same.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: serde_json::from_str(body).unwrap_or_default() }
    }

    fn admin(&self, path: &str, body: &Value) -> Value {
        let (status, told) = self.place.admin("POST", path, &body.to_string());
        assert_eq!(status, 201, "{path}: {told}");
        told
    }

    /// Registers a client that authenticates by its certificate, and whose tokens are bound to it.
    fn register(&self, method: &str, (member, value): (&str, Value)) -> String {
        let mut client = json!({
            "client_name": "Bank", "redirect_uris": [REDIRECT_URI], "skip_consent": true,
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": method, "tls_client_certificate_bound_access_tokens": true,
        });
        client[member] = value;
        self.admin("/clients", &client)["client"]["client_id"].as_str().unwrap().to_owned()
    }

    /// A code for somebody who is signed in, and the verifier of its request; a browser shows no certificate.
    fn code(&self, client: &str) -> (String, String) {
        let user = self.admin("/users", &json!({ "email": format!("{client}@example.com") }));
        let session = self.admin("/test/sessions", &json!({ "user_id": user["user"]["id"] }));
        let cookie = session["cookie_value"].as_str().unwrap().split(';').next().unwrap();
        let verifier = "v".repeat(43);
        let challenge = encoding::encode(&digest::sha256(&[verifier.as_bytes()]));
        let head = format!(
            "GET /authorize?response_type=code&client_id={client}\
             &redirect_uri={ENCODED_URI}&scope=openid&nonce=n&prompt=none\
             &code_challenge_method=S256&code_challenge={challenge} HTTP/1.1\r\ncookie: {cookie}"
        );
        let answer = self.ask(None, &head, "");
        let code = answer.head.split_once("callback?code=").unwrap_or_else(|| panic!("{}", answer.head)).1;
        (code.split(['&', '\r']).next().unwrap().to_owned(), verifier)
    }

    fn redeem(&self, client: &str, (code, verifier): &(String, String), holder: Option<&Holder>) -> Answer {
        let form = format!(
            "grant_type=authorization_code&client_id={client}&code={code}&code_verifier={verifier}\
             &redirect_uri={ENCODED_URI}"
        );
        let head = "POST /token HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded";
        self.ask(holder, head, &form)
    }

    fn userinfo(&self, token: &str, holder: Option<&Holder>) -> u16 {
        self.ask(holder, &format!("GET /userinfo HTTP/1.1\r\nauthorization: Bearer {token}"), "").status
    }

    /// The certificate authenticates the client, none of the others does, and the token goes with it alone.
    fn is_bound(&self, client: &str, own: &Holder, others: &[&Holder]) {
        let code = self.code(client);
        let others: Vec<Option<&Holder>> = others.iter().copied().map(Some).chain([None]).collect();
        for other in &others {
            let refused = self.redeem(client, &code, *other);
            assert_eq!((refused.status, &refused.body["error"]), (401, &json!("invalid_client")));
        }
        let answer = self.redeem(client, &code, Some(own));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let token = answer.body["access_token"].as_str().unwrap();
        assert_eq!(decode_jwt(token).1["cnf"], json!({ "x5t#S256": own.thumbprint() }));
        assert_eq!(self.userinfo(token, Some(own)), 200);
        for other in others {
            assert_eq!(self.userinfo(token, other), 401);
        }
    }
}

#[test]
fn a_certificate_of_the_handshake_authenticates_the_client_and_its_tokens_go_with_it_alone() {
    let scene = Scene::new();
    let bank = Holder::of(&scene.authority, "bank");
    let of_own_making = Holder::self_signed("bank");
    let another = Holder::of(&scene.authority, "another");
    let client = scene.register("tls_client_auth", ("tls_client_auth_subject_dn", json!("CN=bank")));
    scene.is_bound(&client, &bank, &[&of_own_making, &another]);
    // Of a certificate of the client's own making counts the key that it registered, and no authority.
    let client = scene.register("self_signed_tls_client_auth", ("jwks", of_own_making.jwks()));
    scene.is_bound(&client, &of_own_making, &[&bank, &Holder::self_signed("bank")]);
}

/// A header counts from a proxy alone, also where certificates are asked for here.
#[test]
fn nobody_writes_a_certificate_into_a_header() {
    let scene = Scene::new();
    let bank = Holder::of(&scene.authority, "bank");
    let client = scene.register("tls_client_auth", ("tls_client_auth_subject_dn", json!("CN=bank")));
    let (code, verifier) = scene.code(&client);
    let form = format!(
        "grant_type=authorization_code&client_id={client}&code={code}&code_verifier={verifier}\
         &redirect_uri={ENCODED_URI}"
    );
    let header = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bank.der);
    let head = format!(
        "POST /token HTTP/1.1\r\ncontent-type: application/x-www-form-urlencoded\r\nclient-cert: :{header}:"
    );
    let refused = scene.ask(None, &head, &form);
    assert_eq!((refused.status, &refused.body["error"]), (401, &json!("invalid_client")));
    assert_eq!(scene.redeem(&client, &(code, verifier), Some(&bank)).status, 200);
}
