//! Games over a network in windows: real processes on a virtual screen, with bots at the keys.
//!
//! Needs `Xvfb` and a software OpenGL. Where they are missing the test says so and passes.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for anything; far more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A process that ends with the test, and its lines.
struct Process {
    child: Child,
    lines: Receiver<String>,
    seen: String,
}

impl Process {
    fn start(command: &mut Command) -> std::io::Result<Process> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let stdout = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Process {
            child,
            lines,
            seen: String::new(),
        })
    }

    #[track_caller]
    fn expect(&mut self, words: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => self.seen += &(line + "\n"),
                Err(error) => panic!("no {words:?}: {error}; it printed:\n{}", self.seen),
            }
        }
    }

    #[track_caller]
    fn exit_code(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status.code();
            }
            assert!(Instant::now() < end, "does not end:\n{}", self.seen);
            thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A virtual screen and its name; `None` if there is none to be had.
fn screen() -> Option<(Process, String)> {
    let mut command = Command::new("Xvfb");
    command.args([
        "-displayfd",
        "1",
        "-screen",
        "0",
        "1280x800x24",
        "-nolisten",
        "tcp",
    ]);
    let mut xvfb = Process::start(&mut command).ok()?;
    let number = xvfb.lines.recv_timeout(Duration::from_secs(20)).ok()?;
    xvfb.seen.clear();
    Some((xvfb, format!(":{}", number.trim())))
}

/// A window that remembers in `folder`, where its sound is switched off.
fn window(display: &str, folder: &Path, arguments: &[&str]) -> Process {
    let state = folder.join("samestep");
    std::fs::create_dir_all(&state).expect("a writable directory");
    std::fs::write(state.join("sound"), "off 0.50\n").expect("a writable directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_samestep-arcade"));
    command
        .args(arguments)
        .env("XDG_STATE_HOME", folder)
        .env("DISPLAY", display)
        .env_remove("WAYLAND_DISPLAY")
        .env("LIBGL_ALWAYS_SOFTWARE", "1");
    Process::start(&mut command).expect("the program starts")
}

/// A fresh folder of a test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a writable directory");
    path
}

/// The address of a game on this machine, once it is open.
#[track_caller]
fn address(host: &mut Process) -> String {
    let line = host.expect("open at port");
    let port = line.split("port ").nth(1);
    let port = port.and_then(|rest| rest.split(' ').next());
    format!("127.0.0.1:{}", port.expect("a port is named"))
}

#[test]
fn three_windows_play_and_their_score_tables_agree() {
    let Some((_xvfb, display)) = screen() else {
        return eprintln!("SKIPPED: there is no Xvfb: install xvfb");
    };
    let folder = folder("three");
    let scores = |name: &str| -> PathBuf { folder.join(format!("{name}.csv")) };
    let text = |path: &Path| path.to_str().expect("a readable path").to_string();
    let play = |name: &str, arguments: &[&str]| {
        let (table, secret) = (
            text(&scores(name)),
            text(&folder.join(format!("{name}.rejoin"))),
        );
        let own = [
            "--name",
            name,
            "--bot",
            "hard",
            "--ready",
            "--matches",
            "1",
            "--scores",
            &table,
        ];
        let rejoin = match arguments[0] {
            "join" => vec!["--rejoin", &secret],
            _ => Vec::new(),
        };
        window(&display, &folder, &[arguments, &own, &rejoin].concat())
    };
    let settings = ["--hidden", "--arena", "cellar", "--frags", "3"];
    let mut ada = play(
        "Ada",
        &[&["host", "sublockus", "0"][..], &settings].concat(),
    );
    let address = address(&mut ada);
    let join = ["join", "sublockus", &address];
    let mut bob = play("Bob", &join);
    bob.expect("the match begins");
    let mut eve = play("Eve", &join);
    eve.expect("in the room \"Ada's Sublockus\" as Eve");
    for window in [&mut ada, &mut bob, &mut eve] {
        window.expect("the match is over");
        assert_eq!(window.exit_code(), Some(0), "{}", window.seen);
    }
    let read = |name: &str| std::fs::read_to_string(scores(name)).expect("it was written");
    assert_eq!(read("Ada").lines().count(), 4, "{}", read("Ada"));
    assert_eq!(read("Ada"), read("Bob"));
    assert_eq!(read("Ada"), read("Eve"));
}

#[test]
fn two_windows_with_two_players_each_play_hat_hunters() {
    let Some((_xvfb, display)) = screen() else {
        return eprintln!("SKIPPED: there is no Xvfb: install xvfb");
    };
    let folder = folder("shared");
    let scores = |name: &str| folder.join(format!("{name}.csv"));
    let play = |arguments: &[&str], name: &str, with: &str| {
        let table = scores(name).to_str().expect("a readable path").to_string();
        let own = ["--name", name, "--with", with, "--scores", &table];
        let bots = ["--bot", "hard", "--ready", "--matches", "1"];
        window(&display, &folder, &[arguments, &own, &bots].concat())
    };
    let settings = ["--hidden", "--set", "stars=1", "--set", "rounds=1"];
    let settings = [&settings[..], &["--wait-for", "4"]].concat();
    let mut ada = play(
        &[&["host", "hat-hunters", "0"][..], &settings].concat(),
        "Ada",
        "Bob",
    );
    let address = address(&mut ada);
    let mut eve = play(&["join", "hat-hunters", &address], "Eve", "Dan");
    ada.expect("Eve and Dan are here");
    for window in [&mut ada, &mut eve] {
        let line = window.expect("the match is over");
        for name in ["Ada", "Bob", "Eve", "Dan"] {
            assert!(line.contains(name), "{line}");
        }
        assert_eq!(window.exit_code(), Some(0), "{}", window.seen);
    }
    let read = |name: &str| std::fs::read_to_string(scores(name)).expect("it was written");
    assert_eq!(read("Ada"), read("Eve"));
}
