//! Why a password could not be hashed, or a hash not be used.

/// The forms that are taken, for whoever sent another one.
const FORMS: &str = "taken are Argon2 ($argon2id$...), bcrypt ($2b$...), PBKDF2 ($pbkdf2-sha256$..., \
                     pbkdf2_sha256$..., ASP.NET Identity's base64), scrypt ($scrypt$..., $firebase-scrypt$...), \
                     sha-crypt ($5$..., $6$...) and salted SHA ({SSHA}..., {SSHA256}..., {SSHA512}...)";

/// Why a password could not be hashed or a hash not be used. No error repeats anything of the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// It begins like no form that is known.
    #[error("not a form of password hash that is known here; {}", FORMS)]
    UnsupportedHash,
    /// It begins like the named form, but is not one: cut off, or with something changed.
    #[error("not a whole {0}")]
    MalformedHash(&'static str),
    /// A digest without a salt.
    #[error(
        "a digest without a salt is not taken: from a copy of it, most passwords can be looked up in a table. Give the \
         user a new password"
    )]
    Unsalted,
    /// Longer than any hash is.
    #[error("longer than {} bytes, which no password hash is", super::limits::TEXT)]
    TooLong,
    /// The costs are outside what the function or this server allows; with what is allowed.
    #[error("the costs are out of bounds: {0}")]
    Costs(&'static str),
    /// The library failed, for lack of memory for example.
    #[error("the password could not be hashed")]
    Failed,
}
