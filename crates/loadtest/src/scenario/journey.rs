//! Journeys: a user who asks for one thing after another, thinks in between, and goes on with what the provider handed out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Issued, Keep, Mix, Next, Picker, Right, Scenario, Visitor, Wrong};
use crate::LoadtestError;
use crate::client::Response;
use crate::executor::Journeys;
use crate::seed::{Person, Seed};

/// How long a user thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Think {
    /// Always so long.
    Fixed(Duration),
    /// Anything between these, equally probable.
    Uniform(Duration, Duration),
    /// Exponentially distributed, with this mean: short mostly, very long now and then.
    Exponential(Duration),
}

impl Think {
    fn draw(self, picker: &mut Picker) -> Duration {
        match self {
            Self::Fixed(time) => time,
            Self::Uniform(from, to) => from + to.saturating_sub(from).mul_f64(picker.fraction()),
            Self::Exponential(mean) => mean.mul_f64(picker.exponential()),
        }
    }

    /// The same, so many times as long.
    pub(crate) fn times(self, factor: f64) -> Self {
        match self {
            Self::Fixed(time) => Self::Fixed(time.mul_f64(factor)),
            Self::Uniform(from, to) => Self::Uniform(from.mul_f64(factor), to.mul_f64(factor)),
            Self::Exponential(mean) => Self::Exponential(mean.mul_f64(factor)),
        }
    }
}

/// One request of a journey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// How long the user thinks before it, after the answer before.
    pub(crate) think: Think,
    /// What is asked.
    pub(crate) scenario: Scenario,
}

/// A journey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JourneyPlan {
    /// Its name in reports.
    pub(crate) name: String,
    /// What its user asks, one after the other.
    pub(crate) steps: Vec<Step>,
}

impl JourneyPlan {
    fn asks(&self, of: impl Fn(Scenario) -> bool) -> Option<usize> {
        self.steps.iter().position(|step| of(step.scenario))
    }

    /// The step that gives the user tokens of their own.
    fn gets_tokens(&self) -> usize {
        self.asks(|scenario| scenario.is_login() || scenario == Scenario::Code).unwrap_or(usize::MAX)
    }

    /// What a person lacks to begin it; none where nothing.
    fn lacks(&self, person: &Person) -> Option<&'static str> {
        let uses = |scenario: Scenario| {
            matches!(scenario, Scenario::Userinfo | Scenario::Introspect | Scenario::Exchange)
        };
        let signs_in = self.asks(Scenario::is_login);
        let uses_name = |scenario: Scenario| matches!(scenario, Scenario::Login | Scenario::LoginEmailCode);
        let silent = self.asks(|scenario| scenario == Scenario::Silent);
        if self.asks(uses_name).is_some() && person.user.username.is_empty() {
            return Some("users with a password");
        }
        if person.passkey.is_none() && self.asks(|scenario| scenario == Scenario::LoginPasskey).is_some() {
            return Some("users with a passkey");
        }
        if person.session.is_none() && silent.is_some_and(|at| signs_in.is_none_or(|login| at < login)) {
            return Some("sessions");
        }
        let needs_token = self.asks(uses).is_some_and(|at| at < self.gets_tokens());
        (needs_token && person.token.is_none()).then_some("access tokens")
    }

    /// What a step needs that no step before it gives; none where nothing.
    pub(crate) fn contradiction(&self) -> Option<(usize, &'static str)> {
        let silent = self.asks(|scenario| scenario == Scenario::Silent).unwrap_or(usize::MAX);
        let code = self.asks(|scenario| scenario == Scenario::Code).filter(|at| silent > *at);
        let refresh =
            self.asks(|scenario| scenario == Scenario::Refresh).filter(|at| self.gets_tokens() > *at);
        code.map(|at| (at, "code needs a silent step before it, which gives the code")).or(refresh
            .map(|at| (at, "refresh needs a login or code step before it, which gives the refresh token")))
    }
}

/// Begins journeys of the seed's users.
pub(crate) struct JourneyUsers {
    seed: Arc<Seed>,
    /// Each with those who can begin it.
    journeys: Vec<(Arc<JourneyPlan>, Vec<Person>)>,
    /// How many have begun: no two users think alike.
    begun: AtomicUsize,
}

impl JourneyUsers {
    /// For these journeys.
    ///
    /// # Errors
    /// [`LoadtestError::Unseeded`] where nobody in the seed has what a journey begins with.
    pub(crate) fn new(seed: &Arc<Seed>, plans: &[JourneyPlan]) -> Result<Self, LoadtestError> {
        let people = seed.people();
        let with_people = |plan: &JourneyPlan| {
            let able: Vec<Person> =
                people.iter().filter(|person| plan.lacks(person).is_none()).cloned().collect();
            if able.is_empty() {
                let what = people.iter().find_map(|person| plan.lacks(person)).unwrap_or("users");
                let scenario = plan.steps.first().map_or("", |step| step.scenario.name());
                return Err(LoadtestError::Unseeded { scenario, what });
            }
            Ok((Arc::new(plan.clone()), able))
        };
        let journeys = plans.iter().map(with_people).collect::<Result<_, _>>()?;
        Ok(Self { seed: Arc::clone(seed), journeys, begun: AtomicUsize::new(0) })
    }
}

