//! The hello server as a scenario.

use crate::client::{Response, request};
use crate::hello::ANSWER_LEN;
use crate::scenario::{Next, Right, Visitor, Wrong};

/// The size of the body of a POST, in bytes.
const BODY_LEN: usize = 200;

/// Which request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Post,
}

/// Asks the hello server.
pub(super) struct HelloVisitor {
    request: Vec<u8>,
    answer_len: usize,
}

impl HelloVisitor {
    pub(super) fn all(method: Method, authority: &str, connections: usize) -> Vec<Box<dyn Visitor>> {
        let mut bytes = Vec::new();
        let answer_len = match method {
            Method::Get => {
                request::get(&mut bytes, "/", authority, &[]);
                "hello".len()
            }
            Method::Post => {
                let fields = [crate::seed::FORM];
                request::with_body(&mut bytes, ("POST", "/"), authority, &fields, &[b'b'; BODY_LEN]);
                ANSWER_LEN
            }
        };
        (0..connections)
            .map(|_| Box::new(Self { request: bytes.clone(), answer_len }) as Box<dyn Visitor>)
            .collect()
    }
}

impl Visitor for HelloVisitor {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(&self.request);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        if response.status == 200 && response.body.len() == self.answer_len {
            return Ok(Right::default());
        }
        Err(Wrong::new("hello", format!("{} with {} bytes", response.status, response.body.len())))
    }
}
