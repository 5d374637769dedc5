//! State transfer: a peer that joins, or is too far behind, takes over a checkpoint of another and catches up.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::message::{
    Bytes, CHECKPOINT_TAG, Fixed, InputBatch, Message, MessageField, SPLIT_BYTES, encode_inputs,
    put, put_players, read_players,
};
use super::receive::MAX_TICKS_AHEAD;
use super::{InputSource, Lockstep, Pace};
use crate::bytes::Prefixed;
use crate::input::Attendance;
use crate::standby::RecentInput;
use crate::timeline::{Change, SourceId};
use crate::{
    AdoptError, Delivery, Member, ModelEvent, Outgoing, PeerId, PlayerId, Roster, Tick, TickInputs,
    World,
};

/// Layout of a checkpoint.
const LAYOUT: u64 = 3;
/// A replacement of the state that was announced and has not arrived is waited for as long before the authority is asked for its state.
const AWAIT_REPLACEMENT: Duration = Duration::from_secs(1);
/// Messages that may wait for the world: of all peers, and of one.
const MAX_FOR_WORLD: usize = 64;
const MAX_FOR_WORLD_OF_ONE: usize = 8;
/// How soon a peer that was sent the state may be sent it again.
const STATE_AGAIN: Duration = Duration::from_millis(100);
/// Messages for spectators that see the game later, in all.
const MAX_DELAYED: usize = 1024;

/// States that are requested, and messages that need the world.
#[derive(Debug, Default)]
pub(super) struct StateTransfer {
    /// At the authority: the peer whose state it requested itself.
    pub(super) requested_from: Option<PeerId>,
    /// Messages that are answered when the world is lent next.
    pub(super) for_world: VecDeque<(PeerId, Vec<u8>)>,
    /// At the authority: the checkpoint that replaces everyone's state at the beginning of the next turn.
    pub(super) replacement: Option<Arc<[u8]>>,
    /// The tick whose replacement of the state has not arrived, and when something is done about it.
    awaited: Option<(Tick, Duration)>,
    /// When a peer that asks may be sent the state again.
    next_state: BTreeMap<PeerId, Duration>,
    /// The host is another: the state that it sends counts, also if it is of an earlier tick.
    pub(super) has_new_host: bool,
    /// At a host that took over: the last inputs that are in the state it went on from.
    pub(super) recent: Vec<RecentInput>,
    /// What spectators that see the game later are sent, and when; in this order.
    delayed: VecDeque<(Duration, Outgoing)>,
}

impl StateTransfer {
    /// Queues a message; one too many is dropped.
    pub(super) fn queue(&mut self, from: PeerId, message: &[u8]) {
        let of_it = self.for_world.iter().filter(|waiting| waiting.0 == from);
        if of_it.count() < MAX_FOR_WORLD_OF_ONE && self.for_world.len() < MAX_FOR_WORLD {
            self.for_world.push_back((from, message.into()));
        }
    }

    /// A peer is to get the whole state, if it is of a later tick than this one.
    pub(super) fn request_for(&mut self, peer: PeerId, tick: Tick) {
        let request = Message::StateRequest { tick };
        self.for_world.push_back((peer, request.write()));
    }

    /// Whether a peer may be sent the state now; notes that it was.
    fn may_send_state(&mut self, now: Duration, peer: PeerId) -> bool {
        let next = self.next_state.entry(peer).or_default();
        let may = now >= *next;
        if may {
            *next = now + STATE_AGAIN;
        }
        may
    }

    /// Forgets peers that are gone.
    fn retain(&mut self, here: impl Fn(PeerId) -> bool) {
        self.next_state.retain(|peer, _| here(*peer));
        self.delayed
            .retain(|(_, message)| message.to.iter().any(|peer| here(*peer)));
    }
}

