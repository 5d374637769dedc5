//! Closing turns: the ticks of a turn get the inputs that wait for them.

use core::time::Duration;

use super::{Lockstep, Pace, SlowMachine};
use crate::timeline::{Change, SourceId};
use crate::{Member, ModelEvent, PeerId, PlayerId, Tick};

/// Where so little is lost, in percent, or may be as far as known, the next repeat of an input is soon enough.
const LITTLE_LOSS: u8 = 3;

impl Lockstep {
    /// Closes every turn of this program that is due to be closed.
    pub(super) fn close_turns(&mut self, now: Duration) {
        if !self.room.is_sequenced() && self.own_source().is_none() {
            self.begin_if_all_ended();
        }
        let Some((me, _)) = self.own_source() else {
            return;
        };
        let may_sequence = self.room.is_authority() && !self.sources.awaits_end();
        if self.room.is_sequenced() && !may_sequence {
            return;
        }
        if let Pace::Initiative { ticks } = self.config.pace {
            return self.close_by_initiative(now, me, ticks);
        }
        if self.schedule.start.is_none() {
            return;
        }
        self.schedule.input_delay.fall(now);
        if self.waits_for_slow_machine() {
            return;
        }
        while let Some(source) = self.sources.known.get(&me) {
            let closed = source.known_upto;
            let (ticks, delay) = (self.turn_length(), self.schedule.closing_ticks());
            // A stalled world does not let its turns run away.
            let reached = self.simulated.predicted_tick.0;
            let max = reached + 2 * delay + 4 * ticks + self.ticks_beyond_hold();
            if self.schedule.is_open(now, closed) || closed.0 > max {
                return;
            }
            self.close(now, me, closed, ticks);
            self.slow_down(ticks);
        }
    }

    /// When the next turn of this program takes its inputs. Where somebody else sequences them they are sent at once, so a tick's worth of
    /// them is taken as often as a tick is simulated.
    pub(super) fn takes_input_at(&self) -> Option<Duration> {
        match self.config.pace {
            Pace::Initiative { .. } => None,
            Pace::RealTime if self.room.is_sequenced() && !self.room.is_authority() => {
                self.due_here(self.simulated.predicted_tick)
            }
            Pace::RealTime => self.closes_turn_at(),
        }
    }

    /// How long the input of a player here takes to the state that shows it, on average: it waits for the turn to close, then for the turn to be
    /// due. Where another peer sequences it also travels there, and the turn back.
    pub(super) fn felt_delay(&self) -> Duration {
        let is_played = self.schedule.start.is_some() && !self.room.is_spectator;
        if !is_played || self.config.pace != Pace::RealTime {
            return Duration::ZERO;
        }
        let tick = self.schedule.tick_time;
        let turn = self.stats.turn_length.max(1) as u32;
        let closed_before_due = match self.room.other_authority() {
            Some(host) if self.room.is_sequenced() => {
                let roster = self.room.roster.as_ref();
                let host = roster.and_then(|roster| roster.member(host));
                let round_trip = 2 * host.map_or(Duration::ZERO, |host| host.latency);
                let us = round_trip.as_micros() as i64 + self.stats.slack_us;
                tick / 2 + tick * (turn / 4) + Duration::from_micros(us.max(0) as u64)
            }
            _ => self.schedule.closing_lead(),
        };
        tick * turn / 2 + closed_before_due + self.playout_delay()
    }

    /// When this program closes its next turn.
    pub(super) fn closes_turn_at(&self) -> Option<Duration> {
        let (_, source) = self.own_source()?;
        self.schedule.closes_at(source.known_upto)
    }

    /// Ticks of the next turn: a third of the maximum latency, within what the settings allow.
    fn turn_length(&self) -> u64 {
        let in_sync = self.room.others().filter(|member| member.in_sync);
        let latency = in_sync.map(|member| member.latency).max();
        let nanos = latency.unwrap_or_default().as_nanos();
        let ticks = nanos.div_ceil(3 * self.schedule.tick_time.as_nanos());
        self.config.turn.clamp(ticks as u64)
    }

