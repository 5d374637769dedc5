//! The logs of two programs tell the story of a join, a lost connection, a return and a desync, as the guide quotes it.

use std::env::temp_dir;
use std::fs::{self, File};
use std::process::{self, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::terminal::Terminal;

const DESYNC: &str = env!("CARGO_BIN_EXE_desync");

/// A program that logs into a file.
struct Logged {
    terminal: Terminal,
    file: std::path::PathBuf,
}

impl Logged {
    fn start(words: &str, name: &str) -> Logged {
        let file = temp_dir().join(format!("samestep-log-{}-{name}.txt", process::id()));
        let words = format!("{words} --log samestep=debug");
        let errors = File::create(&file).unwrap().into();
        Logged {
            terminal: Terminal::start_with(DESYNC, &words, errors),
            file,
        }
    }

    /// Waits until the lines of the log contain these, in this order.
    fn logs(&self, expected: &[&str]) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let log = fs::read_to_string(&self.file).unwrap();
            let mut lines = log.lines();
            let missing = expected
                .iter()
                .find(|words| !lines.any(|line| line.contains(**words)));
            let Some(missing) = missing else { return };
            assert!(Instant::now() < deadline, "\"{missing}\" is not in\n{log}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn signal(&self, name: &str) {
        let id = self.terminal.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(sent.success());
    }

    fn end(self) {
        self.terminal.end();
        fs::remove_file(self.file).unwrap();
    }
}

#[test]
fn logs_tell_of_a_join_a_loss_a_return_and_a_desync() {
    let mut host = Logged::start("host 0", "host");
    let join = format!("join {}", host.terminal.address());
    let mut guest = Logged::start(&join, "guest");
    let joined = [
        "game starts",
        "client connected",
        "peer joined",
        "peer in sync",
    ];
    host.logs(&joined);

    guest.signal("-STOP");
    let lost = ["peer in sync", "connection lost", "peer dropped"];
    host.logs(&lost);
    guest.signal("-CONT");
    host.logs(&["peer dropped", "peer returned", "peer in sync"]);
    guest.logs(&["connection lost, trying to return", "in sync"]);

    guest.terminal.type_line("tamper");
    guest.logs(&["desync", "state corrected"]);
    host.logs(&["desync", "peer corrected its state"]);
    guest.end();
    host.end();
}
