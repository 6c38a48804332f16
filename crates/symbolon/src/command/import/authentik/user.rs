//! Users of authentik.

use serde_json::{Value, json};

use super::super::importer::Importer;
use super::super::record::{
    Entry, Fault, Object, Origin, Part, derived_id, hand_on_active, is_empty, set, take_text,
};
use super::group::Groups;
use super::{Row, keys_of};
use crate::command::CommandError;

/// Members that say nothing that matters here, or that the groups say.
const SILENT: [&str; 11] = [
    "date_joined",
    "last_login",
    "last_updated",
    "password_change_date",
    "path",
    "type",
    "is_superuser",
    "first_name",
    "last_name",
    "groups_obj",
    "avatar",
];

/// Attributes that authentik sets for itself.
const OWN: &str = "goauthentik.io/";

/// Gives a user to an importer.
pub(super) fn take(
    place: u64,
    row: Row,
    groups: &Groups,
    importer: &mut Importer<'_>,
) -> Result<(), CommandError> {
    let Row { key, mut members, .. } = row;
    let text = |member: &str| members.get(member).and_then(Value::as_str).unwrap_or_default();
    // Accounts of machines: outposts, service accounts.
    let kind = text("type").to_owned();
    if matches!(&*kind, "service_account" | "internal_service_account") || text("username") == "AnonymousUser"
    {
        importer.report.note_left_out(vec!["service account".to_owned()]);
        return Ok(());
    }
    let mut user = Object::new();
    for (theirs, ours) in [("username", "preferred_username"), ("name", "name"), ("email", "email")] {
        set(&mut user, ours, members.remove(theirs));
    }
    // What applications know the user by, in the order of authentik's modes of the subject.
    let uid = [take_text(&mut members, "uid"), take_text(&mut members, "uuid")].into_iter().flatten().next();
    // A number of the database could be the id of another user here.
    let id = uid.or_else(|| (!key.is_empty()).then(|| derived_id('u', &["authentik", &key])));
    set(&mut user, "id", id.map(Value::from));
    hand_on_active(&mut user, "is_active", members.remove("is_active"));
    // Django writes `!` and something where there is no usable password.
    let hash = take_text(&mut members, "password").filter(|hash| !hash.starts_with('!'));
    set(&mut user, "password_hash", hash.map(Value::from));
    let mut entry = Entry::new(place, Object::new());
    let mut named = keys_of(members.remove("groups").as_ref());
    named.extend(keys_of(members.remove("ak_groups").as_ref()));
    let (of_user, missing) = groups.of(&key, &named, &importer.structure);
    entry.groups = of_user;
    entry.parts.extend(missing.into_iter().map(|key| {
        Part::new("groups", Fault::from(format!("the group {key} is not in the file, or was not taken")))
    }));
    if let Some(Value::Object(attributes)) = members.remove("attributes") {
        read_attributes(attributes, &mut user, &mut entry);
    }
    SILENT.iter().for_each(|member| drop(members.remove(*member)));
    entry.left_out.extend(members.into_iter().filter(|(_, value)| !is_empty(value)).map(|(name, _)| name));
    entry.origin = Origin::of_user(place, &user);
    entry.user = Ok(user);
    importer.user(entry)
}

fn read_attributes(attributes: Object, user: &mut Object, entry: &mut Entry) {
    for (name, value) in attributes {
        match (&*name, value.get("locale").and_then(Value::as_str)) {
            ("settings", Some(locale)) => set(user, "locale", Some(json!(locale))),
            (name, _) if name == "settings" || name.starts_with(OWN) => {}
            (name, _) => entry.attribute(name, name, value.clone()),
        }
    }
}