    /// Gives the ticks of a turn the inputs that wait for them.
    fn close(&mut self, now: Duration, me: SourceId, from: Tick, ticks: u64) {
        let to = from + ticks;
        self.stats.turn_length = ticks;
        if self.announces_players(me) {
            self.broadcast.has_announced = true;
            self.announce_players(me, from, to);
        }
        self.announce_replacement(now, from);
        let takes_inputs = self.takes_inputs(now, from);
        let is_sequenced = self.room.is_sequenced();
        let (announced, timeline) = (&self.sources.announced_players, &mut self.timeline);
        let may = |player| !is_sequenced || announced.contains(&player);
        let mut has_news = timeline.changes_from(from).next().is_some();
        if takes_inputs {
            self.pending.take(ticks, may, |player, which, input| {
                timeline.insert(from + which, player, input);
                has_news = true;
            });
        }
        if let Some(source) = self.sources.known.get_mut(&me) {
            source.known_upto = to;
        }
        let packets = if self.room.max_loss() > LITTLE_LOSS {
            2
        } else {
            1
        };
        self.broadcast.on_turn(from, has_news, packets);
    }

    /// Whether a turn takes inputs. After a pause several turns are closed at once: with a common delay only the last of them take the inputs that
    /// wait, because those were made now and not when the earlier ones should have been closed.
    fn takes_inputs(&self, now: Duration, from: Tick) -> bool {
        let waiting = self.pending.most_of_one() as u64;
        self.schedule.game_delay.is_none() || self.schedule.closable(now, from) <= waiting.max(1)
    }

    /// Where all sources have ended, the authority begins.
    fn begin_if_all_ended(&mut self) {
        let Some(id) = self.room.me().and_then(|me| self.room.source_id(me)) else {
            return;
        };
        if let Some(end) = self.sources.all_ended_at()
            && self.room.is_authority()
            && !self.sources.awaits_end()
            && !self.sources.known.contains_key(&id)
        {
            self.sources.insert(id, end, Vec::new());
        }
    }

    /// Announces who comes and goes.
    fn announce_players(&mut self, me: SourceId, from: Tick, to: Tick) {
        match self.room.is_sequenced() {
            true => self.announce_joins_and_leaves(from),
            // The last batches of departed sources may be such announcements, and who is held back must not become a source.
            false if self.sources.awaits_end() => {}
            false => {
                self.announce_departures(from);
                self.announce_sources(me, from, to);
            }
        }
    }

    /// Announces that players are gone whose places in the room were kept while they were away.
    fn announce_departures(&mut self, from: Tick) {
        let confirmed = self.simulated.confirmed_tick;
        let is_absence = |(_, change): (Tick, &Change)| matches!(change, Change::Away(_));
        if self.simulated.confirmed_players.away().is_empty()
            && !self.timeline.changes_from(confirmed).any(is_absence)
        {
            return;
        }
        for (player, _) in self.attendance_at_end().away {
            if !self.may_return(player) {
                self.timeline.change(from, Change::Leave(player));
            }
        }
    }

    /// Whether a place in the room is kept for a player that is not here.
    pub(super) fn may_return(&self, player: PlayerId) -> bool {
        self.room.keeps_place_of(player) && !self.timeline.released.contains(player)
    }

    /// Announces every peer that plays and is no source yet.
    fn announce_sources(&mut self, me: SourceId, from: Tick, to: Tick) {
        let source_id = |member: &Member| SourceId {
            peer: member.peer,
            incarnation: member.incarnation,
        };
        let is_new = |member: &Member| {
            let source = self.sources.known.get(&source_id(member));
            source.is_none_or(|source| member.peer == me.peer && source.players.is_empty())
        };
        if !self.room.playing().any(is_new) && self.sources.unclaimed_players.is_empty() {
            return;
        }
        let latency = self.room.max_latency().as_nanos();
        let round_trip = 2 * latency / self.schedule.tick_time.as_nanos();
        // A new source learns of it before anybody needs its inputs.
        let begins = match from {
            Tick(0) => from,
            _ => to + round_trip as u64 + self.schedule.closing_ticks() + 2,
        };
        for member in self.room.playing() {
            let (id, players) = (source_id(member), &member.players);
            match self.sources.known.get_mut(&id) {
                // This program is a source already: only its players are new.
                Some(source) if id == me && source.players.is_empty() => {
                    source.players.clone_from(players);
                }
                Some(_) => continue,
                None => self.sources.insert(id, begins, players.clone()),
            }
            let at = if id == me { from } else { begins };
            let change = Change::Source(id, players.clone());
            self.timeline.change(at, change);
        }
        self.remove_unclaimed_players(from);
    }