impl Journeys for JourneyUsers {
    fn count(&self) -> usize {
        self.journeys.len()
    }

    fn first(&self, which: usize) -> &'static str {
        let first = self.journeys.get(which).and_then(|(plan, _)| plan.steps.first());
        first.map_or("", |step| step.scenario.name())
    }

    fn begin(&self, which: usize) -> Option<Box<dyn Visitor>> {
        let (plan, people) = self.journeys.get(which)?;
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let mut picker = Picker::new(number);
        let person = people.get(picker.index(people.len()))?;
        Some(Box::new(JourneyVisitor {
            plan: Arc::clone(plan),
            seed: Arc::new(self.seed.of(person)),
            step: 0,
            asks: None,
            keep: Keep::default(),
            number,
            picker,
        }))
    }
}

/// A user on a journey.
struct JourneyVisitor {
    plan: Arc<JourneyPlan>,
    /// What the user has.
    seed: Arc<Seed>,
    step: usize,
    /// Who writes and checks the step's requests.
    asks: Option<Box<dyn Visitor>>,
    /// What the step's answers gave.
    keep: Keep,
    number: usize,
    picker: Picker,
}

impl JourneyVisitor {
    fn current(&self) -> Option<Step> {
        self.plan.steps.get(self.step).copied()
    }

    /// The user has what the step gave, instead of what was there before.
    fn take_what_was_given(&mut self) {
        self.asks = None;
        let Issued { tokens, families, sessions } =
            std::mem::take(&mut *self.keep.lock().unwrap_or_else(PoisonError::into_inner));
        // Nobody else has it once the step is over.
        let Some(seed) = Arc::get_mut(&mut self.seed) else { return };
        if !tokens.is_empty() {
            seed.tokens = tokens;
        }
        if !families.is_empty() {
            seed.families = families;
        }
        if !sessions.is_empty() {
            seed.sessions = sessions;
        }
    }
}

impl Visitor for JourneyVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let Some(Step { scenario, .. }) = self.current() else { return Next::Exhausted };
        if self.asks.is_none() {
            if scenario == Scenario::Silent {
                // An earlier code is not redeemed any more.
                self.seed.codes.clear();
            }
            self.asks = scenario.visitor(&self.seed, (self.number, 1), Mix::Pure, Some(&self.keep)).ok();
        }
        self.asks.as_mut().map_or(Next::Exhausted, |asks| asks.next_request(out))
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        self.asks.as_mut().map_or(Ok(Right::default()), |asks| asks.check(response))
    }

    fn kind(&self) -> &'static str {
        self.current().map_or("", |step| step.scenario.name())
    }

    fn goes_on(&self) -> bool {
        self.asks.as_ref().is_some_and(|asks| asks.goes_on())
    }

    fn think(&mut self, right: bool) -> Option<Duration> {
        if !right {
            return None;
        }
        self.take_what_was_given();
        self.step += 1;
        let step = self.current()?;
        Some(step.think.draw(&mut self.picker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn journey(steps: &[Scenario]) -> JourneyPlan {
        let step = |scenario: &Scenario| Step { think: Think::Fixed(SECOND), scenario: *scenario };
        JourneyPlan { name: "x".into(), steps: steps.iter().map(step).collect() }
    }

    #[test]
    fn think_times_are_drawn_as_they_are_distributed() {
        let mut picker = Picker::new(7);
        let mut mean = |think: Think| {
            let drawn: Vec<Duration> = (0..10_000).map(|_| think.draw(&mut picker)).collect();
            (drawn.iter().sum::<Duration>().as_secs_f64() / 10_000.0, drawn)
        };
        assert_eq!(mean(Think::Fixed(2 * SECOND)).1[9], 2 * SECOND);
        let (of_uniform, drawn) = mean(Think::Uniform(2 * SECOND, 6 * SECOND));
        assert!((of_uniform - 4.0).abs() < 0.1, "{of_uniform}");
        assert!(drawn.iter().all(|time| (2 * SECOND..6 * SECOND).contains(time)));
        let (of_exponential, drawn) = mean(Think::Exponential(3 * SECOND));
        assert!((of_exponential - 3.0).abs() < 0.2, "{of_exponential}");
        assert!(drawn.iter().any(|time| *time > 12 * SECOND), "a long one now and then");
        assert_eq!(Think::Uniform(SECOND, 2 * SECOND).times(0.5), Think::Uniform(SECOND / 2, SECOND));
    }

    #[test]
    fn a_step_needs_what_a_step_before_it_gives() {
        use Scenario::{Code, Login, Refresh, Silent, Userinfo};
        for (steps, told) in [
            (&[Login, Userinfo, Refresh][..], None),
            (&[Silent, Code, Refresh], None),
            (&[Userinfo, Refresh, Login], Some((1, "refresh needs a login or code step"))),
            (&[Code, Silent], Some((0, "code needs a silent step"))),
        ] {
            let contradiction = journey(steps).contradiction();
            match (contradiction, told) {
                (None, None) => {}
                (Some((at, why)), Some((place, words))) => {
                    assert!(at == place && why.starts_with(words), "{why}");
                }
                other => panic!("{steps:?}: {other:?}"),
            }
        }
    }
}