impl Lockstep {
    pub(super) fn on_roster(&mut self, now: Duration, roster: &Roster) {
        let before = self.room.set_roster(roster);
        if let Some(before) = &before {
            self.timeline.released.note(before, roster);
        }
        let predicts = self.simulated.prediction.is_some();
        self.room.decide_topology(predicts, self.config.pace);
        self.broadcast.unsent = true;
        self.broadcast.hurry();
        if let Some(delay) = &mut self.schedule.game_delay {
            delay.retain(|peer| roster.member(peer).is_some_and(|member| !member.away));
        }
        let at_start = self.simulated.confirmed_tick == Tick(0);
        if at_start || predicts {
            self.expect_latency();
        }
        if at_start
            && self.sources.known.is_empty()
            && self.room.is_authority()
            && let Some(id) = self.room.authority_source()
        {
            self.sources.insert(id, Tick(0), Vec::new());
        }
        self.broadcast.retain(|peer| roster.member(peer).is_some());
        self.transfer.retain(|peer| roster.member(peer).is_some());
        self.desync
            .retain(|peer| roster.member(peer).is_some_and(|member| member.in_sync));
        self.follow_sequencer();
        self.find_departed();
        if before.is_some_and(|before| Some(before.authority) != self.room.authority()) {
            self.desync.on_new_authority();
            self.substitution.on_new_authority();
            self.transfer.has_new_host = !roster.is_mesh && roster.me != roster.authority;
        }
        self.note_announcing(now);
        self.timers.wake_at(now);
    }

    /// Keeps a message until the world is lent. A model that is over has no world any more.
    pub(super) fn queue_for_world(&mut self, now: Duration, from: PeerId, message: &[u8]) {
        if !self.simulated.is_over() {
            self.transfer.queue(from, message);
            self.timers.wake_at(now);
        }
    }

    /// Answers the messages that need the world.
    pub(super) fn answer_with_world(&mut self, now: Duration, world: &mut dyn World) {
        while let Some((from, bytes)) = self.transfer.for_world.pop_front() {
            match Message::read(&bytes) {
                Some(Message::DesyncNotice { tick, ask }) => self.request_rows(tick, ask, world),
                Some(Message::ChecksumTree { tick, tree }) => {
                    self.send_rows(now, from, tick, tree, world);
                }
                Some(Message::StateRequest { tick }) => {
                    self.answer_state_request(now, from, tick, world);
                }
                Some(Message::Rows {
                    tick,
                    checksum: Fixed(checksum),
                    rows,
                }) => self.take_rows(now, from, tick, checksum, rows, world),
                Some(Message::Checkpoint(bytes)) => self.take_over_state(now, from, bytes, world),
                _ => self.stats.refused += 1,
            }
        }
    }

    /// Requests the whole state of a peer, if that is of a later tick than this one.
    pub(super) fn request_state(&mut self, from: PeerId, tick: Tick) {
        tracing::debug!(peer = %from, tick = tick.0, "state requested");
        let message = Message::StateRequest { tick };
        self.send(from, Delivery::ReliableOrdered, &message);
    }

    /// At the authority: replaces everyone's state before a tick, if it is to be.
    pub(super) fn announce_replacement(&mut self, now: Duration, tick: Tick) {
        let Some(state) = self.transfer.replacement.take() else {
            return;
        };
        tracing::info!(tick = tick.0, bytes = state.len(), "state replaced");
        self.timeline.change(tick, Change::State);
        let message = Message::Replacement {
            tick,
            checkpoint: &state,
        };
        self.send_to_all(now, &message);
        self.timeline.set_replacement(tick, state);
    }

    /// A replacement of the state is announced and has not arrived: after a while the authority's state helps. The authority itself goes on without.
    pub(super) fn await_replacement(&mut self, now: Duration, tick: Tick) {
        let at = match self.transfer.awaited {
            Some((awaited, at)) if awaited == tick => at,
            _ => now + AWAIT_REPLACEMENT,
        };
        let mut next = at;
        if now >= at {
            next = now + AWAIT_REPLACEMENT;
            match self.room.other_authority() {
                Some(authority) => self.request_state(authority, tick),
                None => self.timeline.cancel_replacement(tick),
            }
        }
        self.transfer.awaited = Some((tick, next));
        self.timers.wake_at(next);
    }

