//! What was proven first, while one factor more is asked for.

use serde::{Deserialize, Serialize};
use symbolon_crypto::encoding;
use symbolon_crypto::secret::SecretBytes;
use symbolon_protocol::id::{Sid, UserId};
use symbolon_protocol::session::{Amr, AuthenticationMethod, Session};
use symbolon_protocol::sign_in::totp::TotpSecret;
use symbolon_protocol::sign_in::{Factor, Proven, Step};
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

/// What a person has proven, in a sign-in that needs one factor more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FirstFactor {
    /// Who it is.
    pub(super) user: UserId,
    /// When it was proven.
    pub(super) at: Timestamp,
    /// How, and what must not change meanwhile.
    #[serde(flatten)]
    pub(super) proof: Proof,
    /// The name under which a generator shows the account.
    pub(super) login_name: String,
    /// The secret of a generator that is being set up, base64url.
    new_secret: Option<String>,
    /// Which factors are taken. Earlier versions took codes.
    #[serde(default)]
    pub(super) takes: Takes,
}

/// How the first factor was proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Proof {
    /// A password was right.
    Password {
        /// The digest of its hash as stored.
        hash: String,
    },
    /// A code came back that was sent by e-mail.
    EmailCode {
        /// The address that it was sent to, as login names are compared.
        address: String,
    },
    /// Another provider said who it is.
    Identity {
        /// The provider's key.
        provider: String,
        /// Its `sub`.
        subject: String,
    },
    /// The browser has a session, in which more is to be proven.
    Session {
        /// Its public id.
        sid: Sid,
        /// What was proven in it.
        amr: Amr,
    },
}

/// Which factors a page takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Takes {
    /// A code: of a generator, or a recovery code.
    pub(super) code: bool,
    /// A passkey.
    pub(super) passkey: bool,
}

impl Default for Takes {
    fn default() -> Self {
        Self { code: true, passkey: false }
    }
}

impl Takes {
    /// The factors of a list.
    pub(super) fn of(ways: &[Factor]) -> Self {
        let passkey = ways.iter().any(|way| matches!(way, Factor::Passkey { .. }));
        let code = ways.iter().any(|way| matches!(way, Factor::Totp | Factor::RecoveryCode));
        Self { code, passkey }
    }

    /// The factors of a step; where a generator is set up, its code.
    pub(super) fn of_step(step: &Step) -> Self {
        match step {
            Step::Prove(ways) => Self::of(ways),
            _ => Self::default(),
        }
    }
}

fn name_of(user: &User) -> String {
    let name = user.email.as_deref().or(user.profile.preferred_username.as_deref());
    name.unwrap_or(user.id.as_str()).to_owned()
}

impl FirstFactor {
    /// Something that is proven now. `new_secret`: of a generator that is to be set up.
    pub(super) fn new(
        user: &User,
        proof: Proof,
        at: Timestamp,
        (takes, new_secret): (Takes, Option<&TotpSecret>),
    ) -> Self {
        Self {
            user: user.id.clone(),
            at,
            proof,
            login_name: name_of(user),
            new_secret: new_secret.map(|secret| encoding::encode(secret.expose())),
            takes,
        }
    }

    /// A session in which more is to be proven now.
    pub(super) fn of_session(session: &Session, takes: Takes, now: Timestamp) -> Self {
        Self {
            user: session.user.clone(),
            at: now,
            proof: Proof::Session { sid: session.sid.clone(), amr: session.amr },
            login_name: String::new(),
            new_secret: None,
            takes,
        }
    }

    /// Whether it is this session.
    pub(super) fn is_session(&self, wanted: &Session) -> bool {
        matches!(&self.proof, Proof::Session { sid, .. } if *sid == wanted.sid)
    }

    /// The key of the provider that said who it is, if one did.
    pub(super) fn identity_provider(&self) -> Option<&str> {
        match &self.proof {
            Proof::Identity { provider, .. } => Some(provider),
            Proof::Password { .. } | Proof::EmailCode { .. } | Proof::Session { .. } => None,
        }
    }

    /// Whether it is a session, so that one factor more is only asked for because the client would like it.
    pub(super) fn is_voluntary(&self) -> bool {
        matches!(self.proof, Proof::Session { .. })
    }

    /// The factors.
    pub(super) fn proven(&self) -> Proven {
        match &self.proof {
            Proof::Password { .. } => Proven::by(Factor::Password, self.at),
            Proof::Identity { .. } => Proven::by(Factor::IdentityProvider, self.at),
            Proof::EmailCode { .. } => Proven::by(Factor::EmailCode, self.at),
            Proof::Session { amr, .. } => {
                let factors = [
                    (AuthenticationMethod::Pwd, Factor::Password),
                    (AuthenticationMethod::Otp, Factor::EmailCode),
                    (AuthenticationMethod::Federated, Factor::IdentityProvider),
                    (AuthenticationMethod::Swk, Factor::Passkey { is_synced: true }),
                    (AuthenticationMethod::Hwk, Factor::Passkey { is_synced: false }),
                ];
                let had = factors.into_iter().filter(|(method, _)| amr.contains(*method));
                had.fold(Proven::default(), |proven, (_, factor)| proven.and(factor, self.at))
            }
        }
    }

    /// The secret of a generator that is being set up.
    pub(super) fn new_secret(&self) -> Option<TotpSecret> {
        let secret = encoding::decode(self.new_secret.as_deref()?).ok()?;
        Some(TotpSecret::from_bytes(SecretBytes::new(secret)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A node of the version before may have sealed it.
    #[test]
    fn what_earlier_versions_sealed_is_a_password() {
        let sealed = json!({ "user": "u1", "at": 5, "hash": "h", "login_name": "ann", "new_secret": null });
        let first: FirstFactor = serde_json::from_value(sealed).unwrap();
        assert_eq!(first.proof, Proof::Password { hash: "h".into() });
        assert!(first.takes.code && !first.takes.passkey);
        let written = json!(first);
        assert_eq!(serde_json::from_value::<FirstFactor>(written).unwrap(), first);
    }

    #[test]
    fn a_session_brings_what_was_proven_in_it() {
        let amr = Amr::of(AuthenticationMethod::Pwd).with(AuthenticationMethod::Device);
        let first = FirstFactor {
            user: UserId::trusted("u1"),
            at: Timestamp::EPOCH,
            proof: Proof::Session { sid: Sid::trusted("s"), amr },
            login_name: String::new(),
            new_secret: None,
            takes: Takes::default(),
        };
        let proven = first.proven().and(Factor::Totp, Timestamp::EPOCH);
        let amr: Vec<_> = proven.amr().iter().map(AuthenticationMethod::as_str).collect();
        assert_eq!(amr, ["pwd", "otp", "mfa"]);
        assert_eq!(serde_json::from_value::<FirstFactor>(json!(first)).unwrap(), first);
    }
}
