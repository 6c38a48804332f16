//! Who wants an account: what was typed into the form, and what is taken of it.

use serde::{Deserialize, Serialize};
use symbolon_pages::{ByLanguage, FieldKind, FormField, RegisterError};
use symbolon_protocol::attribute::{
    AttributeDefinition, AttributeSchema, AttributeType, AttributeValue, Attributes, Party,
};
use symbolon_protocol::email_address;
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::sign_in::registration::own_attributes;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{Profile, User};

/// The longest part of a name, in bytes.
const LONGEST_NAME: usize = 200;

/// Who wants an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Applicant {
    /// The address.
    pub(super) email: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    family_name: Option<String>,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub(super) attributes: Attributes,
}

impl Applicant {
    /// The user that the applicant becomes. The address is proven by then.
    pub(super) fn user(&self, id: UserId, now: Timestamp) -> User {
        let parts = [self.given_name.as_deref(), self.family_name.as_deref()];
        let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let profile = Profile {
            name: Some(name).filter(|name| !name.is_empty()),
            given_name: self.given_name.clone(),
            family_name: self.family_name.clone(),
            attributes: self.attributes.clone(),
            ..Profile::default()
        };
        User {
            id,
            email: Some(self.email.clone()),
            email_verified: true,
            profile: profile.into(),
            active: true,
            created_at: now,
            updated_at: now,
        }
    }
}

/// A form as it was typed.
#[derive(Default)]
pub(super) struct Typed {
    pub(super) email: String,
    pub(super) given_name: String,
    pub(super) family_name: String,
    pub(super) attributes: Vec<FormField>,
}

impl Typed {
    /// An empty form, for an address if one is known.
    pub(super) fn empty(schema: &AttributeSchema, email: &str) -> Self {
        let attributes = asked(schema).map(|definition| field(definition, String::new())).collect();
        Self { email: email.to_owned(), attributes, ..Self::default() }
    }

    /// What was typed.
    ///
    /// # Errors
    /// `invalid_request` if a field is repeated.
    pub(super) fn read(params: &Params<'_>, schema: &AttributeSchema) -> Result<Self, OAuthError> {
        let text = |name: &str| params.get(name).map(|text| text.unwrap_or_default().trim().to_owned());
        let mut attributes = Vec::new();
        for definition in asked(schema) {
            attributes.push(field(definition, text(&format!("attribute.{}", definition.name))?));
        }
        let (given_name, family_name) = (text("given_name")?, text("family_name")?);
        Ok(Self { email: text("email")?, given_name, family_name, attributes })
    }

    /// The applicant, if everything is as it must be.
    ///
    /// # Errors
    /// What is to be mended.
    pub(super) fn applicant(&self, schema: &AttributeSchema) -> Result<Applicant, RegisterError> {
        let email = email_address::typed(&self.email).ok_or(RegisterError::Email)?.to_owned();
        let mut attributes = Attributes::new();
        for definition in asked(schema) {
            let typed = self.attributes.iter().find(|field| field.name == definition.name.as_str());
            let typed = typed.map_or("", |field| field.value.as_str());
            let wrong = || RegisterError::Field(definition.name.to_string());
            if let Some(value) = value(definition.kind, typed).map_err(|()| wrong())? {
                attributes.insert(definition.name.clone(), value);
            }
            let one = own_attributes(&AttributeSchema::new(vec![definition.clone()]));
            let only = attributes.iter().filter(|(name, _)| **name == definition.name);
            let only = only.map(|(name, value)| (name.clone(), value.clone())).collect();
            one.check(&only, None, Party::Person).map_err(|_| wrong())?;
        }
        own_attributes(schema)
            .check(&attributes, None, Party::Person)
            .map_err(|error| RegisterError::Field(error.to_string()))?;
        Ok(Applicant {
            email,
            given_name: name(&self.given_name)?,
            family_name: name(&self.family_name)?,
            attributes,
        })
    }
}

/// The attributes that a form asks for: those that everybody must have, and write themselves.
fn asked(schema: &AttributeSchema) -> impl Iterator<Item = &AttributeDefinition> {
    let is_asked = |own: &&AttributeDefinition| own.required && own.writable_by.contains(&Party::Person);
    schema.definitions().iter().filter(is_asked)
}

