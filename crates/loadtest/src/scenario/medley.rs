//! Several scenarios on one connection: which is asked is chosen from outside.

use std::sync::Arc;

use super::{Mix, Next, Right, Scenario, Visitor, Wrong};
use crate::LoadtestError;
use crate::client::Response;
use crate::seed::{Family, Seed};

/// A visitor for each of several scenarios, numbered in their order. Each request is counted as its scenario's.
pub(crate) struct Medley {
    parts: Vec<(Scenario, Box<dyn Visitor>)>,
    chosen: usize,
}

impl Medley {
    /// For so many connections; fewer where the seed has not so many refresh-token families.
    ///
    /// # Errors
    /// [`LoadtestError::Unseeded`] when the seed or the target lacks something.
    pub(crate) fn visitors(
        scenarios: &[Scenario],
        seed: &Arc<Seed>,
        connections: usize,
    ) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        let of = match scenarios.contains(&Scenario::Refresh) {
            true => seed.rotating(connections),
            false => connections,
        };
        let medley = |index: usize| -> Result<Box<dyn Visitor>, LoadtestError> {
            let part = |scenario: &Scenario| {
                let mix = scenario.mix(seed).unwrap_or(Mix::Pure);
                Ok((*scenario, scenario.visitor(seed, (index, of), mix, None)?))
            };
            let parts = scenarios.iter().map(part).collect::<Result<_, LoadtestError>>()?;
            Ok(Box::new(Self { parts, chosen: 0 }))
        };
        (0..of).map(medley).collect()
    }
}

impl Visitor for Medley {
    fn arrives(&mut self, asks: u32) {
        self.chosen = usize::try_from(asks).unwrap_or(usize::MAX);
    }

    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        self.parts.get_mut(self.chosen).map_or(Next::Exhausted, |(_, part)| part.next_request(out))
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        self.parts.get_mut(self.chosen).map_or(Ok(Right::default()), |(_, part)| part.check(response))
    }

    fn kind(&self) -> &'static str {
        self.parts.get(self.chosen).map_or("", |(scenario, _)| scenario.name())
    }

    fn goes_on(&self) -> bool {
        self.parts.get(self.chosen).is_some_and(|(_, part)| part.goes_on())
    }

    fn give_back(&mut self) -> Vec<Family> {
        self.parts.iter_mut().flat_map(|(_, part)| part.give_back()).collect()
    }
}
