//! The attributes of users as the admin API reads and writes them: as an administrator, by the schema of the issuer.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use symbolon_app::audit::ChangedFields;
use symbolon_protocol::attribute::{
    AttributeChecker, AttributeError, AttributeFault, AttributeName, AttributeSchema, AttributeValue,
    Attributes, Party,
};
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;
use symbolon_store::port::{PageRequest, UserFilter};

use super::record::view;
use crate::call::Call;
use crate::error::{AdminError, Taken};
use crate::fields::{Fields, clipped};
use crate::operation::Parameter;

/// Whoever uses the admin API.
const BY: Party = Party::Administrator;

/// The member of a user, and the beginning of the query parameters that look for one.
const MEMBER: &str = "attributes";
const PREFIX: &str = "attribute.";

/// The filter for a listing.
pub(super) const BY_ATTRIBUTE: Parameter = Parameter {
    name: "attribute.{name}",
    kind: "string",
    about: "Exactly this value of a unique attribute, texts whatever their case.",
};

/// A user as administrators see them.
pub(crate) fn shown(user: &User, schema: &AttributeSchema) -> Map<String, Value> {
    let mut shown = view(user);
    if !user.profile.attributes.is_empty() {
        let visible = schema.shown_to(BY, &user.profile.attributes);
        let visible: Map<String, Value> =
            visible.map(|(name, value)| (name.to_string(), json!(value))).collect();
        match visible.is_empty() {
            true => drop(shown.remove(MEMBER)),
            false => drop(shown.insert(MEMBER.to_owned(), Value::Object(visible))),
        }
    }
    shown
}

/// What the audit log says of a change of a user, or of a new one (`before` is `None`). Of attributes that administrators may
/// not see it says only that they changed: administrators read the log.
pub(crate) fn changes(before: Option<&User>, after: &User, schema: &AttributeSchema) -> ChangedFields {
    let shown_before = before.map(|user| shown(user, schema)).unwrap_or_default();
    let changes = ChangedFields::between(&shown_before, &shown(after, schema));
    let none = Attributes::new();
    let (old, new) = (before.map_or(&none, |user| &user.profile.attributes), &after.profile.attributes);
    let names: BTreeSet<&AttributeName> = old.keys().chain(new.keys()).collect();
    let is_seen = |name: &AttributeName| schema.may_read(BY, name);
    let unseen = names.into_iter().filter(|name| !is_seen(name) && old.get(*name) != new.get(*name));
    unseen.fold(changes, |changes, name| changes.with_untold(format!("{MEMBER}.{name}")))
}

/// What the audit log says of a new user.
pub(crate) fn made(user: &User, has_password: bool, schema: &AttributeSchema) -> ChangedFields {
    let made = changes(None, user, schema);
    if has_password { made.with_untold("password") } else { made }
}

/// Refuses a change that names an attribute which administrators may neither see nor write. Otherwise whoever names its value
/// as it is would be let through, and could find it out by trying.
///
/// # Errors
/// 400 that names the attribute.
pub(super) fn refuse_unseen(
    document: &Map<String, Value>,
    schema: &AttributeSchema,
) -> Result<(), AdminError> {
    let Some(Value::Object(named)) = document.get(MEMBER) else { return Ok(()) };
    let definitions = named.keys().filter_map(|name| schema.definition(name));
    match definitions.into_iter().find(|own| !own.readable_by.contains(&BY) && !own.writable_by.contains(&BY))
    {
        Some(unseen) => {
            let error = AttributeError::One(unseen.name.clone(), AttributeFault::NotWritable(BY.plural()));
            Err(AdminError::invalid(error.to_string()))
        }
        None => Ok(()),
    }
}

/// Reads the member `attributes`; one that is `null` is absent. The schema is not asked yet.
///
/// # Errors
/// 400 that names the attribute.
pub(super) fn read(fields: &mut Fields) -> Result<Attributes, AdminError> {
    let object = fields.take::<Map<String, Value>>(MEMBER)?.unwrap_or_default();
    let given = object.into_iter().filter(|(_, value)| !value.is_null());
    given
        .map(|(name, value)| {
            let name = AttributeName::parse(&name)
                .map_err(|error| AdminError::invalid(format!("attributes.{}: {error}", clipped(&name))))?;
            match AttributeValue::try_from(value) {
                Ok(value) => Ok((name, value)),
                Err(fault) => Err(AdminError::invalid(format!("attributes.{name} {fault}"))),
            }
        })
        .collect()
}

