//! Which expressions are admitted: an upper bound of their cost is computed from the expression itself.
//!
//! For every part the bound says how large its value can be and how many steps its evaluation takes, for the largest user
//! that there can be: 1,000 groups and 1,000 roles, each name as long as a name may be. A loop multiplies the steps of its
//! body by the length of its list. So whatever grows or loops too much is found here, and the interpreter needs no limit
//! of its own.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators};

use super::source::standard_claim;
use crate::attribute::{MOST_BYTES, MOST_ITEMS};
use crate::entitlement::MOST_HELD;

/// The deepest expression, in parts within parts.
const DEEPEST: usize = 40;

/// The most parts of an expression, with those that macros such as `map` stand for.
const MOST_PARTS: usize = 400;

/// The most steps. One takes some 50 ns, so this is some 50 ms for the largest user, and microseconds for a usual one.
const MOST_STEPS: u64 = 1_000_000;

/// How many bytes are copied or compared in about the time of one step.
const BYTES_A_STEP: u64 = 32;

/// The longest name of a group or role, in bytes: 200 characters.
const LONGEST_NAME: u64 = 800;

/// The longest scope, in bytes.
const LONGEST_SCOPE: u64 = 2_048;

/// What one standard claim of a user takes at most, in bytes.
const LONGEST_CLAIM: u64 = 4_096;

/// What all attributes of a user take at most, in bytes; one alone may take as much.
const LARGEST_ATTRIBUTES: u64 = MOST_BYTES as u64;

/// What everything of a user takes at most, in bytes.
const LARGEST_USER: u64 = (64 << 10) + LARGEST_ATTRIBUTES;

/// The functions that an expression may call as `function(x)`.
const FUNCTIONS: [&str; 5] = ["size", "string", "int", "double", "bool"];

/// The functions that an expression may call as `x.function()`.
const METHODS: [&str; 11] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "lowerAscii",
    "upperAscii",
    "trim",
    "substring",
    "split",
    "join",
    "replace",
];

/// The variables that an expression names, and so what must be loaded and made for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Something of the user's record.
    pub(super) user: bool,
    /// Something of it in a loop, each round of which may look into the whole of it in vain.
    pub(super) user_in_loop: bool,
    pub(super) groups: bool,
    pub(super) roles: bool,
    pub(super) scope: bool,
}

/// How large a value can be.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    /// Its bytes, those of its items included.
    bytes: u64,
    /// How many items it has, if it is a list or map.
    items: u64,
    /// The bytes of its largest item.
    item: u64,
    /// How many items an item has, if items are lists or maps themselves.
    within: u64,
}

impl Size {
    /// A number or truth value.
    const SCALAR: Self = Self::text(8);

    /// An attribute: a text, or a list of texts.
    const ATTRIBUTE: Self =
        Self { bytes: LARGEST_ATTRIBUTES, items: MOST_ITEMS as u64, item: LARGEST_ATTRIBUTES, within: 0 };

    const fn text(bytes: u64) -> Self {
        Self { bytes, items: 0, item: 0, within: 0 }
    }

    /// A value of which only the bytes are known: it may be a list, even one of lists.
    const fn unknown(bytes: u64) -> Self {
        Self { bytes, items: bytes, item: bytes, within: bytes }
    }

    const fn texts(count: u64, longest: u64) -> Self {
        Self { bytes: count.saturating_mul(longest), items: count, item: longest, within: 0 }
    }

    /// One of its items, of so many bytes.
    const fn item_of(self, bytes: u64) -> Self {
        if self.within == 0 { Self::text(bytes) } else { Self::unknown(bytes) }
    }

    /// The value as the only item of a list. Every item takes some bytes, even if it is empty.
    fn as_item(self) -> Self {
        let bytes = self.bytes.max(8);
        Self { bytes, items: 1, item: bytes, within: self.items }
    }

    /// The larger of both.
    fn or(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            items: self.items.max(other.items),
            item: self.item.max(other.item),
            within: self.within.max(other.within),
        }
    }

    /// One after the other.
    fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            items: self.items.saturating_add(other.items),
            ..self.or(other)
        }
    }

    fn times(self, count: u64) -> Self {
        Self { bytes: self.bytes.saturating_mul(count), items: self.items.saturating_mul(count), ..self }
    }

    /// The steps of looking at all of it once.
    fn pass(self) -> u64 {
        (self.bytes / BYTES_A_STEP).saturating_add(self.items)
    }
}

