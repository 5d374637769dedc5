//! A process that is spoken to line by line.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest wait for what has to come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A process whose output is read line by line. It ends with its input, at the latest when this is dropped.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    pub seen: VecDeque<String>,
}

impl Process {
    #[expect(clippy::disallowed_methods, reason = "a thread for each pipe")]
    pub fn run(mut command: Command) -> Process {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("ip runs");
        let output = child.stdout.take().expect("it was piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Process {
            input: child.stdin.take(),
            child,
            lines,
            seen: VecDeque::new(),
        }
    }

    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(input, "{line}").expect("the program reads");
    }

    /// Waits for a line that begins so, and returns the rest of it; those before it are dropped.
    #[track_caller]
    pub fn expect(&mut self, word: &str) -> String {
        self.within(word, PATIENCE)
            .unwrap_or_else(|| panic!("no line {word:?} came"))
    }

    #[expect(clippy::disallowed_methods, reason = "real processes, real time")]
    pub fn within(&mut self, word: &str, time: Duration) -> Option<String> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self
                .seen
                .pop_front()
                .or_else(|| self.lines.recv_timeout(left).ok())?;
            if let Some(rest) = line.strip_prefix(word) {
                return Some(rest.trim().to_owned());
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        // `ip netns exec` becomes the program, so this is the program's own id.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
