//! Reading and checking the parameter `authorization_details` (RFC 9396 2, 3, 5, 6).

use super::definition::{self, AuthorizationDetailsType};
use super::detail::Detail;
use super::{AuthorizationDetails, PARAMETER};
use crate::client::Client;
use crate::encoded;
use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};
use crate::settings::IssuerSettings;

/// The longest parameter, in bytes of its JSON form within the interaction of a page, and the longest text that is kept of it.
const LONGEST: usize = 4 * 1024;
/// The most objects: more than a person reads.
const MOST: usize = 16;

/// What a request asks for. `sent`: the parameter, if there is one.
///
/// # Errors
/// `invalid_authorization_details` (RFC 9396 5): no JSON array of objects with a `type`, too large, a type that the issuer does not have or
/// the client may not ask for, and an object that does not conform to its type.
pub fn requested(
    sent: Option<&str>,
    client: &Client,
    settings: &IssuerSettings,
) -> Result<AuthorizationDetails, OAuthError> {
    let Some(text) = sent else { return Ok(AuthorizationDetails::NONE) };
    let details = read(text)?;
    for detail in &details {
        // RFC 9396 5: unknown types, and objects that do not conform to their type, MUST be refused; 10: types that the client has not
        // registered.
        let Some(known) = type_for(detail.name(), client, settings) else {
            return Err(unknown_type(detail.name(), client, settings));
        };
        known.check(detail).map_err(|why| not_conforming(known, &why))?;
    }
    kept(&details)
}

/// What a token request asks for of what was granted (RFC 9396 6): all of it without the parameter. Types that the issuer does not have any
/// more, or that the client may not ask for any more, are left out.
///
/// # Errors
/// `invalid_authorization_details` for what is malformed, and for an object that is not one of those that were granted.
pub fn narrowed(
    granted: &AuthorizationDetails,
    sent: Option<&str>,
    client: &Client,
    settings: &IssuerSettings,
) -> Result<AuthorizationDetails, OAuthError> {
    if granted.is_empty() && sent.is_none() {
        return Ok(AuthorizationDetails::NONE);
    }
    let asked = match sent {
        None => granted.clone(),
        Some(text) => kept(&read(text)?)?,
    };
    // RFC 9396 6: more than was granted MUST be refused. Whether one object says less than another depends on its API (6.1), so each
    // must be one of those that the person has seen.
    if !granted.covers(&asked) {
        let description = "authorization_details has an object that was not granted";
        return Err(invalid(Reason::AuthorizationDetailsBeyondGrant, description.to_owned()));
    }
    Ok(asked.filtered(|detail| type_for(detail.name(), client, settings).is_some()))
}

/// Refuses the parameter where nothing can be granted by it.
///
/// # Errors
/// `invalid_authorization_details` if it is there.
pub fn refuse(sent: Option<&str>) -> Result<(), OAuthError> {
    match sent {
        None => Ok(()),
        Some(_) => {
            let description = "authorization_details cannot be asked for by this grant";
            Err(invalid(Reason::AuthorizationDetailsBeyondGrant, description.to_owned()))
        }
    }
}

/// Whether the person is asked for some of these details each time.
pub fn asks_always(details: &AuthorizationDetails, settings: &IssuerSettings) -> bool {
    let is_asked =
        |detail: &Detail| definition::find(settings, detail.name()).is_none_or(|known| known.asks_always);
    details.details().iter().any(is_asked)
}

fn read(text: &str) -> Result<Vec<Detail>, OAuthError> {
    if !encoded::fits_json(text, LONGEST) {
        return Err(malformed("authorization_details has more than 4096 bytes"));
    }
    let details: Vec<Detail> = serde_json::from_str(text).map_err(|_| {
        malformed("authorization_details is no JSON array of objects without repeated members")
    })?;
    if details.is_empty() || details.len() > MOST {
        return Err(malformed("authorization_details must have 1 to 16 objects"));
    }
    // RFC 9396 2: `type` is required.
    if details.iter().any(|detail| detail.name().is_empty()) {
        return Err(malformed("authorization_details has an object without type"));
    }
    Ok(details)
}

/// The text that is kept: numbers may be longer in it than they were sent.
fn kept(details: &[Detail]) -> Result<AuthorizationDetails, OAuthError> {
    let kept = AuthorizationDetails::of(details);
    match kept.as_json().len() <= LONGEST {
        true => Ok(kept),
        false => Err(malformed("authorization_details has more than 4096 bytes")),
    }
}

/// The type of this name, if the client may ask for it.
fn type_for<'s>(
    name: &str,
    client: &Client,
    settings: &'s IssuerSettings,
) -> Option<&'s AuthorizationDetailsType> {
    let known = definition::find(settings, name)?;
    // RFC 9396 10. A stranger registers what it likes, and some grants ask nobody, so such clients have only what is meant for them.
    let is_registered = client.authorization_details_types.iter().any(|own| own == name);
    (is_registered && (known.for_self_registered || !client.is_of_stranger())).then_some(known)
}

fn invalid(reason: Reason, description: String) -> OAuthError {
    OAuthError::with(ErrorCode::InvalidAuthorizationDetails, reason, description)
        .about(Details::of(PARAMETER))
}

fn malformed(description: &str) -> OAuthError {
    invalid(Reason::AuthorizationDetailsMalformed, description.to_owned())
}

fn unknown_type(name: &str, client: &Client, settings: &IssuerSettings) -> OAuthError {
    let registered = client.authorization_details_types.iter().map(String::as_str);
    let registered = registered.filter(|own| type_for(own, client, settings).is_some());
    let description = "authorization_details has a type that this client may not ask for";
    invalid(Reason::AuthorizationDetailsTypeUnknown, description.to_owned())
        .about(Details::of("type").sent(name).registered(registered).client(&client.client_id))
}

fn not_conforming(known: &AuthorizationDetailsType, why: &str) -> OAuthError {
    let description = format!("authorization_details: {} {why}", known.name);
    let details = Details::of(PARAMETER).sent(&known.name).differing(Some(&format!("it {why}")));
    invalid(Reason::AuthorizationDetailsInvalid, description).about(details)
}
