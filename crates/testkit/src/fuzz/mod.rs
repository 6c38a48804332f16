//! Bodies of the fuzz targets, one for each parser of data from outside. Each takes any bytes, and fails an assertion
//! if a property does not hold. `fuzz/` runs them under libFuzzer; a test replays the corpora that are kept there.

mod admin;
mod credential;
mod fixture;
mod proof;
mod record;
mod request;
mod text;
mod token;

pub use admin::admin_record;
pub use credential::{basic_header, client_assertion, token_request};
pub use proof::{client_certificate_header, distinguished_name, dpop_proof, request_object};
pub use record::{client_metadata, password_hash};
pub use request::{authorization_request, logout_request, percent_decoding, redirect_uri};
pub use symbolon_admin::fuzz::{issuer_fields, ndjson, settings, user_fields};
pub use symbolon_app::fuzz::{accept, configuration, cookie, csrf_token, forwarded_headers};
pub use text::{ids, refresh_token};
pub use token::{jwk_set, jws};

/// The body of a target.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus.
pub const TARGETS: [(&str, Target); 27] = [
    ("accept", accept),
    ("admin_record", admin_record),
    ("authorization_request", authorization_request),
    ("basic_header", basic_header),
    ("client_assertion", client_assertion),
    ("client_certificate_header", client_certificate_header),
    ("client_metadata", client_metadata),
    ("configuration", configuration),
    ("cookie", cookie),
    ("csrf_token", csrf_token),
    ("distinguished_name", distinguished_name),
    ("dpop_proof", dpop_proof),
    ("forwarded_headers", forwarded_headers),
    ("ids", ids),
    ("issuer_fields", issuer_fields),
    ("jwk_set", jwk_set),
    ("jws", jws),
    ("logout_request", logout_request),
    ("ndjson", ndjson),
    ("password_hash", password_hash),
    ("percent_decoding", percent_decoding),
    ("redirect_uri", redirect_uri),
    ("refresh_token", refresh_token),
    ("request_object", request_object),
    ("settings", settings),
    ("token_request", token_request),
    ("user_fields", user_fields),
];
