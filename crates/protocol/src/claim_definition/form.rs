//! How the value of a source is written.

use serde::{Deserialize, Serialize};

use super::set::ClaimInput;
use super::source::{ClaimSource, Kind, Known, standard_value};
use crate::entitlement::{Entitlements, HeldRole};
use crate::json::{push_name, push_number, push_text};
use crate::session::AuthenticationMethod;
use crate::user_claims::role_names;

/// How the value of a source is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A list of texts, even if there is only one.
    List,
    /// The paths of groups, from the topmost group down, instead of their names.
    Paths,
    /// One text: the names with a space between them. A name that holds white space is left out.
    SpaceSeparated,
    /// One text: the names with a comma between them. A name that holds a comma is left out.
    CommaSeparated,
    /// One text: the first name.
    First,
    /// Roles as Keycloak writes them: `{"roles": [...]}`, and for each client `{"CLIENT": {"roles": [...]}}`.
    Keycloak,
}

impl Form {
    /// Why the values of a source cannot be written so.
    pub(super) fn refuses(self, source: &ClaimSource) -> Option<&'static str> {
        match (self, source.kind()) {
            (Self::Paths, _) if *source != ClaimSource::Groups => Some("the form paths belongs to groups"),
            (Self::Keycloak, _) if !source.is_of_roles() => Some("the form keycloak belongs to roles"),
            (Self::Keycloak, _) => None,
            (_, Kind::NamesByClient) => {
                Some("client_roles is a list for each client: it has no form but keycloak")
            }
            (_, Kind::Scalar) => Some("a number or truth value has no form"),
            _ => None,
        }
    }
}

/// Writes the value of a source. `false` if there is none: nothing that makes sense was written.
pub(super) fn write(
    source: &ClaimSource,
    form: Option<Form>,
    prefix: &str,
    input: &ClaimInput<'_>,
    json: &mut Vec<u8>,
) -> bool {
    let token = input.token;
    let mut texts = Texts { form, prefix, json };
    match source {
        ClaimSource::Sub => texts.text(&token.sub),
        ClaimSource::Acr => token.acr.as_deref().is_some_and(|acr| texts.text(acr)),
        ClaimSource::Amr => {
            texts.known(Known::Texts(token.amr.iter().map(AuthenticationMethod::as_str).collect()))
        }
        ClaimSource::AuthTime => match token.auth_time {
            Some(seconds) => {
                push_number(texts.json, seconds);
                true
            }
            None => false,
        },
        ClaimSource::User(name) => {
            let value = input.records.user.as_deref().and_then(|user| standard_value(user, name));
            value.is_some_and(|value| texts.known(value))
        }
        ClaimSource::Attribute(name) => {
            let user = input.records.user.as_deref();
            let value = user.and_then(|user| input.attributes.one_of_user(user, name));
            value.is_some_and(|value| texts.known(value))
        }
        ClaimSource::Groups
        | ClaimSource::Roles
        | ClaimSource::IssuerRoles
        | ClaimSource::ClientRoles
        | ClaimSource::ClientRolesOf(_) => match input.records.entitlements.as_deref() {
            Some(entitlements) => texts.entitlements(source, entitlements, input.roles_of),
            None => false,
        },
    }
}

/// The names of the user's roles of one client alone.
pub(super) fn names_of_client<'a>(
    entitlements: &'a Entitlements,
    client: &'a str,
) -> impl Iterator<Item = &'a str> {
    let is_its_own =
        move |role: &&HeldRole| role.client_id.as_ref().is_some_and(|own| own.as_str() == client);
    entitlements.roles.iter().filter(is_its_own).map(|role| role.name.as_str())
}

/// Writes texts in one form.
struct Texts<'j> {
    form: Option<Form>,
    prefix: &'j str,
    json: &'j mut Vec<u8>,
}