    /// Sends the whole state: the authority's counts, or the one that the authority requests because its own is behind.
    pub(super) fn answer_state_request(
        &mut self,
        now: Duration,
        to: PeerId,
        tick: Tick,
        world: &mut dyn World,
    ) {
        let counts = self.room.is_authority() || self.room.authority() == Some(to);
        let is_other = Some(to) != self.room.me();
        // A spectator that sees the game later waits for the state that it was promised.
        let waits = self.transfer.delayed.iter().any(|(_, message)| {
            message.to.contains(&to) && message.bytes.first() == Some(&CHECKPOINT_TAG)
        });
        if counts
            && is_other
            && tick < self.simulated.confirmed_tick
            && !waits
            && self.transfer.may_send_state(now, to)
        {
            self.send_state(now, to, world);
        }
    }

    /// Gives a peer the present state in place of its own.
    pub(super) fn send_state(&mut self, now: Duration, peer: PeerId, world: &mut dyn World) {
        let checkpoint = self.write_checkpoint(peer, world);
        let (tick, bytes) = (self.simulated.confirmed_tick.0, checkpoint.len());
        tracing::debug!(%peer, tick, bytes, "state sent");
        // One that gets it later is sent the inputs before it as ever.
        if !self.is_delayed_peer(peer) {
            self.note_state_sent(now, peer);
        }
        self.send_when_allowed(now, peer, &Message::Checkpoint(&checkpoint));
    }

    /// Sends a peer something that shows the game: at once, or when a spectator that sees it later may.
    pub(super) fn send_when_allowed(&mut self, now: Duration, to: PeerId, message: &Message<'_>) {
        if !self.is_delayed_peer(to) {
            return self.send(to, Delivery::ReliableOrdered, message);
        }
        if self.transfer.delayed.len() < MAX_DELAYED {
            let at = now + self.config.spectator_delay;
            let delivery = Delivery::ReliableOrdered;
            let outgoing = self
                .outbox
                .message([to], delivery, |out| message.write_to(out));
            self.transfer.delayed.push_back((at, outgoing));
            self.timers.wake_at(at);
        }
    }

    /// The same to everyone else.
    pub(super) fn send_to_all(&mut self, now: Duration, message: &Message<'_>) {
        let others = self.room.others();
        let (delayed, others): (Vec<&Member>, Vec<&Member>) =
            others.partition(|member| self.is_delayed(member));
        let peers = |members: Vec<&Member>| -> Vec<PeerId> {
            members.into_iter().map(|member| member.peer).collect()
        };
        let (delayed, others) = (peers(delayed), peers(others));
        if !others.is_empty() {
            message.push_to(&mut self.outbox, others, Delivery::ReliableOrdered);
        }
        for peer in delayed {
            self.send_when_allowed(now, peer, message);
        }
    }

    /// Sends what has waited for spectators that see the game later.
    pub(super) fn send_delayed_messages(&mut self, now: Duration) {
        while let Some((at, message)) = self.transfer.delayed.pop_front() {
            if at > now {
                self.transfer.delayed.push_front((at, message));
                return self.timers.wake_at(at);
            }
            self.outbox.push(message);
        }
    }

