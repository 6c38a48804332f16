//! The definitions that are in force for one client, prepared for use.

use std::ops::Range;

use smol_str::SmolStr;

use super::attributes::{AttributeTypes, NO_ATTRIBUTES};
use super::check::{Refused, compiled, fits};
use super::expression::{Evaluated, Expression};
use super::form::{self, Form};
use super::source::ClaimSource;
use super::variables::Variables;
use super::{ClaimDefinition, Destination, Destinations, Origin};
use crate::attribute::{AttributeName, AttributeSchema};
use crate::json::push_name;
use crate::scope::Scope;
use crate::token::access_token::AccessToken;
use crate::user_claims::{RecordsNeeded, Replaced, UserRecords};

/// The definitions that are in force for one client. Made when settings or the client change, not for each token.
#[derive(Debug, Default)]
pub struct ClaimSet {
    claims: Vec<Prepared>,
    replaced: Replaced,
    /// The attributes that a scope would release as claims, and of which definitions take the place.
    replaced_attributes: Vec<AttributeName>,
    attributes: AttributeTypes,
    broken: Vec<Refused>,
}

/// No definitions.
pub static NO_CLAIMS: ClaimSet = ClaimSet {
    claims: Vec::new(),
    replaced: Replaced::NONE,
    replaced_attributes: Vec::new(),
    attributes: AttributeTypes::NONE,
    broken: Vec::new(),
};

#[derive(Debug)]
struct Prepared {
    name: SmolStr,
    /// `,"name":`.
    head: Box<[u8]>,
    scope: Option<SmolStr>,
    destinations: Destinations,
    maker: Maker,
    needs: RecordsNeeded,
    /// About how many bytes of memory it takes.
    weight: u64,
}

#[derive(Debug)]
enum Maker {
    Source {
        source: ClaimSource,
        form: Option<Form>,
        prefix: String,
    },
    /// The value as JSON.
    Constant(Box<str>),
    Expression(Box<Expression>),
}

/// What the claims of one token, or answer, are made from.
#[derive(Clone, Copy, Debug)]
pub struct ClaimInput<'a> {
    /// The access token, or the one beside the ID token.
    pub(super) token: &'a AccessToken,
    pub(super) records: &'a UserRecords,
    /// The client whose roles `roles` holds besides the issuer's.
    pub(super) roles_of: Option<&'a str>,
    /// The attributes that users can have; a [`ClaimSet`] knows them.
    pub(super) attributes: &'a AttributeTypes,
}

impl<'a> ClaimInput<'a> {
    /// For what the client of the token itself reads: ID tokens and UserInfo.
    pub fn for_client(token: &'a AccessToken, records: &'a UserRecords) -> Self {
        let roles_of = Some(token.client_id.as_str());
        Self { token, records, roles_of, attributes: &NO_ATTRIBUTES }
    }

    /// For what the token's audience reads: access tokens and introspection. Call it when the audience is final.
    pub fn for_audience(token: &'a AccessToken, records: &'a UserRecords) -> Self {
        Self { token, records, roles_of: token.roles_client(), attributes: &NO_ATTRIBUTES }
    }
}

/// The most that defined claims take in an access token, in bytes. It is sent in a header, for which servers have 8 to 32 KiB.
const LARGEST_IN_ACCESS_TOKEN: usize = 16 << 10;

/// The most that they take elsewhere, in bytes.
const LARGEST: usize = 64 << 10;

/// Defined claims, as the members of a JSON object that has members before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefinedClaims(Box<[u8]>);

