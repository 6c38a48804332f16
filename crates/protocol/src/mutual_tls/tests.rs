use rcgen::{CertificateParams, DistinguishedName as Name, DnType, KeyPair, PKCS_ED25519, SanType};
use symbolon_crypto::jwk::KeyParameters;

use super::*;
use crate::token::fixture;

fn params() -> CertificateParams {
    let mut params = CertificateParams::new(vec!["Client.example".to_owned()]).unwrap();
    let mut name = Name::new();
    name.push(DnType::CountryName, "DE");
    name.push(DnType::OrganizationName, "Acme, Inc.");
    name.push(DnType::CommonName, "client");
    params.distinguished_name = name;
    params.subject_alt_names.extend([
        SanType::URI("spiffe://acme/client".try_into().unwrap()),
        SanType::Rfc822Name("Client@acme.example".try_into().unwrap()),
        SanType::IpAddress("192.0.2.7".parse().unwrap()),
        SanType::IpAddress("2001:db8::7".parse().unwrap()),
    ]);
    params
}

fn certificate(key: &KeyPair, is_vouched_for: bool) -> ClientCertificate {
    ClientCertificate { der: params().self_signed(key).unwrap().der().to_vec(), is_vouched_for }
}

/// The public half of a key of P-256 or Ed25519.
fn jwk(key: &KeyPair) -> Jwk {
    let raw = key.public_key_raw();
    let half = |from: usize| <[u8; 32]>::try_from(&raw[from..from + 32]).unwrap();
    let parameters = match raw.len() {
        32 => KeyParameters::Ed25519 { x: half(0) },
        _ => KeyParameters::P256 { x: half(1), y: half(33) },
    };
    Jwk::new(parameters).unwrap()
}

fn client(subject: Option<CertificateSubject>) -> Client {
    let method = match subject {
        Some(_) => TokenEndpointAuthMethod::TlsClientAuth,
        None => TokenEndpointAuthMethod::SelfSignedTlsClientAuth,
    };
    Client { certificate_subject: subject, token_endpoint_auth_method: method, ..fixture::client("app") }
}

fn reason(result: Result<(), Refusal>) -> Option<Reason> {
    result.err().map(|refusal| refusal.reason)
}

#[test]
fn a_certificate_of_an_authority_is_known_by_the_one_thing_that_is_registered() {
    let certificate = certificate(&KeyPair::generate().unwrap(), true);
    for (member, value, is_its) in [
        ("tls_client_auth_subject_dn", "CN=client,O=Acme\\, Inc.,C=DE", true),
        ("tls_client_auth_subject_dn", "cn=Client, o=acme\\2c inc., c=de", true),
        ("tls_client_auth_subject_dn", "C=DE,O=Acme\\, Inc.,CN=client", false),
        ("tls_client_auth_subject_dn", "CN=client", false),
        ("tls_client_auth_san_dns", "client.EXAMPLE", true),
        ("tls_client_auth_san_dns", "a.client.example", false),
        ("tls_client_auth_san_uri", "spiffe://acme/client", true),
        ("tls_client_auth_san_uri", "spiffe://acme/Client", false),
        ("tls_client_auth_san_ip", "192.0.2.7", true),
        ("tls_client_auth_san_ip", "2001:0db8:0::7", true),
        ("tls_client_auth_san_ip", "192.0.2.8", false),
        ("tls_client_auth_san_email", "Client@ACME.example", true),
        ("tls_client_auth_san_email", "client@acme.example", false),
    ] {
        let subject = CertificateSubject::read(member, value.to_owned()).unwrap();
        assert_eq!((subject.member(), subject.value()), (member, value));
        let got = reason(authenticate(&client(Some(subject)), &[], Some(&certificate)));
        let expected = (!is_its).then_some(Reason::ClientCertificateOther);
        assert_eq!(got, expected, "{member} {value}");
    }
}

#[test]
fn nobody_is_authenticated_without_an_authority_or_a_certificate() {
    let key = KeyPair::generate().unwrap();
    let subject = CertificateSubject::read("tls_client_auth_san_dns", "client.example".to_owned()).unwrap();
    let by_authority = client(Some(subject));
    let unknown = certificate(&key, false);
    let got = reason(authenticate(&by_authority, &[jwk(&key)], Some(&unknown)));
    assert_eq!(got, Some(Reason::ClientCertificateUntrusted));
    let junk = ClientCertificate { der: b"junk".to_vec(), is_vouched_for: true };
    for client in [by_authority, client(None)] {
        let none = reason(authenticate(&client, &[jwk(&key)], None));
        assert_eq!(none, Some(Reason::ClientCertificateMissing));
        let unread = reason(authenticate(&client, &[jwk(&key)], Some(&junk)));
        assert_eq!(unread, Some(Reason::ClientCertificateUnreadable));
    }
    let mut longer = unknown.der.clone();
    longer.push(0);
    assert!(ClientCertificate { der: longer, is_vouched_for: false }.read().is_none());
}

#[test]
fn a_certificate_of_ones_own_making_is_known_by_its_key() {
    let (one, other) = (KeyPair::generate().unwrap(), KeyPair::generate_for(&PKCS_ED25519).unwrap());
    let keys = [jwk(&one), jwk(&other)];
    for key in [&one, &other] {
        assert_eq!(authenticate(&client(None), &keys, Some(&certificate(key, false))), Ok(()));
    }
    let certificate = certificate(&one, true);
    assert!(certificate.has_one_of(&keys) && !certificate.has_one_of(&keys[1..]));
    for keys in [&keys[1..], &[]] {
        let got = reason(authenticate(&client(None), keys, Some(&certificate)));
        assert_eq!(got, Some(Reason::ClientCertificateOther));
    }
}

#[test]
fn subjects_that_no_certificate_can_have_are_refused() {
    for (member, value) in [
        ("tls_client_auth_subject_dn", "client"),
        ("tls_client_auth_subject_dn", ""),
        ("tls_client_auth_san_dns", "https://client.example"),
        ("tls_client_auth_san_uri", "client"),
        ("tls_client_auth_san_ip", "192.0.2"),
        ("tls_client_auth_san_email", "acme.example"),
        ("tls_client_auth_san_email", "a@b\n"),
    ] {
        assert!(CertificateSubject::read(member, value.to_owned()).is_err(), "{member} {value:?}");
    }
}

#[test]
fn a_token_goes_with_its_own_certificate_alone() {
    for (bound, presented, expected) in [
        (None, None, None),
        (None, Some("a"), None),
        (Some("a"), Some("a"), None),
        (Some("a"), Some("b"), Some(Reason::TokenCertificateOther)),
        (Some("a"), None, Some(Reason::TokenCertificateMissing)),
    ] {
        let got = check_binding(bound, presented).map_err(|error| (error.code, error.reason));
        assert_eq!(got.err(), expected.map(|reason| (ErrorCode::InvalidToken, reason)), "{bound:?}");
    }
}

#[test]
fn a_refresh_token_is_bound_to_a_key_or_to_a_certificate_and_never_to_either() {
    assert!(meets("a", Some("a"), None) && !meets("a", None, Some("a")) && !meets("a", None, None));
    let bound = format!("{BOUND_TO_CERTIFICATE}a");
    assert!(meets(&bound, None, Some("a")) && meets(&bound, Some("b"), Some("a")));
    assert!(!meets(&bound, Some("a"), None) && !meets(&bound, Some(&bound), None));
}
