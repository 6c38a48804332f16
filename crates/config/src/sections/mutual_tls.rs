//! Mutual TLS (RFC 8705): where the certificates of clients come from, and who vouches for them.

use std::path::PathBuf;

use super::Section;
use crate::key::{Key, ValueKind};
use crate::reader::Reader;

const HEADER: &str = "tls.client_certificate_header";
const ASKS: &str = "tls.client_certificates";
const AUTHORITIES: &str = "tls.client_ca_file";
const URL: &str = "tls.mtls_url";

pub(crate) const SECTION: Section = Section {
    title: "Client certificates",
    intro: "Clients may authenticate by a TLS certificate, and get tokens that are bound to it (RFC 8705). The certificate comes \
            from a trusted proxy in a header, or from the public listener itself.",
    keys: &[
        Key::new(HEADER, "SYMBOLON_TLS_CLIENT_CERTIFICATE_HEADER", "--tls-client-certificate-header", ValueKind::Name)
            .unset("no header says a certificate")
            .doc(
                "Header in which `trusted_proxies` hand on the certificate of the client: `Client-Cert` by RFC 9440, or another with \
                 percent-encoded PEM, such as nginx's `$ssl_client_escaped_cert`. From anybody else it is ignored. The proxy must \
                 set it in every request, or take away what a client sent. Without `tls.client_ca_file` the proxy must have \
                 validated the chain.",
            ),
        Key::new(ASKS, "SYMBOLON_TLS_CLIENT_CERTIFICATES", "--tls-client-certificates", ValueKind::Switch)
            .default("false")
            .doc(
                "Asks whoever connects to the public listener for a certificate, which nobody has to have. Browsers of people who have \
                 one may ask them which to send. Needs `tls.certificate_file`.",
            ),
        Key::new(AUTHORITIES, "SYMBOLON_TLS_CLIENT_CA_FILE", "--tls-client-ca-file", ValueKind::Path)
            .unset("certificates of the public listener are of no authority, and those of a proxy are believed")
            .doc(
                "PEM file with the authorities that are believed about clients with `tls_client_auth`. A proxy hands on the client's own \
                 certificate alone, so the file then has those that issue to clients, and not only the root.",
            ),
        Key::new(URL, "SYMBOLON_TLS_MTLS_URL", "--tls-mtls-url", ValueKind::Url)
            .unset("clients with a certificate call the same addresses as others")
            .doc(
                "Base URL at which certificates are asked for, such as `https://mtls.login.example`, to which the path of each issuer is \
                 appended. Discovery tells it as `mtls_endpoint_aliases` (RFC 8705 section 5).",
            ),
    ],
};

/// Where certificates of clients come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutualTls {
    /// The header in which trusted proxies hand them on, in lower case.
    pub header: Option<String>,
    /// Whether the public listener asks for them.
    pub asks: bool,
    /// PEM file of the authorities that are believed about clients.
    pub authorities: Option<PathBuf>,
    /// The base URL at which certificates are asked for, if it is another than the issuers', without a slash at its end.
    pub url: Option<String>,
}

/// `None` where no certificates arrive.
pub(crate) fn build(reader: &mut Reader) -> Option<MutualTls> {
    let header = reader.optional_text(HEADER).map(|name| name.to_ascii_lowercase());
    let asks = reader.switch(ASKS);
    let no_proxies = reader.optional_networks("trusted_proxies").is_none_or(|own| own.is_empty());
    if header.is_some() && no_proxies && !reader.failed("trusted_proxies") {
        let mend = "list the proxy in `trusted_proxies`: from anybody else the header is ignored";
        reader.refuse(HEADER, "stands without a trusted proxy", mend);
    }
    if asks
        && reader.optional_path("tls.certificate_file").is_none()
        && !reader.failed("tls.certificate_file")
    {
        reader.refuse(ASKS, "stands without TLS", "set `tls.certificate_file` and `tls.key_file` too");
    }
    let (authorities, url) = (reader.optional_path(AUTHORITIES), reader.optional_text(URL));
    if header.is_none() && !asks {
        for (key, is_set) in [(AUTHORITIES, authorities.is_some()), (URL, url.is_some())] {
            if is_set && !reader.failed(HEADER) && !reader.failed(ASKS) {
                let mend = format!("set `{HEADER}`, or `{ASKS}` to true");
                reader.refuse(key, "stands where no certificates of clients arrive", mend);
            }
        }
        return None;
    }
    if header.is_some() && authorities.is_none() {
        reader.warn(
            AUTHORITIES,
            "is not set: a client with `tls_client_auth` is believed by whatever certificate the proxy hands on, so the proxy must have \
             checked its chain (`ssl_verify_client on`, and not `optional_no_ca`)",
        );
    }
    let url = url.map(|url| url.trim_end_matches('/').to_owned());
    Some(MutualTls { header, asks, authorities, url })
}
