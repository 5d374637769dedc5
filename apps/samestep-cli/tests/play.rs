//! `samestep play` as a browser meets it: real processes, real connections on the loopback interface.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A folder with a page in it, and a secret beside it.
fn page(name: &str) -> PathBuf {
    let around = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&around);
    let page = around.join("page");
    std::fs::create_dir_all(&page).expect("a writable target directory");
    let write = |path: PathBuf, content: &[u8]| std::fs::write(path, content).unwrap();
    write(page.join("index.html"), b"<!doctype html>");
    write(page.join("start.js"), b"play()");
    write(page.join("arcade_bg.wasm"), &vec![7; 3_000_000]);
    write(around.join("secret"), b"secret");
    page
}

fn samestep(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_samestep"));
    command.arg("play").args(arguments);
    command
}

/// The program, serving a page.
struct Serving {
    child: Child,
    /// What it says, after the address.
    says: BufReader<std::process::ChildStdout>,
    address: SocketAddr,
    /// All that is printed of the address.
    printed: String,
}

impl Serving {
    fn start(page: &Path, arguments: &[&str]) -> Serving {
        let mut child = samestep(&["--no-open", "--page", page.to_str().unwrap()])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut says = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        says.read_line(&mut line).unwrap();
        let printed = line.trim().rsplit(' ').next().unwrap().to_string();
        let host = printed
            .strip_prefix("http://")
            .and_then(|rest| rest.split('/').next());
        let address = host.and_then(|host| host.parse().ok());
        Serving {
            child,
            says,
            address: address.unwrap_or_else(|| panic!("{line:?} has no address")),
            printed,
        }
    }

    /// Head and body of the answer to what somebody sends.
    fn ask(&self, request: &str) -> (String, Vec<u8>) {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.expect("a head");
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        (head, answer[end + 4..].to_vec())
    }

    fn fetch(&self, path: &str) -> (String, Vec<u8>) {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.address
        ))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_browser_gets_the_page_with_its_kinds() {
    let serving = Serving::start(&page("play-kinds"), &[]);
    assert!(serving.address.ip().is_loopback());
    for (path, kind, length) in [
        ("/", "text/html; charset=utf-8", 15),
        ("/index.html", "text/html; charset=utf-8", 15),
        ("/start.js", "text/javascript; charset=utf-8", 6),
        ("/arcade_bg.wasm", "application/wasm", 3_000_000),
    ] {
        let (head, body) = serving.fetch(path);
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{path}: {head}");
        assert!(
            head.contains(&format!("Content-Type: {kind}\r\n")),
            "{path}: {head}"
        );
        assert!(
            head.contains(&format!("Content-Length: {length}\r\n")),
            "{path}: {head}"
        );
        assert!(head.contains("Cache-Control: no-cache"), "{path}: {head}");
        assert_eq!(body.len(), length, "{path}");
    }
    let (head, body) = serving.ask("HEAD /arcade_bg.wasm HTTP/1.1\r\n\r\n");
    assert!(
        head.contains("Content-Length: 3000000\r\n") && body.is_empty(),
        "{head}"
    );
}

#[test]
fn nothing_outside_of_the_page_is_told() {
    let serving = Serving::start(&page("play-outside"), &[]);
    for path in [
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "//etc/passwd",
        "/secret",
        "secret",
    ] {
        let (head, body) = serving.fetch(path);
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
        assert!(!body.windows(6).any(|six| six == b"secret"), "{path}");
    }
    let (head, _) = serving.ask("DELETE /index.html HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 405"), "{head}");
    let (head, _) = serving.ask("hello\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_page_is_not_followed() {
    let page = page("play-symlink");
    std::os::unix::fs::symlink(page.join("../secret"), page.join("inside")).unwrap();
    let serving = Serving::start(&page, &[]);
    assert!(serving.fetch("/inside").0.starts_with("HTTP/1.1 404"));
}

#[test]
fn who_says_nothing_keeps_nobody_waiting() {
    let serving = Serving::start(&page("play-silent"), &[]);
    let silent: Vec<_> = (0..10)
        .map(|_| TcpStream::connect(serving.address).unwrap())
        .collect();
    assert_eq!(serving.fetch("/arcade_bg.wasm").1.len(), 3_000_000);
    drop(silent);
}

#[test]
fn a_link_is_part_of_the_address() {
    let serving = Serving::start(&page("play-link"), &["#game=skirmish&seed=7"]);
    assert!(
        serving.printed.ends_with("/#game=skirmish&seed=7"),
        "{}",
        serving.printed
    );
}

#[cfg(unix)]
#[test]
fn it_ends_cleanly_when_interrupted() {
    let mut serving = Serving::start(&page("play-interrupt"), &[]);
    let id = serving.child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    serving.says.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("ended"), "{rest}");
}

#[test]
fn what_is_missing_or_taken_gets_words() {
    let page = page("play-words");
    let missing = page.join("missing");
    let output = samestep(&["--page", missing.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("make play"), "{}", words(&output));

    let serving = Serving::start(&page, &[]);
    let port = serving.address.port().to_string();
    let output = samestep(&["--page", page.to_str().unwrap(), "--port", &port])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(words(&output).contains("is taken"), "{}", words(&output));

    let file = page.join("index.html");
    let output = samestep(&[file.to_str().unwrap()]).output().unwrap();
    assert!(words(&output).contains("--native"), "{}", words(&output));
}
