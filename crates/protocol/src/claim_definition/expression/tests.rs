use cel::common::ast::Expr;
use serde_json::{Value as Json, json};

use super::*;
use crate::claim_definition::ClaimInput;
use crate::claim_definition::dry_run::try_out;
use crate::entitlement::{EntitlementName, Entitlements, HeldGroup, HeldRole, MOST_HELD, path};
use crate::id::{GroupId, RoleId};
use crate::token::fixture::{access_token, entitlements, user};
use crate::user_claims::UserRecords;

/// What an expression comes to for the user `ada` of the fixture, with a token of `app`; `None` without a value.
fn evaluated(text: &str, records: &UserRecords) -> Result<Option<Json>, String> {
    let expression = Expression::compile(text)?;
    let token = access_token("app", "openid email api");
    let mut variables = Variables::new(ClaimInput::for_client(&token, records));
    variables.prepare(expression.uses());
    let mut json = Vec::new();
    match expression.evaluate(&variables, &mut json)? {
        Evaluated::Written => Ok(Some(serde_json::from_slice(&json).expect("JSON"))),
        Evaluated::Absent => Ok(None),
    }
}

fn records() -> UserRecords {
    UserRecords { user: Some(Arc::new(user())), entitlements: Some(Arc::new(entitlements())) }
}

fn of_ada(text: &str) -> Option<Json> {
    evaluated(text, &records()).unwrap_or_else(|why| panic!("{text}: {why}"))
}

/// Why an expression cannot be saved.
fn refused(text: &str) -> String {
    match Expression::compile(text).and_then(|expression| try_out(&expression)) {
        Ok(()) => panic!("{text} was admitted"),
        Err(why) => why,
    }
}

#[test]
fn every_variable_has_its_value() {
    for (text, expected) in [
        ("user.id", json!("u-1")),
        ("user.email", json!("ada@example.com")),
        ("user.email_verified", json!(true)),
        ("user.name", json!("Ada \"Countess\" Lovelace")),
        ("user.updated_at", json!(1_600_000_000)),
        ("user['preferred_username']", json!("ada")),
        ("groups", json!(["dev", "staff"])),
        ("roles", json!(["admin", "editor", "viewer"])),
        ("client.id", json!("app")),
        ("scope", json!(["openid", "email", "api"])),
        ("user.attributes", json!({})),
    ] {
        assert_eq!(of_ada(text), Some(expected), "{text}");
    }
}

#[test]
fn usual_expressions_yield_what_they_say() {
    for (text, expected) in [
        ("groups.map(g, 'oidc:' + g)", json!(["oidc:dev", "oidc:staff"])),
        ("groups.filter(g, g.startsWith('d')).map(g, g.substring(1))", json!(["ev"])),
        ("groups.map(g, g == 'dev', g + '!')", json!(["dev!"])),
        ("'admin' in roles ? 'Admin' : 'Viewer'", json!("Admin")),
        ("groups.exists(g, g == 'staff') && !('owner' in roles)", json!(true)),
        ("groups.all(g, g.size() > 4)", json!(false)),
        ("groups.exists_one(g, g.endsWith('f'))", json!(true)),
        ("roles.join(' ')", json!("admin editor viewer")),
        ("user.email.split('@')[1].upperAscii()", json!("EXAMPLE.COM")),
        ("has(user.nickname) ? user.nickname : user.email", json!("ada@example.com")),
        ("has(user.attributes.team)", json!(false)),
        ("{'roles': roles, 'n': size(groups)}", json!({"n": 2, "roles": ["admin", "editor", "viewer"]})),
        ("[1, 2u, 1.5, true, null, 'a\"b']", json!([1, 2, 1.5, true, null, "a\"b"])),
        ("string(size(roles)) + user.name.replace(' ', '').lowerAscii()", json!("3ada\"countess\"lovelace")),
    ] {
        assert_eq!(of_ada(text), Some(expected), "{text}");
    }
}

