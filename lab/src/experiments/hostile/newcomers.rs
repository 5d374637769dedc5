//! Newcomers who want to get in while somebody else floods the server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use samestep::proto::{Config, ConnectOptions, Event};
use samestep::transport::Udp;
use samestep::{Driver, transport};

use super::Signals;
use crate::parameters::Case;

/// Who is connected after this time is in.
pub(super) const IN_TIME: Duration = Duration::from_secs(2);

/// The newcomers of a phase begin within this time.
const SPREAD: Duration = Duration::from_secs(1);

/// How long one newcomer's socket is looked at before the next one's.
const LOOK: Duration = Duration::from_micros(20);

/// Somebody who came under attack.
#[derive(Debug)]
pub(super) struct Newcomer {
    /// From its first packet until it was connected; `None` if it gave up after [`IN_TIME`].
    pub took: Option<Duration>,
}

/// A newcomer on its way in.
struct Coming {
    driver: Driver<Udp>,
    begun: Duration,
}

/// Lets newcomers come in each attacked phase until the siege is over, and returns them all.
pub(super) fn come(
    case: &Case,
    config: &Config,
    to: SocketAddr,
    signals: &Signals,
) -> Result<Vec<Newcomer>, String> {
    let mut all = Vec::new();
    // Those who are in stay, and are not heard of again.
    let mut inside = Vec::new();
    let mut handled = 0;
    while !signals.is_over() {
        let phase = signals.phase();
        if phase == handled || !signals.is_attacked() {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        handled = phase;
        crowd(case, config, to, signals, &mut all, &mut inside)?;
        signals.settled.store(phase, Ordering::Relaxed);
    }
    Ok(all)
}

/// The newcomers of one phase.
fn crowd(
    case: &Case,
    config: &Config,
    to: SocketAddr,
    signals: &Signals,
    all: &mut Vec<Newcomer>,
    inside: &mut Vec<Driver<Udp>>,
) -> Result<(), String> {
    let count = case.number("newcomers") as u32;
    let start = transport::now();
    let mut coming: Vec<Coming> = Vec::new();
    let mut begun = 0;
    while (begun < count || !coming.is_empty()) && !signals.is_over() {
        let now = transport::now();
        while begun < count && now >= start + SPREAD * begun / count {
            coming.push(begin(config, to, begun)?);
            begun += 1;
        }
        let mut at = 0;
        while at < coming.len() {
            match look(&mut coming[at])? {
                None => at += 1,
                Some(newcomer) => {
                    let Coming { driver, .. } = coming.swap_remove(at);
                    if newcomer.took.is_some() {
                        inside.push(driver);
                    }
                    all.push(newcomer);
                }
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The newcomer with this number has an address of its own, as newcomers on the internet have.
fn begin(config: &Config, to: SocketAddr, number: u32) -> Result<Coming, String> {
    let address = Ipv4Addr::new(127, 0, 1, 1 + number as u8);
    let socket = Udp::bind(SocketAddr::new(IpAddr::V4(address), 0))
        .map_err(|error| format!("no UDP socket at {address}: {error}"))?;
    let mut driver = Driver::new(socket, config.clone()).map_err(|error| error.to_string())?;
    let begun = transport::now();
    driver
        .connect(to, ConnectOptions::default())
        .map_err(|error| error.to_string())?;
    Ok(Coming { driver, begun })
}

/// What has become of a newcomer, if anything has.
fn look(coming: &mut Coming) -> Result<Option<Newcomer>, String> {
    let event = coming
        .driver
        .drive_for(LOOK)
        .map_err(|error| format!("a newcomer's transport failed: {error}"))?;
    let spent = transport::now() - coming.begun;
    Ok(match event {
        Some(Event::Connected { .. }) => Some(Newcomer { took: Some(spent) }),
        Some(Event::Closed { .. }) => Some(Newcomer { took: None }),
        _ if spent > IN_TIME => Some(Newcomer { took: None }),
        _ => None,
    })
}
