//! What a plan asks: one scenario, or something made of several. A new kind of work implements [`Work`] in a file of its
//! own; nothing else in here asks which kind it is.

use std::sync::Arc;

use super::plan::{Plan, Traffic};
use crate::admin;
use crate::executor::{JourneyCount, Journeys, NoJourneys};
use crate::results::{Run, Threshold};
use crate::scenario::{Mix, Scenario, Visitor};
use crate::seed::{Seed, SeedOptions};
use crate::{LoadtestError, Target};

/// What is asked of a provider, whatever the time at which it is asked. A [`Plan`] says when, how often and what must hold.
pub trait Work: Send + Sync {
    /// Its name in results and reports. Runs of the same name are put beside each other there.
    fn name(&self) -> &str;

    /// The built-in scenario that it is, where it is one and nothing else: only that can be handed to agents.
    fn scenario(&self) -> Option<Scenario> {
        None
    }

    /// Whether the plan's figures contradict it, beyond what is wrong with any plan.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with what is wrong and its mend.
    fn check(&self, _plan: &Plan) -> Result<(), LoadtestError> {
        Ok(())
    }

    /// Whether the target announces what is asked for; looked at before anything is planted.
    ///
    /// # Errors
    /// [`LoadtestError::NotOffered`] where it does not.
    fn check_offer(&self, target: &Target) -> Result<(), LoadtestError>;

    /// Whether it uses anything of a seed. A provider that is asked by such work alone needs none, and no admin secret.
    fn needs_seed(&self) -> bool {
        true
    }

    /// Raises the figures of a seed that is to be planted to what this needs on so many connections. It lowers none: other
    /// plans use the same seed.
    fn ask_for(&self, connections: usize, seed: &mut SeedOptions);

    /// Whether what it needs of the seed lives until then, in seconds since 1970. Refresh-token families are not looked at
    /// here: see [`rotates_families`](Self::rotates_families).
    ///
    /// # Errors
    /// [`LoadtestError::SeedUnfit`] where it does not.
    fn check_seed(&self, seed: &Seed, until: u64) -> Result<(), LoadtestError>;

    /// Whether its visitors rotate refresh-token families of the seed. They are then taken out of it for the run, and given
    /// back with their newest tokens by [`Visitor::give_back`].
    fn rotates_families(&self) -> bool {
        false
    }

    /// How many authorization codes must wait in the seed before the plan begins.
    fn codes(&self, _plan: &Plan) -> usize {
        0
    }

    /// The admin API's place for the number of shards of the kind of state that it uses most; none where there is no such
    /// kind, and then nothing can be changed in mid-run.
    fn shards(&self) -> Option<&'static str> {
        None
    }

    /// Whether it asks with other tokens than valid ones, of this seed; none where it makes no difference.
    fn mix(&self, _seed: &Seed) -> Option<Mix> {
        None
    }

    /// The names of the requests that arrivals of a mixture ask by number ([`Visitor::arrives`]); none where it has none.
    fn kinds(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Who begins the journeys of a mixture; nobody where it has none.
    ///
    /// # Errors
    /// [`LoadtestError::Unseeded`] when the seed lacks what they begin with.
    fn journeys(&self, _seed: &Arc<Seed>) -> Result<Arc<dyn Journeys>, LoadtestError> {
        Ok(Arc::new(NoJourneys))
    }

    /// Adds to a run of it what results say of such work alone.
    fn add_to(&self, _run: &mut Run, _journeys: &[JourneyCount]) {}

    /// What it holds the figures of a run against, besides the plan's thresholds: limits of its parts, for instance.
    fn judge(&self, _run: &Run) -> Vec<Threshold> {
        Vec::new()
    }

    /// The visitors, one for each request that may be in flight; fewer where the seed has not enough for so many.
    ///
    /// # Errors
    /// [`LoadtestError::Unseeded`] when the seed or the target lacks something.
    fn visitors(&self, seed: &Arc<Seed>, connections: usize) -> Result<Vec<Box<dyn Visitor>>, LoadtestError>;
}

/// Refresh-token families, unless there are more connections: each has several then.
const FAMILIES: usize = 1_024;

/// Users with a passkey.
const PASSKEYS: usize = 500;

impl Work for Scenario {
    fn name(&self) -> &str {
        (*self).name()
    }

    fn scenario(&self) -> Option<Scenario> {
        Some(*self)
    }

    fn check(&self, plan: &Plan) -> Result<(), LoadtestError> {
        if matches!((self, &plan.traffic), (Self::Code, Traffic::Closed(_))) {
            let reason = "scenario code needs a rate: its codes are obtained before the load";
            return Err(LoadtestError::Options(reason.into()));
        }
        Ok(())
    }

    fn check_offer(&self, target: &Target) -> Result<(), LoadtestError> {
        (*self).check_offer(target)
    }

    fn ask_for(&self, connections: usize, seed: &mut SeedOptions) {
        // Only these are mixed; what the mix needs is not to be had at every provider.
        if self.has_mixes() {
            seed.mix = Mix::Report;
        }
        match self {
            Self::Userinfo => seed.tokens = seed.tokens.max(4_000),
            Self::Introspect => seed.tokens = seed.tokens.max(3_000),
            // A family for every connection at least, or two would rotate the same.
            Self::Refresh => {
                let several = (4 * connections).min(FAMILIES);
                seed.families = seed.families.max(several.max(connections));
            }
            Self::LoginPasskey => seed.passkeys = seed.passkeys.max(PASSKEYS),
            _ => {}
        }
    }

    fn check_seed(&self, seed: &Seed, until: u64) -> Result<(), LoadtestError> {
        if self.rotates_families() { Ok(()) } else { seed.check(*self, until) }
    }

    fn rotates_families(&self) -> bool {
        *self == Self::Refresh
    }

    fn codes(&self, plan: &Plan) -> usize {
        match (self, plan.traffic.rate()) {
            (Self::Code, Some(rate)) => (plan.whole().as_secs_f64() * rate).ceil() as usize,
            _ => 0,
        }
    }

    fn shards(&self) -> Option<&'static str> {
        match self {
            Self::Silent | Self::Code => Some(admin::CODE_SHARDS),
            Self::Refresh => Some(admin::REFRESH_SHARDS),
            Self::Userinfo | Self::Introspect | Self::Exchange => Some(admin::REVOCATION_SHARDS),
            Self::Login | Self::LoginEmailCode | Self::LoginPasskey => Some(admin::SESSION_SHARDS),
            Self::ClientCredentials | Self::Discovery => None,
        }
    }

    fn mix(&self, seed: &Seed) -> Option<Mix> {
        (*self).mix(seed)
    }

    fn visitors(&self, seed: &Arc<Seed>, connections: usize) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        (*self).visitors(seed, connections, (*self).mix(seed).unwrap_or_default())
    }
}
