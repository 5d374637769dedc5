//! `samestep proxy`: an impaired UDP relay in front of any program.

mod forwarder;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use samestep::transport::now;

use self::forwarder::{Counters, Forwarder};
use samestep_play::link::{LinkArguments, profiles};

#[derive(Args)]
pub struct Arguments {
    /// Where clients connect: a port, or address and port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:14242")]
    listen: String,
    /// The program behind the relay: host and port
    #[arg(long, value_name = "ADDR", required_unless_present = "list_profiles")]
    forward: Option<String>,
    /// Stop after this long; runs until interrupted unless given
    #[arg(long, value_name = "N")]
    seconds: Option<f64>,
    /// Print no line per second
    #[arg(long)]
    quiet: bool,
    /// List the named profiles and stop
    #[arg(long)]
    list_profiles: bool,
    #[command(flatten)]
    link: LinkArguments,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    if arguments.list_profiles {
        print!("{}", profiles());
        return Ok(ExitCode::SUCCESS);
    }
    let listen = address(&arguments.listen)?;
    let forward = resolve(arguments.forward.as_deref().expect("clap asks for it"))?;
    let path = arguments.link.path()?;
    let mut forwarder = Forwarder::new(listen, forward, path.clone(), arguments.link.seed)?;
    println!(
        "relaying {} to {forward}, each way: {}",
        forwarder.local_addr(),
        arguments.link.describe(&path)
    );
    let start = now();
    let end = arguments
        .seconds
        .map(|seconds| start + Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
    let mut tick = start + SECOND;
    let mut before = Counters::default();
    while end.is_none_or(|end| now() < end) {
        forwarder.step(Some(end.map_or(tick, |end| end.min(tick))))?;
        if now() >= tick {
            tick += SECOND;
            let total = forwarder.counters();
            if !arguments.quiet
                && total.up.datagrams + total.down.datagrams
                    > before.up.datagrams + before.down.datagrams
            {
                println!(
                    "clients {}  up {}  down {}",
                    forwarder.clients(),
                    total.up.since(&before.up),
                    total.down.since(&before.down)
                );
            }
            before = total;
        }
    }
    let total = forwarder.counters();
    println!("total  up {}  down {}", total.up, total.down);
    Ok(ExitCode::SUCCESS)
}

const SECOND: Duration = Duration::from_secs(1);

/// `14242` or `:14242` listens everywhere, `host:port` there.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port));
    }
    resolve(text)
}

fn resolve(text: &str) -> Result<SocketAddr, String> {
    let mut found = text
        .to_socket_addrs()
        .map_err(|error| format!("\"{text}\" is no host:port: {error}"))?;
    found
        .next()
        .ok_or_else(|| format!("\"{text}\" has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        assert_eq!(address("14242").unwrap(), "0.0.0.0:14242".parse().unwrap());
        assert_eq!(address(":14242").unwrap(), "0.0.0.0:14242".parse().unwrap());
        assert_eq!(
            address("127.0.0.1:5").unwrap(),
            "127.0.0.1:5".parse().unwrap()
        );
        assert!(address("nowhere").unwrap_err().contains("host:port"));
    }
}