    /// Takes over another peer's state. One that was requested during a stall may arrive when the simulation has gone on.
    fn take_over_state(
        &mut self,
        now: Duration,
        from: PeerId,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) {
        let header = CheckpointHeader::read(&mut Bytes(checkpoint));
        let recent = header.as_ref().map(|header| header.recent.clone());
        let tick = header.map(|header| header.tick);
        let confirmed = self.simulated.confirmed_tick;
        let is_old = tick.is_some_and(|tick| tick < self.simulated.confirmed_tick);
        let is_of_new_host = self.transfer.has_new_host && self.room.authority() == Some(from);
        if is_old && !self.desync.state_is_wrong && !is_of_new_host {
            return;
        }
        match self.read_checkpoint(now, checkpoint, world) {
            Ok(()) => {
                let tick = self.simulated.confirmed_tick;
                tracing::info!(peer = %from, tick = tick.0, "state taken over");
                if is_of_new_host {
                    self.transfer.has_new_host = false;
                    let recent = recent.into_iter().flatten();
                    for (at, player, input) in recent.filter(|(at, ..)| *at >= confirmed) {
                        self.given.mark(at, player, input);
                    }
                    self.give_again(tick);
                }
                self.events.push_back(ModelEvent::Adopted { tick });
            }
            Err(error) => self.stats.trouble = Some(error.to_string()),
        }
    }

