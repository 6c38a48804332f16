//! Tries out an expression before it is saved: for a user of whom nothing is known, and for one of whom much is.

use std::sync::Arc;

use super::expression::Expression;
use super::set::ClaimInput;
use super::variables::Variables;
use crate::entitlement::{EntitlementName, Entitlements, HeldGroup, HeldRole, path};
use crate::id::{ClientId, GroupId, RoleId, UserId};
use crate::scope::Scope;
use crate::time::Timestamp;
use crate::token::access_token::AccessToken;
use crate::user::{Profile, User};
use crate::user_claims::UserRecords;

/// How many groups, and roles, the user has of whom much is known. Each has a name of 30 characters.
const GROUPS: usize = 50;

/// Whether an expression yields a claim, or none, for both users.
pub(super) fn try_out(expression: &Expression) -> Result<(), String> {
    let users = [
        ("a user without groups, roles and profile", bare()),
        ("a user with 50 groups, 50 roles and a whole profile", whole()),
    ];
    for (who, records) in users {
        let token = token();
        let mut variables = Variables::new(ClaimInput::for_client(&token, &records));
        variables.prepare(expression.uses());
        expression
            .evaluate(&variables, &mut Vec::new())
            .map_err(|why| format!("the expression fails for {who}: {why}"))?;
    }
    Ok(())
}

fn token() -> AccessToken {
    let scope = Scope::parse("openid profile email groups roles").unwrap_or_default();
    AccessToken::about("user".into(), ClientId::trusted("client"), scope)
}

fn user(profile: Profile, email: Option<String>) -> User {
    User {
        id: UserId::trusted("user"),
        email_verified: email.is_some(),
        email,
        profile: profile.into(),
        active: true,
        created_at: Timestamp::EPOCH,
        updated_at: Timestamp::EPOCH,
    }
}

fn bare() -> UserRecords {
    let user = user(Profile::default(), None);
    UserRecords { user: Some(Arc::new(user)), entitlements: Some(Arc::new(Entitlements::default())) }
}

fn whole() -> UserRecords {
    let text = |name: &str| Some(format!("{name:-<100}"));
    let profile = Profile {
        name: text("name"),
        given_name: text("given_name"),
        family_name: text("family_name"),
        middle_name: text("middle_name"),
        nickname: text("nickname"),
        preferred_username: text("preferred_username"),
        profile: text("https://user.example/"),
        picture: text("https://user.example/"),
        website: text("https://user.example/"),
        gender: Some("female".to_owned()),
        birthdate: Some("1815-12-10".to_owned()),
        zoneinfo: Some("Europe/London".to_owned()),
        locale: Some("en-GB".to_owned()),
        phone_number: Some("+44 20 7946 0000".to_owned()),
        ..Profile::default()
    };
    let user = user(profile, Some("a.user.with.a.long.name@department.example.com".to_owned()));
    let entitlements = Entitlements::of(
        (0..GROUPS).map(|n| group(&format!("group/{n:-<24}"))).collect(),
        (0..GROUPS).map(|n| role(&format!("role:{n:-<25}"))).collect(),
    );
    UserRecords { user: Some(Arc::new(user)), entitlements: Some(Arc::new(entitlements)) }
}

fn group(name: &str) -> HeldGroup {
    let named = EntitlementName::trusted(name);
    HeldGroup { id: GroupId::trusted(name), path: path([&named]), name: named }
}

fn role(name: &str) -> HeldRole {
    HeldRole { id: RoleId::trusted(name), name: EntitlementName::trusted(name), client_id: None }
}
