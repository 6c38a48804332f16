//! The operations that are counted.

use std::str::FromStr;

use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::scenario::Scenario;

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
}

impl Operation {
    /// Every one, in the order of counting.
    pub const ALL: [Self; 10] = [
        Self::Of(Scenario::Silent),
        Self::Of(Scenario::Userinfo),
        Self::Of(Scenario::Introspect),
        Self::Of(Scenario::Exchange),
        Self::Of(Scenario::ClientCredentials),
        Self::Of(Scenario::Refresh),
        Self::Of(Scenario::Code),
        Self::CodeWithMinimalIdToken,
        Self::Of(Scenario::LoginEmailCode),
        Self::Of(Scenario::LoginPasskey),
    ];

    /// Its name on the command line and in the baseline.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Of(scenario) => scenario.name(),
            Self::CodeWithMinimalIdToken => "code-minimal",
        }
    }

    /// The requests that are sent.
    pub(super) const fn scenario(self) -> Scenario {
        match self {
            Self::Of(scenario) => scenario,
            Self::CodeWithMinimalIdToken => Scenario::Code,
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

    /// Whether the client gets minimal ID tokens.
    pub(super) const fn has_minimal_id_tokens(self) -> bool {
        matches!(self, Self::CodeWithMinimalIdToken)
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
