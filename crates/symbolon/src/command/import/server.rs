//! The admin API, as far as an import needs it.

use http::Method;
use serde_json::Value;
use symbolon_protocol::logo::Logo;

use super::schema::Schema;
use crate::command::CommandError;
use crate::command::api::Api;

/// The admin API, as far as an import needs it.
pub(super) trait Server {
    /// Sends a JSON text a line; the lines of the answer, which are as many.
    fn send(&self, path: &str, lines: Vec<u8>) -> Result<Vec<Value>, CommandError>;
    /// Reads a JSON text a line.
    fn read(&self, path: &str, each: &mut dyn FnMut(Value)) -> Result<(), CommandError>;
    /// The attributes that users of the issuer may have.
    fn schema(&self) -> Result<Schema, CommandError>;
    /// Changes the settings of the issuer.
    fn set(&self, settings: &Value) -> Result<(), CommandError>;
    /// Puts a logo where there is none; false where there is one.
    fn put_logo(&self, path: &str, logo: &Logo) -> Result<bool, CommandError>;
}

impl Server for Api {
    fn send(&self, path: &str, lines: Vec<u8>) -> Result<Vec<Value>, CommandError> {
        self.ask_lines(path, lines)
    }

    fn read(&self, path: &str, each: &mut dyn FnMut(Value)) -> Result<(), CommandError> {
        self.read_lines(path, &mut |line| {
            each(line);
            Ok(())
        })
    }

    fn schema(&self) -> Result<Schema, CommandError> {
        let answer = self.ask(Method::GET, "/settings/attributes", None)?;
        Ok(Schema::of(&answer).unwrap_or_default())
    }

    fn set(&self, settings: &Value) -> Result<(), CommandError> {
        self.ask(Method::PATCH, "/settings", Some(settings)).map(drop)
    }

    fn put_logo(&self, path: &str, logo: &Logo) -> Result<bool, CommandError> {
        if self.is_there(path)? {
            return Ok(false);
        }
        self.ask_with(Method::PUT, path, (logo.media_type(), logo.content().to_vec()))?;
        Ok(true)
    }
}
