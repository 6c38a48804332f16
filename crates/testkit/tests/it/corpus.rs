//! Replays the corpora of the fuzz targets: what was once found stays mended.

use std::panic::catch_unwind;
use std::path::PathBuf;

use symbolon_testkit::fuzz::TARGETS;

#[test]
fn every_corpus_holds() {
    let corpora = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus"));
    let mut failed = Vec::new();
    for (name, target) in TARGETS {
        let files = std::fs::read_dir(corpora.join(name))
            .unwrap_or_else(|error| panic!("no corpus of {name}: {error}"));
        let paths: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
        assert!(!paths.is_empty(), "the corpus of {name} is empty");
        for path in paths {
            let data = std::fs::read(&path).expect("a file");
            if catch_unwind(|| target(&data)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