#[test]
fn what_the_user_does_not_have_is_no_value_and_no_failure() {
    for text in
        ["user.nickname", "user.attributes.team", "groups[7]", "null", "user['nickname']", "{'a': 1}.b"]
    {
        assert_eq!(of_ada(text), None, "{text}");
        assert!(Expression::compile(text).and_then(|expression| try_out(&expression)).is_ok(), "{text}");
    }
    assert_eq!(evaluated("groups", &UserRecords::default()), Ok(Some(json!([]))));
    assert_eq!(evaluated("user.email", &UserRecords::default()), Ok(None));
}

#[test]
fn what_there_is_not_is_refused() {
    for (text, why) in [
        ("grups", "there is no variable grups"),
        (".groups", "there is no variable"),
        ("int", "there is no variable int"),
        ("user.emial", "user has no member emial"),
        ("has(user.emial)", "user has no member emial"),
        ("user.address", "but address"),
        ("groups.name", "groups is a list"),
        ("client", "only client.id"),
        ("client.secret", "only client.id"),
        ("now()", "there is no function now"),
        ("timestamp('2026-01-01T00:00:00Z')", "there is no function timestamp"),
        ("user.email.matches('^(a+)+$')", "there is no function matches"),
        ("optional.of(1)", "there is no"),
        ("'%s'.format([1])", "there is no function format"),
        ("type(1)", "there is no function type"),
        ("b'abc'", "a part that claims cannot have"),
        ("Message{a: 1}", "a part that claims cannot have"),
        ("groups.map(g, h)", "there is no variable h"),
        ("", "cannot be read"),
        ("groups.", "cannot be read"),
        ("1 +", "cannot be read"),
        ("'", "cannot be read"),
        ("a.?b", "cannot be read"),
    ] {
        let told = refused(text);
        assert!(told.contains(why), "{text}: {told}");
    }
}

#[test]
fn what_fails_for_somebody_is_refused() {
    for (text, why) in [
        ("1 / size(groups)", "a user without groups, roles and profile: division by zero"),
        ("groups + 1", "cannot take these two values"),
        ("'a' < 1", "fails for"),
        ("size(1)", "fails for"),
        ("'abc'.substring(9)", "substring failed"),
        ("9223372036854775807 + 1", "a number is too large"),
        ("groups ? 1 : 2", "bool is expected"),
        ("{1: 2}", "a key of the result is no text"),
        ("{'a': 1, 'a': 2}", "fails for"),
        ("[[[[[[[[[[1]]]]]]]]]]", "nested too deep"),
        ("1.0 / 0.0", "fails for"),
    ] {
        let told = refused(text);
        assert!(told.contains(why), "{text}: {told}");
    }
}

#[test]
fn only_lists_are_gone_through() {
    for text in ["user.attributes.map(k, k)", "user.map(k, k)", "{'a': 1, 'b': 2}.map(k, k)[0]"] {
        assert!(refused(text).contains("no order"), "{text}");
    }
    for text in ["user.email.map(c, c)", "client.id.filter(c, true)", "size(groups).map(c, c)"] {
        assert!(refused(text).contains("go through a list"), "{text}");
    }
    assert!(Expression::compile("user.attributes.teams.map(t, 'x:' + t)").is_ok());
    assert!(Expression::compile("user.attributes.a.b.exists(t, t == 'x')").is_ok());
}

#[test]
fn what_the_user_has_not_costs_a_round_of_a_loop_little() {
    let mut user = user();
    user.profile = Default::default();
    let mut held = entitlements();
    held.groups = held.groups.iter().cycle().take(1_000).cloned().collect();
    let records = UserRecords { user: Some(Arc::new(user)), entitlements: Some(Arc::new(held)) };
    let terms = vec!["user.name[0]"; 65].join("||");
    let text = format!("size(groups) < 51 ? false : groups.exists(g, {terms})");
    assert_eq!(evaluated(&text, &records), Ok(None));
    // The whole user is made once, and not for each of these 65,000 looks in vain.
    let uses = |text: &str| Expression::compile(text).unwrap().uses();
    assert!(uses(&text).user_in_loop && uses("groups.map(g, g + user.id)").user_in_loop);
    assert!(!uses("user.email.split('@')[0]").user_in_loop);
}