/// Checks the attributes with which a user is written against the schema, and against those that are stored; `None` for a
/// new user.
///
/// # Errors
/// 400 that names the attribute and what mends it.
pub(crate) fn check(
    checker: &mut AttributeChecker<'_>,
    written: &Attributes,
    stored: Option<&Attributes>,
) -> Result<(), AdminError> {
    checker.check(written, stored, BY).map_err(|error| AdminError::invalid(error.to_string()))
}

/// Adds to a document that replaces a user's record the attributes that it cannot have from an administrator, unless it
/// names them.
pub(super) fn keep(document: &mut Map<String, Value>, stored: &Attributes, schema: &AttributeSchema) {
    for (name, value) in schema.kept_from(BY, stored) {
        let member = document.entry(MEMBER).or_insert(Value::Null);
        if member.is_null() {
            *member = Value::Object(Map::new());
        }
        if let Value::Object(own) = member {
            own.entry(name.as_str()).or_insert_with(|| json!(value));
        }
    }
}

/// The refusal of a new user, of whom something is taken: see [`taken`]. Whose id is there is told so, whatever else is
/// taken: it is the same user, who was created before.
///
/// # Errors
/// The store's.
pub(crate) async fn taken_of_new(
    call: &Call,
    id: &UserId,
    attributes: &Attributes,
) -> Result<AdminError, StoreError> {
    if call.app.store.user(call.id(), id).await?.is_some() {
        return Ok(AdminError::taken(Taken::Id, "there is a user of this id"));
    }
    taken(call, id, attributes).await
}

/// The refusal of a user because the e-mail address or the value of a unique attribute is another's.
///
/// # Errors
/// The store's: it is asked whose the values are.
pub(crate) async fn taken(
    call: &Call,
    id: &UserId,
    attributes: &Attributes,
) -> Result<AdminError, StoreError> {
    let settings = call.issuer.settings.load_full();
    for (name, value) in settings.attributes.unique(attributes) {
        let attribute = Some((name.clone(), value.clone()));
        let filter = UserFilter { attribute, ..UserFilter::default() };
        let page = PageRequest { page: 1, limit: 1, search: None };
        let found = call.app.store.list_users(call.id(), &filter, &page).await?;
        if found.items.iter().any(|holder| holder.id != *id) {
            let why =
                format!("attributes.{name} is unique, and another user has this value: give another one");
            return Ok(AdminError::taken(Taken::Attribute, why));
        }
    }
    Ok(AdminError::taken(Taken::Email, "there is another user of this e-mail address"))
}

/// The value that a query looks for by `attribute.NAME=VALUE`.
///
/// # Errors
/// 400 for more than one, for an attribute that is not unique or not shown to administrators, and for a text that is no
/// value of its type.
pub(super) fn wanted(call: &Call) -> Result<Option<(AttributeName, AttributeValue)>, AdminError> {
    let params = Params::parse(call.query.as_bytes())?;
    let mut named = params.iter().filter_map(|(name, text)| Some((name.strip_prefix(PREFIX)?, text)));
    let Some((name, text)) = named.next() else { return Ok(None) };
    if named.next().is_some() {
        return Err(AdminError::invalid("users are found by one attribute at a time"));
    }
    let settings = call.issuer.settings.load();
    let definition = settings.attributes.definition(name).filter(|it| it.readable_by.contains(&BY));
    let Some(definition) = definition.filter(|definition| definition.unique) else {
        let name = clipped(name);
        return Err(AdminError::invalid(format!(
            "attribute.{name}: users are found only by attributes that the issuer's schema makes unique and shows to \
             administrators"
        )));
    };
    match definition.kind.value_of(text) {
        Ok(value) => Ok(Some((definition.name.clone(), value))),
        Err(fault) => Err(AdminError::invalid(format!("attribute.{} {fault}", definition.name))),
    }
}
