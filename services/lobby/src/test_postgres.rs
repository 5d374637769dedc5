//! A PostgreSQL server of our own for tests: made in a temporary directory, reached through a socket there, run as an unprivileged user, ended with the test.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A directory that is removed with its owner.
pub struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A new directory whose name begins so.
pub fn temporary_directory(name: &str) -> TemporaryDirectory {
    let mut random = [0; 8];
    getrandom::fill(&mut random).expect("randomness");
    // A socket's path has at most 107 bytes, so the directory's is short.
    let path = std::env::temp_dir().join(format!("ss-{name}-{:016x}", u64::from_le_bytes(random)));
    std::fs::create_dir(&path).expect("a temporary directory");
    TemporaryDirectory(path)
}

/// A running server.
pub struct Server {
    programs: PathBuf,
    directory: TemporaryDirectory,
    user: Option<(u32, u32)>,
    running: Child,
}

/// The newest PostgreSQL that is installed.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let bins = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let version = |bin: &PathBuf| bin.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let debian = bins
        .filter(|bin| bin.join("initdb").exists())
        .max_by_key(version);
    let elsewhere = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .find(|bin| bin.join("initdb").exists() && bin.join("postgres").exists())
    });
    debian.or(elsewhere)
}

/// User and group that the server runs as, if this program is root, as whom it refuses to run.
fn unprivileged() -> Option<(u32, u32)> {
    let own = Command::new("id").arg("-u").output().ok()?;
    if String::from_utf8_lossy(&own.stdout).trim() != "0" {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody"))
}

/// A server for one test. Without PostgreSQL the test says so and is skipped, unless CI=true.
pub fn server() -> Option<Server> {
    let Some(programs) = programs() else {
        let words = "PostgreSQL is not installed, so this test has NOT tested it: run scripts/setup, or install the package postgresql";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{words}");
        eprintln!("\n==== {words} ====\n");
        return None;
    };
    let directory = temporary_directory("pg");
    let user = unprivileged();
    if let Some((user, group)) = user {
        std::os::unix::fs::chown(directory.path(), Some(user), Some(group))
            .expect("root may do this");
    }
    let mut made = command(&programs, "initdb", &directory, user);
    made.args([
        "--auth=trust",
        "--username=samestep",
        "--no-instructions",
        "--no-sync",
        "--encoding=UTF8",
        "--locale=C",
        "-D",
    ]);
    let made = made
        .arg(directory.path().join("data"))
        .stdout(Stdio::null())
        .output();
    let made = made.expect("initdb runs");
    assert!(
        made.status.success(),
        "initdb: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    let running = start(&programs, &directory, user);
    Some(Server {
        programs,
        directory,
        user,
        running,
    })
}

fn command(
    programs: &Path,
    program: &str,
    directory: &TemporaryDirectory,
    user: Option<(u32, u32)>,
) -> Command {
    let mut command = Command::new(programs.join(program));
    command.current_dir(directory.path()).stdin(Stdio::null());
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

fn start(programs: &Path, directory: &TemporaryDirectory, user: Option<(u32, u32)>) -> Child {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(directory.path().join("log"));
    let mut server = command(programs, "postgres", directory, user);
    server
        .arg("-D")
        .arg(directory.path().join("data"))
        .arg("-k")
        .arg(directory.path());
    // No port: only the socket in its own directory.
    server.args([
        "-c",
        "listen_addresses=",
        "-c",
        "max_connections=50",
        "-c",
        "shared_buffers=16MB",
    ]);
    server
        .stdout(Stdio::null())
        .stderr(log.expect("its log can be written"));
    let mut server = server.spawn().expect("postgres runs");
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let mut ready = command(programs, "pg_isready", directory, None);
        ready.arg("-q").arg("-h").arg(directory.path());
        if ready.status().is_ok_and(|status| status.success()) {
            return server;
        }
        if Instant::now() > give_up || !matches!(server.try_wait(), Ok(None)) {
            let log = std::fs::read_to_string(directory.path().join("log"));
            panic!("postgres does not start: {}", log.unwrap_or_default());
        }
        std::thread::yield_now();
    }
}

impl Server {
    /// What `Postgres::connect` takes.
    pub fn url(&self) -> String {
        format!(
            "host={} user=samestep dbname=postgres",
            self.directory.path().display()
        )
    }

    /// Ends it at once, as if its machine had failed, and starts it again.
    pub fn restart(&mut self) {
        self.end("immediate");
        self.running = start(&self.programs, &self.directory, self.user);
    }

    fn end(&mut self, how: &str) {
        let mut stop = command(&self.programs, "pg_ctl", &self.directory, self.user);
        stop.args(["stop", "-s", "-w", "-m", how, "-D"])
            .arg(self.directory.path().join("data"));
        let stopped = stop.status();
        if !stopped.is_ok_and(|status| status.success()) {
            let _ = self.running.kill();
        }
        let _ = self.running.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end("immediate");
    }
}
