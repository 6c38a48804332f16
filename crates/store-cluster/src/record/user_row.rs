//! A user as the database keeps it.

use symbolon_protocol::user::{PasswordHash, User};
use symbolon_store::StoreError;

use super::millis;
use super::text::{looked_up, looked_up_before, searched};
use crate::to_document;

/// The columns of a user.
pub(super) struct UserRow {
    pub(super) id: String,
    pub(super) email: Option<String>,
    pub(super) username: Option<String>,
    pub(super) verified: bool,
    pub(super) search: String,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) password: Option<PasswordHash>,
    pub(super) document: String,
    /// The address as records of before have it.
    pub(super) email_before: Option<String>,
}

impl UserRow {
    pub(super) fn of(user: &User, password: Option<PasswordHash>) -> Result<Self, StoreError> {
        let username = user.profile.preferred_username.as_deref();
        let names = [user.profile.name.as_deref(), user.email.as_deref(), username];
        let names = names.into_iter().flatten().fold(user.id.to_string(), |text, name| text + "\n" + name);
        Ok(Self {
            id: user.id.as_str().to_owned(),
            email: user.email.as_deref().map(looked_up),
            username: username.map(looked_up),
            verified: user.email_verified,
            search: searched(&names),
            created_at: millis(user.created_at),
            updated_at: millis(user.updated_at),
            password,
            document: to_document(user)?,
            email_before: user.email.as_deref().map(looked_up_before),
        })
    }
}
