//! The scopes of a client, and the claims that mappers add: those of the client itself, and those of its client scopes.

use std::collections::HashMap;

use serde_json::Value;
use symbolon_protocol::scope::ROLES;

use super::super::client::Draft;
use super::super::record::Fault;
use super::super::schema::Schema;
use super::mapper::{self, MEND, Mapper, Said};

/// Client scopes by which Keycloak configures tokens, and which nobody asks for. Its scope `roles` is not among them.
const SILENT_SCOPES: [&str; 6] =
    ["web-origins", "acr", "basic", "microprofile-jwt", "role_list", "service_account"];

/// Scopes that mean the same here.
const SAME_SCOPES: [&str; 5] = ["profile", "email", "address", "phone", "offline_access"];

/// The most client scopes of a realm.
const MOST_SCOPES: usize = 10_000;

/// The mappers of the realm's client scopes, by the names of these.
#[derive(Default)]
pub(super) struct ClientScopes(HashMap<String, Vec<Value>>);

impl ClientScopes {
    /// Reads a client scope.
    pub(super) fn read(&mut self, scope: &Value) {
        let Some(name) = scope.get("name").and_then(Value::as_str) else { return };
        let is_known = SILENT_SCOPES.contains(&name) || SAME_SCOPES.contains(&name);
        if is_known || self.0.len() >= MOST_SCOPES {
            return;
        }
        let mappers = scope.get("protocolMappers").and_then(Value::as_array).cloned().unwrap_or_default();
        self.0.insert(name.to_owned(), mappers);
    }
}

/// Gives a client its scopes and claims.
pub(super) fn give(client: &Value, scopes: &ClientScopes, schema: &Schema, draft: &mut Draft) {
    draft.scope("openid");
    let of = |member: &str| client.get(member).and_then(Value::as_array).into_iter().flatten();
    // Those of the client itself go before.
    let has_all_roles = has_all_roles(client);
    let mut mappers: Vec<(&Value, Option<&str>)> = of("protocolMappers").map(|own| (own, None)).collect();
    for (member, is_asked_for) in [("defaultClientScopes", false), ("optionalClientScopes", true)] {
        let named = of(member).filter_map(Value::as_str).filter(|scope| !SILENT_SCOPES.contains(scope));
        for scope in named {
            if scope == ROLES && !has_all_roles {
                draft.part(
                    "scope roles",
                    "tokens have only roles in the scope of the client (fullScopeAllowed is off), and would have all here",
                    "register the scope where the client may have all roles of its users (docs/topics/claims.md)",
                );
            } else {
                draft.scope(scope);
            }
            let all = scopes.0.get(scope).into_iter().flatten();
            mappers.extend(all.map(|mapper| (mapper, is_asked_for.then_some(scope))));
        }
    }
    let id = draft.id().to_owned();
    let mut taken = Taken::default();
    for (document, scope) in mappers {
        let mapper = Mapper { document, client_id: &id, scope, has_all_roles, schema };
        if let Err(fault) = taken.take(&mapper, draft) {
            let name = document.get("name").and_then(Value::as_str).unwrap_or("without a name");
            let part = format!("mapper {}", name.chars().take(100).collect::<String>());
            draft.part(&part, fault.why, fault.mend);
        }
    }
    if !taken.audiences.is_empty() {
        draft.set("access_token_audiences", taken.audiences);
    }
}

/// Whether tokens of the client have all roles of the user. Where nothing is said, Keycloak goes by the consent.
fn has_all_roles(client: &Value) -> bool {
    let flag = |member: &str| client.get(member).and_then(Value::as_bool);
    flag("fullScopeAllowed").unwrap_or_else(|| flag("consentRequired") != Some(true))
}

/// What was taken of the mappers of a client.
#[derive(Default)]
struct Taken {
    audiences: Vec<String>,
    /// The names of claims that a scope releases.
    released: Vec<String>,
}

impl Taken {
    /// Takes what a mapper says, or tells why not. Of two that say something else of one claim the first is taken.
    fn take(&mut self, mapper: &Mapper<'_>, draft: &mut Draft) -> Result<(), Fault> {
        let twice =
            |claim: &str| Fault::new(format!("another mapper of the client defines the claim {claim}"), MEND);
        match mapper::said(mapper)? {
            Said::Already => {}
            Said::Scope(scope) => {
                let claim = mapper.claim();
                if draft.defines(claim) {
                    return Err(twice(claim));
                }
                draft.scope(scope);
                self.released.push(claim.to_owned());
            }
            Said::Claim(definition) => {
                if self.released.iter().any(|released| *released == definition.name) {
                    return Err(twice(&definition.name));
                }
                draft.claim(*definition).map_err(|why| Fault::new(why, MEND))?;
            }
            Said::Audience(audience) if self.audiences.contains(&audience) => {}
            Said::Audience(audience) => self.audiences.push(audience),
        }
        Ok(())
    }
}