impl DefinedClaims {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The claims as an object of their own.
    ///
    /// # Errors
    /// None: what was written is JSON.
    pub fn to_value(&self) -> serde_json::Result<serde_json::Value> {
        let members = self.0.get(1..).unwrap_or_default();
        serde_json::from_slice(&[b"{", members, b"}"].concat())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A claim that was left out because its expression failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFailure {
    /// The name of the claim.
    pub name: SmolStr,
    /// Where it would have gone.
    pub destination: Destination,
    /// The reason, without values of the user.
    pub why: String,
}

/// Claims that were written for one destination.
#[derive(Default)]
struct Written {
    claims: DefinedClaims,
    /// The number of each claim in its set, and where its value is in the bytes of `claims`.
    values: Vec<(usize, Range<usize>)>,
}

/// What was written for the ID token, of the same user and scope, when the access token beside it is made.
#[derive(Default)]
struct Earlier<'a> {
    values: Vec<(usize, Range<usize>)>,
    json: &'a [u8],
    /// Whether the roles that expressions see are the same in both tokens.
    has_same_roles: bool,
}

impl Earlier<'_> {
    /// The value of an expression that was evaluated already, as JSON.
    fn value(&self, number: usize, claim: &Prepared) -> Option<&[u8]> {
        match &claim.maker {
            Maker::Expression(expression) if self.has_same_roles || !expression.uses().roles => {
                let (_, at) = self.values.iter().find(|(earlier, _)| *earlier == number)?;
                self.json.get(at.clone())
            }
            _ => None,
        }
    }
}

impl ClaimSet {
    /// The definitions of an issuer, of which a client's own replace those of the same name, and the issuer's schema of
    /// attributes. A definition that cannot be used, because the schema does not have its attribute or because an earlier release
    /// saved what this one refuses, is left out and told by [`broken`](Self::broken).
    pub fn of(issuer: &[ClaimDefinition], client: &[ClaimDefinition], schema: &AttributeSchema) -> Self {
        let is_replaced =
            |definition: &&ClaimDefinition| client.iter().any(|own| own.name == definition.name);
        let mut set = Self { attributes: AttributeTypes::of(schema), ..Self::default() };
        for definition in issuer.iter().filter(|definition| !is_replaced(definition)).chain(client) {
            set.replaced.add(&definition.name);
            let attribute = schema.definition(&definition.name).filter(|attribute| attribute.scope.is_some());
            set.replaced_attributes.extend(attribute.map(|attribute| attribute.name.clone()));
            match fits(definition, schema).and_then(|()| Prepared::of(definition)) {
                Ok(prepared) => set.claims.extend(prepared),
                Err(refused) => set.broken.push(refused),
            }
        }
        set
    }

    /// Whether tokens are as they would be without definitions.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.replaced == Replaced::NONE && self.replaced_attributes.is_empty()
    }

    /// About how many bytes of memory the set takes.
    pub fn weight(&self) -> u64 {
        self.claims.iter().fold(1_000, |sum, claim| sum.saturating_add(claim.weight))
    }

    /// The definitions that could not be used.
    pub fn broken(&self) -> &[Refused] {
        &self.broken
    }

    /// The standard claims that definitions take the place of.
    pub fn replaced(&self) -> Replaced {
        self.replaced
    }

    /// Whether a definition takes the place of the claim that a scope would make of this attribute.
    pub(crate) fn replaces_attribute(&self, name: &AttributeName) -> bool {
        self.replaced_attributes.contains(name)
    }

    /// The records that are needed for a destination when this scope is granted.
    pub fn need(&self, destination: Destination, scope: &Scope) -> RecordsNeeded {
        self.due(destination, scope).fold(RecordsNeeded::default(), |all, (_, claim)| all.or(claim.needs))
    }

    /// The claims for a destination. What fails is left out, and added to `failures`: no expression may be the reason why
    /// somebody cannot sign in.
    pub fn write(
        &self,
        destination: Destination,
        input: ClaimInput<'_>,
        failures: &mut Vec<ClaimFailure>,
    ) -> DefinedClaims {
        self.write_after(Earlier::default(), (destination, input), failures).claims
    }

    /// The claims of an ID token, and those of the access token beside it; an expression whose value goes to both is
    /// evaluated once. Failures as at [`write`](Self::write).
    pub fn write_both(
        &self,
        id_token: ClaimInput<'_>,
        access_token: ClaimInput<'_>,
        failures: &mut Vec<ClaimFailure>,
    ) -> (DefinedClaims, DefinedClaims) {
        let first = self.write_after(Earlier::default(), (Destination::IdToken, id_token), failures);
        let earlier = Earlier {
            values: first.values,
            json: first.claims.as_bytes(),
            has_same_roles: id_token.roles_of == access_token.roles_of,
        };
        let second = self.write_after(earlier, (Destination::AccessToken, access_token), failures);
        (first.claims, second.claims)
    }

    fn write_after(
        &self,
        earlier: Earlier<'_>,
        (destination, input): (Destination, ClaimInput<'_>),
        failures: &mut Vec<ClaimFailure>,
    ) -> Written {
        // A client that acts for itself is no user.
        if self.claims.is_empty() || input.token.is_of_client() {
            return Written::default();
        }
        let mut variables = Variables::new(ClaimInput { attributes: &self.attributes, ..input });
        let mut json = Vec::new();
        let mut values = Vec::new();
        let largest = match destination {
            Destination::AccessToken => LARGEST_IN_ACCESS_TOKEN,
            Destination::IdToken | Destination::Userinfo | Destination::Introspection => LARGEST,
        };
        for (number, claim) in self.due(destination, &input.token.scope) {
            let begin = json.len();
            json.extend_from_slice(&claim.head);
            let value = json.len();
            let mut written = match earlier.value(number, claim) {
                Some(value) => {
                    json.extend_from_slice(value);
                    Ok(Evaluated::Written)
                }
                None => claim.write_value(&mut variables, &mut json),
            };
            if matches!(written, Ok(Evaluated::Written)) && json.len() > largest {
                written = Err(format!("the claims that are defined take more than {largest} bytes together"));
            }
            match written {
                Ok(Evaluated::Written) => values.push((number, value..json.len())),
                Ok(Evaluated::Absent) => json.truncate(begin),
                Err(why) => {
                    json.truncate(begin);
                    failures.push(ClaimFailure { name: claim.name.clone(), destination, why });
                }
            }
        }
        Written { claims: DefinedClaims(json.into_boxed_slice()), values }
    }

    /// The claims that go to a destination when this scope is granted, each with its number in the set.
    fn due<'s>(
        &'s self,
        destination: Destination,
        scope: &'s Scope,
    ) -> impl Iterator<Item = (usize, &'s Prepared)> {
        self.claims.iter().enumerate().filter(move |(_, claim)| {
            claim.destinations.contain(destination)
                && claim.scope.as_deref().is_none_or(|token| scope.contains(token))
        })
    }
}