    pub(super) fn write_checkpoint(&self, newcomer: PeerId, world: &mut dyn World) -> Vec<u8> {
        let tick = self.simulated.confirmed_tick;
        let spectator_delay = match self.is_delayed_peer(newcomer) {
            true => self.config.spectator_delay,
            false => Duration::ZERO,
        };
        let substituted = self.room.source_id(newcomer);
        let substitutions = substituted.map_or(0, |id| self.substitution.count_of(id));
        let floor = spectator_delay + self.schedule.playout_delay.floor();
        let start = self
            .schedule
            .start
            .map(|start| start.as_micros() as u64 + 1);
        let mut out = Vec::new();
        for number in [
            LAYOUT,
            tick.0,
            start.unwrap_or(0),
            self.schedule.offset.as_micros() as u64,
            self.config.desync_check_interval,
            match self.config.pace {
                Pace::RealTime => 0,
                Pace::Initiative { ticks } => ticks,
            },
            self.simulated.predicting.into(),
            substitutions,
            floor.as_micros() as u64,
        ] {
            put(&mut out, number);
        }
        let present = &self.simulated.confirmed_players;
        put_players(&mut out, present.players());
        put(&mut out, present.away().len() as u64);
        for (player, since) in present.away() {
            put(&mut out, player.0.into());
            put(&mut out, since.0);
        }
        put(&mut out, self.sources.known.len() as u64);
        let mut known = tick;
        for (id, source) in &self.sources.known {
            id.write(&mut out);
            put(&mut out, source.from.0);
            put(&mut out, source.known_upto.0);
            put(&mut out, source.end.map_or(0, |end| end.0 + 1));
            put_players(&mut out, &source.players);
            known = known.max(source.known_upto);
        }
        // The inputs that are known beyond the state, of all sources together.
        let everyone = SourceId {
            peer: newcomer,
            incarnation: 0,
        };
        let (mut from, mut entries) = (tick, Vec::new());
        loop {
            entries.clear();
            let timeline = &self.timeline;
            let to = encode_inputs(timeline, from, known, |_| true, SPLIT_BYTES, &mut entries);
            let mut bytes = Vec::new();
            self.batch_of(everyone, from, to, &entries)
                .write(&mut bytes);
            put(&mut out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
            from = to;
            if from >= known {
                break;
            }
        }
        put(&mut out, 0);
        self.write_recent(newcomer, &mut out);
        out.extend_from_slice(&world.checkpoint());
        out
    }

    /// Tells a guest of the former host which of its last inputs are in the state.
    fn write_recent(&self, guest: PeerId, out: &mut Vec<u8>) {
        let roster = self.room.roster.as_ref();
        let players = roster.and_then(|roster| roster.member(guest));
        let players = players.map_or(&[][..], |member| &member.players);
        let theirs = self.transfer.recent.iter();
        let theirs: Vec<&RecentInput> = theirs.filter(|(_, p, _)| players.contains(p)).collect();
        put(out, theirs.len() as u64);
        for (tick, player, input) in theirs {
            put(out, tick.0);
            put(out, player.0.into());
            Prefixed(input).write(out);
        }
    }

    /// A peer has, or will have before anything else arrives, the present state: it is sent what follows.
    pub(super) fn note_state_sent(&mut self, now: Duration, newcomer: PeerId) {
        let roster = self.room.roster.as_ref();
        let member = roster.and_then(|roster| roster.member(newcomer));
        let incarnation = member.map_or(0, |member| member.incarnation);
        let sent = self.own_source().map(|(_, source)| source.known_upto);
        let sent = sent.unwrap_or(self.simulated.confirmed_tick);
        self.broadcast.set_sent(newcomer, incarnation, sent);
        for (id, source) in &self.sources.known {
            let relay = &mut self.broadcast.relay;
            relay.set_sent(*id, newcomer, source.known_upto);
        }
        self.timers.wake_at(now);
    }

    pub(super) fn read_checkpoint(
        &mut self,
        now: Duration,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) -> Result<(), AdoptError> {
        let malformed =
            || AdoptError::Malformed("the beginning of a checkpoint is damaged".to_string());
        let mut r = Bytes(checkpoint);
        let header = CheckpointHeader::read(&mut r).ok_or_else(malformed)?;
        world.adopt(header.tick, r.0)?;
        self.schedule.start = header.start.or(self.schedule.start);
        self.schedule.offset = header.offset;
        self.schedule.playout_delay.set_floor(header.floor);
        self.config.desync_check_interval = header.check_interval;
        self.config.pace = header.pace;
        self.simulated.check_interval = header.check_interval;
        self.simulated.predicting = header.predicting;
        self.simulated
            .restart(header.tick, &header.attendance, world);
        let predicts = self.simulated.prediction.is_some();
        self.room.decide_topology(predicts, header.pace);
        // This program knows its own inputs best, but what a host has decided for it counts.
        let own = self.own_source().map(|(id, source)| (id, source.clone()));
        let is_known = |id: &SourceId| header.sources.iter().any(|(known, _)| known == id);
        let own = own.filter(|(id, _)| is_known(id));
        let own_inputs = own.as_ref().map_or_else(Vec::new, |(id, source)| {
            let known = header.sources.iter().find(|(known, _)| known == id);
            let known = known.filter(|_| self.room.is_hub());
            let from = known.map_or(header.tick, |(_, known)| known.known_upto.max(header.tick));
            self.inputs_between(from, source.known_upto, &source.players)
        });
        self.sources.known = header.sources.into_iter().collect();
        let mut acknowledged = Tick(0);
        if let Some((id, source)) = own
            && let Some(known) = self.sources.known.get_mut(&id)
        {
            acknowledged = known.known_upto;
            known.known_upto = known.known_upto.max(source.known_upto);
        }
        self.substitution
            .restart(acknowledged, header.substitutions);
        self.timeline.begin(header.tick);
        for (tick, player, input) in own_inputs {
            self.timeline.insert(tick, player, &input);
        }
        for batch in &header.batches {
            let ticks = batch.to.since(batch.from);
            let timeline = &mut self.timeline;
            let taken = batch.entries.each(|after, player, input| {
                if after < ticks {
                    timeline.insert(batch.from + after, player, input);
                }
            });
            taken.ok_or_else(malformed)?;
            for (tick, change) in &batch.changes {
                self.timeline.change(*tick, change.clone());
            }
            self.initiative.holder = batch.initiative;
        }
        let attendance = self.attendance_at_end();
        self.sources.set_announced(&attendance);
        // The state may be older than the end of a source.
        self.apply_cuts(now);
        self.desync.restart();
        self.stall.restart();
        if let Some(roster) = self.room.roster.clone() {
            self.on_roster(now, &roster);
        }
        self.retry_early_batches(now);
        self.timers.wake_at(now);
        Ok(())
    }

    /// The inputs of some players in some ticks.
    pub(super) fn inputs_between(
        &self,
        from: Tick,
        to: Tick,
        players: &[PlayerId],
    ) -> Vec<(Tick, PlayerId, Vec<u8>)> {
        let mut found = Vec::new();
        let to = to.min(self.timeline.end());
        for tick in (from.0..to.0).map(Tick) {
            let inputs = self.timeline.inputs(tick).into_iter();
            let entries = inputs.flat_map(|inputs| inputs.entries());
            let theirs = entries.filter(|(player, _)| players.contains(player));
            found.extend(theirs.map(|(player, input)| (tick, player, input.to_vec())));
        }
        found
    }

    /// Who takes part where everything that is known ends.
    pub(super) fn attendance_at_end(&self) -> Attendance {
        let mut present = TickInputs::new();
        present.share_attendance(&self.simulated.confirmed_players);
        let mut tick = self.simulated.confirmed_tick;
        let changes = self.timeline.changes_from(tick);
        let last = changes.map(|(tick, _)| tick).max();
        while last.is_some_and(|last| tick <= last) {
            self.timeline.apply_changes(tick, &mut present);
            tick = tick.next();
        }
        Attendance::clone(present.attendance())
    }
}

/// The part of a checkpoint that is not the game's.
struct CheckpointHeader<'a> {
    tick: Tick,
    start: Option<Duration>,
    offset: Duration,
    check_interval: u64,
    pace: Pace,
    predicting: bool,
    /// How many times the newcomer's inputs were substituted before.
    substitutions: u64,
    /// The minimum playout delay, of a spectator.
    floor: Duration,
    attendance: Attendance,
    sources: Vec<(SourceId, InputSource)>,
    batches: Vec<InputBatch<'a>>,
    /// Inputs of the receiver that are in the state, the last of them.
    recent: Vec<(Tick, PlayerId, &'a [u8])>,
}

impl<'a> CheckpointHeader<'a> {
    fn read(r: &mut Bytes<'a>) -> Option<CheckpointHeader<'a>> {
        if r.number()? != LAYOUT {
            return None;
        }
        let tick = r.tick()?;
        let start = r.time()?.checked_sub(Duration::from_micros(1));
        let offset = r.time()?;
        let check_interval = r.number().filter(|ticks| *ticks <= 9_000)?;
        let pace = match r.number()? {
            0 => Pace::RealTime,
            ticks @ 1..=600 => Pace::Initiative { ticks },
            _ => return None,
        };
        let predicting = r.number()? == 1;
        let substitutions = r.count()?;
        let floor = r.time()?;
        let mut players = read_players(r, 65_536)?;
        players.sort_unstable();
        let away = (0..r.number().filter(|count| *count <= 65_536)?)
            .map(|_| Some((r.player()?, r.tick()?)));
        let mut away = away.collect::<Option<Vec<(PlayerId, Tick)>>>()?;
        away.sort_unstable();
        let attendance = Attendance { players, away };
        let mut sources = Vec::new();
        for _ in 0..r.number().filter(|count| *count <= 65_536)? {
            let id = SourceId::read(r)?;
            let mut source = InputSource::new(r.tick()?, Vec::new());
            source.known_upto = r.tick()?;
            source.end = r.count()?.checked_sub(1).map(Tick);
            // Nobody is so far ahead of the state: all ticks up to there are gone through.
            if source.known_upto.since(tick) > MAX_TICKS_AHEAD {
                return None;
            }
            source.players = read_players(r, 64)?;
            sources.push((id, source));
        }
        let mut batches = Vec::new();
        loop {
            let len = usize::try_from(r.number()?).ok()?;
            if len == 0 {
                break;
            }
            batches.push(InputBatch::read(&mut Bytes(r.take(len)?))?);
        }
        let recent = (0..r.number().filter(|count| *count <= 65_536)?)
            .map(|_| Some((r.tick()?, r.player()?, Prefixed::read(r)?.0)));
        let recent = recent.collect::<Option<Vec<_>>>()?;
        Some(CheckpointHeader {
            tick,
            start,
            offset,
            check_interval,
            pace,
            predicting,
            substitutions,
            floor,
            attendance,
            sources,
            batches,
            recent,
        })
    }
}
