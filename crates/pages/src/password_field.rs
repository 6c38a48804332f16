//! What is wrong with a password that a person chose.

use crate::Texts;

/// Why a password was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordFault {
    /// It has too few characters.
    TooShort,
    /// It is too long.
    TooLong,
    /// It is one of the most common passwords.
    Common,
    /// It is the person's own name or address.
    OwnName,
}

impl PasswordFault {
    pub(crate) fn text(self, texts: &Texts) -> String {
        let text = match self {
            Self::TooShort => texts.password_too_short,
            Self::TooLong => texts.password_too_long,
            Self::Common => texts.password_common,
            Self::OwnName => texts.password_own_name,
        };
        text.into()
    }
}
