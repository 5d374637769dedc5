//! Sending input batches and reports.
//!
//! As in Fiedler's *Deterministic Lockstep*, a batch repeats the turns before it while it fits into a packet, so that a lost packet is made
//! good by the next and needs no retransmission.

use core::time::Duration;

use super::message::{
    EncodedInputs, InputBatch, Message, Report, SPLIT_BYTES, encode_inputs, encode_pending,
};
use super::room::Topology;
use super::{InputSource, Lockstep, MAX_REPEATED_TURNS, Pace};
use crate::timeline::SourceId;
use crate::{Delivery, PeerId, PlayerId, Tick};

/// A longer batch does not repeat turns.
pub(super) const ONE_PACKET_BYTES: usize = 1000;
/// Turns that are repeated with every turn: that many packets in a row have to be lost to stall anybody.
const REPEATED_TURNS: usize = 4;
/// What is lost of longer turns would come too late with the next.
const SHORT_TURN: u64 = 4;
/// How often every peer sends a report.
const REPORT_EVERY: Duration = Duration::from_millis(500);
/// How often it does while inputs arrive late.
const REPORT_SOON: Duration = Duration::from_millis(100);
/// How many ticks back a new peer is sent inputs: more than a peer can be behind and still follow.
pub(super) const SENT_BACK: u64 = 600;

impl Lockstep {
    /// Sends every peer what it has not been sent yet.
    pub(super) fn send_due(&mut self, now: Duration) {
        let Some(me) = self.room.me() else {
            return;
        };
        // Where the simulation is held all wait for the last batches.
        if self.simulated.is_held() {
            self.broadcast.hurry();
        }
        let is_due = self.broadcast.is_due(now);
        // Reports share a packet with a batch.
        let wait = if is_due {
            Duration::ZERO
        } else {
            self.broadcast.longest_wait()
        };
        let reports = now >= self.timers.next_report + wait;
        if self.broadcast.unsent
            && is_due
            && let Some((id, source)) = self.own_source()
        {
            let (begun, upto) = (source.from, source.known_upto);
            self.relay_batches(now);
            self.broadcast.unsent = !self.config.spectator_delay.is_zero();
            self.send_own_batches(now, id, begun, upto);
        }
        self.relay_batches(now);
        if self.room.is_sequenced() && !self.room.is_authority() {
            self.send_inputs(now);
        }
        self.announce_game_delay(now, reports);
        if reports {
            self.send_reports(now, me);
        }
    }

    fn send_own_batches(&mut self, now: Duration, id: SourceId, begun: Tick, upto: Tick) {
        let (is_sequenced, is_hub) = (self.room.is_sequenced(), self.room.is_hub());
        if is_sequenced && !self.room.is_authority() {
            return;
        }
        let delayed = self.delayed_upto(now, upto);
        let base = self.timeline.base().max(begun);
        let first = Tick(upto.0.saturating_sub(SENT_BACK)).max(base);
        let (authority, broadcast) = (self.room.authority(), &mut self.broadcast);
        for member in self.room.others() {
            let peer = member.peer;
            let is_relayed = is_hub && authority != Some(id.peer) && authority != Some(peer);
            let lacks_state = !member.in_sync && !broadcast.cursors.contains_key(&peer);
            if is_relayed || ((is_sequenced || is_hub) && lacks_state) {
                continue;
            }
            let cursor = broadcast.cursor(member, first);
            let until = if member.watches { delayed } else { upto };
            if cursor.sent >= until {
                continue;
            }
            let from = core::mem::replace(&mut cursor.sent, until).max(base);
            broadcast.receivers.push((from, until, peer));
        }
        self.send_to_receivers(id);
    }

