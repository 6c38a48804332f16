//! The variables of an expression: `user`, `groups`, `roles`, `client` and `scope`.
//!
//! The interpreter asks for a variable when it meets its name, `user.email` by that whole name. So a text is borrowed
//! from the record, and nothing else of the record is looked at. Lists are made once, and only those that are named.

use std::collections::HashMap;

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelString};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;

use super::bounds::Uses;
use super::set::ClaimInput;
use super::source::{Known, standard_claims, standard_value};
use crate::user::User;
use crate::user_claims::role_names;

/// The variables for the claims of one token.
pub(super) struct Variables<'a> {
    input: ClaimInput<'a>,
    groups: Option<CelList<'a>>,
    roles: Option<CelList<'a>>,
    scope: Option<CelList<'a>>,
    whole_user: Option<CelMap<'a>>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(input: ClaimInput<'a>) -> Self {
        Self { input, groups: None, roles: None, scope: None, whole_user: None }
    }

    pub(super) fn input(&self) -> ClaimInput<'a> {
        self.input
    }

    /// Makes the lists that an expression names, if an earlier one did not.
    pub(super) fn prepare(&mut self, uses: Uses) {
        let ClaimInput { token, records, roles_of, .. } = self.input;
        let held = records.entitlements.as_deref();
        if uses.groups && self.groups.is_none() {
            let groups = held.into_iter().flat_map(|held| &held.groups);
            self.groups = Some(list(groups.map(|group| group.name.as_str())));
        }
        if uses.roles && self.roles.is_none() {
            self.roles = Some(list(held.into_iter().flat_map(|held| role_names(held, roles_of))));
        }
        if uses.user_in_loop && self.whole_user.is_none() {
            self.whole_user = Some(self.made_whole_user());
        }
        if uses.scope && self.scope.is_none() {
            self.scope = Some(list(token.scope.iter()));
        }
    }

    fn user(&self) -> Option<&'a User> {
        self.input.records.user.as_deref()
    }

    /// Everything of the user, for a look by a computed name, for `has(user.NAME)`, and for a name that the user has not.
    fn made_whole_user(&self) -> CelMap<'a> {
        let mut members: HashMap<CelMapKey<'a>, Box<dyn Val + 'a>> = HashMap::new();
        members.insert(CelMapKey::from("id"), Box::new(CelString::from(self.input.token.sub.as_str())));
        if let Some(user) = self.user() {
            for name in standard_claims() {
                if let Some(value) = standard_value(user, name) {
                    members.insert(CelMapKey::from(name), boxed(value));
                }
            }
        }
        members.insert(CelMapKey::from("attributes"), Box::new(self.attributes()));
        CelMap::from(members)
    }

    fn attributes(&self) -> CelMap<'a> {
        let known = self.input.attributes;
        let all = self.user().into_iter().flat_map(|user| known.of_user(user));
        let members: HashMap<CelMapKey<'a>, Box<dyn Val + 'a>> =
            all.map(|(name, value)| (CelMapKey::from(name), boxed(value))).collect();
        CelMap::from(members)
    }

    /// A member of `user` by its name.
    fn member(&self, name: &str) -> Option<Box<dyn Val + 'a>> {
        if name == "id" {
            return Some(Box::new(CelString::from(self.input.token.sub.as_str())));
        }
        let user = self.user()?;
        let value = match name.strip_prefix("attributes.") {
            Some(name) => self.input.attributes.one_of_user(user, name),
            None => standard_value(user, name),
        };
        value.map(boxed)
    }
}

impl VariableResolver for Variables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        match variable {
            "groups" => listed(&self.groups),
            "roles" => listed(&self.roles),
            "scope" => listed(&self.scope),
            "client.id" => Some(CowVal::owned(CelString::from(self.input.token.client_id.as_str()))),
            "user" => match &self.whole_user {
                Some(whole) => Some(CowVal::Borrowed(whole as &'b (dyn Val + 'b))),
                None => Some(CowVal::owned(self.made_whole_user())),
            },
            "user.attributes" => Some(CowVal::owned(self.attributes())),
            _ => self.member(variable.strip_prefix("user.")?).map(CowVal::Owned),
        }
    }
}

fn listed<'b>(list: &'b Option<CelList<'b>>) -> Option<CowVal<'b, 'b>> {
    list.as_ref().map(|list| CowVal::Borrowed(list as &'b (dyn Val + 'b)))
}

fn list<'a>(texts: impl Iterator<Item = &'a str>) -> CelList<'a> {
    CelList::from(texts.map(|text| boxed(Known::Text(text))).collect::<Vec<_>>())
}

fn boxed<'a>(value: Known<'a>) -> Box<dyn Val + 'a> {
    match value {
        Known::Text(text) => Box::new(CelString::from(text)),
        Known::Number(number) => Box::new(CelInt::from(number)),
        Known::Decimal(number) => Box::new(CelDouble::from(number)),
        Known::Flag(flag) => Box::new(CelBool::from(flag)),
        Known::Texts(texts) => Box::new(list(texts.into_iter())),
    }
}