fn field(definition: &AttributeDefinition, value: String) -> FormField {
    let kind = match definition.kind {
        AttributeType::String | AttributeType::List | AttributeType::Aggregated => FieldKind::Text,
        AttributeType::Number => FieldKind::Number,
        AttributeType::Boolean => FieldKind::Check,
        AttributeType::Date => FieldKind::Date,
    };
    // A box that is not ticked is an answer, too.
    let required = kind != FieldKind::Check;
    let label = ByLanguage::of(|language| Some(definition.label(language.tag()).to_owned()));
    FormField { name: definition.name.to_string(), label, kind, value, required }
}

/// The value of a typed text; `None` if nothing was typed. A list is typed with commas.
fn value(kind: AttributeType, typed: &str) -> Result<Option<AttributeValue>, ()> {
    match kind {
        AttributeType::Boolean => Ok(Some(AttributeValue::Boolean(typed == "true"))),
        _ if typed.is_empty() => Ok(None),
        AttributeType::List => {
            let items = typed.split(',').map(str::trim).filter(|item| !item.is_empty());
            Ok(Some(AttributeValue::List(items.map(str::to_owned).collect())))
        }
        _ => kind.value_of(typed).map(Some).map_err(|_| ()),
    }
}

/// A part of a name, which may be left out.
fn name(typed: &str) -> Result<Option<String>, RegisterError> {
    match typed {
        "" => Ok(None),
        text if text.len() > LONGEST_NAME || text.chars().any(char::is_control) => {
            Err(RegisterError::Field(text.chars().filter(|c| !c.is_control()).take(40).collect()))
        }
        text => Ok(Some(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> AttributeSchema {
        serde_json::from_str(
            r#"[{"name":"staff_number","type":"number","required":true},
                {"name":"team","type":"list","required":true,"writable_by":["person","administrator"]},
                {"name":"born","type":"date","required":true,"writable_by":["person","administrator"]},
                {"name":"news","type":"boolean","required":true,"writable_by":["person","administrator"]},
                {"name":"note","type":"string","writable_by":["person","administrator"]}]"#,
        )
        .unwrap()
    }

    fn typed(form: &str) -> Typed {
        Typed::read(&Params::parse(form.as_bytes()).unwrap(), &schema()).unwrap()
    }

    #[test]
    fn a_form_becomes_an_applicant_with_the_attributes_that_people_must_write() {
        let form = "email=+Ann%40Example.com&given_name=Ann&family_name=Smith&attribute.team=a,+b&attribute.born=2000-01-31\
                    &attribute.staff_number=7&attribute.note=x";
        let applicant = typed(form).applicant(&schema()).unwrap();
        let user = applicant.user(UserId::trusted("u1"), Timestamp::EPOCH);
        assert_eq!(
            (user.email.as_deref(), user.profile.name.as_deref()),
            (Some("Ann@Example.com"), Some("Ann Smith"))
        );
        let attributes = serde_json::to_string(&user.profile.attributes).unwrap();
        assert_eq!(attributes, r#"{"born":"2000-01-31","news":false,"team":["a","b"]}"#);
        assert!(user.email_verified && user.active);
        let json = serde_json::to_string(&applicant).unwrap();
        assert_eq!(serde_json::from_str::<Applicant>(&json).unwrap(), applicant);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let with = |more: &str| {
            let form = format!("email=a%40b.example&attribute.team=a&attribute.born=2000-01-31{more}");
            typed(&form).applicant(&schema()).err()
        };
        assert_eq!(with(""), None);
        let field = |name: &str| Some(RegisterError::Field(name.to_owned()));
        assert_eq!(typed("email=a").applicant(&schema()).err(), Some(RegisterError::Email));
        assert_eq!(typed("email=a%40b.c").applicant(&schema()).err(), field("team"));
        let date = "email=a%40b.c&attribute.team=a&attribute.born=yesterday";
        assert_eq!(typed(date).applicant(&schema()).err(), field("born"));
        assert_eq!(with("&given_name=a%0d%0aBcc:+x"), field("aBcc: x"));
        assert!(with(&format!("&family_name={}", "a".repeat(201))).is_some());
    }
}