/// About how many bytes of memory a prepared definition takes. Each byte of an expression may be a part of it.
fn weight(definition: &ClaimDefinition) -> u64 {
    let text = match &definition.origin {
        Origin::Expression(text) => text.len() * 100,
        Origin::Constant(value) => value.to_string().len(),
        Origin::Source { prefix, .. } => prefix.len(),
        Origin::Off => 0,
    };
    500 + text as u64
}

impl Prepared {
    /// `None` for a claim that is switched off.
    fn of(definition: &ClaimDefinition) -> Result<Option<Self>, Refused> {
        let mut needs = RecordsNeeded::default();
        let maker = match (&definition.origin, compiled(definition)?) {
            (Origin::Source { source, form, prefix }, _) => {
                needs = source.needs();
                Maker::Source { source: source.clone(), form: *form, prefix: prefix.clone() }
            }
            (Origin::Constant(value), _) => Maker::Constant(value.to_string().into()),
            (_, Some(expression)) => {
                let uses = expression.uses();
                needs = RecordsNeeded { user: uses.user, entitlements: uses.groups || uses.roles };
                Maker::Expression(Box::new(expression))
            }
            (_, None) => return Ok(None),
        };
        let mut head = vec![b','];
        push_name(&mut head, &definition.name);
        Ok(Some(Self {
            weight: weight(definition),
            name: definition.name.clone(),
            head: head.into_boxed_slice(),
            scope: definition.scope.clone(),
            destinations: definition.destinations,
            maker,
            needs,
        }))
    }

    fn write_value(&self, variables: &mut Variables<'_>, json: &mut Vec<u8>) -> Result<Evaluated, String> {
        match &self.maker {
            Maker::Source { source, form, prefix } => {
                let is_written = form::write(source, *form, prefix, &variables.input(), json);
                Ok(if is_written { Evaluated::Written } else { Evaluated::Absent })
            }
            Maker::Constant(value) => {
                json.extend_from_slice(value.as_bytes());
                Ok(Evaluated::Written)
            }
            Maker::Expression(expression) => {
                variables.prepare(expression.uses());
                expression.evaluate(variables, json)
            }
        }
    }
}
