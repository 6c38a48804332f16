//! Domain events: a closed list, used by metrics and the audit log.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::id::{ClientId, UserId};
use crate::json::Object;
use crate::time::Timestamp;

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident => $name:literal, $audited:literal;)*) => {
        /// The kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Event {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Event {
            /// Every event, in the order of the discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in metrics and in the audit log.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Whether it is written to the audit log; other events are only counted.
            pub const fn audited(self) -> bool {
                match self { $(Self::$variant => $audited,)* }
            }
        }
    };
}

events! {
    /// A user signed in.
    SignedIn => "session.signed_in", true;
    /// A login name, password or sign-in code was refused.
    SignInFailed => "session.sign_in_failed", true;
    /// A user added a passkey.
    PasskeyAdded => "passkey.added", true;
    /// A user gave a passkey another name.
    PasskeyRenamed => "passkey.renamed", true;
    /// A user removed a passkey.
    PasskeyRemoved => "passkey.removed", true;
    /// A user set up a generator of time-based one-time passwords.
    TotpAdded => "totp.added", true;
    /// A user removed the generator of time-based one-time passwords, with the recovery codes.
    TotpRemoved => "totp.removed", true;
    /// A user got new recovery codes in place of the others.
    RecoveryCodesDrawn => "recovery_code.drawn", true;
    /// A user signed in with a recovery code, which is used up.
    RecoveryCodeUsed => "recovery_code.used", true;
    /// A user who forgot the password set a new one, by a link sent to the account's address.
    PasswordReset => "password.reset", true;
    /// A user proved an address and made it the account's.
    EmailProven => "email.proven", true;
    /// An address went to the user who proved it, from an account that had named it unproven.
    EmailClaimLost => "email.claim_lost", true;
    /// An admin invited somebody.
    InvitationMade => "invitation.made", true;
    /// An admin withdrew an invitation.
    InvitationWithdrawn => "invitation.withdrawn", true;
    /// A session ended before its time.
    SessionEnded => "session.ended", true;
    /// An admin made a session.
    SessionCreated => "session.created", true;
    /// A user allowed a client something.
    ConsentGranted => "consent.granted", true;
    /// A user refused consent.
    ConsentDenied => "consent.denied", true;
    /// A client's first grant in a session.
    GrantBegun => "grant.begun", true;
    /// A grant ended early, because its consent was withdrawn or the user was signed out everywhere.
    GrantEnded => "grant.ended", true;
    /// A code was presented a second time.
    CodeReplayed => "code.replayed", true;
    /// A refresh-token family began.
    FamilyBegun => "refresh_token.begun", true;
    /// A refresh-token family ended before its time.
    FamilyEnded => "refresh_token.ended", true;
    /// A rotated refresh token was presented again.
    RefreshTokenReused => "refresh_token.reused", true;
    /// A token was revoked.
    TokenRevoked => "token.revoked", true;
    /// A client was created.
    ClientCreated => "client.created", true;
    /// A client was changed.
    ClientUpdated => "client.updated", true;
    /// A client was deleted.
    ClientDeleted => "client.deleted", true;
    /// An admin made a token with which applications register themselves.
    InitialAccessTokenMade => "initial_access_token.made", true;
    /// A user was created.
    UserCreated => "user.created", true;
    /// A user was changed.
    UserUpdated => "user.updated", true;
    /// A user was deleted.
    UserDeleted => "user.deleted", true;
    /// Passkeys or second factors of a user were removed by an administrator.
    AuthenticatorsRemoved => "user.authenticators_removed", true;
    /// Another provider was added by which people sign in.
    IdentityProviderCreated => "identity_provider.created", true;
    /// A provider by which people sign in was changed.
    IdentityProviderUpdated => "identity_provider.updated", true;
    /// A provider by which people sign in was deleted, and everybody disconnected from it.
    IdentityProviderDeleted => "identity_provider.deleted", true;
    /// A user was connected with who they are to another provider.
    IdentityLinked => "identity.linked", true;
    /// A user was disconnected from another provider.
    IdentityUnlinked => "identity.unlinked", true;
    /// A group was created.
    GroupCreated => "group.created", true;
    /// A group was changed.
    GroupUpdated => "group.updated", true;
    /// A group was deleted.
    GroupDeleted => "group.deleted", true;
    /// A user was put into a group.
    MemberAdded => "group.member_added", true;
    /// A user was taken out of a group.
    MemberRemoved => "group.member_removed", true;
    /// A role was created.
    RoleCreated => "role.created", true;
    /// A role was changed.
    RoleUpdated => "role.updated", true;
    /// A role was deleted.
    RoleDeleted => "role.deleted", true;
    /// A role was given to a user or group.
    RoleGiven => "role.given", true;
    /// A role was taken from a user or group.
    RoleTaken => "role.taken", true;
    /// A setting was changed.
    SettingsUpdated => "settings.updated", true;
    /// The number of shards was changed.
    ShardsChanged => "shards.changed", true;
    /// A signing key was made.
    KeyCreated => "key.created", true;
    /// A signing key became active in place of another.
    KeyRotated => "key.rotated", true;
    /// A signing key was revoked.
    KeyRevoked => "key.revoked", true;
    /// An issuer was created.
    IssuerCreated => "issuer.created", true;
    /// The issuers' secrets and keys were sealed under another master key.
    KeysResealed => "keys.resealed", true;
    /// A backup was made.
    BackupMade => "backup.made", true;
    /// The store takes no more writes, because it is being moved to another back-end.
    MigrationBegun => "migration.begun", true;
    /// The store was moved: no server starts on it any more.
    MigrationFinished => "migration.finished", true;
    /// The store may take writes again.
    MigrationLifted => "migration.lifted", true;
    /// An admin put a mail into the queue.
    MailQueued => "mail.queued", true;
    /// A mail was handed over to the server of mail.
    MailSent => "mail.sent", true;
    /// A mail could not be handed over and waits for another attempt.
    MailPostponed => "mail.postponed", true;
    /// A mail will not be sent.
    MailGivenUp => "mail.given_up", true;
    /// A client took a logout token.
    LogoutDelivered => "logout.delivered", true;
    /// A client will not be told of the end of a session.
    LogoutGivenUp => "logout.given_up", true;
    /// All users were read with the hashes of their passwords.
    PasswordHashesExported => "user.password_hashes_exported", true;
    /// All clients were read with the digests of their secrets.
    SecretDigestsExported => "client.secret_digests_exported", true;
    /// Somebody called the admin API with a wrong secret.
    AdminRefused => "admin.refused", true;
    /// A request was refused. Under a flood only some have records.
    RequestRefused => "request.refused", true;
    /// Silent authentication issued a code.
    SilentAuthentication => "authorize.silent", false;
    /// A code was redeemed.
    CodeRedeemed => "code.redeemed", false;
    /// A refresh token was rotated.
    RefreshTokenRotated => "refresh_token.rotated", false;
    /// A refresh whose answer was lost got the same refresh token again.
    RefreshTokenRetried => "refresh_token.retried", false;
    /// A client obtained a token for itself.
    ClientCredentialsGranted => "client_credentials.granted", false;
    /// A client could not be told of the end of a session yet.
    LogoutPostponed => "logout.postponed", false;
    /// A client was told that somebody has decided what it asked for (CIBA Core 10.2).
    CibaPingDelivered => "ciba.ping_delivered", false;
    /// A client could not be told of a decision, and is called again.
    CibaPingPostponed => "ciba.ping_postponed", false;
    /// A client is not told of a decision any more.
    CibaPingGivenUp => "ciba.ping_given_up", false;
    /// A token was exchanged.
    TokenExchanged => "token.exchanged", false;
    /// A client obtained a token for a user by an assertion of a trusted issuer.
    JwtBearerGranted => "jwt_bearer.granted", true;
    /// A client obtained an ID-JAG, an assertion about a user for another domain.
    IdJagIssued => "id_jag.issued", true;
}

