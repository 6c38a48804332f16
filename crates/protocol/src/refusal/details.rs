//! What a refused request sent, beside what was registered or expected.

use serde::{Deserialize, Serialize};

use crate::id::{ClientId, UserId};

/// The most characters of a value that are kept.
const LONGEST: usize = 200;
/// The most registered values that are kept.
const MOST_VALUES: usize = 5;

/// The values that explain a refusal. Each is cut to 200 characters, and only values of kinds that are not secret may
/// be put in: never a password, a secret, a code or a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// The client that the request named, registered or not.
    #[serde(skip)]
    pub client: Option<ClientId>,
    /// The user that the request was about.
    #[serde(skip)]
    pub user: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registered: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login_name_digest: Option<String>,
}

impl Details {
    /// About a parameter or another part of the request, by its name.
    pub fn of(parameter: &str) -> Self {
        Self { parameter: Some(shown(parameter)), ..Self::default() }
    }

    /// About a client.
    pub fn of_client(client: &ClientId) -> Self {
        Self { client: Some(client.clone()), ..Self::default() }
    }

    /// About a user.
    pub fn of_user(user: &UserId) -> Self {
        Self { user: Some(user.clone()), ..Self::default() }
    }

    /// Names the client, unless one is named already.
    #[must_use]
    pub fn client(mut self, client: &ClientId) -> Self {
        self.client.get_or_insert_with(|| client.clone());
        self
    }

    /// Names the user.
    #[must_use]
    pub fn user(mut self, user: &UserId) -> Self {
        self.user = Some(user.clone());
        self
    }

    /// What was sent. Must not be secret.
    #[must_use]
    pub fn sent(mut self, value: &str) -> Self {
        self.sent = Some(shown(value));
        self
    }

    /// The URI that was sent, without what may be secret in it.
    #[must_use]
    pub fn sent_uri(self, uri: &str) -> Self {
        let uri = without_secrets(uri);
        self.sent(&uri)
    }

    /// The registered values, at most five of them.
    #[must_use]
    pub fn registered<'v>(mut self, values: impl IntoIterator<Item = &'v str>) -> Self {
        self.registered = Some(bounded(values));
        self
    }

    /// What would have been accepted, where that is not a matter of registration; at most five values.
    #[must_use]
    pub fn expected<'v>(mut self, values: impl IntoIterator<Item = &'v str>) -> Self {
        self.expected = Some(bounded(values));
        self
    }

    /// In what the two differ, as the end of a sentence: "it differs in the port".
    #[must_use]
    pub fn differing(mut self, how: Option<&str>) -> Self {
        self.difference = how.map(shown);
        self
    }

    /// The login name that was typed, as it may be [shown](super::shown_login_name), and a keyed digest by which it is
    /// found.
    #[must_use]
    pub fn login_name(mut self, name: &str, digest: &str) -> Self {
        self.login_name = Some(shown(name));
        self.login_name_digest = Some(shown(digest));
        self
    }

    /// The parameter or part of the request that it is about.
    pub fn parameter_name(&self) -> Option<&str> {
        self.parameter.as_deref()
    }

    /// The value that was sent.
    pub fn sent_value(&self) -> Option<&str> {
        self.sent.as_deref()
    }

    /// The registered or else the expected values, separated by spaces.
    pub fn other_values(&self) -> Option<String> {
        self.registered.as_ref().or(self.expected.as_ref()).map(|values| values.join(" "))
    }

    /// In what the two differ.
    pub fn difference(&self) -> Option<&str> {
        self.difference.as_deref()
    }

    /// The values as a sentence: "`redirect_uri` was A, registered are B and C: it differs in the port."; `None` if
    /// there is nothing to say.
    pub fn sentence(&self) -> Option<String> {
        let name = self.parameter.as_deref();
        let sent = match (name, self.sent.as_deref()) {
            (Some(name), Some("")) => Some(format!("`{name}` was missing or empty")),
            (Some(name), Some(sent)) => Some(format!("`{name}` was {sent}")),
            (None, Some(sent)) => Some(format!("It was {sent}")),
            (Some(name), None) => Some(format!("It is about `{name}`")),
            (None, None) => None,
        };
        let beside = self.registered.as_ref().map(|values| counted("registered", values));
        let beside = beside.or_else(|| self.expected.as_ref().map(|values| counted("expected", values)));
        let values = [sent, beside].into_iter().flatten().collect::<Vec<_>>().join(", ");
        match (values.is_empty(), &self.difference) {
            (true, None) => None,
            (true, Some(difference)) => Some(format!("{difference}.")),
            (false, None) => Some(format!("{values}.")),
            (false, Some(difference)) => Some(format!("{values}: {difference}.")),
        }
    }
}

/// "registered is A", "registered are A and B", "nothing is registered".
fn counted(what: &str, values: &[String]) -> String {
    match values {
        [] => format!("nothing is {what}"),
        [one] => format!("{what} is {one}"),
        [first @ .., last] => format!("{what} are {} and {last}", first.join(", ")),
    }
}

fn bounded<'v>(values: impl IntoIterator<Item = &'v str>) -> Vec<String> {
    let mut values = values.into_iter();
    let mut kept: Vec<String> = values.by_ref().take(MOST_VALUES).map(shown).collect();
    match values.count() {
        0 => {}
        more => kept.push(format!("{more} more")),
    }
    kept
}

/// A value without characters that could steer a terminal or a log's reader, cut to its bound.
fn shown(value: &str) -> String {
    let plain =
        |c: char| if c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() { c } else { '\u{fffd}' };
    let mut text: String = value.chars().take(LONGEST).map(plain).collect();
    if value.chars().nth(LONGEST).is_some() {
        text.push_str("...");
    }
    text
}

/// Names in a query or fragment whose values are not shown.
const SECRET_NAMES: [&str; 8] = ["code", "token", "secret", "passw", "pwd", "key", "assertion", "session"];

/// A URI without user name and password, and without the values of parameters that may be secret.
fn without_secrets(uri: &str) -> String {
    // Longer ones are cut anyway, so the rest is not worth looking at.
    let uri: String = uri.chars().take(4 * LONGEST).collect();
    let hidden = uri.split_once("://").and_then(|(scheme, rest)| {
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (_, host) = authority.rsplit_once('@')?;
        Some(format!("{scheme}://...@{host}{path}"))
    });
    let uri = hidden.unwrap_or(uri);
    let mut plain = String::with_capacity(uri.len());
    for piece in uri.split_inclusive(['?', '&', '#']) {
        let end = piece.trim_end_matches(['?', '&', '#']).len();
        let (pair, separator) = piece.split_at(end);
        match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => {
                plain.push_str(name);
                plain.push_str("=...");
            }
            _ => plain.push_str(pair),
        }
        plain.push_str(separator);
    }
    plain
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.contains(secret))
}
