//! How answers are encrypted for the client: `…_encrypted_response_alg` and `…_encrypted_response_enc`.

use symbolon_crypto::jwe::{ContentEncryption, KeyManagement};
use symbolon_crypto::jwk::JwkSet;

use super::{Metadata, invalid, take};
use crate::error::OAuthError;
use crate::response_encryption::ResponseEncryption;
use crate::unknown_member::Members;

/// The two members about one kind of answer.
pub(super) struct Names {
    alg: &'static str,
    enc: &'static str,
}

pub(super) const ID_TOKEN: Names =
    Names { alg: "id_token_encrypted_response_alg", enc: "id_token_encrypted_response_enc" };
pub(super) const USERINFO: Names =
    Names { alg: "userinfo_encrypted_response_alg", enc: "userinfo_encrypted_response_enc" };

/// Reads both members. `jwks` are the keys that the client gave, `published` says whether it publishes them instead.
pub(super) fn read(
    doc: &mut Members,
    names: &Names,
    jwks: Option<&JwkSet>,
    published: bool,
) -> Result<Option<ResponseEncryption>, OAuthError> {
    let alg: Option<KeyManagement> = take(doc, names.alg)?;
    let enc: Option<ContentEncryption> = take(doc, names.enc)?;
    let Some(alg) = alg else {
        // OpenID Connect Registration 2: with enc, alg MUST also be provided.
        return match enc {
            Some(_) => Err(invalid(names.enc, format!("stands alone: give {} too", names.alg))),
            None => Ok(None),
        };
    };
    // OpenID Connect Registration 2: the default is A128CBC-HS256.
    let encryption = ResponseEncryption { alg, enc: enc.unwrap_or_default() };
    let has_key = jwks.is_some_and(|set| encryption.has_key_among(&set.keys));
    if !has_key && !published {
        let kind = match alg {
            KeyManagement::RsaOaep256 => "an RSA key",
            KeyManagement::EcdhEs => "a P-256 key",
        };
        let mend = format!("give {kind} with \"use\": \"enc\" in jwks, or publish it at jwks_uri");
        return Err(invalid(names.alg, format!("needs a key to encrypt for: {mend}")));
    }
    Ok(Some(encryption))
}

/// Writes both members.
pub(super) fn show(out: &mut Metadata, names: &Names, encryption: Option<ResponseEncryption>) {
    if let Some(ResponseEncryption { alg, enc }) = encryption {
        out.insert(names.alg.to_owned(), alg.as_str().into());
        out.insert(names.enc.to_owned(), enc.as_str().into());
    }
}
