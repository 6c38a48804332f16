//! Expressions that are a loop over names, such as `groups.filter(g, g.startsWith('app:')).map(g, g.substring(4))`.
//!
//! The interpreter makes a list of values in each loop, copies each value into it, and makes and drops a variable of the loop in
//! each round: that is most of what such an expression takes. Here the names come from the records one after the other, the
//! interpreter evaluates the condition and the item of the loop for each, and the item is written as it is. What an expression
//! yields is the same (`expression/tests.rs` compares both), and [`bounds`](super::bounds) bounds it as before.

use cel::common::ast::{ComprehensionExpr, Expr, operators};
use cel::common::types::{CelBool, CelString};
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use cel::{Context, ExecutionError, IdedExpr, Value};

use super::variables::{Names, Variables};

/// A loop over names, or filters of names and a loop over what they let through.
#[derive(Debug)]
pub(super) struct NameLoop {
    names: Names,
    /// In the order in which a name goes through them.
    stages: Vec<Stage>,
    /// What becomes an item of the list; `None` where that is the name itself.
    item: Option<IdedExpr>,
}

/// One `filter` or `map`.
#[derive(Debug)]
struct Stage {
    /// The name of its variable.
    variable: String,
    /// Which names go on; all without it.
    condition: Option<IdedExpr>,
}

/// A loop as the parser writes it: the item is added to the list, if there is a condition where it holds.
struct Append<'e> {
    condition: Option<&'e IdedExpr>,
    item: &'e IdedExpr,
}

impl<'e> Append<'e> {
    fn of(made: &'e ComprehensionExpr) -> Option<Self> {
        let is_list =
            |expression: &IdedExpr| matches!(&expression.expr, Expr::Ident(name) if *name == made.accu_var);
        let is_plain = made.iter_var2.is_none()
            && matches!(made.loop_cond.expr, Expr::Literal(_))
            && matches!(&made.accu_init.expr, Expr::List(begin) if begin.elements.is_empty())
            && is_list(&made.result);
        let Expr::Call(step) = &made.loop_step.expr else { return None };
        let added = |expression: &'e IdedExpr| match &expression.expr {
            Expr::Call(call) if call.func_name == operators::ADD && call.target.is_none() => {
                match call.args.as_slice() {
                    [list, IdedExpr { expr: Expr::List(added), .. }]
                        if is_list(list) && added.optional_indices.is_empty() =>
                    {
                        added.elements.first().filter(|_| added.elements.len() == 1)
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let found = match step.args.as_slice() {
            [condition, then, otherwise]
                if step.func_name == operators::CONDITIONAL && is_list(otherwise) =>
            {
                Self { condition: Some(condition), item: added(then)? }
            }
            _ => Self { condition: None, item: added(&made.loop_step)? },
        };
        is_plain.then_some(found)
    }
}

impl NameLoop {
    /// The loop that an expression is; `None` for any other expression.
    pub(super) fn of(expression: &IdedExpr) -> Option<Self> {
        let Expr::Comprehension(made) = &expression.expr else { return None };
        let append = Append::of(made)?;
        let is_itself = matches!(&append.item.expr, Expr::Ident(name) if *name == made.iter_var);
        let (names, mut stages) = match &made.iter_range.expr {
            Expr::Ident(name) => (Names::of(name)?, Vec::new()),
            _ => {
                let before = Self::of(&made.iter_range)?;
                // What a `map` makes are no names any more.
                before.item.is_none().then_some((before.names, before.stages))?
            }
        };
        stages.push(Stage { variable: made.iter_var.clone(), condition: append.condition.cloned() });
        Some(Self { names, stages, item: (!is_itself).then(|| append.item.clone()) })
    }

    /// Goes through the names. `outside` knows the variables outside of the loop; `each` gets the value of every item.
    pub(super) fn run(
        &self,
        variables: &Variables<'_>,
        outside: &Context<'_, '_>,
        each: &mut dyn FnMut(Item<'_>) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        for name in variables.names(self.names) {
            if self.goes_through(name, outside)? {
                match &self.item {
                    None => each(Item::Name(name))?,
                    Some(item) => {
                        let variable = self.stages.last().map_or("", |stage| stage.variable.as_str());
                        let round = Round { variable, name };
                        each(Item::Value(Value::resolve_val(item, &round.within(outside))?))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether every condition holds for a name.
    fn goes_through(&self, name: &str, outside: &Context<'_, '_>) -> Result<bool, ExecutionError> {
        for Stage { variable, condition } in &self.stages {
            let Some(condition) = condition else { continue };
            let round = Round { variable: variable.as_str(), name };
            if !holds(&Value::resolve_val(condition, &round.within(outside))?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// An item of the list.
pub(super) enum Item<'v> {
    /// The name itself.
    Name(&'v str),
    /// What an expression made of it.
    Value(CowVal<'v, 'v>),
}

/// Why there is no list.
pub(super) enum Failed {
    /// The interpreter failed.
    Evaluation(ExecutionError),
    /// The list cannot be written.
    Writing(String),
}

impl From<ExecutionError> for Failed {
    fn from(error: ExecutionError) -> Self {
        Self::Evaluation(error)
    }
}

/// Whether a condition holds.
fn holds(value: &CowVal<'_, '_>) -> Result<bool, ExecutionError> {
    let unexpected = || ExecutionError::UnexpectedType {
        got: value.get_type().name().to_owned(),
        want: "bool".to_owned(),
    };
    value.downcast_ref::<CelBool>().map(|flag| *flag.inner()).ok_or_else(unexpected)
}

/// The variable of a loop, in one round of it.
struct Round<'r> {
    variable: &'r str,
    name: &'r str,
}

impl Round<'_> {
    /// The variables within the round: its own, which hides another of the same name, and those outside.
    fn within<'c>(&'c self, outside: &'c Context<'_, '_>) -> Context<'c, 'c> {
        let mut context: Context<'c, 'c> = outside.new_inner_scope();
        context.set_variable_resolver(self);
        context
    }
}

impl VariableResolver for Round<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        (variable == self.variable).then(|| CowVal::owned(CelString::from(self.name)))
    }
}