impl Event {
    /// The events of refused requests: the detail of their records has a reason
    /// ([`Refusal::of_members`](crate::refusal::Refusal::of_members)).
    pub const REFUSALS: [Self; 2] = [Self::RequestRefused, Self::SignInFailed];
}

/// A record of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// The time of the event.
    pub at: Timestamp,
    /// The kind of event.
    pub event: Event,
    /// The user that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// The client that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientId>,
    /// Who caused it: `user`, `client`, `admin`, `system` or `anonymous`.
    pub actor: SmolStr,
    /// The address that the request came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<SmolStr>,
    /// The request's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Further details; never secrets or tokens.
    #[serde(skip_serializing_if = "serde_json::Value::is_null", default)]
    pub detail: serde_json::Value,
}

impl AuditRecord {
    /// Appends the record to `json`, in the same form as its [`Serialize`] implementation.
    #[must_use]
    pub fn append_to(&self, json: Vec<u8>) -> Vec<u8> {
        let Self { at, event, user, client, actor, address, request, detail } = self;
        let mut json = Object::after(json);
        json.number("at", at.millis());
        json.text("event", event.name());
        json.optional_text("user", user.as_ref().map(UserId::as_str));
        json.optional_text("client", client.as_ref().map(ClientId::as_str));
        json.text("actor", actor);
        json.optional_text("address", address.as_deref());
        json.optional_text("request", request.as_deref());
        json.optional_value("detail", (!detail.is_null()).then_some(detail));
        json.end()
    }
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_record_is_written_as_its_serializer_has_it(
            at: u32,
            event in proptest::sample::select(Event::ALL),
            ids in (option::of("[!-~]{1,30}"), option::of("[!-~]{1,30}")),
            texts in (any::<String>(), option::of(any::<String>()), option::of(any::<String>())),
            detail in option::of(any::<String>()),
        ) {
            let record = AuditRecord {
                at: Timestamp::from_seconds(at.into()),
                event,
                user: ids.0.and_then(|id| UserId::parse(&id).ok()),
                client: ids.1.and_then(|id| ClientId::parse(&id).ok()),
                actor: texts.0.into(),
                address: texts.1.map(SmolStr::from),
                request: texts.2,
                detail: detail.map_or(serde_json::Value::Null, |text| serde_json::json!({ "text": text })),
            };
            let written = record.append_to(b"before\n".to_vec());
            prop_assert_eq!(String::from_utf8(written), Ok(format!("before\n{}", serde_json::to_string(&record).unwrap())));
        }
    }
}