/// The size of a value, and the steps to compute it.
#[derive(Clone, Copy, Debug)]
struct Cost {
    size: Size,
    steps: u64,
}

impl Cost {
    fn new(size: Size, steps: u64) -> Self {
        Self { size, steps: steps.saturating_add(1) }
    }
}

/// Whether an expression is admitted, what it names, and how many steps it takes at most.
pub(super) fn admit(root: &IdedExpr) -> Result<(Uses, u64), String> {
    let mut walk = Walk { uses: Uses::default(), parts: 0, loops: Vec::new() };
    let cost = walk.expression(root, 0)?;
    if cost.steps > MOST_STEPS {
        return Err(format!(
            "for a user with {MOST_HELD} groups and roles of long names the expression takes more than {MOST_STEPS} steps: \
             let it go through fewer lists, and make shorter texts"
        ));
    }
    Ok((walk.uses, cost.steps))
}

struct Walk<'e> {
    uses: Uses,
    parts: usize,
    /// The variables of the loop around, with their sizes.
    loops: Vec<(&'e str, Size)>,
}

impl<'e> Walk<'e> {
    fn expression(&mut self, part: &'e IdedExpr, depth: usize) -> Result<Cost, String> {
        self.parts += 1;
        if self.parts > MOST_PARTS || depth > DEEPEST {
            return Err("the expression has too many parts, or too many within one another".to_owned());
        }
        match &part.expr {
            Expr::Literal(literal) => literal_size(literal).map(|size| Cost::new(size, 0)),
            Expr::Ident(name) => self.variable(name, None),
            Expr::Select(select) => self.select(select, depth),
            Expr::Call(call) => self.call(call, depth),
            Expr::List(list) => {
                let mut size = Size::default();
                let mut steps = 0_u64;
                for element in &list.elements {
                    let cost = self.expression(element, depth + 1)?;
                    size = size.and(cost.size.as_item());
                    steps = steps.saturating_add(cost.steps);
                }
                Ok(Cost::new(size, steps.saturating_add(size.pass())))
            }
            Expr::Map(map) => {
                let mut size = Size::default();
                let mut steps = 0_u64;
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(unknown_part()) };
                    let key = self.expression(&entry.key, depth + 1)?;
                    let value = self.expression(&entry.value, depth + 1)?;
                    // The items of a map are its keys when it is gone through, and its values when it is looked into.
                    size = size.and(key.size.or(value.size).as_item());
                    steps = steps.saturating_add(key.steps).saturating_add(value.steps);
                }
                Ok(Cost::new(size, steps.saturating_add(size.pass())))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, depth),
            Expr::Struct(_) | Expr::Unspecified => Err(unknown_part()),
        }
    }

    /// A variable, or `NAME.member` of one.
    fn variable(&mut self, name: &str, member: Option<&str>) -> Result<Cost, String> {
        if let Some((_, size)) = self.loops.iter().rev().find(|(own, _)| *own == name) {
            return Ok(match member {
                // An iteration copies the item.
                None => Cost::new(*size, size.pass()),
                Some(_) => Cost::new(size.item_of(size.item), size.pass()),
            });
        }
        if name == "user" {
            self.uses.user_in_loop |= !self.loops.is_empty();
        }
        let names = Size::texts(MOST_HELD as u64, LONGEST_NAME);
        match (name, member) {
            ("groups", None) => {
                self.uses.groups = true;
                Ok(Cost::new(names, 0))
            }
            ("roles", None) => {
                self.uses.roles = true;
                Ok(Cost::new(names, 0))
            }
            ("scope", None) => {
                self.uses.scope = true;
                let (bytes, items) = (LONGEST_SCOPE, LONGEST_SCOPE / 2);
                Ok(Cost::new(Size { bytes, items, item: LONGEST_SCOPE, within: 0 }, 0))
            }
            ("client", Some("id")) => Ok(Cost::new(Size::text(LONGEST_NAME), 0)),
            ("client", _) => Err("of the client there is only client.id".to_owned()),
            ("user", Some("id")) => Ok(Cost::new(Size::text(LONGEST_NAME), 0)),
            ("user", None | Some("attributes")) => {
                self.uses.user = true;
                let bytes = if member.is_some() { LARGEST_ATTRIBUTES } else { LARGEST_USER };
                let item = LARGEST_ATTRIBUTES;
                let size = Size { bytes, items: 1_000, item, within: item };
                Ok(Cost::new(size, size.pass()))
            }
            ("user", Some(member)) if standard_claim(member).is_some() => {
                self.uses.user = true;
                Ok(Cost::new(Size::text(LONGEST_CLAIM), 0))
            }
            ("user", Some(member)) => Err(format!(
                "user has no member {member}: there are id, attributes and the standard claims but address"
            )),
            (name @ ("groups" | "roles" | "scope"), Some(_)) => Err(format!("{name} is a list of texts")),
            (name, _) => {
                Err(format!("there is no variable {name}: there are user, groups, roles, client and scope"))
            }
        }
    }

    fn select(&mut self, select: &'e SelectExpr, depth: usize) -> Result<Cost, String> {
        if let Expr::Ident(name) = &select.operand.expr {
            let cost = self.variable(name, Some(&select.field))?;
            if !select.test {
                return Ok(cost);
            }
            // `has(user.email)` looks into the whole of the user.
            let whole = self.variable(name, None)?;
            return Ok(Cost::new(Size::SCALAR, whole.steps));
        }
        let operand = self.expression(&select.operand, depth + 1)?;
        let size = match select.test {
            true => Size::SCALAR,
            false if self.is_attributes(&select.operand) => Size::ATTRIBUTE,
            false => operand.size.item_of(operand.size.item),
        };
        Ok(Cost::new(size, operand.steps))
    }

    /// Whether a part is `user.attributes`, or begins with it: names of attributes may have dots, and the interpreter looks
    /// for `user.attributes.a.b` by that whole name.
    fn is_attributes(&self, part: &IdedExpr) -> bool {
        let Expr::Select(select) = &part.expr else { return false };
        if self.is_user(&select.operand) {
            select.field == "attributes"
        } else {
            self.is_attributes(&select.operand)
        }
    }

    fn is_user(&self, part: &IdedExpr) -> bool {
        let is_named = matches!(&part.expr, Expr::Ident(name) if name == "user");
        is_named && self.loops.iter().all(|(own, _)| *own != "user")
    }

    /// Refuses a loop through what has no order, because its result would be another one each time, and through what is no
    /// list at all.
    fn check_range(&self, range: &IdedExpr, size: Size) -> Result<(), String> {
        let is_all_attributes = matches!(&range.expr, Expr::Select(select)
            if self.is_user(&select.operand) && select.field == "attributes");
        if is_all_attributes || self.is_user(range) || matches!(range.expr, Expr::Map(_)) {
            return Err("a map has no order: name its members, instead of going through it".to_owned());
        }
        if size.items == 0 && size.bytes > 0 {
            return Err(
                "map, filter, all, exists and exists_one go through a list, and this is none".to_owned()
            );
        }
        Ok(())
    }

    fn call(&mut self, call: &'e CallExpr, depth: usize) -> Result<Cost, String> {
        let name = call.func_name.as_str();
        let known = match &call.target {
            None => FUNCTIONS.contains(&name) || is_operator(name),
            Some(_) => METHODS.contains(&name),
        };
        if !known {
            return Err(format!(
                "there is no function {name}: there are {}, and of texts and lists {}",
                FUNCTIONS.join(", "),
                METHODS.join(", ")
            ));
        }
        let mut sizes = Vec::with_capacity(4);
        let mut steps = 0_u64;
        for part in call.target.as_deref().into_iter().chain(&call.args) {
            let cost = self.expression(part, depth + 1)?;
            steps = steps.saturating_add(cost.steps);
            sizes.push(cost.size);
        }
        let size = result_size(name, &sizes);
        let passes = sizes.iter().fold(size.pass(), |sum, size| sum.saturating_add(size.pass()));
        let has_passes = !matches!(name, operators::CONDITIONAL | operators::INDEX);
        Ok(Cost::new(size, if has_passes { steps.saturating_add(passes) } else { steps }))
    }

    /// What a macro stands for: `map`, `filter`, `all`, `exists` and `exists_one`.
    fn comprehension(&mut self, made: &'e ComprehensionExpr, depth: usize) -> Result<Cost, String> {
        if !self.loops.is_empty() {
            return Err("there may be no map, filter, all, exists or exists_one within another".to_owned());
        }
        if made.iter_var2.is_some() {
            return Err(unknown_part());
        }
        let range = self.expression(&made.iter_range, depth + 1)?;
        self.check_range(&made.iter_range, range.size)?;
        let begin = self.expression(&made.accu_init, depth + 1)?;
        // A list has few large items and the rest are small ones, if that is worst; never all of them large beyond its
        // bytes. So as many rounds as fit are counted with the largest item, and all of them with a small one.
        let Size { bytes, items: rounds, item, .. } = range.size;
        let of_large = bytes.checked_div(item).unwrap_or(0).saturating_add(1).min(rounds);
        let parts = self.parts;
        let large = self.round(made, range.size.item_of(item), depth)?;
        self.parts = parts;
        let small = self.round(made, range.size.item_of(item.min(8)), depth)?;
        let items =
            begin.size.items.saturating_add(large.size.items.max(small.size.items).saturating_mul(rounds));
        let gathered = begin.size.and(large.size.times(of_large)).and(small.size.times(rounds));
        let gathered = Size { items, ..gathered };
        self.loops = vec![(made.accu_var.as_str(), gathered)];
        let result = self.expression(&made.result, depth + 1)?;
        self.loops.clear();
        let steps = large.steps.saturating_mul(of_large).saturating_add(small.steps.saturating_mul(rounds));
        Ok(Cost::new(result.size, steps.saturating_add(range.steps).saturating_add(result.steps)))
    }

    /// One round of a loop, for an item of this size. What the loop has gathered grows by as much in each such round: it is
    /// appended to in place, so seen from a beginning of nothing one round tells how much.
    fn round(&mut self, made: &'e ComprehensionExpr, item: Size, depth: usize) -> Result<Cost, String> {
        self.loops = vec![(made.iter_var.as_str(), item), (made.accu_var.as_str(), Size::default())];
        let condition = self.expression(&made.loop_cond, depth + 1)?;
        let step = self.expression(&made.loop_step, depth + 1)?;
        Ok(Cost::new(step.size, condition.steps.saturating_add(step.steps).saturating_add(4)))
    }
}

