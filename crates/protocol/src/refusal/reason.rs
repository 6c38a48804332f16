//! Why requests are refused: what is asked of a reason. The reasons themselves stand in the table.

macro_rules! reasons {
    ($($area:ident { $($variant:ident $name:literal $cause:literal $mend:literal;)* })*) => {
        /// Why a request was refused. Never sent to whoever made the request: what a client or a person is told is an
        /// [`OAuthError`](crate::error::OAuthError) or a page, which often says less on purpose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Reason {
            $($(#[doc = $cause] #[serde(rename = $name)] $variant,)*)*
        }

        impl Reason {
            /// Every reason, in the order of the discriminants.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The name in the request log, the audit log and the admin API.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            /// The part of the protocol in which it occurs.
            pub const fn area(self) -> Area {
                match self { $($(Self::$variant => Area::$area,)*)* }
            }

            /// What went wrong, in one sentence.
            pub const fn cause(self) -> &'static str {
                match self { $($(Self::$variant => $cause,)*)* }
            }

            /// What to do about it.
            pub const fn mend(self) -> &'static str {
                match self { $($(Self::$variant => $mend,)*)* }
            }
        }
    };
}

mod table;

pub use table::Reason;

impl Reason {
    /// Whether it belongs to the everyday life of applications that work: a silent request of somebody who is not
    /// signed in, a token that has just expired, a mistyped password. Such refusals are many, so fewer of them are kept.
    pub const fn is_routine(self) -> bool {
        matches!(
            self,
            Self::SessionMissing
                | Self::AccountNotSelected
                | Self::ConsentMissing
                | Self::SignInTooOld
                | Self::UserRefused
                | Self::PasswordWrong
                | Self::SecondFactorWrong
                | Self::EmailCodeWrong
                | Self::EmailCodeExpired
                | Self::DevicePending
                | Self::DeviceSlowDown
                | Self::DeviceRefused
                | Self::CibaPending
                | Self::CibaSlowDown
                | Self::CibaRefused
                | Self::TokenExpired
                | Self::TokenMissing
                | Self::DpopNonceMissing
                | Self::SignInFormExpired
                | Self::PageFormExpired
        )
    }

    /// Whether the client that the refusal names may not be registered: the request was refused before its client was
    /// looked up.
    pub const fn names_anybody(self) -> bool {
        matches!(
            self,
            Self::ClientUnknown
                | Self::ClientIdUrlRefused
                | Self::ClientDocumentUnreachable
                | Self::ClientDocumentInvalid
                | Self::ClientAuthenticatedTwice
                | Self::ClientIdContradicts
                | Self::RegistrationAccessTokenWrong
        )
    }

    /// The reason of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.name() == name)
    }
}
