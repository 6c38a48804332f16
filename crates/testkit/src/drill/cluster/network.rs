//! Runs each node in its own network namespace, with a cable to each engine that can be cut.
//!
//! Three switches (bridges): one for the load, one for PostgreSQL, one for Redis. This process and the engines have the
//! first address of each; every node has a cable (a veth pair) to each. All names contain the id of this process. A
//! shell that waits for the end of this process removes everything, however the process ends.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The beginning of the namespaces' names; the process id and the node's number follow.
const NAMESPACE: &str = "symbolon-drill-";

/// The directory in which iproute2 keeps the names of namespaces.
const NAMESPACES: &str = "/run/netns";

/// Waits for the end of its input, which is the end of this process, and removes what its arguments name: bridges up to
/// `--`, then namespaces. The cables are removed with them.
const JANITOR: &str = r#"
trap '' HUP INT TERM
cat >/dev/null
while [ $# -gt 0 ] && [ "$1" != -- ]; do bridges="$bridges $1"; shift; done
shift
for name; do ip netns del "$name"; done
for bridge in $bridges; do ip link del "$bridge"; done
"#;

/// The destination of a node's cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The load.
    Front,
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
}

impl Switch {
    const ALL: [Self; 3] = [Self::Front, Self::Postgres, Self::Redis];

    fn letter(self) -> char {
        match self {
            Self::Front => 'f',
            Self::Postgres => 'p',
            Self::Redis => 'r',
        }
    }
}

/// The namespaces of some nodes, and their switches. All are removed when this is dropped.
pub struct Network {
    janitor: Child,
    /// The third byte of the first switch's addresses: 198.18.0.0/15 is reserved for network tests.
    first: u8,
}

impl Network {
    /// Sets up the namespaces of `nodes` nodes.
    ///
    /// # Errors
    /// Why that is not possible on this machine.
    pub fn new(nodes: usize) -> Result<Self, String> {
        clean_stale();
        let taken = ip(&["-o", "-4", "address"])?;
        let first = (0..84_u8).map(|nth| nth * 3).find(|first| !taken.contains(&format!(" 198.18.{first}.")));
        let first = first.ok_or("198.18.0.0/16 is in use")?;
        let own = std::process::id();
        let bridges = Switch::ALL.map(|switch| bridge(own, switch));
        let names: Vec<String> = (0..nodes).map(namespace).collect();
        let mut janitor = Command::new("/bin/sh");
        janitor.args(["-c", JANITOR, "janitor"]).args(&bridges).arg("--").args(&names);
        janitor.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In its own process group, because a signal to the group of this process, such as Ctrl-C, must not end it.
        let janitor = janitor.process_group(0).spawn().map_err(|error| error.to_string())?;
        let network = Self { janitor, first };
        network.set_up(nodes)?;
        Ok(network)
    }

    fn set_up(&self, nodes: usize) -> Result<(), String> {
        for switch in Switch::ALL {
            let name = bridge(std::process::id(), switch);
            ip(&["link", "add", &name, "type", "bridge"])?;
            ip(&["address", "add", &format!("{}/24", self.here(switch)), "dev", &name])?;
            ip(&["link", "set", &name, "up"])?;
        }
        for node in 0..nodes {
            let space = namespace(node);
            ip(&["netns", "add", &space])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
            for switch in Switch::ALL {
                let (near, far) = (cable(node, switch), far_end(switch));
                ip(&["link", "add", &near, "type", "veth", "peer", "name", far, "netns", &space])?;
                ip(&["link", "set", &near, "master", &bridge(std::process::id(), switch), "up"])?;
                let address = format!("{}/24", self.node(node, switch));
                ip(&["-n", &space, "address", "add", &address, "dev", far])?;
                ip(&["-n", &space, "link", "set", far, "up"])?;
            }
        }
        Ok(())
    }

    /// The address of this machine at a switch.
    pub fn here(&self, switch: Switch) -> IpAddr {
        self.address(switch, 1)
    }

