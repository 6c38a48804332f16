//! Writes log lines on a thread of its own, so that a slow reader of the log never delays a request.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Capacity of the queue in lines: about 2 MB at 300 bytes each.
const QUEUE: usize = 8_192;
/// Bytes per write.
const BATCH: usize = 64 * 1_024;
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Lines dropped by all writers of this process because their queue was full.
pub(super) fn dropped_lines() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Passes lines to the writing thread. If its queue is full, lines are dropped and counted.
#[derive(Clone)]
pub(super) struct LogWriter {
    queue: SyncSender<Message>,
}

impl LogWriter {
    /// Starts the thread that writes to `sink`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = sync_channel(QUEUE);
        thread::Builder::new().name("symbolon-log".to_owned()).spawn(move || write_lines(&lines, sink))?;
        Ok(Self { queue })
    }

    /// Waits until all lines passed so far are written, for at most a second.
    pub(super) fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(FLUSH_PATIENCE);
        }
    }
}

/// Writes until every sender is gone. Errors of the sink are ignored, because there is nowhere to report them.
fn write_lines(lines: &Receiver<Message>, mut sink: impl Write) {
    let mut batch = Vec::with_capacity(BATCH);
    while let Ok(first) = lines.recv() {
        let mut next = Some(first);
        let mut flushed = Vec::new();
        while let Some(message) = next {
            match message {
                Message::Line(line) => batch.extend_from_slice(&line),
                Message::Flush(done) => flushed.push(done),
            }
            next = if batch.len() < BATCH { lines.try_recv().ok() } else { None };
        }
        let _ = sink.write_all(&batch).and_then(|()| sink.flush());
        batch.clear();
        for done in flushed {
            let _ = done.try_send(());
        }
    }
}

impl Write for LogWriter {
    /// The formatter calls this once per line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Line(line.to_vec())) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// A sink that can be read, and held.
    #[derive(Clone, Default)]
    pub(crate) struct Sink(pub(crate) Arc<Mutex<Vec<u8>>>);

    impl Sink {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_arrive_in_order() {
        let sink = Sink::default();
        let mut writer = LogWriter::start(sink.clone()).unwrap();
        let expected: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        for line in expected.split_inclusive('\n') {
            writer.write_all(line.as_bytes()).unwrap();
        }
        LogWriter::flush(&writer);
        assert_eq!(sink.text(), expected);
    }

    #[test]
    fn a_stuck_reader_costs_lines_and_not_time() {
        let sink = Sink::default();
        let held = sink.0.lock();
        let mut writer = LogWriter::start(sink.clone()).unwrap();
        let before = dropped_lines();
        let line = [b'x'; 63];
        for _ in 0..3 * QUEUE {
            writer.write_all(&line).unwrap();
        }
        assert!(dropped_lines() > before);
        drop(held);
        LogWriter::flush(&writer);
        assert!(sink.0.lock().len() >= QUEUE * line.len());
    }
}
