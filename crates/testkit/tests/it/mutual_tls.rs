//! Clients that authenticate by TLS certificates, and tokens that are bound to them (RFC 8705). A proxy hands the certificates on.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::{Value, json};
use symbolon_crypto::digest::sha256;
use symbolon_testkit::{Answer, Options, RelyingParty, TestServer, TokenSet, decode_jwt};

/// The header in which the proxy hands certificates on.
pub(crate) const HEADER: &str = "client-cert";
const CREDENTIALS: [(&str, &str); 1] = [("grant_type", "client_credentials")];

pub(crate) fn behind_a_proxy() -> Options {
    Options::default()
        .env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8")
        .env("SYMBOLON_TLS_CLIENT_CERTIFICATE_HEADER", "Client-Cert")
}

/// A certificate with its key.
pub(crate) struct Holder {
    key: KeyPair,
    der: Vec<u8>,
    pem: String,
}

impl Holder {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(vec![format!("{name}.example")]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { key, der: certificate.der().to_vec(), pem: certificate.pem() }
    }

    /// The header's value by RFC 9440.
    pub(crate) fn header(&self) -> String {
        format!(":{}:", BASE64.encode(&self.der))
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// The header's value as nginx writes it.
    fn escaped(&self) -> String {
        form_urlencoded::byte_serialize(self.pem.as_bytes()).collect::<String>().replace('+', "%20")
    }

    fn thumbprint(&self) -> String {
        BASE64URL_NOPAD.encode(&sha256(&[&self.der]))
    }

    /// The certificate's key as a client registers it.
    pub(crate) fn jwks(&self) -> Value {
        let (_, point) = self.key.public_key_raw().split_at(1);
        let (x, y) = point.split_at(32);
        let [x, y] = [x, y].map(|half| BASE64URL_NOPAD.encode(half));
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": x, "y": y }] })
    }
}

/// A request of a client that only names itself, with the header.
fn post(server: &TestServer, rp: &RelyingParty, form: &[(&str, &str)], header: Option<&str>) -> Answer {
    let mut form = form.to_vec();
    form.push(("client_id", &rp.client_id));
    let headers: Vec<(&str, &str)> = header.map(|value| (HEADER, value)).into_iter().collect();
    server.browser().post_with("/token", &form, &headers)
}

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.error())
}

fn refused() -> (u16, String) {
    (401, "invalid_client".to_owned())
}

fn by_authority(server: &TestServer) -> RelyingParty {
    let metadata = json!({
        "token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_subject_dn": "CN=bank",
    });
    RelyingParty::register(server, metadata)
}

#[test]
fn clients_authenticate_by_the_certificate_that_the_proxy_hands_on() {
    let server = TestServer::start_with(behind_a_proxy());
    let (bank, other) = (Holder::new("bank"), Holder::new("other"));
    let own_making = RelyingParty::register(
        &server,
        json!({ "token_endpoint_auth_method": "self_signed_tls_client_auth", "jwks": bank.jwks() }),
    );
    for rp in [&by_authority(&server), &own_making] {
        for header in [bank.header(), bank.escaped()] {
            let answer = post(&server, rp, &CREDENTIALS, Some(&header));
            assert_eq!(answer.status, 200, "{answer:?}");
            let (_, claims) = decode_jwt(&TokenSet::of(&answer).access_token);
            assert!(claims.get("cnf").is_none(), "authenticating binds nothing: {claims}");
        }
        assert_eq!(told(&post(&server, rp, &CREDENTIALS, Some(&other.header()))), refused());
        assert_eq!(told(&post(&server, rp, &CREDENTIALS, None)), refused());
        assert_eq!(told(&post(&server, rp, &CREDENTIALS, Some(""))), refused());
    }
    let discovery = server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(discovery["tls_client_certificate_bound_access_tokens"], true);
    let methods = discovery["token_endpoint_auth_methods_supported"].as_array().unwrap();
    assert!(methods.contains(&json!("tls_client_auth")));
}

#[test]
fn nobody_but_a_trusted_proxy_hands_certificates_on() {
    let elsewhere = Options::default()
        .env("SYMBOLON_TRUSTED_PROXIES", "192.0.2.1")
        .env("SYMBOLON_TLS_CLIENT_CERTIFICATE_HEADER", "Client-Cert");
    for options in [elsewhere, Options::default()] {
        let server = TestServer::start_with(options);
        let bank = Holder::new("bank");
        let answer = post(&server, &by_authority(&server), &CREDENTIALS, Some(&bank.header()));
        assert_eq!(told(&answer), refused());
    }
}

