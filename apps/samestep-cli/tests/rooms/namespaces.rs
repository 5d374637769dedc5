//! The same across machines, as far as the kernel is concerned: two network namespaces joined by a virtual cable.
//!
//! Needs the right to make them (root, and `ip` from iproute2). Where that is missing the tests say so and pass.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::terminal::Terminal;

/// A network of its own, gone when dropped.
pub struct Namespace {
    name: String,
}

fn ip(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new("ip").args(arguments).output()
}

/// What must work once namespaces can be made.
#[track_caller]
fn must(arguments: &[&str]) {
    let output = ip(arguments).expect("ip worked before");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "ip {}: {words}",
        arguments.join(" ")
    );
}

impl Namespace {
    /// A namespace with nothing but loopback, or why this user cannot have one.
    fn new() -> Result<Namespace, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("samestep-{}-{number}", std::process::id());
        let output = match ip(&["netns", "add", &name]) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err("there is no `ip` program: install iproute2".into());
            }
            output => output.expect("ip can be run"),
        };
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            let forbidden = ["not permitted", "denied", "Read-only"];
            assert!(forbidden.iter().any(|why| words.contains(why)), "{words}");
            return Err(format!(
                "this user may not make network namespaces: {}",
                words.trim()
            ));
        }
        let namespace = Namespace { name };
        let output = ip(&["-n", &namespace.name, "link", "set", "lo", "up"]);
        let output = output.expect("ip worked before");
        let words = String::from_utf8_lossy(&output.stderr);
        // Where the root is no mount of its own (a chroot), one can be made but not entered.
        if words.contains("make-rslave") {
            return Err(format!(
                "network namespaces cannot be entered here: {words}"
            ));
        }
        assert!(output.status.success(), "{words}");
        Ok(namespace)
    }

    pub fn terminal(&self, who: &str, arguments: &[&str]) -> Terminal {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.name, env!("CARGO_BIN_EXE_samestep")])
            .args(arguments);
        Terminal::run(who, command)
    }

    /// The same for a user whose state directory is this.
    pub fn terminal_of(&self, state: &Path, who: &str, arguments: &[&str]) -> Terminal {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.name, env!("CARGO_BIN_EXE_samestep")])
            .args(arguments)
            .env("XDG_STATE_HOME", state);
        Terminal::run(who, command)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.name]);
    }
}

/// Two networks with a cable between them; the first has the address 10.83.0.1.
pub fn pair() -> Result<(Namespace, Namespace), String> {
    let (near, far) = (Namespace::new()?, Namespace::new()?);
    let cable = ["link", "add", "cable0", "netns", &near.name, "type", "veth"];
    must(&[&cable[..], &["peer", "name", "cable1", "netns", &far.name]].concat());
    for (namespace, end, address) in [
        (&near, "cable0", "10.83.0.1/24"),
        (&far, "cable1", "10.83.0.2/24"),
    ] {
        must(&[
            "-n",
            &namespace.name,
            "address",
            "add",
            address,
            "broadcast",
            "+",
            "dev",
            end,
        ]);
        must(&["-n", &namespace.name, "link", "set", end, "up"]);
    }
    Ok((near, far))
}

/// Says why a test was not run.
pub fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}

#[test]
fn a_host_and_two_who_join_across_namespaces() {
    let (near, far) = match pair() {
        Ok(pair) => pair,
        Err(why) => return skipped(&why),
    };
    let mut ada = near.terminal(
        "Ada",
        &["console", "host", "--name", "Ada", "--room", "den"],
    );
    let port = ada.expect_number("open at port");
    assert_eq!(port, 14242, "the default is free in a network of one's own");
    // By address, and by searching the network.
    let mut bob = far.terminal("Bob", &["console", "join", "10.83.0.1", "--name", "Bob"]);
    bob.expect("in the room \"den\" as Bob");
    let mut list = far.terminal("list", &["discover"]);
    list.expect("10.83.0.1:14242");
    assert_eq!(list.exit_code(), 0);
    let mut eve = far.terminal("Eve", &["console", "join", "--lan", "--name", "Eve"]);
    eve.expect("in the room \"den\" as Eve");
    bob.expect("Eve is here");
    ada.expect("Eve is here");

    eve.enter("hello from afar");
    ada.expect("Eve: hello from afar");
    bob.expect("Eve: hello from afar");
    bob.enter("/set weather fine");
    for terminal in [&mut ada, &mut bob, &mut eve] {
        terminal.expect("weather = fine (Bob)");
    }
    let mut ping = far.terminal("ping", &["ping", "10.83.0.1", "-c", "3", "-i", "0.05"]);
    ping.expect("3 answered");
    ping.expect("key: ");
    assert_eq!(ping.exit_code(), 0);
    let mut ping = far.terminal("ping", &["ping", "10.83.0.1:9", "-c", "1"]);
    ping.expect("nothing listens");
    assert_eq!(ping.exit_code(), 3);

    eve.enter("/quit");
    assert_eq!(eve.exit_code(), 0);
    ada.expect("Eve left");
    ada.enter("/quit");
    assert_eq!(ada.exit_code(), 0);
    bob.expect("the room was closed");
    assert_eq!(bob.exit_code(), 9);
}

#[test]
fn a_mesh_across_namespaces() {
    let (near, far) = match pair() {
        Ok(pair) => pair,
        Err(why) => return skipped(&why),
    };
    let mut ada = near.terminal(
        "Ada",
        &["console", "peer", "--name", "Ada", "--room", "ring"],
    );
    ada.expect("open at port");
    let mut bob = far.terminal("Bob", &["console", "peer", "10.83.0.1", "--name", "Bob"]);
    bob.expect("in the room \"ring\" as Bob");
    let mut eve = far.terminal("Eve", &["console", "peer", "--lan", "--name", "Eve"]);
    eve.expect("in the room \"ring\" as Eve");
    bob.expect("Eve is here");
    ada.expect("Eve is here");
    bob.enter("hello");
    ada.expect("Bob: hello");
    eve.expect("Bob: hello");
}

#[test]
fn loopback_alone_is_enough() {
    let alone = match Namespace::new() {
        Ok(alone) => alone,
        Err(why) => return skipped(&why),
    };
    let mut ada = alone.terminal("Ada", &["console", "host", "--name", "Ada"]);
    ada.expect("open at port");
    let mut eve = alone.terminal("Eve", &["console", "host", "--name", "Eve", "--port", "0"]);
    eve.expect("open at port");
    let mut list = alone.terminal("list", &["discover"]);
    assert_eq!(list.exit_code(), 0);
    let text = list.text();
    assert!(
        text.contains("Ada's room") && text.contains("Eve's room"),
        "{text}"
    );
    let mut bob = alone.terminal("Bob", &["console", "join", "localhost", "--name", "Bob"]);
    bob.expect("in the room \"Ada's room\" as Bob");
}
