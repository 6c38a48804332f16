//! The member `response_types` of client metadata (OpenID Connect Dynamic Client Registration 1.0 2).

use super::{invalid, take};
use crate::client::GrantType;
use crate::error::OAuthError;
use crate::response_type::ResponseType;
use crate::unknown_member::Members;

/// Reads the member, each type once. The order of the words of a type does not matter.
pub(super) fn read(doc: &mut Members) -> Result<Vec<ResponseType>, OAuthError> {
    let mut types = Vec::new();
    for text in take::<Vec<String>>(doc, "response_types")?.unwrap_or_default() {
        let own = ResponseType::parse(&text).ok_or_else(|| {
            let known = ResponseType::ALL.map(ResponseType::as_str).join(", ");
            invalid("response_types", format!("has one that is not supported; supported are: {known}"))
        })?;
        if !types.contains(&own) {
            types.push(own);
        }
    }
    Ok(types)
}

/// The grant types of a document that names none: those that its response types need.
pub(super) fn needed_grant_types(types: &[ResponseType]) -> Vec<GrantType> {
    let mut needed = vec![GrantType::AuthorizationCode];
    if !types.is_empty() {
        needed.retain(|_| types.iter().any(|own| own.has_code()));
    }
    if types.iter().any(|own| own.has_any_token()) {
        needed.push(GrantType::Implicit);
    }
    needed
}

/// Checks the response types against the grant types, and returns those to keep: none where they say no more than the
/// grant types do.
///
/// # Errors
/// `invalid_request` where a response type needs a grant type that is not named (OpenID Connect Dynamic Client
/// Registration 1.0 2), or where `implicit` is named and no response type uses it.
pub(super) fn agree(types: Vec<ResponseType>, grants: &[GrantType]) -> Result<Vec<ResponseType>, OAuthError> {
    let tokens = types.iter().copied().find(|own| own.has_any_token());
    if tokens.is_none() && grants.contains(&GrantType::Implicit) {
        let mend = "name one in response_types, such as id_token, or leave implicit out";
        return Err(invalid("grant_types", format!("has implicit, which no response type uses: {mend}")));
    }
    // `code` alone is what the grant type says, and is left out where the grant type is.
    if tokens.is_none() {
        return Ok(Vec::new());
    }
    for own in &types {
        if let Some(lacking) = own.grant_types().iter().find(|grant| !grants.contains(grant)) {
            let (own, lacking) = (own.as_str(), lacking.as_str());
            return Err(invalid(
                "response_types",
                format!("has {own}, which needs {lacking} in grant_types"),
            ));
        }
    }
    Ok(types)
}
