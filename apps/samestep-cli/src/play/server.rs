//! Serves the files of a folder over HTTP, to this machine only: as much of the protocol as browsers need for a page.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The most connections at a time; a browser opens six.
const CONNECTIONS: usize = 64;
/// The longest request, in bytes.
const LONGEST: u64 = 16 * 1024;
/// The longest that somebody may say nothing, or take nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers whoever connects, for as long as the program runs.
pub fn serve(listener: &TcpListener, folder: &Path) {
    let folder: Arc<Path> = folder.into();
    let open = Arc::new(AtomicUsize::new(0));
    for connection in listener.incoming() {
        let Ok(connection) = connection else {
            // Out of descriptors, or the like: that passes.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let (folder, open) = (folder.clone(), open.clone());
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        std::thread::spawn(move || {
            // Whoever hangs up in the middle wants no answer.
            drop(answer(&connection, &folder));
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn answer(connection: &TcpStream, folder: &Path) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut input = BufReader::new(connection.take(LONGEST));
    let mut request = String::new();
    input.read_line(&mut request)?;
    let mut header = String::new();
    while input.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut output = connection;
    match Answer::to(&request, folder) {
        Answer::File { file, kind, body } => {
            let length = file.metadata()?.len();
            write!(output, "{}", head("200 OK", kind, length))?;
            if body {
                io::copy(&mut file.take(length), &mut output)?;
            }
        }
        Answer::Refusal(status, words) => {
            let head = head(status, "text/plain; charset=utf-8", words.len() as u64);
            write!(output, "{head}{words}")?;
        }
    }
    output.flush()
}

fn head(status: &str, kind: &str, length: u64) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\n\
         X-Content-Type-Options: nosniff\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n"
    )
}

/// The response to a request.
enum Answer {
    File {
        file: File,
        kind: &'static str,
        /// It was asked for the content too.
        body: bool,
    },
    Refusal(&'static str, &'static str),
}

impl Answer {
    /// The response to the first line of a request.
    fn to(request: &str, folder: &Path) -> Answer {
        let mut parts = request.split_ascii_whitespace();
        let (Some(method), Some(target), Some("HTTP/1.0" | "HTTP/1.1"), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Answer::Refusal("400 Bad Request", "this is not HTTP\n");
        };
        if !matches!(method, "GET" | "HEAD") {
            return Answer::Refusal("405 Method Not Allowed", "only GET and HEAD\n");
        }
        let found =
            find(target, folder).and_then(|path| Some((File::open(&path).ok()?, kind_of(&path))));
        match found {
            Some((file, kind)) => Answer::File {
                file,
                kind,
                body: method == "GET",
            },
            None => Answer::Refusal("404 Not Found", "there is nothing of that name here\n"),
        }
    }
}

/// The file that an address means, which is in the folder: names are plain, so that nothing leads out of it.
fn find(target: &str, folder: &Path) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let path = if path.is_empty() { "index.html" } else { path };
    let is_plain = |name: &str| {
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        !name.is_empty() && !name.starts_with('.') && name.chars().all(letter)
    };
    if !path.split('/').all(is_plain) {
        return None;
    }
    let file = folder.join(path).canonicalize().ok()?;
    (file.starts_with(folder) && file.is_file()).then_some(file)
}

fn kind_of(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_of_files_inside_lead_anywhere() {
        let folder = Path::new(".").canonicalize().unwrap();
        for (target, there) in [
            ("/Cargo.toml", true),
            ("/Cargo.toml?v=1", true),
            ("/src/main.rs", true),
            ("/", false),
            ("/src", false),
            ("/../samestep-cli/Cargo.toml", false),
            ("/src/../Cargo.toml", false),
            ("/src//main.rs", false),
            ("//etc/passwd", false),
            ("/%2e%2e/samestep-cli/Cargo.toml", false),
            ("/C:\\Cargo.toml", false),
            ("Cargo.toml", false),
        ] {
            assert_eq!(find(target, &folder).is_some(), there, "{target}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let refusal = |request: &str| match Answer::to(request, Path::new("/nowhere")) {
            Answer::Refusal(status, _) => status,
            Answer::File { .. } => "200",
        };
        assert_eq!(refusal("GET /x HTTP/1.1\r\n"), "404 Not Found");
        assert_eq!(refusal("POST / HTTP/1.1\r\n"), "405 Method Not Allowed");
        assert_eq!(refusal("GET / HTTP/2\r\n"), "400 Bad Request");
        assert_eq!(refusal(""), "400 Bad Request");
    }
}
