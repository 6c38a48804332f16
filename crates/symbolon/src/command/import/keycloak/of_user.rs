//! Mappers that make a claim of a property or an attribute of the user.

use symbolon_protocol::attribute::{AttributeName, AttributeType, is_reserved_claim};
use symbolon_protocol::claim_definition::{ClaimSource, Form, Origin};

use super::super::record::Fault;
use super::mapper::{MEND, Mapper, Said};
use super::user::ADDRESS;

/// Standard claims that a scope releases (OpenID Connect Core 5.4).
const STANDARD: [(&str, &str); 20] = [
    ("name", "profile"),
    ("given_name", "profile"),
    ("family_name", "profile"),
    ("middle_name", "profile"),
    ("nickname", "profile"),
    ("preferred_username", "profile"),
    ("profile", "profile"),
    ("picture", "profile"),
    ("website", "profile"),
    ("gender", "profile"),
    ("birthdate", "profile"),
    ("zoneinfo", "profile"),
    ("locale", "profile"),
    ("updated_at", "profile"),
    ("email", "email"),
    ("email_verified", "email"),
    ("phone_number", "phone"),
    ("phone_number_verified", "phone"),
    ("address", "address"),
    ("sub", "openid"),
];

/// Properties and attributes of a user by which Keycloak fills a standard claim of another name.
const SOURCES: [(&str, &str); 8] = [
    ("username", "preferred_username"),
    ("firstName", "given_name"),
    ("lastName", "family_name"),
    ("middleName", "middle_name"),
    ("emailVerified", "email_verified"),
    ("phoneNumber", "phone_number"),
    ("phoneNumberVerified", "phone_number_verified"),
    ("id", "sub"),
];

/// What the import gives to users under the name of a standard claim, with the type that it has in JSON.
const FILLED: [(&str, &str); 17] = [
    ("preferred_username", "String"),
    ("given_name", "String"),
    ("family_name", "String"),
    ("middle_name", "String"),
    ("nickname", "String"),
    ("profile", "String"),
    ("picture", "String"),
    ("website", "String"),
    ("gender", "String"),
    ("birthdate", "String"),
    ("zoneinfo", "String"),
    ("locale", "String"),
    ("email", "String"),
    ("email_verified", "boolean"),
    ("phone_number", "String"),
    ("phone_number_verified", "boolean"),
    ("sub", "String"),
];

/// What a mapper of a property or an attribute says.
pub(super) fn said(mapper: &Mapper<'_>) -> Result<Said, Fault> {
    let theirs = mapper.text("user.attribute").unwrap_or_default();
    let claim = mapper.claim();
    let ours = SOURCES.iter().find(|(own, _)| *own == theirs).map_or(theirs, |(_, ours)| *ours);
    let scope = STANDARD.iter().find(|(standard, _)| *standard == claim && ours == claim);
    let defined = defined(mapper, theirs, ours);
    match (scope, defined) {
        // Beyond what the scope does, as far as a claim of this name can be defined.
        (Some(_), Ok(Said::Claim(definition)))
            if !mapper.goes_as_standard() && can_be_named(&definition.name) =>
        {
            Ok(Said::Claim(definition))
        }
        (Some((_, scope)), _) => Ok(Said::Scope(scope)),
        (None, defined) => defined,
    }
}

/// Whether a standard claim may be defined: whether an address was verified only the server knows.
fn can_be_named(name: &str) -> bool {
    !matches!(name, "sub" | "updated_at") && !name.ends_with("_verified")
}

/// The definition of a claim that is made of a property or an attribute: `theirs`, which is the standard claim `ours`.
fn defined(mapper: &Mapper<'_>, theirs: &str, ours: &str) -> Result<Said, Fault> {
    let name = mapper.name()?;
    if mapper.is_on("aggregate.attrs") {
        return Err(Fault::new(
            format!("the claim {name} has attributes of groups too, which have none here"),
            MEND,
        ));
    }
    let is_attribute = mapper.kind() == "oidc-usermodel-attribute-mapper";
    let filled = FILLED.iter().find(|(standard, _)| *standard == ours);
    let (source, form) = match filled {
        Some((standard, json_type)) => {
            if mapper.json_type().unwrap_or("String") != *json_type {
                return Err(other_type(&name, theirs));
            }
            // A property has one value, whatever the mapper says.
            let is_list = is_attribute && mapper.is_on("multivalued");
            let source = if *standard == "sub" { ClaimSource::Sub } else { ClaimSource::User(standard) };
            (source, is_list.then_some(Form::List))
        }
        None if !is_attribute => {
            return Err(Fault::new(
                format!("the claim {name} is made of {theirs}, which users do not have here"),
                MEND,
            ));
        }
        None => (ClaimSource::Attribute(attribute(&name, theirs)?.into()), form(mapper, &name, theirs)?),
    };
    mapper.defines(&name, Origin::Source { source, form, prefix: String::new() })
}

/// The attribute here that is one of theirs.
fn attribute<'t>(claim: &str, theirs: &'t str) -> Result<&'t str, Fault> {
    let why = if ADDRESS.iter().any(|(part, _)| *part == theirs) {
        "comes in as a part of the address"
    } else if AttributeName::parse(theirs).is_err() || is_reserved_claim(theirs) {
        "has a name that an attribute cannot have here"
    } else {
        return Ok(theirs);
    };
    Err(Fault::new(format!("the claim {claim} is made of the attribute {theirs}, which {why}"), MEND))
}

/// The form in which an attribute is what the mapper makes of it. Where the schema does not define the attribute yet, it
/// may become one of the right type.
fn form(mapper: &Mapper<'_>, claim: &str, theirs: &str) -> Result<Option<Form>, Fault> {
    let is_list = mapper.is_on("multivalued");
    let kind = mapper.schema.kind(theirs);
    match (mapper.json_type().unwrap_or("String"), kind) {
        ("String", Some(AttributeType::String | AttributeType::Date)) if !is_list => Ok(None),
        ("String", None | Some(AttributeType::String | AttributeType::Date | AttributeType::List)) => {
            Ok(Some(if is_list { Form::List } else { Form::First }))
        }
        ("long" | "int", None | Some(AttributeType::Number)) if !is_list => Ok(None),
        ("boolean", None | Some(AttributeType::Boolean)) if !is_list => Ok(None),
        _ => Err(other_type(claim, theirs)),
    }
}

fn other_type(claim: &str, theirs: &str) -> Fault {
    Fault::new(
        format!("the claim {claim} has another type than {theirs} has here"),
        "define the attribute with the type of the claim (symbolon attribute set) before clients come in, or the claim by \
         an expression",
    )
}
