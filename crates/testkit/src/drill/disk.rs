//! A model of a disk with a volatile cache, fed with system calls: it shows what a directory would contain after a
//! power cut.
//!
//! Assumptions, strict for data: a write is durable once an `fsync` or `fdatasync` of its file that *began after the
//! write was answered* has been answered. Until then each 512-byte sector of it may or may not be there, whatever the
//! order of the writes. A file's name is durable once its *directory* was synced in the same way (syncing only the file
//! is not enough, though it would be on ext4). Until then any prefix of the changes of one directory may be there, in
//! their order, whether or not the files' contents are. A rename within a directory is atomic.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::Dice;
use super::strace::{Event, Stage, bytes};

mod sparse;

use sparse::Sparse;

const SECTOR: u64 = 512;

/// How much of the unsynced data survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing.
    Nothing,
    /// A prefix of the writes, the last one torn.
    Prefix,
    /// Any of the writes, torn anywhere.
    Any,
}

enum Change {
    Write { offset: u64, data: Vec<u8> },
    Length(u64),
}

#[derive(Default)]
struct FileNode {
    durable: Sparse,
    pending: Vec<(u64, Change)>,
    length: u64,
}

/// Changes of names that belong together: each name, and the node that it names afterwards.
type Renaming = Vec<(String, Option<usize>)>;

#[derive(Default)]
struct DirectoryNode {
    names: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    pending: Vec<(u64, Renaming)>,
}

enum Node {
    File(FileNode),
    Directory(DirectoryNode),
}

#[derive(Clone, Copy)]
struct Descriptor {
    node: usize,
    offset: u64,
    append: bool,
}

/// The disk below one directory.
pub struct Disk {
    root: PathBuf,
    nodes: Vec<Node>,
    open: HashMap<i64, Descriptor>,
    /// Syncs that have begun: by thread, the last change that each covers.
    syncing: HashMap<u32, u64>,
    change: u64,
    syncs: u64,
}

