//! What operations may cost beside others, whatever the baseline says.

use std::fmt;

use super::{Counts, Operation};

/// What an operation takes more than what it is compared with, as a part of a silent authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is limited.
    pub what: &'static str,
    /// The instructions of it.
    pub counted: u64,
    /// The instructions of a silent authentication.
    pub silent: u64,
    /// How many of a hundred of a silent authentication it may take.
    pub allowed_percent: u64,
}

impl Limit {
    /// The limits of which everything was counted.
    pub fn of(counts: &Counts) -> Vec<Self> {
        [Self::of_proof(counts), Self::of_pushed(counts)].into_iter().flatten().collect()
    }

    /// What a token request with a proof takes more than one without: the verification of the proof is not counted, and
    /// the rest is a fifth of a silent authentication at most. The verification is what a proof adds to a request that is
    /// refused right after it.
    fn of_proof(counts: &Counts) -> Option<Self> {
        let of = |operation: Operation| counts.get(operation.name()).copied();
        let added = |with: Operation, without: Operation| Some(of(with)?.saturating_sub(of(without)?));
        let whole = added(Operation::ClientCredentialsWithProof, Operation::CLIENT_CREDENTIALS)?;
        let verification = added(Operation::RefusedWithProof, Operation::Refused)?;
        Some(Self {
            what: "a DPoP-bound token, without the verification of its proof",
            counted: whole.saturating_sub(verification),
            silent: of(Operation::SILENT)?,
            allowed_percent: 20,
        })
    }

    /// A silent authentication by a pushed request, with the pushing of it.
    fn of_pushed(counts: &Counts) -> Option<Self> {
        Some(Self {
            what: "a pushed request and its silent authentication",
            counted: *counts.get(Operation::PushedSilent.name())?,
            silent: *counts.get(Operation::SILENT.name())?,
            allowed_percent: 220,
        })
    }

    /// Whether it takes no more than it may, or hardly more: counts of one build differ from run to run, and this one is a
    /// difference of four of them.
    pub const fn is_kept(&self) -> bool {
        const TOLERATED_PERCENT: u64 = 103;
        self.counted * 10_000 <= self.silent * self.allowed_percent * TOLERATED_PERCENT
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, counted, silent, allowed_percent } = self;
        let ratio = *counted as f64 / (*silent).max(1) as f64;
        let (allowed, verdict) =
            (*allowed_percent as f64 / 100.0, if self.is_kept() { "kept" } else { "OVER" });
        write!(
            f,
            "{what}: {counted} instructions, {ratio:.2} of a silent authentication, {allowed:.2} allowed: {verdict}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(with_proof: u64, pushed: u64) -> Counts {
        let figures = [
            (Operation::SILENT, 100_000),
            (Operation::CLIENT_CREDENTIALS, 200_000),
            (Operation::ClientCredentialsWithProof, with_proof),
            (Operation::Refused, 30_000),
            (Operation::RefusedWithProof, 330_000),
            (Operation::PushedSilent, pushed),
        ];
        figures.into_iter().map(|(operation, count)| (operation.name().to_owned(), count)).collect()
    }

    #[test]
    fn a_proof_may_take_its_verification_and_a_fifth_of_a_silent_authentication() {
        let kept = |with_proof| Limit::of(&counts(with_proof, 0))[0].is_kept();
        assert!(kept(520_600) && !kept(520_601));
        assert!(kept(400_000), "less than its verification alone");
    }

    #[test]
    fn a_pushed_request_may_take_as_much_as_two_and_a_fifth() {
        let kept = |pushed| Limit::of(&counts(0, pushed))[1].is_kept();
        assert!(kept(226_600) && !kept(226_601));
        let told = Limit::of(&counts(0, 230_000))[1].to_string();
        assert!(told.contains("2.30 of a silent authentication, 2.20 allowed: OVER"), "{told}");
    }

    #[test]
    fn what_was_not_counted_has_no_limit() {
        let mut counts = counts(0, 0);
        counts.remove(Operation::Refused.name());
        assert_eq!(Limit::of(&counts).len(), 1);
        counts.remove(Operation::SILENT.name());
        assert!(Limit::of(&counts).is_empty());
    }
}
