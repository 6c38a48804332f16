//! What a certificate says (RFC 5280 4.1).

use std::net::IpAddr;

use symbolon_crypto::digest::sha256;
use symbolon_crypto::encoding;
use symbolon_crypto::jwk::{Jwk, KeyParameters};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::public_key::PublicKey;

use super::distinguished_name::DistinguishedName;
use super::subject::{CertificateSubject, is_same_email};

/// The beginning of a SubjectPublicKeyInfo of P-256, up to the coordinates of an uncompressed point (RFC 5480 2).
const P256: [u8; 27] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
];
/// The same of Ed25519, up to the key (RFC 8410 4).
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A certificate that came with a request, and whose private key the other end of the TLS connection has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate in DER.
    pub der: Vec<u8>,
    /// Whether its chain leads to an authority that is believed about clients.
    pub is_vouched_for: bool,
}

impl ClientCertificate {
    /// The SHA-256 thumbprint in base64url, as `x5t#S256` has it (RFC 8705 3.1).
    pub fn thumbprint(&self) -> String {
        encoding::encode(&sha256(&[&self.der]))
    }

    /// Whether its key is one of these.
    pub fn has_one_of(&self, keys: &[Jwk]) -> bool {
        self.read().is_some_and(|read| keys.iter().any(|key| read.has_key(key)))
    }

    /// The certificate as it is read; `None` for what is no certificate.
    pub(super) fn read(&self) -> Option<ReadCertificate<'_>> {
        let (rest, certificate) = X509Certificate::from_der(&self.der).ok()?;
        rest.is_empty().then_some(ReadCertificate(certificate))
    }
}

/// A certificate that could be read.
pub(super) struct ReadCertificate<'a>(X509Certificate<'a>);

impl ReadCertificate<'_> {
    /// Whether this is the certificate's key.
    pub(super) fn has_key(&self, key: &Jwk) -> bool {
        let info = self.0.public_key();
        match key.parameters() {
            KeyParameters::P256 { x, y } => {
                let point = info.raw.strip_prefix(&P256[..]);
                point.and_then(|point| point.split_at_checked(32)).is_some_and(|own| own == (&x[..], &y[..]))
            }
            KeyParameters::Ed25519 { x } => {
                info.raw.strip_prefix(&ED25519[..]).is_some_and(|own| own == &x[..])
            }
            KeyParameters::Rsa { n, e } => match info.parsed() {
                Ok(PublicKey::RSA(own)) => number(own.modulus) == &n[..] && number(own.exponent) == &e[..],
                _ => false,
            },
        }
    }

    /// Whether it has the subject that a client registered (RFC 8705 2.1.2).
    pub(super) fn is_of(&self, expected: &CertificateSubject) -> bool {
        match expected {
            CertificateSubject::SubjectDn(name) => DistinguishedName::parse(name)
                .is_some_and(|name| name == DistinguishedName::of(self.0.subject())),
            CertificateSubject::SanDns(name) => self
                .has_name(|own| matches!(own, GeneralName::DNSName(own) if own.eq_ignore_ascii_case(name))),
            CertificateSubject::SanUri(uri) => {
                self.has_name(|own| matches!(own, GeneralName::URI(own) if *own == uri))
            }
            CertificateSubject::SanIp(ip) => {
                let expected = ip.parse::<IpAddr>().ok();
                self.has_name(|own| {
                    matches!(own, GeneralName::IPAddress(own) if expected.is_some() && address(own) == expected)
                })
            }
            CertificateSubject::SanEmail(email) => {
                self.has_name(|own| matches!(own, GeneralName::RFC822Name(own) if is_same_email(own, email)))
            }
        }
    }

    /// The subject, for the operator.
    pub(super) fn subject_text(&self) -> String {
        let text = self.0.subject().to_string();
        if text.is_empty() { "a certificate without subject".to_owned() } else { text }
    }

    /// What it has where the client registered something, for the operator.
    pub(super) fn shown_for(&self, expected: &CertificateSubject) -> String {
        if let CertificateSubject::SubjectDn(_) = expected {
            return self.subject_text();
        }
        let shown: Vec<String> = self.names().iter().filter_map(shown).collect();
        if shown.is_empty() { "a certificate without such a name".to_owned() } else { shown.join(", ") }
    }

    fn has_name(&self, is_it: impl Fn(&GeneralName<'_>) -> bool) -> bool {
        self.names().iter().any(is_it)
    }

    /// The names of the extension subjectAltName (RFC 5280 4.2.1.6); none if it cannot be read, or comes twice.
    fn names(&self) -> &[GeneralName<'_>] {
        match self.0.subject_alternative_name() {
            Ok(Some(extension)) => &extension.value.general_names,
            _ => &[],
        }
    }
}

/// A number without the zeros before it, as JWK has it (RFC 7518 2, Base64urlUInt).
fn number(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
}

/// RFC 5280 4.2.1.6: four or sixteen bytes in network order.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

fn shown(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(text) | GeneralName::URI(text) | GeneralName::RFC822Name(text) => {
            Some((*text).to_owned())
        }
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}