impl Texts<'_> {
    fn entitlements(&mut self, source: &ClaimSource, held: &Entitlements, roles_of: Option<&str>) -> bool {
        match source {
            ClaimSource::Groups if self.form == Some(Form::Paths) => {
                self.names(held.groups.iter().map(|group| group.path.as_str()))
            }
            ClaimSource::Groups => self.names(held.groups.iter().map(|group| group.name.as_str())),
            ClaimSource::Roles => self.names(role_names(held, roles_of)),
            ClaimSource::IssuerRoles => self.names(role_names(held, None)),
            ClaimSource::ClientRolesOf(client) => self.names(names_of_client(held, client.as_str())),
            _ => self.by_client(held),
        }
    }

    /// An object with the roles of every client in which the user has any.
    fn by_client(&mut self, held: &Entitlements) -> bool {
        let mut clients: Vec<&str> =
            held.roles.iter().filter_map(|role| role.client_id.as_ref()).map(|id| id.as_str()).collect();
        clients.sort_unstable();
        clients.dedup();
        self.json.push(b'{');
        for (n, client) in clients.into_iter().enumerate() {
            if n > 0 {
                self.json.push(b',');
            }
            push_name(self.json, client);
            self.names(names_of_client(held, client));
        }
        self.json.push(b'}');
        true
    }

    fn known(&mut self, value: Known<'_>) -> bool {
        match value {
            Known::Text(text) => self.text(text),
            Known::Texts(texts) => self.names(texts.into_iter()),
            Known::Number(number) => {
                self.json.extend_from_slice(number.to_string().as_bytes());
                true
            }
            Known::Decimal(number) => match serde_json::Number::from_f64(number) {
                Some(number) => {
                    self.json.extend_from_slice(number.to_string().as_bytes());
                    true
                }
                None => false,
            },
            Known::Flag(flag) => {
                self.json.extend_from_slice(if flag { b"true" } else { b"false" });
                true
            }
        }
    }

    /// One text; in the form `list` a list of it.
    fn text(&mut self, text: &str) -> bool {
        match self.form {
            None => {
                self.push(text);
                true
            }
            Some(_) => self.names(std::iter::once(text)),
        }
    }

    fn names<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> bool {
        match self.form {
            None | Some(Form::List | Form::Paths) => self.list(names),
            Some(Form::Keycloak) => {
                self.json.extend_from_slice(b"{\"roles\":");
                self.list(names);
                self.json.push(b'}');
                true
            }
            Some(Form::First) => self.first(names),
            // Whoever reads the text takes it apart at the separator: a name that holds one would become two names, which
            // may be those of other roles.
            Some(Form::SpaceSeparated) => {
                self.joined(names.filter(|name| !name.contains(char::is_whitespace)), ' ')
            }
            Some(Form::CommaSeparated) => self.joined(names.filter(|name| !name.contains(',')), ','),
        }
    }

    fn first<'a>(&mut self, mut names: impl Iterator<Item = &'a str>) -> bool {
        let Some(name) = names.next() else { return false };
        self.push(name);
        true
    }

    fn list<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> bool {
        self.json.push(b'[');
        for (n, name) in names.enumerate() {
            if n > 0 {
                self.json.push(b',');
            }
            self.push(name);
        }
        self.json.push(b']');
        true
    }

    /// A claim without a value is left out (OpenID Connect Core 5.3.2), so no name is no text.
    fn joined<'a>(&mut self, names: impl Iterator<Item = &'a str>, separator: char) -> bool {
        let mut text = String::new();
        for name in names {
            if !text.is_empty() {
                text.push(separator);
            }
            text.push_str(self.prefix);
            text.push_str(name);
        }
        push_text(self.json, &text);
        !text.is_empty()
    }

    fn push(&mut self, text: &str) {
        if self.prefix.is_empty() {
            push_text(self.json, text);
        } else {
            push_text(self.json, &format!("{}{text}", self.prefix));
        }
    }
}