    /// Sends the inputs of a source to all listed receivers.
    pub(super) fn send_to_receivers(&mut self, id: SourceId) {
        let mut receivers = core::mem::take(&mut self.broadcast.receivers);
        receivers.sort_unstable();
        for same in receivers.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            self.send_batch(id, same);
        }
        receivers.clear();
        self.broadcast.receivers = receivers;
    }

    /// How far spectators are sent inputs.
    pub(super) fn delayed_upto(&self, now: Duration, upto: Tick) -> Tick {
        let delay = self.config.spectator_delay;
        if delay.is_zero() {
            return upto;
        }
        let then = now.checked_sub(delay);
        let shown = then.and_then(|then| self.schedule.tick_at(then));
        Tick(u64::try_from(shown.unwrap_or(-1) + 1).unwrap_or(0)).min(upto)
    }

    /// Sends the same ticks of a source to some peers: with repeated turns in one packet if they fit, else in as many as it takes.
    fn send_batch(&mut self, id: SourceId, receivers: &[(Tick, Tick, PeerId)]) {
        let Some(&(from, to, _)) = receivers.first() else {
            return;
        };
        let peers = receivers.iter().map(|(_, _, peer)| *peer);
        let begun = self.sources.known.get(&id).map(|source| source.from);
        let begun = begun.unwrap_or(Tick(0));
        let is_own = self.room.me() == Some(id.peer);
        let mut entries = core::mem::take(&mut self.broadcast.scratch);
        let short = match self.simulated.prediction {
            Some(_) => SENT_BACK,
            None => SHORT_TURN,
        };
        let repeats = self.config.pace == Pace::RealTime && to.since(from) <= short;
        let repeated_turns = self.repeated_turns(peers.clone());
        let mut begin = from;
        let unacknowledged = self.unacknowledged(from, to, peers.clone());
        let broadcast = &self.broadcast;
        let turns = (1..=repeated_turns).rev().map(|turns| match is_own {
            true => broadcast.turns_before(from, turns),
            false => Tick(from.0.saturating_sub(turns as u64)),
        });
        let begins = unacknowledged.into_iter().flatten().chain(turns);
        for repeated in begins.filter(|_| repeats) {
            let repeated = repeated.max(begun).max(self.timeline.base());
            let end = self.encode_inputs_of(id, repeated, to, SPLIT_BYTES, &mut entries);
            let batch = self.batch_to_send(id, repeated, end, &entries);
            if end == to && batch.len() <= ONE_PACKET_BYTES {
                let message = Message::InputBatch(batch);
                message.push_to(&mut self.outbox, peers.clone(), Delivery::Unreliable);
                begin = to;
                break;
            }
        }
        while begin < to {
            let end = self.encode_inputs_of(id, begin, to, SPLIT_BYTES, &mut entries);
            let message = Message::InputBatch(self.batch_to_send(id, begin, end, &entries));
            // What takes many packets is not worth repeating before it is known to be lost.
            let delivery = match begin == from && end == to {
                true => Delivery::Redundant,
                false => Delivery::ReliableOrdered,
            };
            message.push_to(&mut self.outbox, peers.clone(), delivery);
            begin = end;
        }
        self.broadcast.scratch = entries;
    }

    /// Where a batch begins that is sufficient by itself: with what its receivers have not acknowledged, of the last second or, if that is too
    /// long for a packet, the last quarter of one. `None` where every turn is sent and a few are repeated.
    fn unacknowledged(
        &self,
        from: Tick,
        to: Tick,
        peers: impl Iterator<Item = PeerId>,
    ) -> Option<[Tick; 2]> {
        let acknowledged = self.broadcast.acknowledged_by(peers)?;
        let second = self.schedule.ticks_in(Duration::from_secs(1));
        let since = |ticks: u64| Tick(to.0.saturating_sub(ticks)).max(acknowledged).min(from);
        Some([since(second), since(second / 4)])
    }

    /// Encodes the inputs of a source in some ticks, as far as they fit into so many bytes. Returns the tick it got to.
    pub(super) fn encode_inputs_of(
        &self,
        id: SourceId,
        from: Tick,
        to: Tick,
        max_bytes: usize,
        entries: &mut Vec<u8>,
    ) -> Tick {
        let (is_sequenced, players) = (self.room.is_sequenced(), self.sources.players_of(id));
        let of = |player: PlayerId| is_sequenced || players.contains(&player);
        entries.clear();
        encode_inputs(&self.timeline, from, to, of, max_bytes, entries)
    }

    /// How many turns are repeated to these peers, so that hardly ever all packets with a turn are lost.
    pub(super) fn repeated_turns(&self, peers: impl Iterator<Item = PeerId>) -> usize {
        let roster = self.room.roster.as_ref();
        let losses = peers.filter_map(|peer| Some(roster?.member(peer)?.loss));
        match losses.max().unwrap_or(0) {
            0..=3 => REPEATED_TURNS,
            4..=12 if self.simulated.prediction.is_none() => REPEATED_TURNS,
            4..=12 => 6,
            13..=20 => 8,
            21..=30 => 10,
            _ => MAX_REPEATED_TURNS,
        }
    }

    /// A batch as it is sent. Only those announce who comes and goes who are believed about it.
    fn batch_to_send<'a>(
        &self,
        id: SourceId,
        from: Tick,
        to: Tick,
        entries: &'a [u8],
    ) -> InputBatch<'a> {
        let mut batch = self.batch_of(id, from, to, entries);
        let announces = match self.room.topology {
            Topology::Sequenced => true,
            Topology::Hub => self.room.authority() == Some(id.peer),
            Topology::Mesh => self.broadcast.has_announced,
        };
        if !announces {
            batch.changes.clear();
        }
        batch
    }

    /// A batch of a source, with its inputs encoded already, and all changes of players from its first tick on: a peer may hear of them
    /// from this source alone.
    pub(super) fn batch_of<'a>(
        &self,
        source: SourceId,
        from: Tick,
        to: Tick,
        entries: &'a [u8],
    ) -> InputBatch<'a> {
        let changes = self.timeline.changes_from(from);
        let changes = changes.map(|(tick, change)| (tick, change.clone()));
        InputBatch {
            source,
            schedule_offset: self.schedule.offset,
            from,
            to,
            predicting: self.simulated.predicting,
            initiative: self.initiative.holder,
            changes: changes.collect(),
            entries: EncodedInputs::encoded(entries),
        }
    }

    /// Sends the inputs of this program's players to the authority that sequences them.
    fn send_inputs(&mut self, now: Duration) {
        let Some(authority) = self.room.authority() else {
            return;
        };
        if self.transfer.has_new_host {
            // Nothing counts before its state: what was given since is given again then.
            return;
        }
        // Inputs of a quarter of a turn share a packet: turns are long where latency is high anyway.
        if let Some(since) = self.pending.since {
            let wait = self.schedule.tick_time * (self.stats.turn_length / 4) as u32;
            if now < since + wait && !self.initiative.turn_ended {
                return self.timers.wake_at(since + wait);
            }
            let is_real_time = self.config.pace == Pace::RealTime;
            let tick = is_real_time.then_some(self.simulated.predicted_tick);
            let released = self.pending.release(now, tick);
            if !released.is_empty() {
                let mut bytes = Vec::new();
                encode_pending(&released, &mut bytes);
                let message = Message::Inputs(EncodedInputs::encoded(&bytes));
                self.send(authority, Delivery::Redundant, &message);
            }
        }
        if let Some(player) = self.initiative.take_ended() {
            self.send(authority, Delivery::Redundant, &Message::EndTurn(player));
        }
    }

    /// Reports to every source by how much its inputs arrived early.
    fn send_reports(&mut self, now: Duration, me: PeerId) {
        self.timers.next_report = now + REPORT_EVERY;
        let (tick, behind) = (self.simulated.confirmed_tick, self.stall.behind);
        if self.room.is_spectator {
            // Nobody delays its inputs, or waits, for a spectator.
            return;
        }
        let host = self.room.other_authority().filter(|_| self.room.is_hub());
        let allowance = self.lateness_allowance().as_micros() as i64;
        let mut last = None;
        while let Some(id) = self.sources.after(last) {
            last = Some(id);
            let peer = id.peer;
            let goes_on = |source: &&mut InputSource| peer != me && source.end.is_none();
            let Some(source) = self.sources.known.get_mut(&id).filter(goes_on) else {
                continue;
            };
            let slack = core::mem::take(&mut source.slack).low();
            // A stalled guest lets its host know that it is there.
            let waits = self.simulated.prediction.is_some() && self.stall.current.is_some();
            if slack.is_some_and(|(slack, _)| slack < -allowance) || waits {
                self.timers.next_report = now + REPORT_SOON;
            }
            // Where all inputs have the same delay nobody closes turns earlier for one that lacks them.
            let slack = slack.filter(|_| self.schedule.game_delay.is_none());
            let report = Report {
                tick,
                behind,
                slack,
            };
            // Guests of a host have to do with the host alone, which passes on what concerns another.
            match host.filter(|host| *host != peer) {
                Some(host) => {
                    let report = Message::RelayedReport { source: id, report };
                    self.send(host, Delivery::Unreliable, &report);
                }
                None => self.send(peer, Delivery::Unreliable, &Message::Report(report)),
            }
        }
    }

    /// A peer reports how it gets on with this program's inputs.
    pub(super) fn on_report(&mut self, now: Duration, from: PeerId, report: Report) {
        if let Some(cursor) = self.broadcast.cursors.get_mut(&from) {
            cursor.behind = report.behind;
            cursor.acknowledged = cursor.acknowledged.max(report.tick);
        }
        if self.schedule.game_delay.is_some() {
            return;
        }
        if let Some((slack, tick)) = report.slack {
            let closed = self.own_source().map(|(_, source)| source.known_upto);
            let slack = slack.saturating_add(self.lateness_allowance().as_micros() as i64);
            let tick_time = self.schedule.tick_time;
            let delay = &mut self.schedule.input_delay;
            delay.on_report(now, slack, tick, closed.unwrap_or(tick), tick_time);
        }
    }
}
