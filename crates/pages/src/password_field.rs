//! The field for a new password, and what is wrong with what a person chose.

use crate::Texts;

/// Whether a page that opens an account asks for a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewPassword {
    /// It does not: passwords are no way to sign in.
    NotAsked,
    /// The person may leave it out, and sign in by what is mailed.
    Optional,
    /// It must be chosen.
    Required,
}

impl NewPassword {
    pub(crate) fn is_asked(self) -> bool {
        self != Self::NotAsked
    }

    pub(crate) fn is_required(self) -> bool {
        self == Self::Required
    }
}

/// Why a password was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordFault {
    /// It has too few characters.
    TooShort,
    /// It is too long.
    TooLong,
    /// It is one of the most common passwords.
    Common,
    /// It stands in a list of passwords that were stolen.
    Breached,
    /// It is the person's own name or address.
    OwnName,
}

impl PasswordFault {
    pub(crate) fn text(self, texts: &Texts) -> String {
        let text = match self {
            Self::TooShort => texts.password_too_short,
            Self::TooLong => texts.password_too_long,
            Self::Common => texts.password_common,
            Self::Breached => texts.password_breached,
            Self::OwnName => texts.password_own_name,
        };
        text.into()
    }
}
