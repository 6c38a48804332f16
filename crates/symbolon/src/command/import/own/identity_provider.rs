//! Identity providers of an export, and who users are to them.

use serde_json::Value;

use super::super::record::{Fault, Kind, Object, Origin, Part};
use super::{Import, there};
use crate::command::CommandError;

/// What must be the same of two providers of one id, or who somebody is to one says nothing of the other.
const SAME_PROVIDER: [&str; 3] = ["kind", "issuer", "client_id"];

impl Import<'_, '_> {
    /// Takes a provider. One of the same id is the same only where people are known to it by the same subjects.
    pub(super) fn identity_provider(
        &mut self,
        origin: Origin,
        mut provider: Object,
    ) -> Result<(), CommandError> {
        let there = match self.providers_there.take() {
            Some(there) => there,
            None => self.importer.identity_providers()?,
        };
        let is_other = there
            .get(&origin.id)
            .is_some_and(|own| SAME_PROVIDER.iter().any(|member| own.get(*member) != provider.get(*member)));
        self.providers_there = Some(there);
        if is_other {
            let fault = Fault::new(
                "another identity provider has this id here, so that neither this one nor identities at it are taken",
                "delete that one, or add this one by hand under another id",
            );
            return self.importer.refuse(Kind::IdentityProvider, &origin, &fault);
        }
        self.providers.insert(origin.id.clone());
        let mut parts = self.map_groups(&mut provider);
        if provider.remove("has_client_secret") == Some(Value::Bool(true)) {
            // Nobody should find a button that leads to an error.
            provider.insert("enabled".to_owned(), Value::Bool(false));
            let mend = format!(
                "symbolon identity-provider update {} --client-secret-file FILE --enabled; register the callback there that \
                 symbolon identity-provider show tells",
                origin.id
            );
            let why = "an export never has it: until it is set anew, people cannot sign in by this provider";
            parts.push(Part::new("client_secret", Fault::new(why, mend)));
        }
        self.importer.record_without(Kind::IdentityProvider, origin, provider, parts)
    }

    /// Names the groups that a provider's are mapped to by the ids that they have on the server, and leaves out those that are not
    /// there.
    fn map_groups(&self, provider: &mut Object) -> Vec<Part> {
        let Some(mapping) = provider.get_mut("groups").and_then(|groups| groups.get_mut("groups")) else {
            return Vec::new();
        };
        let Some(mapped) = mapping.as_object_mut() else { return Vec::new() };
        let mut parts = Vec::new();
        mapped.retain(|name, group| {
            let own = there(&self.groups, group.as_str().unwrap_or_default());
            let is_there = self.importer.structure.has_group(&own);
            if !is_there {
                let why = "the group that it is mapped to is not in the file, or was not taken";
                parts.push(Part::new(format!("groups.{name}"), why));
            }
            *group = Value::from(own);
            is_there
        });
        if mapped.is_empty() {
            provider.remove("groups");
        }
        parts
    }

    /// Takes who a user is to a provider, where that was taken.
    pub(super) fn identity(&mut self, origin: Origin, identity: Object) -> Result<(), CommandError> {
        let provider = identity.get("identity_provider").and_then(Value::as_str);
        let was_sent = |id: &&str| self.providers.contains(*id);
        if provider.filter(was_sent).is_some_and(|id| !self.importer.has_refused_provider(id)) {
            return self.importer.record(Kind::Identity, origin, identity);
        }
        let fault = "its identity provider is not in the file, or was not taken".into();
        self.importer.refuse(Kind::Identity, &origin, &fault)
    }
}
