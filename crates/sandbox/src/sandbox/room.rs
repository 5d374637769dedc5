//! The network between the programs, and the counters of each player.

use std::time::Duration;

use samestep_netem::{IP_UDP_OVERHEAD_BYTES, Path};
use samestep_sim::NodeId;
use samestep_sync::{ModelConfig, Status};

use super::{SAMPLE, SERVER, STEP, Sandbox};
use crate::{Gauge, ModelKind, Playable, Server};

/// The counters of a player at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    round_trip: Duration,
    clock_error_ms: f64,
    downloaded: u64,
    uploaded: u64,
    status: Status,
}

impl Counters {
    /// The value of a gauge, given the counters one sample earlier.
    pub(super) fn since(&self, before: &Counters, gauge: Gauge) -> f32 {
        let seconds = STEP.as_secs_f32() * SAMPLE as f32;
        let more = |now: u64, before: u64| now.saturating_sub(before) as f32;
        let wrong = |counted: &Counters| counted.status.rollbacks.max(counted.status.corrections);
        let again = more(self.status.resimulated, before.status.resimulated);
        match gauge {
            Gauge::RoundTrip => millis(self.round_trip),
            Gauge::ClockError => self.clock_error_ms as f32,
            Gauge::Download => more(self.downloaded, before.downloaded) * 8e-3 / seconds,
            Gauge::Upload => more(self.uploaded, before.uploaded) * 8e-3 / seconds,
            Gauge::Corrections => more(wrong(self), wrong(before)) / seconds,
            Gauge::RollbackDepth => again / more(wrong(self), wrong(before)).max(1.0),
            Gauge::LaggedTicks => {
                more(self.status.stalled_ticks, before.status.stalled_ticks) / seconds
            }
            Gauge::BufferDelay => self.buffer_ms(),
        }
    }

    fn buffer_ms(&self) -> f32 {
        let status = &self.status;
        if !status.interpolation_delay.is_zero() {
            return millis(status.interpolation_delay);
        }
        let ticks = status.input_delay
            + if status.predicting {
                0
            } else {
                status.turn_length
            };
        ticks as f32 * millis(STEP) + millis(status.playout_delay)
    }
}

fn millis(time: Duration) -> f32 {
    time.as_secs_f32() * 1e3
}

impl<G: Playable> Sandbox<G> {
    /// The counters of a player.
    pub(super) fn count(&self, player: usize) -> Counters {
        let node = self.nodes[player];
        let game = self.at(node);
        let (here, there) = (self.testbed.local(node), self.testbed.local(SERVER));
        let session = game.session();
        let authority = session.room().authority();
        let round_trip = session.connection_stats(authority).map(|stats| stats.rtt);
        let clock_error_ms = match (session.time(here), self.at(SERVER).session().time(there)) {
            (Some(ours), Some(theirs)) => (ours.as_secs_f64() - theirs.as_secs_f64()) * 1e3,
            _ => 0.0,
        };
        let others = self.testbed.nodes().filter(|other| *other != node);
        let (downloaded, uploaded) = others.fold((0, 0), |(down, up), other| {
            let (from, to) = (
                self.testbed.traffic_between(other, node),
                self.testbed.traffic_between(node, other),
            );
            let headers = from.datagrams_received * IP_UDP_OVERHEAD_BYTES as u64;
            (
                down + from.bytes_received + headers,
                up + to.wire_bytes_sent(),
            )
        });
        Counters {
            round_trip: round_trip.unwrap_or_default(),
            clock_error_ms,
            downloaded,
            uploaded,
            status: game.status(),
        }
    }

    /// Sets every link to the players' network conditions.
    pub(super) fn connect(&mut self) {
        let lines: Vec<(NodeId, Path)> = self
            .nodes
            .iter()
            .enumerate()
            .map(|(player, node)| (*node, self.scenario.conditions(player).path()))
            .collect();
        if self.scenario.server != Server::Mesh {
            for (node, path) in lines.into_iter().filter(|(node, _)| *node != SERVER) {
                self.testbed.set_link(node, SERVER, path.up);
                self.testbed.set_link(SERVER, node, path.down);
            }
            return;
        }
        for (one, ours) in &lines {
            for (other, theirs) in lines.iter().filter(|(other, _)| other != one) {
                let slower = match theirs.down.latency > ours.up.latency {
                    true => theirs.down.clone(),
                    false => ours.up.clone(),
                };
                self.testbed.set_link(*one, *other, slower);
            }
        }
    }

    /// The models that everyone may change between.
    pub(super) fn choices(&self) -> Vec<ModelConfig> {
        let count = match self.scenario.server {
            Server::Mesh => 1,
            Server::Dedicated | Server::Player => ModelKind::ALL.len(),
        };
        let kinds = self.kinds().take(count);
        kinds.map(|kind| kind.config()).collect()
    }

    /// Every model, the one it began under first.
    fn kinds(&self) -> impl Iterator<Item = ModelKind> {
        let first = self.log.initial().model;
        let others = ModelKind::ALL.iter().copied();
        std::iter::once(first).chain(others.filter(move |kind| *kind != first))
    }

    /// A model's place among the choices.
    pub(super) fn scenario_choice(&self, kind: ModelKind) -> usize {
        let mut kinds = self.kinds();
        let place = kinds.position(|choice| choice == kind);
        place.expect("there are no other models")
    }

    /// The model at a place among the choices.
    pub(super) fn scenario_kind(&self, choice: usize) -> ModelKind {
        let kind = self.kinds().nth(choice);
        kind.expect("there are no other choices")
    }
}
