//! Hosts, routers and the internet between them, in network namespaces; address translation by nftables.

use crate::process::Process;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the relay listens.
pub const RELAY: &str = "203.0.113.5:3478";

/// What relay and talkers know; a lobby would keep it.
pub const SECRET: &str = "a-secret-for-this-test-alone";

/// Each program's link, one way: two programs are 100 ms apart and back, each and the relay in the middle 50 ms.
const ONE_WAY_MS: &str = "25";

/// Two sides: the host's and the router's addresses.
const SIDES: [Side; 2] = [
    Side {
        host: "10.0.1.2",
        inner: "10.0.1.1",
        public: "198.51.100.2",
        outer: "198.51.100.1",
    },
    Side {
        host: "10.0.2.2",
        inner: "10.0.2.1",
        public: "192.0.2.2",
        outer: "192.0.2.1",
    },
];

struct Side {
    host: &'static str,
    inner: &'static str,
    public: &'static str,
    outer: &'static str,
}

/// The namespaces of one test, gone when dropped.
pub struct Network {
    prefix: String,
    names: Vec<&'static str>,
}

impl Network {
    /// Two hosts behind routers of these kinds, and the internet between them.
    pub fn new(kinds: [&str; 2]) -> Network {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("samestep-nat-{}-{number}", std::process::id());
        let mut network = Network {
            prefix,
            names: vec![],
        };
        for name in ["net", "router0", "router1", "host0", "host1"] {
            run(Command::new("ip").args(["netns", "add", &network.name(name)]));
            network.names.push(name);
            network.ip(name, "link set lo up");
        }
        network.ip("net", "address add 203.0.113.5/32 dev lo");
        // Private addresses lead nowhere on the internet.
        network.ip("net", "route add blackhole 10.0.0.0/8");
        for name in ["net", "router0", "router1"] {
            network.exec(name, "sysctl -qw net.ipv4.ip_forward=1");
        }
        for (i, (side, kind)) in SIDES.iter().zip(kinds).enumerate() {
            let (router, host, up) = (
                ["router0", "router1"][i],
                ["host0", "host1"][i],
                ["up0", "up1"][i],
            );
            network.cable((host, "lan", side.host), (router, "lan", side.inner));
            network.cable((router, "wan", side.public), ("net", up, side.outer));
            network.ip(host, &format!("route add default via {}", side.inner));
            network.ip(router, &format!("route add default via {}", side.outer));
            network.nft(router, &rules(kind, side));
        }
        network
    }

    fn name(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    fn ip(&self, name: &str, arguments: &str) {
        let mut command = Command::new("ip");
        run(command
            .args(["-n", &self.name(name)])
            .args(arguments.split(' ')));
    }

    fn exec(&self, name: &str, words: &str) {
        let mut command = Command::new("ip");
        run(command
            .args(["netns", "exec", &self.name(name)])
            .args(words.split(' ')));
    }

    fn cable(&self, one: (&str, &str, &str), other: (&str, &str, &str)) {
        let ends = [
            &self.name(one.0),
            one.1,
            "type",
            "veth",
            "peer",
            "name",
            other.1,
            "netns",
            &self.name(other.0),
        ];
        let mut command = Command::new("ip");
        run(command
            .args(["link", "add", "netns"])
            .args([ends[0], "name", ends[1]])
            .args(&ends[2..]));
        for (name, end, address) in [one, other] {
            self.ip(name, &format!("address add {address}/24 dev {end}"));
            self.ip(name, &format!("link set {end} up"));
        }
    }

    fn nft(&self, name: &str, rules: &str) {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(name), "nft", "-f", "-"]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("nft runs");
        let mut input = child.stdin.take().expect("it was piped");
        input.write_all(rules.as_bytes()).expect("nft reads");
        drop(input);
        assert!(child.wait().expect("nft ends").success(), "{rules}");
    }

    /// Routers cannot reach each other any more, but the relay can be.
    pub fn cut(&self) {
        self.nft(
            "net",
            "table ip cut { chain f { type filter hook forward priority 0; drop; }; }",
        );
    }

    pub fn heal(&self) {
        self.nft("net", "delete table ip cut");
    }