/// A user with as many groups and roles as there may be, of names that are as long as names may be.
fn largest() -> UserRecords {
    let name = |kind: char, n: usize| EntitlementName::trusted(format!("{kind}{n:04}{}", "𝒳".repeat(195)));
    let group = |n: usize| {
        let name = name('g', n);
        HeldGroup { id: GroupId::trusted(format!("g{n}")), path: path([&name]), name }
    };
    let role =
        |n: usize| HeldRole { id: RoleId::trusted(format!("r{n}")), name: name('r', n), client_id: None };
    let most = || 0..MOST_HELD;
    let held = Entitlements::of(most().map(group).collect(), most().map(role).collect());
    UserRecords { user: Some(Arc::new(user())), entitlements: Some(Arc::new(held)) }
}

fn length<'v>(list: &(dyn Val + 'v)) -> u64 {
    list.downcast_ref::<CelList>().map_or(0, |list| list.inner().len() as u64)
}

/// How many parts are evaluated at most, those of a loop as often as its list is long for this user.
fn evaluations(part: &IdedExpr, context: &Context<'_, '_>) -> u64 {
    let of = |part: &IdedExpr| evaluations(part, context);
    match &part.expr {
        // `user.email` and its like are looked up as one name.
        Expr::Select(select) if !matches!(select.operand.expr, Expr::Ident(_)) => 1 + of(&select.operand),
        Expr::Call(call) => 1 + call.target.as_deref().into_iter().chain(&call.args).map(of).sum::<u64>(),
        Expr::List(list) => 1 + list.elements.iter().map(of).sum::<u64>(),
        Expr::Comprehension(made) => {
            let range = Value::resolve_val(&made.iter_range, context).expect("a list");
            let rounds = length(&*range);
            of(&made.iter_range) + rounds * (of(&made.loop_cond) + of(&made.loop_step)) + of(&made.result)
        }
        _ => 1,
    }
}

/// The steps of an admitted expression are counted before, and not while it runs: so they must cover what runs.
#[test]
fn no_more_is_evaluated_for_the_largest_user_than_the_steps_that_were_admitted() {
    let records = largest();
    let token = access_token("app", "openid email api");
    let mut most = 0;
    for [before, term, behind] in [
        ["groups.exists(g, ", "g == 'x'", ")"],
        ["roles.all(r, ", "size(r) > 3", ")"],
        ["groups.filter(g, ", "g.startsWith('x')", ")"],
        ["(groups + roles).exists(n, ", "n.contains('x')", ")"],
    ] {
        for terms in 1.. {
            let text = format!("{before}{}{behind}", vec![term; terms].join(" && "));
            let Ok(expression) = Expression::compile(&text) else {
                assert!(terms > 1, "{text} is not admitted");
                break;
            };
            let mut variables = Variables::new(ClaimInput::for_client(&token, &records));
            variables.prepare(expression.uses());
            let mut context = Context::with_env(Arc::clone(&*FUNCTIONS));
            context.set_variable_resolver(&variables);
            let (taken, steps) = (evaluations(&expression.root, &context), expression.steps());
            assert!(taken >= 1_000 && taken <= steps, "{taken} evaluations, {steps} steps: {text}");
            most = most.max(steps);
        }
    }
    assert!((500_000..=1_000_000).contains(&most), "the bound was not reached: {most}");
}

#[test]
fn what_grows_is_refused() {
    for text in [
        // By the size of the result, for 50 groups.
        "groups.map(g, g + g + g)",
        "groups + groups + groups + groups",
        "roles.join(' ').replace('-', 'abcdefghij')",
        // By what it can cost.
        "groups.map(g, groups)",
        "groups.map(g, g in roles)",
        "roles.filter(r, groups.exists(g, g == r))",
        "groups.join('').split('').join('').split('').map(c, c + groups.join(''))",
        &format!("'{0}'.replace('', '{0}').replace('', '{0}')", "x".repeat(300)),
        // A small number is a long text.
        "size(string(5e-324).replace('', string(5e-324)).replace('', string(5e-324)))",
        // The name of an attribute may have dots.
        "user.attributes.a.b.map(x, x.replace('', x).replace('', x))",
        "user.attributes.a.map(x, x.replace('', x).replace('', x))",
        "user.attributes['a.b'].map(x, x.replace('', x).replace('', x))",
    ] {
        let told = refused(text);
        let is_known =
            ["longer than 4096 bytes", "steps", "within another"].iter().any(|why| told.contains(why));
        assert!(is_known, "{text}: {told}");
    }
}

