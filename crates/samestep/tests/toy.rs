//! The README's first program, in real processes: this test starts itself again as the program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, thread};

#[path = "../examples/toy.rs"]
mod toy;

/// Far more than it takes: only a program that hangs reaches it.
const LONG: Duration = Duration::from_secs(60);

fn main() {
    match env::args().nth(1).as_deref() {
        Some("host" | "join" | "nonsense") => toy::main(),
        // What a test runner that knows the usual harness asks.
        Some("--list") => {}
        _ => {
            the_readme_shows_the_program();
            what_one_types_the_other_sees();
            mistakes_are_explained();
            println!("toy: 3 tests passed");
        }
    }
}

fn the_readme_shows_the_program() {
    let (readme, program) = (
        include_str!("../../../README.md"),
        include_str!("../examples/toy.rs"),
    );
    let shown = format!("```rust,no_run\n{program}```\n");
    assert!(
        readme.contains(&shown),
        "README.md does not contain examples/toy.rs as it is"
    );
    assert!(program.lines().count() < 60);
}

fn what_one_types_the_other_sees() {
    let mut host = Terminal::start(&["host", "0"]);
    let welcome = host.wait_for("You are player 0, at port ");
    let port = welcome.trim_end_matches('.').rsplit(' ').next().unwrap();
    let address = format!("127.0.0.1:{port}");
    host.type_line("typed before anybody came");

    let mut guest = Terminal::start(&["join", &address]);
    guest.wait_for("You are player 1");
    guest.wait_for("player 0: typed before anybody came");

    host.type_line("hello");
    guest.wait_for("player 0: hello");
    guest.type_line("hello yourself");
    host.wait_for("player 1: hello yourself");

    let mut late = Terminal::start(&["join", &address]);
    late.wait_for("player 0: hello");
    late.wait_for("player 1: hello yourself");
    late.type_line("am I late?");
    host.wait_for("player 2: am I late?");
    guest.wait_for("player 2: am I late?");

    late.end();
    host.end();
    guest.type_line("anybody there?");
    assert_eq!(
        guest.process.wait().unwrap().code(),
        Some(1),
        "the room is closed"
    );
}

fn mistakes_are_explained() {
    for (arguments, words) in [
        (["join", "no-such-name.invalid"], "no-such-name.invalid"),
        (["join", "somewhere:else"], "is no address"),
        (["host", "door"], "toy host [PORT]"),
        (["nonsense", ""], "toy host [PORT]"),
    ] {
        let output = Command::new(env::current_exe().unwrap())
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(1));
    }
}

/// The program in a process of its own.
struct Terminal {
    name: String,
    process: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    seen: Vec<String>,
}

impl Terminal {
    fn start(arguments: &[&str]) -> Terminal {
        let mut process = Command::new(env::current_exe().unwrap())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (tell, output) = mpsc::channel();
        thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| tell.send(line))
        });
        Terminal {
            name: arguments.join(" "),
            input: process.stdin.take(),
            process,
            output,
            seen: Vec::new(),
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Reads on until a line begins like this.
    fn wait_for(&mut self, beginning: &str) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(line) if line.starts_with(beginning) => return line,
                Ok(line) => self.seen.push(line),
                Err(why) => {
                    let ended = why == RecvTimeoutError::Disconnected;
                    let seen = self.seen.join("\n");
                    panic!(
                        "`{}` never said \"{beginning}\" (ended: {ended}), but:\n{seen}",
                        self.name
                    );
                }
            }
        }
    }

    /// Closes the terminal and waits until the program has left.
    fn end(mut self) {
        self.input = None;
        let status = self.process.wait().unwrap();
        assert!(status.success(), "`{}` ended with {status}", self.name);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.process.try_wait().is_ok_and(|status| status.is_none()) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
