//! Protocol mappers: what each puts into tokens, as far as a setting of ours says the same.
//!
//! What Keycloak does where a member is missing is taken from its mappers: a flag that is not `true` is off, but UserInfo
//! goes by the ID token, and introspection by the access token.

use serde_json::Value;
use symbolon_protocol::claim_definition::{
    ClaimDefinition, ClaimSource, Destination, Destinations, Form, Origin,
};
use symbolon_protocol::id::ClientId;
use symbolon_protocol::scope::{GROUPS, ROLES};

use super::super::record::Fault;
use super::super::schema::Schema;
use super::of_user;

/// What mends a mapper that is not taken, where nothing better is known.
pub(super) const MEND: &str =
    "let the application read another claim, or define one by symbolon claim set (docs/topics/claims.md)";

/// What a mapper comes to here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A scope releases the claim.
    Scope(&'static str),
    /// The client defines the claim.
    Claim(Box<ClaimDefinition>),
    /// A value of `aud` of access tokens.
    Audience(String),
    /// Nothing is needed: every token has it, or a standard scope releases it.
    Already,
}

/// A mapper, and where it stands.
pub(super) struct Mapper<'a> {
    pub(super) document: &'a Value,
    /// The client that it is looked at for.
    pub(super) client_id: &'a str,
    /// The client scope that it stands in, if the application has to ask for it.
    pub(super) scope: Option<&'a str>,
    /// Whether tokens of the client have all roles of the user.
    pub(super) has_all_roles: bool,
    /// The attributes that users have here.
    pub(super) schema: &'a Schema,
}

impl<'a> Mapper<'a> {
    pub(super) fn kind(&self) -> &'a str {
        self.document.get("protocolMapper").and_then(Value::as_str).unwrap_or_default()
    }

    /// A text of its configuration that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        let value = self.document.get("config").and_then(|config| config.get(name)).and_then(Value::as_str);
        value.filter(|text| !text.is_empty())
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// The claim as it is written there: dots stand between the names of objects, and escaped ones in a name.
    pub(super) fn claim(&self) -> &'a str {
        self.text("claim.name").unwrap_or_default()
    }

    /// The JSON type of the claim, where one is named.
    pub(super) fn json_type(&self) -> Option<&'a str> {
        self.text("jsonType.label")
    }

    /// Where the claim goes.
    pub(super) fn destinations(&self) -> Destinations {
        let is_on_or = |name, otherwise| if self.text(name).is_some() { self.is_on(name) } else { otherwise };
        let (id_token, access_token) = (self.is_on("id.token.claim"), self.is_on("access.token.claim"));
        let all = [
            (id_token, Destination::IdToken),
            (access_token, Destination::AccessToken),
            (is_on_or("userinfo.token.claim", id_token), Destination::Userinfo),
            (is_on_or("introspection.token.claim", access_token), Destination::Introspection),
        ];
        let named = all.into_iter().filter_map(|(goes, destination)| goes.then_some(destination));
        Destinations::from(named.collect::<Vec<_>>())
    }

    /// Whether it goes where the standard claims about a user go, and nowhere else.
    pub(super) fn goes_as_standard(&self) -> bool {
        let own = self.destinations();
        !own.contain(Destination::AccessToken) && !own.contain(Destination::Introspection)
    }

    /// The name of the claim, if it is no member of an object.
    pub(super) fn name(&self) -> Result<String, Fault> {
        let mut path = components(self.claim());
        match (path.pop(), path.is_empty()) {
            (Some(name), true) if name.contains("${") => {
                Err(Fault::new(format!("the claim {name} has a name that is made up for each client"), MEND))
            }
            (Some(name), true) => Ok(name),
            (None, _) => Err(Fault::new("it names no claim", "")),
            (Some(_), false) => Err(Fault::new(
                format!("the claim {} is a member of an object", self.claim()),
                "define the whole object by an expression: symbolon claim set NAME --expression (docs/topics/claims.md)",
            )),
        }
    }

    /// The definition of the claim of a name.
    pub(super) fn defines(&self, name: &str, origin: Origin) -> Result<Said, Fault> {
        let destinations = self.destinations();
        if destinations.is_empty() {
            return Err(Fault::new(format!("the claim {name} goes into no token there"), ""));
        }
        let scope = self.scope.map(Into::into);
        Ok(Said::Claim(Box::new(ClaimDefinition { name: name.into(), origin, scope, destinations })))
    }
}

/// The names of a claim, from the outermost object to the claim itself. A backslash stands before a character that is
/// meant as it is.
fn components(claim: &str) -> Vec<String> {
    let mut path = Vec::new();
    let mut name = String::new();
    let mut rest = claim.chars();
    while let Some(c) = rest.next() {
        match c {
            '.' => path.push(std::mem::take(&mut name)),
            '\\' => name.extend(rest.next()),
            c => name.push(c),
        }
    }
    if !name.is_empty() {
        path.push(name);
    }
    path
}

