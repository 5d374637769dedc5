//! The common time.

use core::time::Duration;

use tracing::debug;

use crate::clock::{Clock, ClockConfig, Exchange, MeshClock, MeshReport};
use crate::config::Role;
use crate::id::PeerId;
use crate::room::{Presence, Room};
use crate::session::Session;

/// The source of the common time, and how this program follows it.
pub(super) enum Timekeeper {
    /// This program's clock is the common one, counted from here.
    Own { epoch: Duration },
    /// The host's, as estimated from here.
    Host {
        clock: Box<Clock>,
        host: Option<PeerId>,
        epoch: Duration,
    },
    /// The common clock of all members of a mesh.
    Mesh {
        config: ClockConfig,
        clock: Option<Box<MeshClock>>,
    },
}

impl Timekeeper {
    pub(super) fn new(now: Duration, config: &ClockConfig, role: &Role) -> Self {
        match role {
            Role::Host => Self::Own { epoch: now },
            Role::Client(_) | Role::Spectator(_) => Self::Host {
                clock: Box::new(Clock::new(now, config)),
                host: None,
                epoch: Duration::ZERO,
            },
            Role::Introducer | Role::Peer(_) => Self::Mesh {
                config: config.clone(),
                clock: None,
            },
        }
    }

    /// This program opens a room.
    pub(super) fn open(&mut self, now: Duration, me: PeerId) {
        if let Self::Mesh { config, clock } = self {
            let mut mesh = MeshClock::new(now, me, config);
            mesh.open(now);
            *clock = Some(Box::new(mesh));
        }
    }

    /// This program has joined a room.
    pub(super) fn joined(&mut self, now: Duration, me: PeerId, leader: PeerId, epoch_us: u64) {
        match self {
            Self::Own { .. } => {}
            Self::Host { host, epoch, .. } => {
                *host = Some(leader);
                *epoch = Duration::from_micros(epoch_us);
            }
            Self::Mesh { config, clock } => {
                if clock.is_none() {
                    *clock = Some(Box::new(MeshClock::new(now, me, config)));
                }
            }
        }
    }

    pub(super) fn set_members(&mut self, now: Duration, room: &Room, leader: PeerId) {
        if let Self::Mesh {
            clock: Some(clock), ..
        } = self
        {
            let members: Vec<PeerId> = room
                .peers()
                .iter()
                .filter(|p| p.presence != Presence::Away)
                .map(|p| p.id)
                .collect();
            clock.set_members(now, &members, leader);
        }
    }

    pub(super) fn on_exchange(&mut self, now: Duration, peer: PeerId, exchange: Exchange) {
        match self {
            Self::Own { .. } => {}
            Self::Host { clock, host, .. } => {
                if *host == Some(peer) {
                    let was_steady = clock.is_steady();
                    clock.on_exchange(now, exchange);
                    if !was_steady && clock.is_steady() {
                        debug!(%peer, "clock synchronised");
                    }
                }
            }
            Self::Mesh { clock, .. } => {
                if let Some(clock) = clock {
                    clock.on_exchange(now, peer, exchange);
                }
            }
        }
    }

    pub(super) fn mesh_report(&self, now: Duration) -> Option<MeshReport> {
        match self {
            Self::Mesh {
                clock: Some(clock), ..
            } => Some(clock.report(now)),
            _ => None,
        }
    }

    pub(super) fn on_mesh_report(&mut self, now: Duration, from: PeerId, report: &MeshReport) {
        if let Self::Mesh {
            clock: Some(clock), ..
        } = self
        {
            clock.on_report(now, from, report);
        }
    }

    pub(super) fn epoch_us(&self) -> u64 {
        match self {
            Self::Own { epoch } => epoch.as_micros() as u64,
            _ => 0,
        }
    }
}

impl Session {
    /// The common time of the room: what the host's clock, or the common clock of a mesh, shows, counted from when the room
    /// was opened. `None` until it is known. Never runs backwards.
    pub fn time(&self, now: Duration) -> Option<Duration> {
        match &self.time {
            Timekeeper::Own { epoch } => Some(now.saturating_sub(*epoch)),
            Timekeeper::Host { clock, host, epoch } => {
                host.as_ref()?;
                Some(clock.time(now)?.saturating_sub(*epoch))
            }
            Timekeeper::Mesh { clock, .. } => clock.as_ref()?.time(now),
        }
    }

    /// The estimate of a host's clock, to look at its details; `None` on the host and in a mesh.
    pub fn clock(&self) -> Option<&Clock> {
        match &self.time {
            Timekeeper::Host { clock, .. } => Some(clock),
            _ => None,
        }
    }

    /// The common clock of a mesh, to look at its details.
    pub fn mesh_clock(&self) -> Option<&MeshClock> {
        match &self.time {
            Timekeeper::Mesh { clock, .. } => clock.as_deref(),
            _ => None,
        }
    }

    /// Sends probes so that there are enough exchanges for the clock.
    pub(super) fn keep_time(&mut self, now: Duration) {
        let (clock, host) = match &mut self.time {
            Timekeeper::Host {
                clock,
                host: Some(host),
                ..
            } => (clock, host),
            Timekeeper::Mesh {
                clock: Some(clock), ..
            } => {
                let mut next: Option<Duration> = None;
                for (peer, contact) in &self.contacts {
                    let Some(connection) = contact.connection else {
                        continue;
                    };
                    if clock.next_probe(*peer).is_some_and(|at| at <= now) {
                        clock.on_probe(now, *peer);
                        self.endpoint.ping(connection);
                    }
                    next = [next, clock.next_probe(*peer)].into_iter().flatten().min();
                }
                if let Some(at) = next {
                    self.wake_at(at.max(now));
                }
                return;
            }
            _ => return,
        };
        let host = *host;
        let connection = self.contacts.get(&host).and_then(|c| c.connection);
        let Some(connection) = connection else {
            return;
        };
        if clock.next_probe() <= now {
            clock.on_probe(now);
            self.endpoint.ping(connection);
        }
        let next = clock.next_probe();
        self.wake_at(next.max(now));
    }
}
