//! A program in a process of its own: what is typed into it, and what it says.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Far more than it takes: only a program that hangs reaches it.
const LONG: Duration = Duration::from_secs(60);

/// A running program.
pub struct Terminal {
    name: String,
    process: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    /// All it has said so far, in lines.
    said: Vec<String>,
    /// How many of these a test has waited for.
    passed: usize,
}

impl Terminal {
    /// Starts a program with these words.
    pub fn start(program: &str, words: &str) -> Terminal {
        Terminal::start_with(program, words, Stdio::null())
    }

    /// Starts a program whose errors and logs go elsewhere.
    pub fn start_with(program: &str, words: &str, errors: Stdio) -> Terminal {
        let mut process = Command::new(program)
            .args(words.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let mut line = Vec::new();
            while output
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                let said = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                if tell.send(said).is_err() {
                    return;
                }
            }
        });
        Terminal {
            name: format!("{program} {words}"),
            input: process.stdin.take(),
            process,
            output: told,
            said: Vec::new(),
            passed: 0,
        }
    }

    /// Starts one that others join, and says where.
    pub fn open(program: &str, verb: &str) -> (Terminal, String) {
        let mut terminal = Terminal::start(program, &format!("{verb} 0"));
        let address = terminal.address();
        (terminal, address)
    }

    /// Where others join it, by the last number in the line about its port.
    pub fn address(&mut self) -> String {
        let line = self.wait_for("port ");
        let (_, port) = line.rsplit_once("port ").unwrap();
        let digits: String = port.chars().take_while(char::is_ascii_digit).collect();
        format!("127.0.0.1:{digits}")
    }

    /// The id of its process.
    #[cfg(unix)]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Types, and presses Enter.
    pub fn type_line(&mut self, line: &str) {
        self.type_keys(&format!("{line}\n"));
    }

    /// Types.
    pub fn type_keys(&mut self, keys: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Types until the game has begun and takes it, then reads on until a line has these words in it, and returns the line.
    pub fn act(&mut self, typed: &str, words: &str) -> String {
        loop {
            self.type_line(typed);
            let line = self.wait_for_one_of(&[words, "Not yet:"]);
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Reads on until a line has this in it, and returns the line.
    pub fn wait_for(&mut self, words: &str) -> String {
        self.wait_for_one_of(&[words])
    }

    /// Waits until a line has this in it, perhaps one that was read already.
    pub fn hears(&mut self, words: &str) {
        if !self.said.iter().any(|said| said.contains(words)) {
            self.wait_for(words);
        }
    }

    fn wait_for_one_of(&mut self, words: &[&str]) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(line) = self.said.get(self.passed).cloned() {
                self.passed += 1;
                if words.iter().any(|words| line.contains(words)) {
                    return line;
                }
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.output.recv_timeout(left) else {
                let said = self.said.join("\n");
                panic!("`{}` never said {words:?}, but:\n{said}", self.name);
            };
            self.said.push(line);
        }
    }

    /// The lines so far that have this in them.
    pub fn lines_with(&mut self, words: &str) -> Vec<String> {
        self.said.extend(self.output.try_iter());
        let with = self.said.iter().filter(|line| line.contains(words));
        with.cloned().collect()
    }

    /// Kills the program.
    #[cfg(unix)]
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Closes the terminal and waits until the program has left.
    pub fn end(mut self) {
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

/// Two who play: the one who opened the game and another, or two at a server, which is the third. The second joins when the first
/// has said what shows that it is in.
pub fn two(program: &str, topology: &str, is_in: &str) -> (Terminal, Terminal, Option<Terminal>) {
    let (mut one, address) = Terminal::open(program, topology);
    let verb = if topology == "mesh" { "peer" } else { "join" };
    let join = || Terminal::start(program, &format!("{verb} {address}"));
    let mut server = None;
    if topology == "serve" {
        server = Some(std::mem::replace(&mut one, join()));
    }
    one.hears(is_in);
    (one, join(), server)
}

/// What a program says about a mistake, and that it ends with an error.
pub fn complaint(program: &str, words: &str) -> String {
    let output = Command::new(program)
        .args(words.split(' ').filter(|word| !word.is_empty()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{program} {words}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}
