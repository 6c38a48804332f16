//! Serves a cluster on loopback until its input ends, to point a load at.
//!
//! `cargo run -p symbolon-testkit --example serve_cluster -- target/dist/symbolon [--nodes 3] [--secret-file FILE]`
//!
//! It starts PostgreSQL, a Redis Cluster of its own from Debian's packages, and the nodes, writes the admin secret to the file,
//! and prints the arguments for `symbolon loadtest`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a tool for people who read its output"
)]

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use symbolon_store_cluster::engines;
use symbolon_testkit::cost::ServedCluster;
use symbolon_testkit::drill::Arguments;

fn main() {
    let mut arguments = Arguments::of_process();
    let nodes = arguments.number("--nodes", 3) as usize;
    let secret =
        arguments.text("--secret-file").map_or_else(|| PathBuf::from("cluster.secret"), PathBuf::from);
    let served = match ServedCluster::start(engines::shared(), &arguments.binary(), nodes) {
        Ok(served) => served,
        Err(error) => panic!("{error}"),
    };
    // For nobody else on this machine.
    let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&secret);
    let written = file.and_then(|mut file| file.write_all(served.admin_secret().as_bytes()));
    written.expect("the secret's file can be written");
    println!("--target {} --admin-secret-file {}", served.urls().join(","), secret.display());
    // Until whoever started it has read enough.
    drop(std::io::stdin().read_to_end(&mut Vec::new()));
    served.end();
}