impl Disk {
    /// An empty directory at `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            nodes: vec![Node::Directory(DirectoryNode::default())],
            open: HashMap::new(),
            syncing: HashMap::new(),
            change: 0,
            syncs: 0,
        }
    }

    /// Syncs that were answered.
    pub fn syncs(&self) -> u64 {
        self.syncs
    }

    /// Processes an event; returns whether it changed or synced a file or a directory of this disk.
    pub fn take(&mut self, event: &Event) -> bool {
        match event.stage {
            Stage::Entered => {
                match &*event.name {
                    "fsync" | "fdatasync" => {
                        self.syncing.insert(event.thread, self.change);
                    }
                    // The descriptor's number may be given to another thread's file before strace writes the answer
                    // down.
                    "close" => {
                        self.open.remove(&number(event, 0));
                    }
                    _ => {}
                }
                false
            }
            Stage::Answered { result } if result >= 0 => self.answered(event, result),
            Stage::Answered { .. } => false,
        }
    }

    fn answered(&mut self, event: &Event, result: i64) -> bool {
        if event.name.ends_with("at") {
            let known = self.open.contains_key(&number(event, 0));
            assert!(!known, "{} relative to an open directory is not modelled", event.name);
        }
        match &*event.name {
            "openat" => self.opened(&path(event, 1), &event.arguments[2], result),
            "open" => self.opened(&path(event, 0), &event.arguments[1], result),
            "write" | "writev" => self.written(number(event, 0), None, bytes(&event.arguments[1]), result),
            "pwrite64" | "pwritev" | "pwritev2" => {
                let offset = number(event, 3) as u64;
                self.written(number(event, 0), Some(offset), bytes(&event.arguments[1]), result)
            }
            "ftruncate" => self.truncated(number(event, 0), number(event, 1) as u64),
            "fallocate" => self.allocated(event),
            "fsync" | "fdatasync" => self.synced(event),
            "lseek" => self.sought(number(event, 0), result as u64),
            "rename" => self.renamed(&path(event, 0), &path(event, 1)),
            "renameat" | "renameat2" => self.renamed(&path(event, 1), &path(event, 3)),
            "unlink" | "rmdir" => self.removed(&path(event, 0)),
            "unlinkat" => self.removed(&path(event, 1)),
            "mkdir" => self.made(&path(event, 0)),
            "mkdirat" => self.made(&path(event, 1)),
            "dup" | "dup2" | "dup3" => self.duplicated(number(event, 0), result),
            "fcntl" if event.arguments[1].starts_with("F_DUPFD") => self.duplicated(number(event, 0), result),
            "mmap" => self.mapped(event),
            "close" | "fcntl" | "sync_file_range" | "msync" => false,
            other => {
                let known = event.arguments.iter().any(|text| self.knows(text));
                assert!(!known, "{other} is not modelled: {:?}", event.arguments);
                false
            }
        }
    }

    fn knows(&self, argument: &str) -> bool {
        argument.parse::<i64>().is_ok_and(|number| self.open.contains_key(&number))
            || (argument.starts_with('"') && self.inside(&text(argument)).is_some())
    }

    /// The names of a path below the root.
    fn inside(&self, path: &str) -> Option<Vec<String>> {
        let rest = Path::new(path).strip_prefix(&self.root).ok()?;
        Some(rest.iter().map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn find(&self, names: &[String]) -> Option<usize> {
        names.iter().try_fold(0, |node, name| match &self.nodes[node] {
            Node::Directory(directory) => directory.names.get(name).copied(),
            Node::File(_) => None,
        })
    }

    fn rename_in(&mut self, directory: usize, renaming: Renaming) -> bool {
        self.change += 1;
        let change = self.change;
        let Node::Directory(directory) = &mut self.nodes[directory] else { return false };
        apply_names(&mut directory.names, &renaming);
        directory.pending.push((change, renaming));
        true
    }

    /// The directory of a path, which must exist, and the last name.
    fn place(&self, path: &str) -> Option<(usize, String)> {
        let mut names = self.inside(path)?;
        let last = names.pop()?;
        Some((self.find(&names)?, last))
    }

    fn opened(&mut self, path: &str, flags: &str, descriptor: i64) -> bool {
        let Some(names) = self.inside(path) else { return false };
        assert!(
            !flags.contains("O_SYNC") && !flags.contains("O_DSYNC") && !flags.contains("O_TMPFILE"),
            "{flags}"
        );
        let mut changed = false;
        let node = match self.find(&names) {
            Some(node) => node,
            None => {
                let (directory, name) = self.place(path).expect("a directory that exists");
                self.nodes.push(Node::File(FileNode::default()));
                let node = self.nodes.len() - 1;
                changed = self.rename_in(directory, vec![(name, Some(node))]);
                node
            }
        };
        self.open.insert(descriptor, Descriptor { node, offset: 0, append: flags.contains("O_APPEND") });
        if flags.contains("O_TRUNC") && self.length(node) > 0 {
            changed |= self.truncated(descriptor, 0);
        }
        changed
    }

    fn length(&self, node: usize) -> u64 {
        match &self.nodes[node] {
            Node::File(file) => file.length,
            Node::Directory(_) => 0,
        }
    }

    fn written(&mut self, descriptor: i64, offset: Option<u64>, mut data: Vec<u8>, count: i64) -> bool {
        let Some(open) = self.open.get(&descriptor).copied() else { return false };
        data.truncate(count as usize);
        let at = offset.unwrap_or(if open.append { self.length(open.node) } else { open.offset });
        let end = at + data.len() as u64;
        if let (None, Some(open)) = (offset, self.open.get_mut(&descriptor)) {
            open.offset = end;
        }
        self.changed(open.node, Change::Write { offset: at, data }, |length| length.max(end))
    }

    fn changed(&mut self, node: usize, change: Change, length: impl FnOnce(u64) -> u64) -> bool {
        self.change += 1;
        let number = self.change;
        let Node::File(file) = &mut self.nodes[node] else { return false };
        file.length = length(file.length);
        file.pending.push((number, change));
        true
    }

    fn truncated(&mut self, descriptor: i64, to: u64) -> bool {
        let Some(open) = self.open.get(&descriptor).copied() else { return false };
        self.changed(open.node, Change::Length(to), |_| to)
    }

    /// Only growing is modelled: mode 0, or the mode that keeps the size.
    fn allocated(&mut self, event: &Event) -> bool {
        let Some(open) = self.open.get(&number(event, 0)).copied() else { return false };
        match &*event.arguments[1] {
            "0" => {
                let end = (number(event, 2) + number(event, 3)) as u64;
                let to = self.length(open.node).max(end);
                self.changed(open.node, Change::Length(to), |_| to)
            }
            "FALLOC_FL_KEEP_SIZE" => false,
            other => panic!("fallocate {other} is not modelled"),
        }
    }

    fn synced(&mut self, event: &Event) -> bool {
        let Some(upto) = self.syncing.remove(&event.thread) else { return false };
        let Some(open) = self.open.get(&number(event, 0)).copied() else { return false };
        self.syncs += 1;
        match &mut self.nodes[open.node] {
            Node::File(file) => {
                let covered = file.pending.partition_point(|(change, _)| *change <= upto);
                for (_, change) in file.pending.drain(..covered) {
                    apply(&mut file.durable, &change, |_| true);
                }
            }
            Node::Directory(directory) => {
                let covered = directory.pending.partition_point(|(change, _)| *change <= upto);
                for (_, renaming) in directory.pending.drain(..covered) {
                    apply_names(&mut directory.durable, &renaming);
                }
            }
        }
        true
    }

    fn sought(&mut self, descriptor: i64, offset: u64) -> bool {
        if let Some(open) = self.open.get_mut(&descriptor) {
            open.offset = offset;
        }
        false
    }

    fn renamed(&mut self, from: &str, to: &str) -> bool {
        let (Some((from, old)), Some((to, new))) = (self.place(from), self.place(to)) else { return false };
        let Node::Directory(directory) = &self.nodes[from] else { return false };
        let node = directory.names.get(&old).copied();
        assert!(node.is_some(), "{old} was renamed and never made");
        if from == to {
            return self.rename_in(from, vec![(old, None), (new, node)]);
        }
        self.rename_in(to, vec![(new, node)]);
        self.rename_in(from, vec![(old, None)])
    }

    fn removed(&mut self, path: &str) -> bool {
        let Some((directory, name)) = self.place(path) else { return false };
        self.rename_in(directory, vec![(name, None)])
    }

    fn made(&mut self, path: &str) -> bool {
        let Some((directory, name)) = self.place(path) else { return false };
        self.nodes.push(Node::Directory(DirectoryNode::default()));
        let node = self.nodes.len() - 1;
        self.rename_in(directory, vec![(name, Some(node))])
    }

    fn duplicated(&mut self, from: i64, to: i64) -> bool {
        if let Some(open) = self.open.get(&from).copied() {
            // Two descriptors would share one offset.
            assert!(!matches!(self.nodes[open.node], Node::File(_)), "duplicates of a file are not modelled");
            self.open.insert(to, open);
        }
        false
    }

    /// Writes through a mapping cannot be seen. Only SQLite's `-shm` may be mapped so, because SQLite rebuilds it after
    /// a crash.
    fn mapped(&self, event: &Event) -> bool {
        let writes = event.arguments[2].contains("PROT_WRITE") && event.arguments[3].contains("MAP_SHARED");
        let Some(open) = self.open.get(&number(event, 4)).filter(|_| writes) else { return false };
        let name = self.name_of(0, open.node).unwrap_or_default();
        assert!(name.ends_with("-shm"), "{name} is written through a mapping, which is not modelled");
        false
    }

    fn name_of(&self, directory: usize, node: usize) -> Option<String> {
        let Node::Directory(directory) = &self.nodes[directory] else { return None };
        directory
            .names
            .iter()
            .find_map(|(name, own)| if *own == node { Some(name.clone()) } else { self.name_of(*own, node) })
    }

    /// Writes what a power cut at this moment would leave into the empty directory `to`.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn cut(&self, to: &Path, survival: Survival, dice: &mut Dice) -> std::io::Result<()> {
        self.cut_directory(0, to, survival, dice)
    }

    fn cut_directory(
        &self,
        node: usize,
        to: &Path,
        survival: Survival,
        dice: &mut Dice,
    ) -> std::io::Result<()> {
        fs::create_dir_all(to)?;
        let Node::Directory(directory) = &self.nodes[node] else { return Ok(()) };
        let mut names = directory.durable.clone();
        let survivors = match survival {
            Survival::Nothing => 0,
            Survival::Prefix | Survival::Any => dice.below(directory.pending.len() + 1),
        };
        directory.pending.iter().take(survivors).for_each(|(_, renaming)| apply_names(&mut names, renaming));
        for (name, child) in names {
            let path = to.join(name);
            match &self.nodes[child] {
                Node::Directory(_) => self.cut_directory(child, &path, survival, dice)?,
                Node::File(file) => write_out(&file.cut(survival, dice), &path)?,
            }
        }
        Ok(())
    }
}

