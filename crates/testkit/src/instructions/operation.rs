//! The operations that are counted.

use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::scenario::{Mix, Scenario, Visitor};
use symbolon_loadtest::seed::Seed;

use super::visitor::{Asks, PushedVisitor, TokenVisitor};
use crate::group_claims;

/// How many cheap requests a login stands for in a slice.
const LOGIN: u64 = 10;

/// An operation that is counted: a scenario, with the settings of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The scenario with the default settings.
    Of(Scenario),
    /// A code for a client whose ID tokens are minimal (`id_token_claims`): what a token without claims about the user
    /// costs, whatever those claims cost.
    CodeWithMinimalIdToken,
    /// A refresh of a user in 20 groups, for a client whose ID tokens carry these and a claim by an expression that goes
    /// through them.
    RefreshWithGroups,
    /// Client credentials with a DPoP proof: beside the verification of the proof's signature it may take a fifth of a silent
    /// authentication more than those without.
    ClientCredentialsWithProof,
    /// A token request of a grant type that there is not: what authenticating the client and refusing cost.
    Refused,
    /// The same with a DPoP proof, which is verified before. What it takes more than [`Self::Refused`] is the verification.
    RefusedWithProof,
    /// A silent authentication whose request was pushed: at most 2.2 times one that was not.
    PushedSilent,
}

impl Operation {
    /// The silent authentication, by which others are measured.
    pub(super) const SILENT: Self = Self::Of(Scenario::Silent);
    /// Client credentials without a proof.
    pub(super) const CLIENT_CREDENTIALS: Self = Self::Of(Scenario::ClientCredentials);

    /// Every one, in the order of counting.
    pub const ALL: [Self; 15] = [
        Self::Of(Scenario::Silent),
        Self::Of(Scenario::Userinfo),
        Self::Of(Scenario::Introspect),
        Self::Of(Scenario::Exchange),
        Self::Of(Scenario::ClientCredentials),
        Self::Of(Scenario::Refresh),
        Self::Of(Scenario::Code),
        Self::CodeWithMinimalIdToken,
        Self::RefreshWithGroups,
        Self::ClientCredentialsWithProof,
        Self::Refused,
        Self::RefusedWithProof,
        Self::PushedSilent,
        Self::Of(Scenario::LoginEmailCode),
        Self::Of(Scenario::LoginPasskey),
    ];

    /// Its name on the command line and in the baseline.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Of(scenario) => scenario.name(),
            Self::CodeWithMinimalIdToken => "code-minimal",
            Self::RefreshWithGroups => "refresh-groups",
            Self::ClientCredentialsWithProof => "client-credentials-dpop",
            Self::Refused => "refused",
            Self::RefusedWithProof => "refused-dpop",
            Self::PushedSilent => "silent-pushed",
        }
    }

    /// The visitor that sends its requests.
    ///
    /// # Errors
    /// [`LoadtestError`]: the seed lacks something.
    pub(super) fn visitors(self, seed: &Arc<Seed>) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        let token = |asks, with_proof| -> Vec<Box<dyn Visitor>> {
            vec![Box::new(TokenVisitor::new(seed, asks, with_proof))]
        };
        match self {
            Self::ClientCredentialsWithProof => Ok(token(Asks::ClientCredentials, true)),
            Self::Refused => Ok(token(Asks::NoGrant, false)),
            Self::RefusedWithProof => Ok(token(Asks::NoGrant, true)),
            Self::PushedSilent => Ok(vec![Box::new(PushedVisitor::new(seed))]),
            _ => self.scenario().visitors(seed, 1, Mix::Pure),
        }
    }

    /// The scenario whose requests are sent, or that has most in common with them.
    pub(super) const fn scenario(self) -> Scenario {
        match self {
            Self::Of(scenario) => scenario,
            Self::ClientCredentialsWithProof | Self::Refused | Self::RefusedWithProof => {
                Scenario::ClientCredentials
            }
            Self::PushedSilent => Scenario::Silent,
            Self::CodeWithMinimalIdToken => Scenario::Code,
            Self::RefreshWithGroups => Scenario::Refresh,
        }
    }

    /// How many requests a slice has, of a slice of so many of the cheap ones. A login is ten times as much as what it ends with.
    pub(super) fn requests(self, of: u64) -> u64 {
        match self.scenario().is_login() {
            true => of.div_ceil(LOGIN),
            false => of,
        }
    }

    /// Whether somebody must have a passkey.
    pub(super) fn needs_passkeys(self) -> bool {
        self.scenario() == Scenario::LoginPasskey
    }

    /// Whether users must be in groups.
    pub(super) const fn needs_groups(self) -> bool {
        matches!(self, Self::RefreshWithGroups)
    }

    /// The settings that the client has for it, and those that take them back.
    pub(super) fn settings(self) -> Option<(Value, Value)> {
        match self {
            Self::Of(_)
            | Self::ClientCredentialsWithProof
            | Self::Refused
            | Self::RefusedWithProof
            | Self::PushedSilent => None,
            Self::CodeWithMinimalIdToken => {
                Some((json!({ "id_token_claims": "minimal" }), json!({ "id_token_claims": "scopes" })))
            }
            Self::RefreshWithGroups => {
                Some((group_claims::settings(Some(group_claims::LOOP)), group_claims::no_settings()))
            }
        }
    }
}

impl FromStr for Operation {
    type Err = LoadtestError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|operation| operation.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|operation| operation.name()).collect();
            LoadtestError::Options(format!("no operation {name} is counted; there are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_found_by_name_and_have_a_baseline() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/development/instructions.json");
        let committed = super::super::Baseline::read(path.as_ref()).unwrap();
        for operation in Operation::ALL {
            assert_eq!(operation.name().parse::<Operation>().unwrap(), operation);
            assert!(committed.operations.contains_key(operation.name()), "{}", operation.name());
        }
        assert_eq!(committed.operations.len(), Operation::ALL.len());
        assert!("login".parse::<Operation>().is_err(), "a password's hash would be nearly all of it");
    }
}