fn unknown_part() -> String {
    "the expression has a part that claims cannot have".to_owned()
}

fn literal_size(literal: &LiteralValue) -> Result<Size, String> {
    match literal {
        LiteralValue::String(text) => Ok(Size::text(text.inner().len() as u64)),
        LiteralValue::Bytes(_) => Err(unknown_part()),
        LiteralValue::Boolean(_)
        | LiteralValue::Double(_)
        | LiteralValue::Int(_)
        | LiteralValue::UInt(_)
        | LiteralValue::Null => Ok(Size::SCALAR),
    }
}

fn is_operator(name: &str) -> bool {
    matches!(
        name,
        operators::CONDITIONAL
            | operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::SUBSTRACT
            | operators::ADD
            | operators::MULTIPLY
            | operators::DIVIDE
            | operators::MODULO
            | operators::EQUALS
            | operators::NOT_EQUALS
            | operators::GREATER_EQUALS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::LESS
            | operators::NEGATE
            | operators::INDEX
            | operators::IN
            | operators::NOT_STRICTLY_FALSE
    )
}

/// The size of what a function or operator yields.
fn result_size(name: &str, of: &[Size]) -> Size {
    let nth = |n: usize| of.get(n).copied().unwrap_or_default();
    let (first, second, third) = (nth(0), nth(1), nth(2));
    match name {
        operators::CONDITIONAL => second.or(third),
        operators::ADD => first.and(second),
        operators::INDEX => first.item_of(first.item),
        "lowerAscii" | "upperAscii" | "trim" | "substring" => Size::text(first.bytes),
        // A small number is written with all its zeros: 5e-324 has 326 characters.
        "string" => Size::text(first.bytes.max(400)),
        // The new text may stand before, between and after all characters of the old one.
        "replace" => {
            Size::text(first.bytes.saturating_add(first.bytes.saturating_add(1).saturating_mul(third.bytes)))
        }
        "split" => Size {
            bytes: first.bytes.saturating_mul(2).saturating_add(8),
            items: first.bytes.saturating_add(1),
            item: first.bytes,
            within: 0,
        },
        "join" => Size::text(first.bytes.saturating_add(first.items.saturating_mul(second.bytes))),
        _ => Size::SCALAR,
    }
}