impl FileNode {
    fn cut(&self, survival: Survival, dice: &mut Dice) -> Sparse {
        let mut left = self.durable.clone();
        let prefix = dice.below(self.pending.len() + 1);
        for (index, (_, change)) in self.pending.iter().enumerate() {
            match survival {
                Survival::Nothing => {}
                Survival::Prefix if index < prefix => apply(&mut left, change, |_| true),
                Survival::Prefix if index == prefix => {
                    let torn = SECTOR * dice.below(17) as u64;
                    apply(&mut left, change, |sector| sector < torn);
                }
                Survival::Prefix => {}
                Survival::Any => match dice.below(3) {
                    0 => apply(&mut left, change, |_| true),
                    1 => {}
                    _ => apply(&mut left, change, |_| dice.once_in(2)),
                },
            }
        }
        left
    }
}

/// Applies a change. Of a write, only those sectors are applied for which `survives` returns true, by their distance
/// from its first sector.
fn apply(file: &mut Sparse, change: &Change, mut survives: impl FnMut(u64) -> bool) {
    match change {
        Change::Length(length) => {
            if survives(0) {
                file.set_length(*length);
            }
        }
        Change::Write { offset, data } => {
            let first = offset / SECTOR * SECTOR;
            let mut at = *offset;
            let mut rest = data.as_slice();
            while !rest.is_empty() {
                let room = (SECTOR - at % SECTOR) as usize;
                let (piece, more) = rest.split_at(room.min(rest.len()));
                if survives(at - first) {
                    file.write(at, piece);
                }
                at += piece.len() as u64;
                rest = more;
            }
        }
    }
}

fn apply_names(names: &mut BTreeMap<String, usize>, renaming: &Renaming) {
    for (name, node) in renaming {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}

fn write_out(content: &Sparse, path: &Path) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.set_len(content.length())?;
    for (offset, block) in content.blocks() {
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(block)?;
    }
    Ok(())
}

fn number(event: &Event, index: usize) -> i64 {
    event.arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(-1)
}

fn text(argument: &str) -> String {
    String::from_utf8_lossy(&bytes(argument)).into_owned()
}

fn path(event: &Event, index: usize) -> String {
    text(&event.arguments[index])
}

#[cfg(test)]
mod tests;