    /// Runs this very program again, inside of a namespace, as what [`crate::program`] is told to be.
    fn program(&self, name: &str, words: &str) -> Process {
        let own = std::env::current_exe().expect("a test has a path");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(name)]).arg(own);
        command.args(["program", "--exact", "--ignored", "--nocapture"]);
        command.env("SAMESTEP_PROGRAM", words);
        Process::run(command)
    }

    /// A relay and both programs, ready to start.
    pub fn programs(&self) -> (Process, [Process; 2]) {
        let mut relay = self.program("net", &format!("relay {RELAY}"));
        relay.expect("relay");
        (relay, self.talkers())
    }

    /// Debian's coturn in place of our relay. Programs ask until it is there.
    pub fn coturn(&self) -> Process {
        let (address, _) = RELAY.split_once(':').expect("a port");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name("net"), "turnserver", "-n"]);
        command.args(["--listening-ip", address, "--relay-ip", address]);
        command.args(["--use-auth-secret", "--static-auth-secret", SECRET]);
        command.args(["--realm", "test", "--no-tls", "--no-dtls", "--no-cli"]);
        command.args(["--log-file", "stdout", "--pidfile", "/dev/null"]);
        command.stderr(Stdio::null());
        Process::run(command)
    }

    /// Both programs.
    pub fn talkers(&self) -> [Process; 2] {
        let talk = |i: usize| {
            let own = format!("{}:500{i}", SIDES[i].host);
            self.program(
                ["host0", "host1"][i],
                &format!("talk {own} {RELAY} {ONE_WAY_MS}"),
            )
        };
        [talk(0), talk(1)]
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.name(name)])
                .status();
        }
    }
}

/// What makes a router of this kind of the namespace of a side.
fn rules(kind: &str, side: &Side) -> String {
    let Side { host, public, .. } = side;
    let keep = format!(
        "chain post {{ type nat hook postrouting priority srcnat; oifname \"wan\" ip saddr {host} snat to {public}; }}"
    );
    // Without it two port-restricted sides meet only when both start at once.
    let closed =
        "chain in { type filter hook input priority 0; iifname \"wan\" meta l4proto udp drop; }"
            .to_owned();
    let lines = match kind {
        "full cone" => vec![
            keep,
            format!(
                "chain pre {{ type nat hook prerouting priority dstnat; iifname \"wan\" meta l4proto udp dnat to {host}; }}"
            ),
        ],
        "restricted" => vec![
            keep,
            closed,
            "set seen { type ipv4_addr . inet_service; flags dynamic,timeout; timeout 120s; size 65535; }".into(),
            format!(
                "chain out {{ type filter hook forward priority 0; oifname \"wan\" ip saddr {host} meta l4proto udp update @seen {{ ip daddr . udp sport }}; }}"
            ),
            format!(
                "chain pre {{ type nat hook prerouting priority dstnat; iifname \"wan\" ip saddr . udp dport @seen dnat to {host}; }}"
            ),
        ],
        "port-restricted" => vec![keep, closed],
        "symmetric" => vec![
            closed,
            format!(
                "chain post {{ type nat hook postrouting priority srcnat; oifname \"wan\" ip saddr {host} meta l4proto udp masquerade fully-random; }}"
            ),
        ],
        other => panic!("there is no kind {other}"),
    };
    format!("table ip nat {{\n{}\n}}\n", lines.join("\n"))
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program is there");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
}

/// Why real routers cannot be built here.
fn missing() -> Option<&'static str> {
    let works = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !works("nft", &["--version"]) {
        return Some("there is no `nft` program: install nftables");
    }
    let name = format!("samestep-nat-{}-probe", std::process::id());
    let made = works("ip", &["netns", "add", &name]);
    let entered = made && works("ip", &["netns", "exec", &name, "nft", "list", "ruleset"]);
    let _ = Command::new("ip").args(["netns", "del", &name]).output();
    (!entered)
        .then_some("this user may not make network namespaces, or `ip` of iproute2 is missing")
}

/// Whether the test can run. In CI it has to.
pub fn can_run() -> bool {
    static MISSING: OnceLock<Option<&str>> = OnceLock::new();
    let Some(why) = MISSING.get_or_init(missing) else {
        return true;
    };
    assert!(
        std::env::var("CI").is_err(),
        "in CI this test has to run, but {why}"
    );
    eprintln!("SKIPPED, AND NOTHING WAS TESTED: {why}");
    false
}

/// Whether coturn is installed; only then it is tested against.
pub fn has_coturn() -> bool {
    let found = Command::new("turnserver").arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: there is no `turnserver` program: install coturn to test against it");
    }
    found
}
