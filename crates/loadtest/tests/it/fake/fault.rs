//! What the fake can do wrong.

/// What the provider does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    State,
    Issuer,
    LoginRequired,
    Subject,
    Scope,
    Audience,
    Actor,
    Inactive,
    NotRotated,
    Unavailable,
    /// Takes expired tokens.
    Expired,
    /// Takes revoked tokens.
    Revoked,
    /// Does not look at signatures.
    Signature,
    /// Takes tokens that are meant for somebody else.
    OtherAudience,
    /// Takes tokens of clients that do not exist.
    OtherClient,
    /// Tokens outlive what they came from.
    Outlives,
    /// Names another actor before the one who acts.
    Chain,
    /// Knows no password.
    LoginRefused,
    /// Asks for consent.
    Consent,
    /// ID tokens of another request.
    Nonce,
    /// Publishes another key set.
    Keys(&'static str),
    /// Has no test endpoints.
    NoTestEndpoints,
    /// Its admin API has enough of it.
    AdminLimited,
    /// Refuses tokens in words of its own.
    OtherError,
    /// UserInfo is of somebody else in one of so many answers.
    SubjectOnceIn(u64),
    /// UserInfo waits for the end of the first 200 ms of every second.
    Stall,
    /// Names somebody else in this member of an introspection.
    Told(&'static str),
    /// Tokens have ended when they are issued.
    Ended,
    /// One of so many codes is that of the request before.
    CodeOnceIn(u64),
    /// Sign-in codes without digits.
    NoDigits,
    /// Signs somebody else in.
    OtherAccount,
    /// Signs in without a session.
    NoSession,
    /// Wants the passkey of somebody else.
    OtherCredential,
    /// With each UserInfo some memory and an open file are gone for good.
    Leaks,
    /// UserInfo takes a millisecond of processor time more.
    Spins,
    /// Does not end with whoever started it.
    Stays,
    /// Announces these grants.
    Grants(&'static [&'static str]),
}
