//! The typed attributes of a user, as claims see them.

use super::source::Known;
use crate::user::User;

/// The attributes that a user has, by name.
pub(super) fn attributes(_user: &User) -> impl Iterator<Item = (&str, Known<'_>)> {
    std::iter::empty()
}

/// One attribute, if the user has it.
pub(super) fn attribute<'a>(user: &'a User, name: &str) -> Option<Known<'a>> {
    attributes(user).find(|(own, _)| *own == name).map(|(_, value)| value)
}