#[test]
fn what_is_long_or_deep_is_refused_before_anything_calls_itself_too_often() {
    let long = format!("'{}'", "x".repeat(LONGEST_EXPRESSION));
    assert!(refused(&long).contains("longer than 1000 bytes"));
    for text in [
        "1+".repeat(400) + "1",
        "(1+".repeat(200) + "1" + &")".repeat(200),
        "[".repeat(400) + "1" + &"]".repeat(400),
        "-".repeat(900) + "1",
        "!-".repeat(400) + "1",
        "true?1:".repeat(140) + "1",
        "user.name".to_owned() + &".trim()".repeat(120),
        "size(".repeat(150) + "groups" + &")".repeat(150),
        "groups".to_owned() + &".filter(g,true)".repeat(60),
        // Inputs on which a parser of the crate, not this one, needs gigabytes.
        "!!(!!!!!!(!!!!(((((!!(!!(!!!!((".repeat(5) + "1",
        "{[(!".repeat(200),
        "\u{1f980}".repeat(200),
        "?".repeat(500),
    ] {
        // `-` an even number of times is nothing.
        if !text.starts_with("--") {
            refused(&text);
        }
    }
}

#[test]
fn a_loop_variable_may_have_any_name_and_ends_with_its_loop() {
    assert_eq!(of_ada("groups.map(user, user + '!')"), Some(json!(["dev!", "staff!"])));
    assert_eq!(of_ada("groups.map(groups, groups)"), Some(json!(["dev", "staff"])));
    assert!(refused("groups.map(g, g)[0] == g").contains("there is no variable g"));
}

#[test]
fn a_reason_holds_nothing_of_the_user() {
    let told = |text: &str| evaluated(text, &records()).unwrap_err();
    for text in ["user.email - 1", "user.email < 1", "int(user.email)", "user.email.substring(99)"] {
        let why = told(text);
        assert!(!why.contains("ada") && !why.contains("example"), "{text}: {why}");
    }
}

#[test]
fn only_what_is_named_is_loaded() {
    let uses = |text: &str| {
        let Uses { user, groups, roles, scope, .. } = Expression::compile(text).unwrap().uses();
        (user, groups, roles, scope)
    };
    assert_eq!(uses("client.id + user.id"), (false, false, false, false));
    assert_eq!(uses("user.email"), (true, false, false, false));
    assert_eq!(uses("has(user.attributes.x)"), (true, false, false, false));
    assert_eq!(uses("'a' in groups || 'b' in scope"), (false, true, false, true));
    assert_eq!(uses("roles.map(r, r)"), (false, false, true, false));
}

proptest::proptest! {
    /// Whatever is sent is admitted or refused, in bounded time; what is admitted never fails a login.
    #[test]
    fn whatever_comes_is_admitted_or_refused(
        text in "[a-z0-9'\" .,:?!()\\[\\]{}+*/%<>=&|-]{0,120}",
        parts in proptest::collection::vec(0_usize..14, 0..14),
    ) {
        const PARTS: [&str; 14] = [
            "groups", "roles", ".map(g, ", ".filter(g, ", "g", ")", " + ", "'x'", ".join('')", "user.email",
            ".split('')", "[0]", " in ", " ? 1 : ",
        ];
        let made: String = parts.iter().map(|n| PARTS[*n]).collect();
        for text in [&text, &made] {
            if let Ok(expression) = Expression::compile(text) {
                let _ = try_out(&expression);
            }
        }
    }
}
