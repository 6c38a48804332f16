//! Users of a realm.

use serde_json::{Value, json};

use super::super::record::{
    Entry, Fault, Object, Origin, Part, derived_id, hand_on_active, is_empty, set, take_text,
};
use super::super::structure::Structure;
use super::credential;
use super::{Realm, named_roles};

/// Attributes that Keycloak's own scopes `profile` and `phone` release as these claims.
const CLAIMS: [(&str, &str); 11] = [
    ("middleName", "middle_name"),
    ("nickname", "nickname"),
    ("profile", "profile"),
    ("picture", "picture"),
    ("website", "website"),
    ("gender", "gender"),
    ("birthdate", "birthdate"),
    ("zoneinfo", "zoneinfo"),
    ("locale", "locale"),
    ("phoneNumber", "phone_number"),
    ("phoneNumberVerified", "phone_number_verified"),
];

/// Attributes that its scope `address` releases as these members of the claim.
pub(super) const ADDRESS: [(&str, &str); 6] = [
    ("formatted", "formatted"),
    ("street", "street_address"),
    ("locality", "locality"),
    ("region", "region"),
    ("postal_code", "postal_code"),
    ("country", "country"),
];

/// Members that say nothing that matters here.
const SILENT: [&str; 8] = [
    "createdTimestamp",
    "totp",
    "disableableCredentialTypes",
    "notBefore",
    "access",
    "origin",
    "self",
    "userProfileMetadata",
];

/// What stands in the list of users.
pub(super) enum Read {
    User(Box<Entry>),
    /// The account by which a client acts for itself.
    ServiceAccount {
        origin: Origin,
        has_roles: bool,
    },
}

/// Reads a user.
pub(super) fn read(place: u64, user: Value, realm: &mut Realm, structure: &Structure) -> Read {
    let Value::Object(mut exported) = user else {
        return Read::User(Box::new(Entry::unreadable(place, "not an object")));
    };
    let named = named_roles(&json!({
        "realmRoles": exported.remove("realmRoles"), "clientRoles": exported.remove("clientRoles"),
    }));
    if let Some(client) = take_text(&mut exported, "serviceAccountClientId") {
        let is_default = |(_, name): &(Option<String>, String)| name.starts_with("default-roles-");
        let has_roles = !named.iter().all(is_default);
        return Read::ServiceAccount {
            origin: Origin { place, id: client.clone(), name: client },
            has_roles,
        };
    }
    let username = take_text(&mut exported, "username");
    let mut entry = Entry::new(place, Object::new());
    let mut user = Object::new();
    let id = take_text(&mut exported, "id")
        .or_else(|| Some(derived_id('u', &[realm.name.as_str(), username.as_deref()?])));
    set(&mut user, "id", id.map(Value::from));
    set(&mut user, "preferred_username", username.map(Value::from));
    for (theirs, ours) in [
        ("email", "email"),
        ("emailVerified", "email_verified"),
        ("firstName", "given_name"),
        ("lastName", "family_name"),
    ] {
        set(&mut user, ours, exported.remove(theirs));
    }
    let names = ["given_name", "family_name"].iter().filter_map(|name| user.get(*name)?.as_str());
    let name = names.collect::<Vec<_>>().join(" ");
    set(&mut user, "name", Some(Value::from(name)));
    // In Keycloak a user of whom nothing is said is disabled.
    let enabled = exported.remove("enabled").filter(|said| !said.is_null());
    hand_on_active(&mut user, "enabled", Some(enabled.unwrap_or(Value::Bool(false))));
    if let Some(Value::Object(attributes)) = exported.remove("attributes") {
        read_attributes(attributes, &mut user, &mut entry);
    }
    let credentials = credential::read(exported.remove("credentials"));
    entry.left_out.extend(credentials.left_out);
    entry.origin = Origin::of_user(place, &user);
    give_groups(exported.remove("groups"), realm, structure, &mut entry);
    let given = realm.roles.given(named, structure);
    entry.parts.extend(given.parts());
    entry.roles = given.ids;
    SILENT.iter().for_each(|member| drop(exported.remove(*member)));
    entry.left_out.extend(exported.into_iter().filter(|(_, value)| !is_empty(value)).map(|(name, _)| name));
    entry.user = credentials.password.map(|password| {
        if let Some((member, value)) = password {
            user.insert(member.to_owned(), Value::from(value));
        }
        user
    });
    Read::User(Box::new(entry))
}

/// Reads attributes, each of which is a list of texts. Those that Keycloak releases as standard claims are claims here.
fn read_attributes(attributes: Object, user: &mut Object, entry: &mut Entry) {
    let mut address = Object::new();
    for (name, value) in attributes {
        let first = match &value {
            Value::Array(values) => values.first().and_then(Value::as_str),
            value => value.as_str(),
        };
        let claim = CLAIMS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
        let part = ADDRESS.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
        match (claim, part, first) {
            (Some("phone_number_verified"), _, Some(text)) => {
                user.insert("phone_number_verified".to_owned(), json!(text.eq_ignore_ascii_case("true")));
            }
            (Some(claim), _, Some(text)) => set(user, claim, Some(json!(text))),
            (None, Some(part), Some(text)) => set(&mut address, part, Some(json!(text))),
            _ => entry.attribute(&name, &name, value),
        }
    }
    if !address.is_empty() {
        user.insert("address".to_owned(), Value::Object(address));
    }
}

fn give_groups(paths: Option<Value>, realm: &Realm, structure: &Structure, entry: &mut Entry) {
    let Some(Value::Array(paths)) = paths else { return };
    for path in paths.iter().filter_map(Value::as_str) {
        match realm.groups.at(path).filter(|id| structure.has_group(id)) {
            Some(id) if entry.groups.iter().all(|own| own != id) => entry.groups.push(id.to_owned()),
            Some(_) => {}
            None => entry.parts.push(Part::new(
                "groups",
                Fault::new(
                    format!("the group {path} is not in the file, or was not taken"),
                    "name the file of the realm too, or create the group",
                ),
            )),
        }
    }
}
