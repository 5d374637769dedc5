//! `samestep relay`: a relay for players whom no direct way reaches, and the passwords for it.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, SystemTime};

use clap::Args;
use samestep_play::failure::{Failure, Kind};
use samestep_traversal::{RelayConfig, RelaySecret, RelayServer, RelayServerConfig, RelayStats};

use crate::terminal::interruption;

#[derive(Args)]
pub struct Arguments {
    /// Where clients connect; a firewall has to let UDP in there
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:3478")]
    listen: SocketAddr,
    /// The address under which players reach this computer [default: that of --listen]
    #[arg(long, value_name = "IP")]
    public: Option<IpAddr>,
    /// The secret that the relay shares with the lobby; made if the file is not there
    #[arg(long, value_name = "FILE", default_value = "relay.secret")]
    secret_file: PathBuf,
    /// The ports that are lent; a firewall has to let UDP in there
    #[arg(long, value_name = "FIRST-LAST", default_value = "49152-65535", value_parser = ports)]
    ports: RangeInclusive<u16>,
    /// How many addresses are lent at a time
    #[arg(long, value_name = "N", default_value_t = 1000)]
    allocations: usize,
    /// How many of them to one user; the oldest gives way to the next
    #[arg(long, value_name = "N", default_value_t = 4)]
    allocations_per_user: usize,
    /// How much may pass each of them in a second
    #[arg(long, value_name = "KIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    kib_per_second: u32,
    /// Let players on private networks be reached: not for a relay on the internet
    #[arg(long)]
    private: bool,
    /// Print what lets a user use the relay, and stop
    #[arg(long, value_name = "USER")]
    issue: Option<String>,
    /// How long that is good
    #[arg(long, value_name = "N", default_value_t = 12, requires = "issue", value_parser = clap::value_parser!(u64).range(1..=8760))]
    hours: u64,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let public = public_address(arguments)?;
    let secret = keep_secret(&arguments.secret_file)?;
    if let Some(user) = &arguments.issue {
        let server = SocketAddr::new(public, arguments.listen.port());
        let access = secret.issue(server, user, unix_s()? + arguments.hours * 3600)?;
        writeln!(std::io::stdout(), "{access}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = RelayServerConfig {
        listen: arguments.listen,
        ports: arguments.ports.clone(),
        relay: RelayConfig {
            max_allocations: arguments.allocations,
            max_allocations_per_user: arguments.allocations_per_user,
            bytes_per_second: arguments.kib_per_second * 1024,
            private_peers: arguments.private,
            ..RelayConfig::new(public)
        },
    };
    let server = RelayServer::start(config, secret, random()?).map_err(Failure::of_bind)?;
    println!(
        "relay on {}; lends ports {} to {} of {public}; the lobby needs the secret in {}",
        server.local_addr(),
        arguments.ports.start(),
        arguments.ports.end(),
        arguments.secret_file.display(),
    );
    let interrupted = interruption();
    let mut told = RelayStats::default();
    while !interrupted.load(Ordering::Relaxed) && server.is_running() {
        thread::sleep(Duration::from_millis(200));
        let stats = server.stats();
        if stats.allocations != told.allocations {
            println!("{}", words(&stats));
            told = stats;
        }
    }
    println!("{}", words(&server.stats()));
    match interrupted.load(Ordering::Relaxed) {
        true => Ok(ExitCode::SUCCESS),
        false => Err("the relay has stopped: its socket failed, see the log (--log info)".into()),
    }
}

fn words(stats: &RelayStats) -> String {
    format!(
        "lent now {}  in all {}  passed on {} datagrams, {} KiB  refused {}",
        stats.allocations,
        stats.allocated,
        stats.relayed,
        stats.relayed_bytes / 1024,
        stats.unauthorised + stats.refused_full,
    )
}

fn public_address(arguments: &Arguments) -> Result<IpAddr, Failure> {
    let address = arguments.public.unwrap_or(arguments.listen.ip());
    if address.is_unspecified() {
        let words = "players cannot reach 0.0.0.0 or [::]: say with --public under which address they reach this computer";
        return Err(Failure::new(Kind::Other, words));
    }
    if address.is_ipv4() != arguments.listen.is_ipv4() {
        let words = "--listen and --public are addresses of one family: run a relay for IPv4 and another for IPv6";
        return Err(Failure::new(Kind::Other, words));
    }
    Ok(address)
}

fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let range = text.split_once('-').and_then(|(first, last)| {
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (0 < first && first <= last).then_some(first..=last)
    });
    range.ok_or_else(|| format!("{text:?} is no range of ports, such as 49152-65535"))
}

/// The secret in a file, which is made if it is not there, for its owner's eyes alone.
fn keep_secret(file: &Path) -> Result<RelaySecret, Box<dyn Error>> {
    let explain = |error: &dyn Error| {
        Failure::new(
            Kind::Other,
            format!("the relay's secret, {}: {error}", file.display()),
        )
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(mut made) => {
            let text: String = random()?.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(made, "{text}").map_err(|error| explain(&error))?;
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(explain(&error).into()),
    }
    let kept = fs::read(file).map_err(|error| explain(&error))?;
    Ok(RelaySecret::new(&kept).map_err(|error| explain(&error))?)
}

fn random() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    Ok(bytes)
}

fn unix_s() -> Result<u64, &'static str> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Ok(since
        .map_err(|_| "this machine's clock is wrong")?
        .as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ports_are_read_as_people_write_them() {
        assert_eq!(ports("49152-65535"), Ok(49152..=65535));
        assert_eq!(ports("5000-5000"), Ok(5000..=5000));
        for wrong in ["", "5000", "0-5", "6-5", "1-65536", "a-b"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_made_once_and_a_short_one_is_refused() {
        let folder = std::env::temp_dir().join(format!("samestep-relay-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("secret");
        let made = keep_secret(&file).unwrap();
        assert_eq!(keep_secret(&file).unwrap(), made);
        fs::write(&file, "short").unwrap();
        let error = keep_secret(&file).unwrap_err().to_string();
        assert!(
            error.contains("16 bytes") && error.contains("secret"),
            "{error}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
