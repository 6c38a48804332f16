//! The subject of a client's certificate, as the client registered it (RFC 8705 2.1.2).

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use url::Url;

use super::distinguished_name::DistinguishedName;

/// The longest value, in bytes.
const LONGEST: usize = 1024;

/// What a client's certificate must have: exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CertificateSubject {
    /// The subject's distinguished name by RFC 4514.
    #[serde(rename = "tls_client_auth_subject_dn")]
    SubjectDn(String),
    /// A DNS name among its alternative names.
    #[serde(rename = "tls_client_auth_san_dns")]
    SanDns(String),
    /// A URI among its alternative names.
    #[serde(rename = "tls_client_auth_san_uri")]
    SanUri(String),
    /// An IP address among its alternative names.
    #[serde(rename = "tls_client_auth_san_ip")]
    SanIp(String),
    /// An address of mail among its alternative names.
    #[serde(rename = "tls_client_auth_san_email")]
    SanEmail(String),
}

impl CertificateSubject {
    /// The members of client metadata.
    pub const MEMBERS: [&'static str; 5] = [
        "tls_client_auth_subject_dn",
        "tls_client_auth_san_dns",
        "tls_client_auth_san_uri",
        "tls_client_auth_san_ip",
        "tls_client_auth_san_email",
    ];

    /// Reads the value of one of [`MEMBERS`](Self::MEMBERS).
    ///
    /// # Errors
    /// Why it cannot be used, as the end of a sentence.
    pub(crate) fn read(member: &str, value: String) -> Result<Self, &'static str> {
        if value.is_empty() || value.len() > LONGEST || value.chars().any(char::is_control) {
            return Err("must be 1 to 1024 bytes without control characters");
        }
        match member {
            "tls_client_auth_subject_dn" if DistinguishedName::parse(&value).is_none() => {
                Err("must be a distinguished name as in RFC 4514, such as CN=client,O=Acme,C=DE")
            }
            "tls_client_auth_subject_dn" => Ok(Self::SubjectDn(value)),
            "tls_client_auth_san_dns" if !value.is_ascii() || value.contains(['/', ':', ' ', '@']) => {
                Err("must be a DNS name, such as client.example")
            }
            "tls_client_auth_san_dns" => Ok(Self::SanDns(value)),
            "tls_client_auth_san_uri" if Url::parse(&value).is_err() => Err("must be a URI"),
            "tls_client_auth_san_uri" => Ok(Self::SanUri(value)),
            "tls_client_auth_san_ip" if value.parse::<IpAddr>().is_err() => {
                Err("must be an IPv4 or IPv6 address")
            }
            "tls_client_auth_san_ip" => Ok(Self::SanIp(value)),
            _ if !value.contains('@') => Err("must be an address of mail"),
            _ => Ok(Self::SanEmail(value)),
        }
    }

    /// The member of client metadata.
    pub const fn member(&self) -> &'static str {
        match self {
            Self::SubjectDn(_) => "tls_client_auth_subject_dn",
            Self::SanDns(_) => "tls_client_auth_san_dns",
            Self::SanUri(_) => "tls_client_auth_san_uri",
            Self::SanIp(_) => "tls_client_auth_san_ip",
            Self::SanEmail(_) => "tls_client_auth_san_email",
        }
    }

    /// Its value, as it was registered.
    pub fn value(&self) -> &str {
        match self {
            Self::SubjectDn(value)
            | Self::SanDns(value)
            | Self::SanUri(value)
            | Self::SanIp(value)
            | Self::SanEmail(value) => value,
        }
    }
}

/// Whether two addresses of mail are the same: the host without regard to case, the part before it as it is (RFC 5280 7.5).
pub(super) fn is_same_email(one: &str, other: &str) -> bool {
    match (one.rsplit_once('@'), other.rsplit_once('@')) {
        (Some((local, host)), Some((other, other_host))) => {
            local == other && host.eq_ignore_ascii_case(other_host)
        }
        _ => false,
    }
}
