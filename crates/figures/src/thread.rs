//! Store operations of the request that the calling thread is computing. They are counted per thread, so the storage port
//! needs no parameter that names the request.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use crate::StoreKind;

/// Operations noted for one request at most; bulk requests have thousands.
const MOST_NOTED: usize = 64;

/// Store work that the calling thread has recorded since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadWork {
    /// Operations.
    pub operations: u64,
    /// Their wall time in nanoseconds, waiting included.
    pub wall_ns: u64,
}

/// One finished operation, kept for the trace of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreOperation {
    /// The kind of state.
    pub kind: StoreKind,
    /// Number of the shard.
    pub shard: u32,
    /// Nanoseconds that it waited for the shard.
    pub queue_wait_ns: u64,
    /// Nanoseconds of wall time, waiting included.
    pub wall_ns: u64,
    /// When it ended.
    pub ended: Instant,
    /// False where the store failed.
    pub ok: bool,
}

#[derive(Clone, Copy)]
struct State {
    work: ThreadWork,
    noting: bool,
}

thread_local! {
    static STATE: Cell<State> =
        const { Cell::new(State { work: ThreadWork { operations: 0, wall_ns: 0 }, noting: false }) };
    static NOTED: RefCell<Vec<StoreOperation>> = const { RefCell::new(Vec::new()) };
}

/// What this thread has recorded so far. Read before and after polling a request's future, the difference is
/// that request's work.
#[inline]
pub fn thread_work() -> ThreadWork {
    STATE.get().work
}

/// Runs `work` and adds the operations that this thread records meanwhile to `operations`, 64 in all at most.
pub fn noting_operations<T>(operations: &mut Vec<StoreOperation>, work: impl FnOnce() -> T) -> T {
    let _noting = Noting::begin(operations);
    work()
}

/// Lends the thread a list to note in, and takes it back even if the work panics.
struct Noting<'a> {
    operations: &'a mut Vec<StoreOperation>,
    before: bool,
}

impl<'a> Noting<'a> {
    fn begin(operations: &'a mut Vec<StoreOperation>) -> Self {
        let state = STATE.get();
        STATE.set(State { noting: true, ..state });
        NOTED.with_borrow_mut(|noted| std::mem::swap(noted, operations));
        Self { operations, before: state.noting }
    }
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        NOTED.with_borrow_mut(|noted| std::mem::swap(noted, self.operations));
        STATE.set(State { noting: self.before, ..STATE.get() });
    }
}

/// Counts an operation, and notes it where somebody asked for it.
#[inline]
pub(crate) fn record(wall_ns: u64, operation: impl FnOnce() -> StoreOperation) {
    let State { mut work, noting } = STATE.get();
    work.operations = work.operations.wrapping_add(1);
    work.wall_ns = work.wall_ns.wrapping_add(wall_ns);
    STATE.set(State { work, noting });
    if noting {
        NOTED.with_borrow_mut(|noted| {
            if noted.len() < MOST_NOTED {
                noted.push(operation());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShardFigures;

    #[test]
    fn operations_are_noted_only_while_asked_for() {
        let figures = ShardFigures::new(StoreKind::Refresh, 4);
        let mut noted = Vec::new();
        figures.record(1, 5, 20, true);
        noting_operations(&mut noted, || figures.record(2, 7, 30, false));
        figures.record(3, 5, 20, true);
        // A request's future is polled more than once.
        noting_operations(&mut noted, || figures.record(3, 0, 40, true));
        let seen: Vec<_> =
            noted.iter().map(|o| (o.kind, o.shard, o.queue_wait_ns, o.wall_ns, o.ok)).collect();
        assert_eq!(seen, [(StoreKind::Refresh, 2, 7, 30, false), (StoreKind::Refresh, 3, 0, 40, true)]);
        noting_operations(&mut noted, || (0..1_000).for_each(|_| figures.record(0, 0, 1, true)));
        assert_eq!(noted.len(), MOST_NOTED);
    }

    #[test]
    fn a_panic_ends_the_noting() {
        let figures = ShardFigures::new(StoreKind::Code, 1);
        let mut noted = Vec::new();
        let work = std::panic::AssertUnwindSafe(|| {
            noting_operations(&mut noted, || {
                figures.record(0, 0, 1, true);
                panic!("on purpose");
            })
        });
        assert!(std::panic::catch_unwind(work).is_err());
        figures.record(0, 0, 1, true);
        assert_eq!(noted.len(), 1);
    }
}
