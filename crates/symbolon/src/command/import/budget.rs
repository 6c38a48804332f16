//! A file of which only so many bytes are read until the budget is renewed: a record that never ends, such as a text
//! whose quote is not closed, cannot fill the memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// The bytes that may be read still.
pub(super) type Budget = Rc<Cell<u64>>;

/// The kind of the error where the budget is spent.
pub(super) const SPENT: io::ErrorKind = io::ErrorKind::FileTooLarge;

/// A file with its budget.
pub(super) struct Budgeted<R> {
    file: R,
    budget: Budget,
    is_spent: bool,
}

impl<R> Budgeted<R> {
    pub(super) fn new(file: R, budget: &Budget) -> Self {
        Self { file, budget: Rc::clone(budget), is_spent: false }
    }
}

impl<R: Read> Read for Budgeted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.budget.get();
        if self.is_spent || left == 0 {
            // For good, even where the parser would ask again.
            self.is_spent = true;
            return Err(io::Error::from(SPENT));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.budget.set(left - read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_the_budget_allows() {
        let budget = Rc::new(Cell::new(3));
        let mut file = Budgeted::new(&b"abcdefgh"[..], &budget);
        let mut buffer = [0; 2];
        assert_eq!(file.read(&mut buffer).unwrap(), 2);
        assert_eq!(file.read(&mut buffer).unwrap(), 1);
        budget.set(1);
        assert_eq!(file.read(&mut buffer).unwrap(), 1);
        assert_eq!(file.read(&mut buffer).unwrap_err().kind(), SPENT);
        budget.set(9);
        assert!(file.read(&mut buffer).is_err(), "it stays spent");
    }
}