#[test]
fn authorities_of_our_own_are_asked_also_about_what_a_proxy_hands_on() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("authorities.pem");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(&file, authority.pem()).unwrap();
    let server =
        TestServer::start_with(behind_a_proxy().env("SYMBOLON_TLS_CLIENT_CA_FILE", file.to_str().unwrap()));
    let rp = by_authority(&server);
    let answer = post(&server, &rp, &CREDENTIALS, Some(&Holder::new("bank").header()));
    assert_eq!(told(&answer), refused());
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "bank");
    let issued = params.signed_by(&KeyPair::generate().unwrap(), &authority).unwrap();
    let header = format!(":{}:", BASE64.encode(issued.der()));
    assert_eq!(post(&server, &rp, &CREDENTIALS, Some(&header)).status, 200);
}

#[test]
fn tokens_are_bound_to_the_certificate_and_userinfo_asks_for_it() {
    let server = TestServer::start_with(behind_a_proxy());
    let (own, other) = (Holder::new("app"), Holder::new("other"));
    let rp = RelyingParty::register(
        &server,
        json!({
            "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
            "tls_client_certificate_bound_access_tokens": true,
        }),
    );
    let (_, session) = server.signed_in("person@example.com");
    let request = rp.authorization_request();
    let code = session.get(&request.path()).redirected("code").unwrap();
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("redirect_uri", &*rp.redirect_uri),
        ("code_verifier", &*request.verifier),
    ];
    let without = post(&server, &rp, &form, None);
    assert_eq!(told(&without), (400, "invalid_request".to_owned()), "and the code is not used up");
    let tokens = TokenSet::of(&post(&server, &rp, &form, Some(&own.header())));
    let cnf = json!({ "x5t#S256": own.thumbprint() });
    assert_eq!(decode_jwt(&tokens.access_token).1["cnf"], cnf);

    let bearer = format!("Bearer {}", tokens.access_token);
    let userinfo = |header: Option<&str>| {
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(header.map(|value| (HEADER, value)));
        server.browser().get_with("/userinfo", &headers).status
    };
    assert_eq!(userinfo(Some(&own.header())), 200);
    assert_eq!(userinfo(Some(&own.escaped())), 200);
    assert_eq!(userinfo(Some(&other.header())), 401);
    assert_eq!(userinfo(None), 401);
    // FAPI 1.0 Baseline 6.2.1-11: a request that has no name gets one.
    let headers = [("authorization", &*bearer), (HEADER, &*own.header())];
    let named = server.browser().get_with("/userinfo", &headers);
    assert_eq!(named.header("x-fapi-interaction-id").map(str::len), Some(36), "{named:?}");

    // RFC 8705 4: a public client's refresh token is bound too.
    let refresh_token = tokens.refresh_token.unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", &*refresh_token)];
    let stolen = post(&server, &rp, &form, Some(&other.header()));
    assert_eq!(told(&stolen), (400, "invalid_grant".to_owned()));
    let refreshed = TokenSet::of(&post(&server, &rp, &form, Some(&own.header())));
    assert_eq!(decode_jwt(&refreshed.access_token).1["cnf"], cnf);
}

#[test]
fn introspection_shows_the_certificate() {
    let server = TestServer::start_with(behind_a_proxy());
    let own = Holder::new("app");
    let rp = RelyingParty::register(&server, json!({ "tls_client_certificate_bound_access_tokens": true }));
    let basic = rp.basic();
    let headers = [("authorization", &*basic), (HEADER, &*own.header())];
    let token = TokenSet::of(&server.browser().post_with("/token", &CREDENTIALS, &headers)).access_token;
    let told = rp.post("/introspect", &[("token", &token)]).json();
    assert_eq!(told["cnf"], json!({ "x5t#S256": own.thumbprint() }));
    assert_eq!(told["token_type"], "Bearer");
}

#[test]
fn aliases_are_told_where_certificates_are_asked_for_elsewhere() {
    let url = "https://mtls.login.example/";
    let server = TestServer::start_with(behind_a_proxy().env("SYMBOLON_TLS_MTLS_URL", url));
    let discovery = server.browser().get("/.well-known/openid-configuration").json();
    let aliases = &discovery["mtls_endpoint_aliases"];
    assert_eq!(aliases["token_endpoint"], "https://mtls.login.example/token");
    assert_eq!(discovery["token_endpoint"], format!("{}/token", server.issuer));
}

#[test]
fn a_client_of_fapi_may_have_its_certificate_in_place_of_dpop() {
    let server = TestServer::start_with(behind_a_proxy());
    let bank = Holder::new("bank");
    let rp = RelyingParty::register(
        &server,
        json!({
            "token_endpoint_auth_method": "tls_client_auth", "tls_client_auth_san_dns": "bank.example",
            "tls_client_certificate_bound_access_tokens": true, "dpop_bound_access_tokens": false,
            "id_token_signed_response_alg": "ES256", "settings": { "profile": "fapi2_security" },
        }),
    );
    let tokens = TokenSet::of(&post(&server, &rp, &CREDENTIALS, Some(&bank.header())));
    assert_eq!(decode_jwt(&tokens.access_token).1["cnf"], json!({ "x5t#S256": bank.thumbprint() }));
}
