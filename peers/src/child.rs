//! Measured sides as processes of their own: the kernel then tells their CPU time and memory apart.
//!
//! A child answers `status` on its standard input with one line, begins at `go`, and ends when its input ends, so
//! none outlives its parent.

use std::{
    env,
    error::Error,
    fs,
    io::{self, BufRead, BufReader, Write},
    net::SocketAddr,
    process::{self, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};

use crate::{
    control::Control,
    library::{Library, Mode},
    load::{Load, Service},
    quinn, sockets,
};

const SERVER_CPU: usize = 1;
const CLIENTS_CPU: usize = 0;
const POLL: Duration = Duration::from_millis(20);

/// What a child says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Where it listens, if it is a server that does.
    pub address: Option<SocketAddr>,
    /// Clients connected.
    pub connected: usize,
    /// Pings answered.
    pub trips: u64,
    /// Pings repeated.
    pub retries: u64,
    /// When this was said, on the child's clock.
    pub at: Duration,
    /// CPU time spent in the program.
    pub user: Duration,
    /// CPU time spent in the kernel on its behalf.
    pub system: Duration,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Resident memory before the library was asked for anything.
    pub base_bytes: u64,
}

/// A server or the clients, seen from the one who measures. Killed when dropped.
pub struct Child {
    process: process::Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    name: String,
}

impl Child {
    /// Starts a server and waits until it listens.
    pub fn server(
        library: Library,
        mode: Mode,
        clients: usize,
        public: Option<SocketAddr>,
    ) -> Result<(Child, SocketAddr), Box<dyn Error>> {
        let mut arguments = vec!["serve".into(), library.to_string(), mode.to_string()];
        if let Some(public) = public {
            arguments.extend(["--public".into(), public.to_string()]);
        }
        let mut child = Child::start(format!("{library} server"), clients, arguments)?;
        let status = child.wait_for(Duration::from_secs(10), |status| status.address.is_some())?;
        Ok((child, status.address.expect("waited for it")))
    }

    /// Starts the clients and waits until all are connected.
    pub fn clients(
        library: Library,
        mode: Mode,
        clients: usize,
        server: SocketAddr,
        rest: bool,
    ) -> Result<Child, Box<dyn Error>> {
        let mut arguments = vec![
            "connect".into(),
            library.to_string(),
            mode.to_string(),
            server.to_string(),
        ];
        if rest {
            arguments.push("--rest".into());
        }
        let mut child = Child::start(format!("{library} clients"), clients, arguments)?;
        child.wait_for(Duration::from_secs(60), |status| {
            status.connected == clients
        })?;
        Ok(child)
    }

    fn start(
        name: String,
        clients: usize,
        arguments: Vec<String>,
    ) -> Result<Child, Box<dyn Error>> {
        let mut process = Command::new(env::current_exe()?)
            .args(arguments)
            .args(["--clients", &clients.to_string()])
            .env(quinn::IDENTITY_VARIABLE, quinn::identity_text())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().expect("piped");
        let output = BufReader::new(process.stdout.take().expect("piped"));
        Ok(Child {
            process,
            input,
            output,
            name,
        })
    }

    /// Lets the clients begin.
    pub fn go(&mut self) -> io::Result<()> {
        writeln!(self.input, "go")
    }

    /// How it is doing.
    pub fn status(&mut self) -> Result<Status, Box<dyn Error>> {
        let failed = |name: &str| format!("{name}: ended early");
        writeln!(self.input, "status").map_err(|_| failed(&self.name))?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Status::parse(&line).ok_or_else(|| failed(&self.name).into())
    }

    /// Asks for the status until it is as wanted.
    pub fn wait_for(
        &mut self,
        limit: Duration,
        wanted: impl Fn(&Status) -> bool,
    ) -> Result<Status, Box<dyn Error>> {
        let start = Instant::now();
        loop {
            let status = self.status()?;
            if wanted(&status) {
                return Ok(status);
            }
            if start.elapsed() > limit {
                return Err(format!("{}: not ready after {limit:?}: {status:?}", self.name).into());
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Status {
    fn of_this_process(
        control: &Control,
        epoch: Instant,
        base_bytes: u64,
    ) -> Result<Status, Box<dyn Error>> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        Ok(Status {
            address: control.address(),
            connected: control.connected(),
            trips: control.trips(),
            retries: control.retries(),
            at: epoch.elapsed(),
            user: Duration::from_micros(usage.user_time().num_microseconds() as u64),
            system: Duration::from_micros(usage.system_time().num_microseconds() as u64),
            rss_bytes: resident_bytes()?,
            base_bytes,
        })
    }

    fn to_line(self) -> String {
        let Status {
            address,
            connected,
            trips,
            retries,
            at,
            user,
            system,
            rss_bytes,
            base_bytes,
        } = self;
        let address = address.map_or("-".into(), |address| address.to_string());
        let [at, user, system] = [at, user, system].map(|time| time.as_micros());
        format!(
            "{address} {connected} {trips} {retries} {at} {user} {system} {rss_bytes} {base_bytes}"
        )
    }

    fn parse(line: &str) -> Option<Status> {
        let mut words = line.split_whitespace();
        let address = words.next()?.parse().ok();
        let mut number = || words.next()?.parse::<u64>().ok();
        Some(Status {
            address,
            connected: number()? as usize,
            trips: number()?,
            retries: number()?,
            at: Duration::from_micros(number()?),
            user: Duration::from_micros(number()?),
            system: Duration::from_micros(number()?),
            rss_bytes: number()?,
            base_bytes: number()?,
        })
    }
}

fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

/// The child's side of a server.
pub fn serve(
    library: Library,
    mode: Mode,
    clients: usize,
    public: Option<SocketAddr>,
) -> Result<(), Box<dyn Error>> {
    sockets::pin(SERVER_CPU);
    let control = Arc::new(Control::default());
    obey(Arc::clone(&control))?;
    library.serve(&control, mode, clients, public, Service::Echo)
}

/// The child's side of the clients.
pub fn connect(
    library: Library,
    mode: Mode,
    clients: usize,
    server: SocketAddr,
    rest: bool,
) -> Result<(), Box<dyn Error>> {
    sockets::pin(CLIENTS_CPU);
    let control = Arc::new(Control::default());
    obey(Arc::clone(&control))?;
    let load = if rest {
        Load::rest(&control, clients)
    } else {
        Load::ping(&control, mode, clients)
    };
    library.connect(&control, mode, server, load)
}

/// Answers the parent from a thread of its own; ends the process when the parent is gone.
fn obey(control: Arc<Control>) -> Result<(), Box<dyn Error>> {
    let epoch = Instant::now();
    let base_bytes = resident_bytes()?;
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            match line.as_str() {
                "go" => control.go(),
                "status" => match Status::of_this_process(&control, epoch, base_bytes) {
                    Ok(status) => println!("{}", status.to_line()),
                    Err(error) => eprintln!("{error}"),
                },
                other => eprintln!("unknown command {other}"),
            }
        }
        process::exit(0);
    });
    Ok(())
}
