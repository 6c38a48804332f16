//! A target is left as it was: at the end of a run, after a moment of 503, and after a load test that was killed.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::restore;
use symbolon_loadtest::run::{Plan, Reshard, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{RunOptions, run};

use crate::fake::{Fake, Fault};
use crate::verdicts::{options, plan};

/// A run that wants strict introspection, with its notes in a directory.
fn introspect(fake: &Arc<Fake>, notes: &Path) -> RunOptions {
    let schedule = Schedule::constant(20.0, Duration::from_secs(1)).unwrap();
    let plan = Plan { warm_up: Duration::ZERO, ..Plan::new(Scenario::Introspect, Traffic::Open(schedule)) };
    let mut options = options(fake, vec![plan]);
    options.provider.notes = notes.to_owned();
    options
}

fn notes_in(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn settings_are_put_back_through_a_moment_of_503() {
    let (fake, notes) = (Fake::start(true), tempfile::tempdir().unwrap());
    fake.change_settings(60, false);
    let options = introspect(&fake, notes.path());
    let (busy, mut said) = (Arc::clone(&fake), Vec::new());
    // The last thing that a run says before it puts them back is of the load.
    let mut progress = Watched { line: Vec::new(), heard: move || busy.be_busy(2) };
    let results = run(&options, &mut progress).unwrap();
    std::io::Write::write_all(&mut said, &progress.line).unwrap();
    assert!(results.passed(), "{results:?}");
    assert_eq!(fake.changed_settings(), (60, false), "{}", String::from_utf8_lossy(&said));
    assert_eq!(notes_in(notes.path()), 0);
}

/// Does something when the load is told of.
pub(crate) struct Watched<F> {
    pub(crate) line: Vec<u8>,
    pub(crate) heard: F,
}

impl<F: FnMut() + Send> std::io::Write for Watched<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if String::from_utf8_lossy(bytes).contains("/s, P50") {
            (self.heard)();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Leaves what a load test leaves that was killed: its note, and the settings as it changed them.
fn killed(fake: &Arc<Fake>, notes: &Path) {
    fake.change_settings(60, false);
    let during = tempfile::tempdir().unwrap();
    let options = introspect(fake, during.path());
    let (from, to) = (during.path().to_owned(), notes.to_owned());
    let mut progress = Watched { line: Vec::new(), heard: move || copy_notes(&from, &to) };
    run(&options, &mut progress).unwrap();
    assert_eq!(notes_in(notes), 1);
    fake.change_settings(600, true);
}

/// The notes, as if a process had written them that is gone.
fn copy_notes(from: &Path, to: &Path) {
    for note in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let text = std::fs::read_to_string(note.path()).unwrap();
        // A process of that number there never is.
        let text = text.replace(&format!("\"process\":{}", std::process::id()), "\"process\":4194305");
        std::fs::write(to.join(note.file_name()), text).unwrap();
    }
}

#[test]
fn what_a_killed_load_test_changed_is_put_back_by_the_next() {
    let (fake, notes) = (Fake::start(true), tempfile::tempdir().unwrap());
    killed(&fake, notes.path());
    let mut said = Vec::new();
    run(&introspect(&fake, notes.path()), &mut said).unwrap();
    assert_eq!(fake.changed_settings(), (60, false));
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("a load test before this one was cut off"), "{said}");
    assert_eq!(notes_in(notes.path()), 0);
}

#[test]
fn what_a_killed_load_test_changed_is_put_back_on_command() {
    let (fake, notes) = (Fake::start(true), tempfile::tempdir().unwrap());
    killed(&fake, notes.path());
    let options = introspect(&fake, notes.path()).provider;
    assert!(restore(&options).unwrap());
    assert_eq!(fake.changed_settings(), (60, false));
    assert!(!restore(&options).unwrap(), "there is nothing left");
}

/// Two seconds of UserInfo, with another number of shards from the beginning on.
fn reshard(fake: &Arc<Fake>, notes: &Path) -> RunOptions {
    let reshard = Some(Reshard { after: Duration::from_millis(100), to: 128 });
    let mut options = options(fake, vec![Plan { reshard, ..plan(20.0, Duration::from_secs(2)) }]);
    options.provider.notes = notes.to_owned();
    options
}

#[test]
fn the_number_of_shards_is_put_back_at_the_end() {
    let (fake, notes) = (Fake::start(true), tempfile::tempdir().unwrap());
    fake.set_shards(8);
    let results = run(&reshard(&fake, notes.path()), &mut Vec::new()).unwrap();
    assert!(results.passed() && results.runs[0].reshard.is_some(), "{results:?}");
    assert_eq!((fake.shards(), notes_in(notes.path())), (vec![8, 128, 8], 0));
}

#[test]
fn the_number_of_shards_that_a_killed_load_test_left_is_put_back_on_command_and_by_the_next() {
    for on_command in [true, false] {
        let (fake, notes, during) =
            (Fake::start(true), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fake.set_shards(8);
        let (from, to) = (during.path().to_owned(), notes.path().to_owned());
        let mut progress = Watched { line: Vec::new(), heard: move || copy_notes(&from, &to) };
        run(&reshard(&fake, during.path()), &mut progress).unwrap();
        // As it would have left them.
        fake.set_shards(128);
        if on_command {
            assert!(restore(&reshard(&fake, notes.path()).provider).unwrap());
        } else {
            run(&introspect(&fake, notes.path()), &mut Vec::new()).unwrap();
        }
        assert_eq!((fake.shards(), notes_in(notes.path())), (vec![8, 128, 8, 128, 8], 0), "{on_command}");
    }
}

#[test]
fn settings_are_put_back_after_an_error_in_mid_run() {
    let (fake, notes) = (Fake::start(true), tempfile::tempdir().unwrap());
    fake.change_settings(60, false);
    let mut options = introspect(&fake, notes.path());
    // The fake has no such setting, and a load without the change that it is about goes on for nothing.
    let reshard = Some(Reshard { after: Duration::from_millis(300), to: 8 });
    let schedule = Schedule::constant(20.0, Duration::from_secs(30)).unwrap();
    let failing =
        Plan { warm_up: Duration::ZERO, reshard, ..Plan::new(Scenario::Silent, Traffic::Open(schedule)) };
    options.groups[0].plans.push(failing);
    let (watched, during) = (Arc::clone(&fake), Arc::new(Mutex::new((0, false))));
    let seen = Arc::clone(&during);
    let mut progress =
        Watched { line: Vec::new(), heard: move || *seen.lock().unwrap() = watched.changed_settings() };
    let results = run(&options, &mut progress).unwrap();
    let partial = results.partial.as_deref().unwrap();
    assert!(partial.contains("/api/admin/settings/code-shards") && partial.contains("405"), "{partial}");
    assert_eq!((results.runs.len(), results.passed()), (1, false));
    assert!(during.lock().unwrap().1, "the load had changed them");
    assert_eq!(fake.changed_settings(), (60, false));
    assert_eq!(notes_in(notes.path()), 0);
}

#[test]
fn settings_are_put_back_after_an_error_before_the_load() {
    let (fake, notes) = (Fake::start(true), tempfile::tempdir().unwrap());
    fake.change_settings(60, false);
    // Introspection is strict by then: what comes next of the seed is the key that this provider does not give.
    fake.set_fault(Fault::NoTestEndpoints);
    let error = run(&introspect(&fake, notes.path()), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("/api/admin/test/signing-key") && error.contains("403"), "{error}");
    assert_eq!((fake.changed_settings(), notes_in(notes.path())), ((60, false), 0));
    // The seed is planted, and the provider's figures are not to be had.
    fake.set_fault(Fault::None);
    let mut options = introspect(&fake, notes.path());
    options.provider.target.as_mut().unwrap().metrics = Some("http://127.0.0.1:1/metrics".into());
    let error = run(&options, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1"), "{error}");
    assert_eq!((fake.changed_settings(), notes_in(notes.path())), ((60, false), 0));
}