/// What a mapper of a client says, or why nothing here says the same.
pub(super) fn said(mapper: &Mapper<'_>) -> Result<Said, Fault> {
    let claim = mapper.claim();
    Ok(match mapper.kind() {
        "oidc-group-membership-mapper" => return of_groups(mapper),
        "oidc-usermodel-realm-role-mapper" => return of_realm_roles(mapper),
        "oidc-usermodel-client-role-mapper" => return of_client_roles(mapper),
        "oidc-usermodel-property-mapper" | "oidc-usermodel-attribute-mapper" => return of_user::said(mapper),
        "oidc-hardcoded-claim-mapper" => return constant(mapper),
        "oidc-audience-mapper" if mapper.is_on("access.token.claim") => {
            let client = mapper.text("included.client.audience");
            match client.or_else(|| mapper.text("included.custom.audience")) {
                Some(audience) => Said::Audience(audience.to_owned()),
                None => Said::Already,
            }
        }
        "oidc-full-name-mapper" => Said::Scope("profile"),
        "oidc-address-mapper" => Said::Scope("address"),
        "oidc-allowed-origins-mapper"
        | "oidc-acr-mapper"
        | "oidc-sub-mapper"
        | "oidc-audience-resolve-mapper" => Said::Already,
        "oidc-usersessionmodel-note-mapper"
            if matches!(claim, "auth_time" | "client_id" | "clientAddress" | "clientHost") =>
        {
            Said::Already
        }
        kind if claim.is_empty() => {
            return Err(Fault::new(format!("nothing here does what {kind} does"), MEND));
        }
        kind => return Err(Fault::new(format!("the claim {claim} of {kind} has no counterpart"), MEND)),
    })
}

fn of_groups(mapper: &Mapper<'_>) -> Result<Said, Fault> {
    let form = mapper.is_on("full.path").then_some(Form::Paths);
    if form.is_none() && mapper.claim() == GROUPS && mapper.goes_as_standard() {
        return Ok(Said::Scope(GROUPS));
    }
    let origin = Origin::Source { source: ClaimSource::Groups, form, prefix: String::new() };
    mapper.defines(&mapper.name()?, origin)
}

fn of_realm_roles(mapper: &Mapper<'_>) -> Result<Said, Fault> {
    check_scope_of(mapper)?;
    let prefix = mapper.text("usermodel.realmRoleMapping.rolePrefix").unwrap_or_default();
    let is_list = mapper.is_on("multivalued");
    if mapper.claim() == ROLES && prefix.is_empty() && is_list {
        return Ok(Said::Scope(ROLES));
    }
    let (name, form) = match mapper.claim() {
        "realm_access.roles" if is_list => ("realm_access".to_owned(), Some(Form::Keycloak)),
        _ => (mapper.name()?, form_of_roles(is_list)),
    };
    roles(mapper, &name, ClaimSource::IssuerRoles, form, prefix)
}

fn of_client_roles(mapper: &Mapper<'_>) -> Result<Said, Fault> {
    check_scope_of(mapper)?;
    let prefix = mapper.text("usermodel.clientRoleMapping.rolePrefix").unwrap_or_default();
    let is_list = mapper.is_on("multivalued");
    let of = mapper.text("usermodel.clientRoleMapping.clientId");
    let is_own = of.is_none_or(|of| of == mapper.client_id);
    if mapper.claim() == ROLES && prefix.is_empty() && is_list && is_own {
        return Ok(Said::Scope(ROLES));
    }
    if mapper.claim() == "resource_access.${client_id}.roles"
        && of.is_none()
        && is_list
        && !prefix.contains("${")
    {
        let form = Some(Form::Keycloak);
        return roles(mapper, "resource_access", ClaimSource::ClientRoles, form, prefix);
    }
    let name = mapper.name()?;
    let Some(of) = of else {
        return Err(Fault::new(
            format!("the claim {name} has the roles of every client in one list"),
            format!(
                "name the client whose roles are meant: symbolon claim set {name} --source client_roles:CLIENT --client {}",
                mapper.client_id
            ),
        ));
    };
    let of = ClientId::parse(of).map_err(|error| Fault::from(error.to_string()))?;
    roles(mapper, &name, ClaimSource::ClientRolesOf(of), form_of_roles(is_list), prefix)
}

/// Of several roles Keycloak writes one, whichever, where a claim is not to have several values.
fn form_of_roles(is_list: bool) -> Option<Form> {
    (!is_list).then_some(Form::First)
}

/// Refuses roles for a client whose tokens have only some of those of the user: they would have all here, and with them what
/// the client must not do in the user's name.
fn check_scope_of(mapper: &Mapper<'_>) -> Result<(), Fault> {
    if mapper.has_all_roles {
        return Ok(());
    }
    let claim = mapper.claim();
    let why = "has only roles in the scope of the client (fullScopeAllowed is off), and would have all here";
    Err(Fault::new(format!("the claim {claim} {why}"), MEND))
}

fn roles(
    mapper: &Mapper<'_>,
    name: &str,
    source: ClaimSource,
    form: Option<Form>,
    prefix: &str,
) -> Result<Said, Fault> {
    if !matches!(mapper.json_type(), None | Some("String")) {
        return Err(Fault::new(format!("the claim {name} has roles as something else than texts"), MEND));
    }
    mapper.defines(name, Origin::Source { source, form, prefix: prefix.to_owned() })
}

/// A value that is the same for everybody.
fn constant(mapper: &Mapper<'_>) -> Result<Said, Fault> {
    let name = mapper.name()?;
    let wrong = || Fault::new(format!("the claim {name} has no value, or one that is not of its type"), MEND);
    let text = mapper.text("claim.value").ok_or_else(wrong)?;
    let value = match mapper.json_type() {
        None | Some("String") => Some(Value::from(text)),
        Some("long" | "int") => text.parse::<i64>().ok().map(Value::from),
        Some("boolean") => Some(Value::from(text.eq_ignore_ascii_case("true"))),
        Some("JSON") => serde_json::from_str(text).ok().filter(|value: &Value| !value.is_null()),
        Some(_) => None,
    };
    mapper.defines(&name, Origin::Constant(value.ok_or_else(wrong)?))
}

#[cfg(test)]
mod tests;
