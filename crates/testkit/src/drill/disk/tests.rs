use super::*;
use crate::drill::strace::Reader;

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

fn feed(disk: &mut Disk, reader: &mut Reader, line: &str) {
    for event in reader.read(line) {
        disk.take(&event);
    }
}

/// Lines without thread and time. `'...'` becomes a quoted string in strace's form.
fn disk_after(lines: &[&str]) -> Disk {
    let (mut disk, mut reader) = (Disk::new(Path::new("/d")), Reader::default());
    for line in lines {
        let parts: Vec<String> = line
            .split('\'')
            .enumerate()
            .map(|(i, part)| if i % 2 == 1 { format!("\"{}\"", hex(part)) } else { part.into() })
            .collect();
        let line = parts.concat();
        let line = if line.starts_with("7 ") { line } else { format!("1 5.0 {line}") };
        feed(&mut disk, &mut reader, &line);
    }
    disk
}

fn cut(disk: &Disk, survival: Survival, seed: u64) -> Vec<(String, String)> {
    let directory = tempfile::tempdir().unwrap();
    disk.cut(directory.path(), survival, &mut Dice::new(seed)).unwrap();
    let mut found: Vec<(String, String)> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

const MADE: [&str; 3] = [
    "openat(AT_FDCWD, '/d/a', O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 3",
    "write(3, 'one', 3) = 3",
    "fsync(3) = 0",
];
const NAMED: [&str; 3] = ["openat(AT_FDCWD, '/d', O_RDONLY|O_CLOEXEC) = 4", "fsync(4) = 0", "close(4) = 0"];

#[test]
fn a_name_needs_a_sync_of_its_directory() {
    assert_eq!(cut(&disk_after(&MADE), Survival::Nothing, 1), []);
    let disk = disk_after(&[&MADE[..], &NAMED].concat());
    assert_eq!(cut(&disk, Survival::Nothing, 1), [("a".into(), "one".into())]);
}

#[test]
fn what_was_not_synced_is_lost_in_whole_or_in_part() {
    let disk =
        disk_after(&[&MADE[..], &NAMED, &["write(3, 'two', 3) = 3", "pwrite64(3, 'X', 1, 0) = 1"]].concat());
    assert_eq!(cut(&disk, Survival::Nothing, 1), [("a".into(), "one".into())]);
    let seen: std::collections::BTreeSet<String> =
        (0..64).map(|seed| cut(&disk, Survival::Any, seed)[0].1.clone()).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["Xne", "Xnetwo", "one", "onetwo"]);
}

#[test]
fn a_write_is_torn_between_sectors_only() {
    let long = "y".repeat(1024);
    let write = format!("pwrite64(3, '{long}', 1024, 0) = 1024");
    let disk = disk_after(&[&MADE[..], &NAMED, &[&write]].concat());
    let lengths: std::collections::BTreeSet<(usize, bool)> = (0..64)
        .map(|seed| cut(&disk, Survival::Any, seed)[0].1.clone())
        .map(|text| (text.len(), text.starts_with('y')))
        .collect();
    assert_eq!(
        lengths.into_iter().collect::<Vec<_>>(),
        [(3, false), (512, true), (1024, false), (1024, true)]
    );
}

#[test]
fn a_sync_covers_what_was_written_before_it_began() {
    let lines =
        ["7 5.1 fsync(3 <unfinished ...>", "pwrite64(3, 'X', 1, 0) = 1", "7 5.2 <... fsync resumed>) = 0"];
    let disk = disk_after(&[&MADE[..], &NAMED, &lines].concat());
    assert_eq!(cut(&disk, Survival::Nothing, 1), [("a".into(), "one".into())]);
    let disk = disk_after(&[&MADE[..], &NAMED, &lines, &["fdatasync(3) = 0"]].concat());
    assert_eq!(cut(&disk, Survival::Nothing, 1), [("a".into(), "Xne".into())]);
}

#[test]
fn a_rename_is_the_old_or_the_new_and_never_both() {
    let aside = [
        "openat(AT_FDCWD, '/d/b', O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0600) = 5",
        "write(5, 'new', 3) = 3",
        "fsync(5) = 0",
        "rename('/d/b', '/d/a') = 0",
    ];
    let disk = disk_after(&[&MADE[..], &NAMED, &aside].concat());
    assert_eq!(cut(&disk, Survival::Nothing, 1), [("a".into(), "one".into())]);
    for seed in 0..32 {
        let found = cut(&disk, Survival::Prefix, seed);
        let a = found.iter().find(|(name, _)| name == "a").map(|(_, text)| text.clone());
        assert!(a == Some("one".into()) || (a == Some("new".into()) && found.len() == 1), "{found:?}");
    }
}
