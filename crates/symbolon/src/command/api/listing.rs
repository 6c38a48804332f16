//! Listings that are too long to be held: they are read line by line, as they come.

use axum::body::Body;
use bytes::{Buf, Bytes, BytesMut};
use http::Method;
use http_body_util::{BodyExt, Limited};
use serde_json::Value;

use super::{Api, ApiError, Way, answer};
use crate::command::CommandError;

/// The longest line of a listing, in bytes: a client may have a long list of keys.
const LONGEST_LINE: usize = 8 << 20;

/// The longest answer that is no listing, in bytes.
const LONGEST_REFUSAL: usize = 64 << 10;

impl Api {
    /// Reads a listing about the issuer, a JSON text a line. An error of `each` ends the reading.
    pub(in crate::command) fn read_lines(
        &self,
        path: &str,
        each: &mut dyn FnMut(Value) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let request = self.request(Method::GET, &self.of_the_issuer(path), None)?;
        let (status, mut body, _connection) = match &self.way {
            Way::Server(remote) => {
                let opened = self.runtime.block_on(remote.open(request))?;
                (opened.status, Body::new(opened.body), Some(opened.connection))
            }
            Way::Here(here) => {
                let (status, body) = self.runtime.block_on(here.ask(request));
                (status, body, None)
            }
        };
        if !status.is_success() {
            let refusal = self.runtime.block_on(Limited::new(body, LONGEST_REFUSAL).collect());
            let refusal = refusal.map_or_else(|_| Bytes::new(), |collected| collected.to_bytes());
            return Ok(answer(status, &refusal).map(drop)?);
        }
        let mut unread = BytesMut::new();
        while let Some(frame) = self.runtime.block_on(body.frame()) {
            let frame = frame.map_err(|error| broken(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            unread.extend_from_slice(&data);
            while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
                let line = unread.split_to(end);
                unread.advance(1);
                if !line.is_empty() {
                    each(serde_json::from_slice(&line).map_err(|error| broken(&error))?)?;
                }
            }
            if unread.len() > LONGEST_LINE {
                return Err(broken(&"a line is too long").into());
            }
        }
        if unread.is_empty() { Ok(()) } else { Err(broken(&"the last line is cut off").into()) }
    }
}

fn broken(why: &dyn std::fmt::Display) -> ApiError {
    ApiError::Answer(format!("a listing broke off: {why}"))
}
