//! What takes a request of its own: reading what is there, settings and logos.

use std::collections::HashMap;

use http::StatusCode;
use serde_json::Value;
use symbolon_protocol::logo::Logo;

use super::super::record::{Fault, Kind, Origin};
use super::super::schema::Schema;
use super::Importer;
use crate::command::CommandError;
use crate::command::api::{ApiError, segment};

impl Importer<'_> {
    /// Reads the groups and roles of the server, by which those of the file are known again.
    pub(in super::super) fn read_structure(&mut self) -> Result<(), CommandError> {
        let structure = &mut self.structure;
        self.server.read("/groups/export", &mut |group| structure.add_group(&group))?;
        self.server.read("/roles/export", &mut |role| structure.add_role(&role))
    }

    /// The attributes that users of the issuer may have.
    pub(in super::super) fn schema(&self) -> Result<Schema, CommandError> {
        self.server.schema()
    }

    /// Changes settings of the issuer.
    pub(in super::super) fn set(&self, settings: &Value) -> Result<(), CommandError> {
        if self.is_dry { Ok(()) } else { self.server.set(settings) }
    }

    /// Takes the logo of a client, which was sent before, or of the issuer.
    pub(in super::super) fn logo(
        &mut self,
        origin: &Origin,
        client: Option<&str>,
        logo: &Logo,
    ) -> Result<(), CommandError> {
        if client.is_some_and(|client| self.refused_clients.contains(client)) {
            return self.refuse(Kind::Logo, origin, &"the client whose logo it is was not taken".into());
        }
        if self.is_dry {
            self.report.note_created(Kind::Logo);
            return Ok(());
        }
        let path = match client {
            Some(client) => format!("/clients/{}/logo", segment(client)),
            None => "/branding/logo".to_owned(),
        };
        match self.server.put_logo(&path, logo) {
            Ok(true) => self.report.note_created(Kind::Logo),
            Ok(false) => self.report.note_existing(Kind::Logo),
            Err(CommandError::Api(ApiError::Refused { status, text })) if is_about_the_record(status) => {
                return self.refuse(Kind::Logo, origin, &Fault::from(text));
            }
            Err(error) => {
                self.report.note_lost(Kind::Logo, origin.place);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The providers that are there, as they are shown, by their ids.
    pub(in super::super) fn identity_providers(&self) -> Result<HashMap<String, Value>, CommandError> {
        let mut all = HashMap::new();
        self.server.read("/identity-providers/export", &mut |provider| {
            if let Some(id) = provider.get("id").and_then(Value::as_str).map(str::to_owned) {
                all.insert(id, provider);
            }
        })?;
        Ok(all)
    }
}

/// Whether a refusal is about what was sent, so that other records may still be taken.
fn is_about_the_record(status: StatusCode) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::PAYLOAD_TOO_LARGE)
}