    /// The address of a node at a switch.
    pub fn node(&self, node: usize, switch: Switch) -> IpAddr {
        self.address(switch, 10 + node as u8)
    }

    fn address(&self, switch: Switch, host: u8) -> IpAddr {
        Ipv4Addr::new(198, 18, self.first + switch as u8, host).into()
    }

    /// The command that runs another command in the namespace of a node.
    pub fn wrapper(node: usize) -> Vec<String> {
        ["ip", "netns", "exec", &namespace(node)].map(str::to_owned).to_vec()
    }

    /// The namespaces of the nodes.
    ///
    /// # Errors
    /// One cannot be opened.
    pub fn spaces(nodes: usize) -> io::Result<Vec<File>> {
        (0..nodes).map(|node| File::open(Path::new(NAMESPACES).join(namespace(node)))).collect()
    }

    /// Cuts the cable of a node: packets in both directions are dropped silently.
    ///
    /// # Errors
    /// The error of `bridge`.
    pub fn cut(node: usize, switch: Switch) -> Result<(), String> {
        port(node, switch, "0")
    }

    /// Mends the cable of a node.
    ///
    /// # Errors
    /// The error of `bridge`.
    pub fn mend(node: usize, switch: Switch) -> Result<(), String> {
        port(node, switch, "3")
    }

    /// Puts a queueing discipline on both ends of a cable, such as `netem delay 50ms`.
    ///
    /// # Errors
    /// The error of `tc`: the kernel may not have this discipline.
    pub fn shape(&self, node: usize, switch: Switch, discipline: &[&str]) -> Result<(), String> {
        let (near, far, space) = (cable(node, switch), far_end(switch), namespace(node));
        run("tc", &[&["qdisc", "replace", "dev", &near, "root"], discipline].concat())?;
        run("tc", &[&["-n", &space, "qdisc", "replace", "dev", far, "root"], discipline].concat()).map(drop)
    }

    /// Removes the queueing disciplines of a cable.
    ///
    /// # Errors
    /// The error of `tc`.
    pub fn unshape(&self, node: usize, switch: Switch) -> Result<(), String> {
        let (near, far, space) = (cable(node, switch), far_end(switch), namespace(node));
        run("tc", &["qdisc", "del", "dev", &near, "root"])?;
        run("tc", &["-n", &space, "qdisc", "del", "dev", far, "root"]).map(drop)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        // It ends at once, because its input has ended.
        let _ = self.janitor.wait();
    }
}

fn namespace(node: usize) -> String {
    format!("{NAMESPACE}{}-{node}", std::process::id())
}

/// Names of interfaces are limited to 15 characters.
fn bridge(process: u32, switch: Switch) -> String {
    format!("sym{process}{}", switch.letter())
}

fn cable(node: usize, switch: Switch) -> String {
    format!("{}{node}", bridge(std::process::id(), switch))
}

/// The name of a cable's end in the namespace of a node.
fn far_end(switch: Switch) -> &'static str {
    match switch {
        Switch::Front => "front",
        Switch::Postgres => "postgres",
        Switch::Redis => "redis",
    }
}

/// Sets the state of a bridge's port: 0 passes nothing, 3 everything.
fn port(node: usize, switch: Switch, state: &str) -> Result<(), String> {
    run("bridge", &["link", "set", "dev", &cable(node, switch), "state", state]).map(drop)
}

fn ip(arguments: &[&str]) -> Result<String, String> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} {}: {}", arguments.join(" "), said.trim()))
}

/// Removes what an earlier drill left, if its janitor was killed too.
fn clean_stale() {
    for entry in fs::read_dir(NAMESPACES).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(NAMESPACE).and_then(|rest| rest.split('-').next());
        let Some(process) = process.and_then(|process| process.parse().ok()) else { continue };
        if Path::new(&format!("/proc/{process}")).exists() {
            continue;
        }
        // Another drill may be cleaning up at the same time.
        let _ = ip(&["netns", "del", &name]);
        for switch in Switch::ALL {
            let _ = ip(&["link", "del", &bridge(process, switch)]);
        }
    }
}
