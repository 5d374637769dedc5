//! A `samestep` program of its own: lines go in, lines are waited for.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for anything; far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running program. Dropping it ends the process.
pub struct Terminal {
    who: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Terminal {
    /// Runs `samestep` with these arguments.
    pub fn open(who: &str, arguments: &[&str]) -> Terminal {
        let mut command = Command::new(env!("CARGO_BIN_EXE_samestep"));
        command.args(arguments);
        Terminal::run(who, command)
    }

    /// Runs any command that ends up being `samestep`.
    pub fn run(who: &str, mut command: Command) -> Terminal {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (sender, lines) = channel();
        let stdout: Box<dyn Read + Send> = Box::new(child.stdout.take().expect("piped"));
        let stderr: Box<dyn Read + Send> = Box::new(child.stderr.take().expect("piped"));
        for stream in [stdout, stderr] {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Terminal {
            who: who.into(),
            stdin: child.stdin.take(),
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// Types a line.
    pub fn enter(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        // A program that has just ended reads no more; what it printed says why.
        let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
    }

    /// Ends the input.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for a line that contains this, and returns it. Lines before it are passed over.
    #[track_caller]
    pub fn expect(&mut self, wanted: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    assert!(!line.contains('\x1b'), "a pipe is no terminal: {line:?}");
                    self.seen.push(line.clone());
                    if line.contains(wanted) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.fail(&format!("no {wanted:?} in time")),
                Err(RecvTimeoutError::Disconnected) => {
                    self.fail(&format!("ended without {wanted:?}"))
                }
            }
        }
    }

    /// Waits for a line that contains this as long as there are others, each in time.
    #[track_caller]
    pub fn expect_at_last(&mut self, wanted: &str) {
        while !self.expect("").contains(wanted) {}
    }

    /// The number after these words in the next line that has them.
    #[track_caller]
    pub fn expect_number(&mut self, words: &str) -> u16 {
        let line = self.expect(words);
        let (_, rest) = line.split_once(words).expect("it contains them");
        let digits: String = rest
            .trim_start()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        match digits.parse() {
            Ok(number) => number,
            Err(_) => self.fail(&format!("no number after {words:?} in {line:?}")),
        }
    }

    /// Waits for the end of the program; returns its exit code.
    #[track_caller]
    pub fn exit_code(&mut self) -> i32 {
        let end = Instant::now() + PATIENCE;
        // Its output ends when it does.
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.fail("does not end"),
            }
        }
        let status = self.child.wait().expect("it is our child");
        status.code().unwrap_or(-1)
    }

    /// Everything printed so far.
    pub fn text(&self) -> String {
        self.seen.join("\n")
    }

    /// Ends the program the hard way: it says farewell to nobody.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// The process, to send it signals.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    fn fail(&self, why: &str) -> ! {
        panic!("{}: {why}; it printed:\n{}", self.who, self.text());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The options with which a program reads this password from a file. Each call has a file of its own: another program may be reading one that is written.
pub fn knowing(password: &str) -> [String; 2] {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("password-{}-{number}", std::process::id());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, password).expect("a writable directory");
    [
        "--password-file".into(),
        file.to_str().expect("a readable path").into(),
    ]
}
