//! Whether a user can still sign in when one way is taken away.

use smol_str::SmolStr;

use super::Identity;
use crate::settings::IssuerSettings;
use crate::sign_in::method::{SignInMethod, SignInMethods};

/// The ways of signing in that an issuer offers besides mail. Who can sign in by a code or a link needs none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedWays {
    /// Passwords.
    pub password: bool,
    /// Passkeys.
    pub passkey: bool,
    /// The keys of the providers by which people may sign in.
    pub providers: Vec<SmolStr>,
}

/// What a user has after the change.
#[derive(Clone, Copy, Debug)]
pub struct HeldWays<'a> {
    /// Whether there is a password.
    pub password: bool,
    /// Whether there is a passkey.
    pub passkey: bool,
    /// The identities.
    pub identities: &'a [Identity],
}

impl OfferedWays {
    /// What an issuer offers. `methods`: those on its pages.
    pub fn of(settings: &IssuerSettings, methods: SignInMethods) -> Self {
        let enabled = settings.identity_providers.iter().filter(|own| own.enabled);
        Self {
            password: methods.offer(SignInMethod::Password),
            passkey: methods.offer(SignInMethod::Passkey),
            providers: enabled.map(|own| own.key.clone()).collect(),
        }
    }

    /// Whether a user who has these can sign in.
    pub fn let_in(&self, held: HeldWays<'_>) -> bool {
        (self.password && held.password)
            || (self.passkey && held.passkey)
            || held.identities.iter().any(|identity| self.providers.contains(&identity.provider))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::provider;
    use super::*;
    use crate::id::UserId;
    use crate::identity_provider::IdentityProvider;
    use crate::time::Timestamp;

    const NOTHING: HeldWays<'_> = HeldWays { password: false, passkey: false, identities: &[] };

    #[test]
    fn only_what_is_offered_lets_in() {
        let off = IdentityProvider { key: "k2".into(), enabled: false, ..provider() };
        let settings =
            IssuerSettings { identity_providers: vec![provider(), off], ..IssuerSettings::default() };
        let of = |methods: Vec<SignInMethod>| OfferedWays::of(&settings, methods.try_into().unwrap());
        let identity = |provider: &str| Identity {
            provider: provider.into(),
            subject: "s".to_owned(),
            user: UserId::trusted("ann"),
            label: None,
            linked_at: Timestamp::EPOCH,
        };
        let (on, off) = ([identity("k1")], [identity("k2"), identity("gone")]);
        let mail = of(vec![SignInMethod::EmailCode]);
        let (password, passkey) = (of(vec![SignInMethod::Password]), of(vec![SignInMethod::Passkey]));
        for (offered, held, lets_in) in [
            (&password, NOTHING, false),
            (&password, HeldWays { password: true, ..NOTHING }, true),
            (&passkey, HeldWays { password: true, ..NOTHING }, false),
            (&passkey, HeldWays { passkey: true, ..NOTHING }, true),
            (&password, HeldWays { passkey: true, ..NOTHING }, false),
            (&mail, HeldWays { password: true, passkey: true, ..NOTHING }, false),
            (&mail, HeldWays { identities: &on, ..NOTHING }, true),
            (&mail, HeldWays { identities: &off, ..NOTHING }, false),
        ] {
            assert_eq!(offered.let_in(held), lets_in, "{offered:?} {held:?}");
        }
    }
}
