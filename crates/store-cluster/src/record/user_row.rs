//! A user as the database stores it.

use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::StoreError;
use symbolon_store::columns::UserColumns;

use super::text::TEXT_FORM;

/// The columns of a user, with the hash of the password.
pub(super) struct UserRow {
    pub(super) columns: UserColumns,
    pub(super) password: Option<PasswordHash>,
}

impl UserRow {
    pub(super) fn of(user: &User, password: Option<PasswordHash>) -> Result<Self, StoreError> {
        Ok(Self { columns: UserColumns::of(user, TEXT_FORM)?, password })
    }

    /// As [`UserColumns::spelled_as_before`].
    pub(super) fn spelled_as_before(self) -> Self {
        Self { columns: self.columns.spelled_as_before(), password: self.password }
    }
}

impl std::ops::Deref for UserRow {
    type Target = UserColumns;

    fn deref(&self) -> &UserColumns {
        &self.columns
    }
}