    /// The authority that sequences announces every player that came, went, or is away.
    fn announce_joins_and_leaves(&mut self, from: Tick) {
        let playing = self.room.playing();
        let present: Vec<PlayerId> = playing
            .flat_map(|member| &member.players)
            .copied()
            .collect();
        let room = &self.room;
        let announced = &mut self.sources.announced_players;
        let away = &mut self.sources.announced_away;
        let released = self.timeline.released.clone();
        let is_gone = |player: &PlayerId| !present.contains(player) || released.contains(*player);
        let left: Vec<PlayerId> = announced.iter().copied().filter(is_gone).collect();
        for player in left {
            announced.remove(&player);
            self.pending.forget(player);
            away.insert(player);
            self.timeline.change(from, Change::Away(player));
        }
        // Whoever has the number of somebody who leaves takes part a turn later, so that the game sees that it is another.
        let joins = present.iter().filter(|player| !released.contains(**player));
        for player in joins {
            if announced.insert(*player) {
                away.remove(player);
                self.timeline.change(from, Change::Join(*player));
            }
        }
        away.retain(|player| {
            let may_return = room.keeps_place_of(*player) && !released.contains(*player);
            if !may_return {
                self.timeline.change(from, Change::Leave(*player));
            }
            may_return
        });
        // Of whom nothing is announced nothing has to be ended.
        self.timeline.released.clear();
    }

    /// Closes a turn once the player that holds the initiative has ended it.
    fn close_by_initiative(&mut self, now: Duration, me: SourceId, ticks: u64) {
        let Some(closed) = self.sources.known.get(&me).map(|source| source.known_upto) else {
            return;
        };
        let players = self.room.players();
        if closed == Tick(0) {
            // The first turn, in which nobody acts, shows who is there.
            self.close(now, me, closed, ticks);
        } else if self.initiative.is_over(&players) || self.transfer.replacement.is_some() {
            let holder = self.initiative.holder;
            let given = holder.map_or(0, |holder| self.pending.count(holder));
            let planned = self.schedule.due(closed).unwrap_or_default();
            self.schedule.delay_by(now.saturating_sub(planned));
            self.close(now, me, closed, ticks.max(given as u64));
        } else {
            return;
        }
        self.initiative.pass(&players);
    }

    /// Slows everyone a little while a machine is behind, if that is the policy.
    fn slow_down(&mut self, ticks: u64) {
        if let SlowMachine::Ease { behind, percent } = self.config.slow
            && self.room.is_authority()
            && self.slowest().is_some_and(|(_, ticks)| ticks > behind)
        {
            let by = self.schedule.tick_time * ticks as u32 * percent / 100;
            self.schedule.delay_by(by);
        }
    }

    fn waits_for_slow_machine(&mut self) -> bool {
        if !self.room.is_authority() {
            return false;
        }
        match (self.config.slow, self.slowest()) {
            (SlowMachine::Wait { behind }, Some((_, ticks))) => ticks > behind,
            (SlowMachine::Drop { behind }, Some((peer, ticks_behind))) if ticks_behind > behind => {
                tracing::warn!(%peer, ticks_behind, "machine is too slow");
                self.broadcast.cursors.remove(&peer);
                self.events
                    .push_back(ModelEvent::TooSlow { peer, ticks_behind });
                false
            }
            _ => false,
        }
    }

    /// Whose machine is farthest behind, and by how many ticks.
    fn slowest(&self) -> Option<(PeerId, u64)> {
        let playing = self.room.others();
        let playing = playing.filter(|member| member.in_sync && !member.watches);
        let cursors = &self.broadcast.cursors;
        let behind =
            playing.filter_map(|member| Some((member.peer, cursors.get(&member.peer)?.behind)));
        behind.max_by_key(|(_, behind)| *behind)
    }
}
