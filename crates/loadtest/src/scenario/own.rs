//! Scenarios that somebody wrote in a file: requests with values in them that come from constants, tables, chance and earlier
//! answers, and what each answer must say. `docs/reference/own-scenarios.md` describes the file.

mod answer;
mod asked;
mod compile;
mod data;
mod document;
mod judge;
mod names;
mod program;
mod template;
#[cfg(test)]
mod tests;
mod values;
mod visitor;

use std::path::Path;
use std::sync::Arc;

use super::Visitor;
use crate::seed::Seed;
use crate::{LoadtestError, Target};
use document::Document;
use program::Program;
use template::BuiltIn;
use visitor::OwnVisitor;

/// The scenarios of a file.
#[derive(Clone)]
pub struct OwnScenarios {
    /// The file's name without its ending.
    name: &'static str,
    program: Arc<Program>,
}

impl OwnScenarios {
    /// Reads a file, and those that it names. What it takes from the environment is read now.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with the file, the place in it, what is wrong there and what mends it.
    pub fn read(path: &Path) -> Result<Self, LoadtestError> {
        let refused = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let document: Document = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let directory = path.parent().unwrap_or(Path::new("."));
        let program = compile::compile(document, directory).map_err(refused)?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { name: compile::counted_as(stem.unwrap_or_default()), program: Arc::new(program) })
    }

    /// The file's name without its ending, as which results know it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it uses users or the client of a seed.
    pub fn needs_seed(&self) -> bool {
        self.program.built_ins().any(BuiltIn::is_of_the_seed)
    }

    /// Whether the target announces the endpoints that the file names.
    ///
    /// # Errors
    /// [`LoadtestError::NotOffered`] where it does not.
    pub fn check_offer(&self, target: &Target) -> Result<(), LoadtestError> {
        let endpoints = &target.endpoints;
        let lacking = self.program.built_ins().find_map(|built_in| match built_in {
            BuiltIn::Userinfo if endpoints.userinfo.is_none() => Some("userinfo_endpoint"),
            BuiltIn::Introspect if endpoints.introspect.is_none() => Some("introspection_endpoint"),
            BuiltIn::Revoke if endpoints.revoke.is_none() => Some("revocation_endpoint"),
            BuiltIn::Jwks if endpoints.jwks.is_none() => Some("jwks_uri"),
            _ => None,
        });
        lacking.map_or(Ok(()), |member| {
            Err(LoadtestError::NotOffered {
                scenario: self.name,
                what: format!("the {member}"),
                issuer: target.issuer.clone(),
                offered: format!("no {member}"),
            })
        })
    }

    /// So many visitors.
    ///
    /// # Errors
    /// [`LoadtestError::Unseeded`] where the file uses users, and the seed has none.
    pub fn visitors(
        &self,
        seed: &Arc<Seed>,
        connections: usize,
    ) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        let is_of_a_user =
            |built_in| matches!(built_in, BuiltIn::Username | BuiltIn::UserId | BuiltIn::Password);
        if seed.users.is_empty() && self.program.built_ins().any(is_of_a_user) {
            return Err(LoadtestError::Unseeded { scenario: self.name, what: "users with a password" });
        }
        let visitor = |index| Box::new(OwnVisitor::new(&self.program, seed, index)) as Box<dyn Visitor>;
        Ok((0..connections).map(visitor).collect())
    }
}
