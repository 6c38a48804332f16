//! Counts the bytes that visitors send and read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symbolon_loadtest::client::Response;
use symbolon_loadtest::scenario::{Next, Right, Visitor, Wrong};

/// A visitor whose bytes are counted.
pub(super) struct Counted {
    visitor: Box<dyn Visitor>,
    bytes: Arc<AtomicU64>,
}

impl Counted {
    pub(super) fn boxed(visitor: Box<dyn Visitor>, bytes: Arc<AtomicU64>) -> Box<dyn Visitor> {
        Box::new(Self { visitor, bytes })
    }

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Visitor for Counted {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        let next = self.visitor.next_request(out);
        self.add(out.len());
        next
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        self.add(response.size());
        self.visitor.check(response)
    }

    fn goes_on(&self) -> bool {
        self.visitor.goes_on()
    }
}
