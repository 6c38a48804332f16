//! Authorization details (RFC 9396) of a request that waits for a person, and as the pages show them.

use symbolon_pages::{DetailMember, DetailView, DetailWord, Language};
use symbolon_protocol::authorization_details::{self as rule, AuthorizationDetails, Described, Word};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::params::Params;
use symbolon_protocol::settings::IssuerSettings;

use crate::interaction::PendingAuthorization;

/// What a waiting request asks for. The interaction is sealed, so these are the details that the person was shown.
///
/// # Errors
/// `invalid_authorization_details` if client or issuer have changed since the request was checked.
pub(super) fn requested(
    pending: &PendingAuthorization,
    client: &Client,
    settings: &IssuerSettings,
) -> Result<AuthorizationDetails, OAuthError> {
    let Some(request) = pending.request() else { return Ok(AuthorizationDetails::NONE) };
    let params = Params::parse(request.as_bytes())?;
    rule::requested(params.get(rule::PARAMETER)?, client, settings)
}

/// The details in words.
pub(super) fn views(
    details: &AuthorizationDetails,
    settings: &IssuerSettings,
    language: Language,
) -> Vec<DetailView> {
    rule::described(details, settings, language.tag()).into_iter().map(view).collect()
}

fn view(described: Described) -> DetailView {
    let Described { name, words: text, others, locations } = described;
    let others = others.into_iter().map(|(name, value)| DetailMember { name, words: words(value) }).collect();
    DetailView { name, words: words(text), others, locations }
}

fn words(all: Vec<Word>) -> Vec<DetailWord> {
    let word = |word| match word {
        Word::Text(text) => DetailWord::Text(text),
        Word::Value(value) => DetailWord::Value(value),
        Word::Yes => DetailWord::Yes,
        Word::No => DetailWord::No,
    };
    all.into_iter().map(word).collect()
}
