//! Closing turns, and telling the others.

use alloc::vec::Vec;
use core::time::Duration;

use super::message::{Entries, Message, Report, SPLIT_BYTES, Span, write_entries, write_inputs};
use super::{Cursor, Lockstep, Pace, SlowMachine, Voice};
use crate::timeline::{Change, VoiceId};
use crate::{Carriage, Member, ModelEvent, PeerId, PlayerId, Tick};

/// What is longer does not go into one packet with the rest.
pub(super) const ONE_PACKET_BYTES: usize = 1000;
/// Turns that are said again with every turn: all of so many packets in a row would have to be lost to stop anybody.
const REPEATED_TURNS: usize = 4;
/// The same where every third packet or more gets lost.
const MOST_REPEATED: usize = 12;
/// What is lost of longer turns would come too late with the next.
const SHORT_TURN: u64 = 4;
/// How often everyone says how it gets on.
const REPORT_EVERY: Duration = Duration::from_millis(500);
/// The same if things go badly.
const REPORT_SOON: Duration = Duration::from_millis(100);
/// How much of its own voice a member of a mesh tells somebody new.
pub(super) const TELL_BACK: u64 = 600;

impl Lockstep {
    /// Closes every turn of this program's voice that is due to be closed.
    pub(super) fn close_turns(&mut self, now: Duration) {
        if !self.is_sequenced() && self.my_voice().is_none() {
            self.begin_if_all_are_gone();
        }
        let Some((me, _)) = self.my_voice() else {
            return;
        };
        if self.is_sequenced() && !(self.is_authority() && self.departed.is_empty()) {
            return;
        }
        if let Pace::Initiative { ticks } = self.config.pace {
            return self.close_by_initiative(now, me, ticks);
        }
        let Some(metronome) = self.metronome(now) else {
            return;
        };
        self.ahead.relax(now);
        if self.waits_for_slow_machine() {
            return;
        }
        loop {
            let Some(closed) = self.voices.get(&me).map(|voice| voice.upto) else {
                return;
            };
            let ticks = self.turn_length();
            let ahead = self.ahead.ticks();
            let due_at = closed.0 as i64 - ahead as i64;
            // Not on and on while the world stands still.
            let most = self.head.0 + 2 * ahead + 4 * ticks;
            if due_at > metronome || closed.0 > most {
                return;
            }
            self.close(me, closed, ticks);
            self.ease(ticks);
        }
    }

    /// Ticks of the next turn: a third of the way to the farthest, within what the settings allow.
    pub(super) fn turn_length(&self) -> u64 {
        let farthest = self.roster.iter().flat_map(|roster| {
            let others = roster
                .members
                .iter()
                .filter(|member| member.peer != roster.me && member.in_sync);
            others.map(|member| member.latency)
        });
        let farthest = farthest.max().unwrap_or_default().as_nanos();
        let ticks = farthest.div_ceil(3 * self.tick_time.as_nanos());
        self.config.turn.clamp(ticks as u64)
    }

    /// Gives the ticks of a turn the inputs that wait for them.
    fn close(&mut self, me: VoiceId, from: Tick, ticks: u64) {
        let to = from + ticks;
        self.turn = ticks;
        if self.decides_who_speaks(me) {
            self.decree(me, from, to);
        }
        let sequenced = self.is_sequenced();
        let (roll, timeline) = (&self.roll, &mut self.timeline);
        let may = |player| !sequenced || roll.contains(&player);
        self.pending.take(ticks, may, |player, which, input| {
            timeline.insert(from + which, player, input);
        });
        self.pending_since = None;
        if let Some(voice) = self.voices.get_mut(&me) {
            voice.upto = to;
        }
        if self.turns.len() > MOST_REPEATED {
            self.turns.pop_front();
        }
        self.turns.push_back(from);
        self.untold = true;
    }

    /// Whether it is this program that says who comes and goes: the authority or, while that has no voice, the first that has one.
    fn decides_who_speaks(&self, me: VoiceId) -> bool {
        let Some(authority) = self.authority() else {
            return false;
        };
        let speaks =
            |id: &VoiceId, voice: &Voice| voice.end.is_none() && !self.departed.contains_key(id);
        let mut speaking = self
            .voices
            .iter()
            .filter(|(id, voice)| speaks(id, voice))
            .map(|(id, _)| *id);
        match self
            .voice_id(authority)
            .filter(|id| speaking.clone().any(|other| other == *id))
        {
            Some(leader) => leader == me,
            None => speaking.next() == Some(me),
        }
    }

    /// Where everyone who spoke is gone, the authority begins.
    fn begin_if_all_are_gone(&mut self) {
        let Some(id) = self.me().and_then(|me| self.voice_id(me)) else {
            return;
        };
        let all_gone = self.voices.values().all(|voice| voice.end.is_some());
        let end = self.voices.values().filter_map(|voice| voice.end).max();
        if let Some(end) = end.filter(|_| all_gone)
            && self.is_authority()
            && self.departed.is_empty()
            && !self.voices.contains_key(&id)
        {
            self.voices.insert(id, Voice::new(end, Vec::new()));
        }
    }

    /// Says who comes and goes.
    fn decree(&mut self, me: VoiceId, from: Tick, to: Tick) {
        let Some(roster) = &self.roster else {
            return;
        };
        let taking_part = roster
            .members
            .iter()
            .filter(|member| member.in_sync && !member.watches);
        if !self.is_sequenced() {
            // What those said who are gone may be about who speaks.
            if !self.departed.is_empty() {
                return;
            }
            let is_new = |member: &Member| {
                let (peer, life) = (member.peer, member.life);
                let voice = self.voices.get(&VoiceId { peer, life });
                voice.is_none_or(|voice| peer == me.peer && voice.players.is_empty())
            };
            if !taking_part.clone().any(is_new) {
                return;
            }
            let farthest = roster.members.iter().map(|member| member.latency).max();
            let there_and_back =
                2 * farthest.unwrap_or_default().as_nanos() / self.tick_time.as_nanos();
            // Whoever begins hears of it before anybody needs to hear from it.
            let begins = match from {
                Tick(0) => from,
                _ => to + there_and_back as u64 + self.ahead.ticks() + 2,
            };
            let named = taking_part.map(|member| {
                let (peer, life) = (member.peer, member.life);
                (VoiceId { peer, life }, member.players.clone())
            });
            let named: Vec<(VoiceId, Vec<PlayerId>)> = named.collect();
            for (id, players) in named {
                let at = if id == me { from } else { begins };
                match self.voices.get_mut(&id) {
                    // Its voice is what this is said with: only its players are new.
                    Some(voice) if id == me && voice.players.is_empty() => {
                        voice.players.clone_from(&players);
                    }
                    Some(_) => continue,
                    None => {
                        self.voices.insert(id, Voice::new(begins, players.clone()));
                    }
                }
                self.timeline.change(at, Change::Voice(id, players));
            }
            return;
        }
        let present: Vec<PlayerId> = taking_part
            .flat_map(|member| member.players.iter().copied())
            .collect();
        let left: Vec<PlayerId> = self
            .roll
            .iter()
            .copied()
            .filter(|player| !present.contains(player))
            .collect();
        for player in left {
            self.roll.remove(&player);
            self.pending.forget(player);
            self.timeline.change(from, Change::Leave(player));
        }
        for player in present {
            if self.roll.insert(player) {
                self.timeline.change(from, Change::Join(player));
            }
        }
    }

    fn close_by_initiative(&mut self, now: Duration, me: VoiceId, ticks: u64) {
        let Some(closed) = self.voices.get(&me).map(|voice| voice.upto) else {
            return;
        };
        if closed == Tick(0) {
            // Who is there at the start shows in a turn in which nobody acts.
            self.close(me, closed, ticks);
            self.pass_initiative();
            return;
        }
        let gone = self
            .initiative
            .is_none_or(|holder| !self.present_now().contains(&holder));
        if !self.turn_ended && !gone {
            return;
        }
        let done = self
            .initiative
            .map_or(0, |holder| self.pending.count(holder));
        let planned = self.due(closed).unwrap_or_default();
        self.slip += now.saturating_sub(planned);
        self.close(me, closed, ticks.max(done as u64));
        self.turn_ended = false;
        self.pass_initiative();
    }

    fn present_now(&self) -> Vec<PlayerId> {
        let members = self.roster.iter().flat_map(|roster| &roster.members);
        let taking_part = members.filter(|member| member.in_sync && !member.watches);
        let mut players: Vec<PlayerId> = taking_part
            .flat_map(|member| member.players.iter().copied())
            .collect();
        players.sort_unstable();
        players
    }

    fn pass_initiative(&mut self) {
        let players = self.present_now();
        let after = self.initiative.map_or(0, |holder| {
            players.partition_point(|player| *player <= holder)
        });
        self.initiative = players.get(after).or(players.first()).copied();
    }

    /// Tells everyone what it does not know yet.
    pub(super) fn tell(&mut self, now: Duration) {
        let Some(me) = self.me() else {
            return;
        };
        if self.untold
            && let Some((id, voice)) = self.my_voice()
        {
            let (begun, upto) = (voice.from, voice.upto);
            self.pass_on(now);
            self.untold = !self.config.spectator_delay.is_zero();
            self.tell_spans(now, id, begun, upto);
        }
        self.pass_on(now);
        if self.is_sequenced() && !self.is_authority() {
            self.tell_inputs(now);
        }
        if now >= self.next_report {
            self.tell_reports(now, me);
        }
    }

    fn tell_spans(&mut self, now: Duration, voice: VoiceId, begun: Tick, upto: Tick) {
        let me = voice.peer;
        let (sequenced, hub) = (self.is_sequenced(), self.is_hub());
        if sequenced && !self.is_authority() {
            return;
        }
        let delayed = self.delayed_upto(now, upto);
        let base = self.timeline.base().max(begun);
        let mut listeners = core::mem::take(&mut self.listeners);
        let Some(roster) = &self.roster else {
            return;
        };
        for member in &roster.members {
            let through_host = hub && roster.authority != me && roster.authority != member.peer;
            if member.peer == me
                || through_host
                || ((sequenced || hub)
                    && !member.in_sync
                    && !self.cursors.contains_key(&member.peer))
            {
                continue;
            }
            let first = Tick(upto.0.saturating_sub(TELL_BACK)).max(base);
            let cursor = self.cursors.entry(member.peer).or_insert(Cursor {
                life: member.life,
                told: first,
                executed: Tick(0),
                behind: 0,
            });
            if cursor.life != member.life {
                (cursor.life, cursor.told) = (member.life, first);
            }
            let until = if member.watches { delayed } else { upto };
            if cursor.told >= until {
                continue;
            }
            let told = core::mem::replace(&mut cursor.told, until).max(base);
            listeners.push((told, until, member.peer));
        }
        self.tell_listeners(voice, listeners);
    }

    /// Tells everyone listed a voice, from the one tick to the other.
    pub(super) fn tell_listeners(
        &mut self,
        voice: VoiceId,
        mut listeners: Vec<(Tick, Tick, PeerId)>,
    ) {
        listeners.sort_unstable();
        for same in listeners.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            self.tell_span(voice, same);
        }
        listeners.clear();
        self.listeners = listeners;
    }

    /// How far spectators are told.
    pub(super) fn delayed_upto(&self, now: Duration, upto: Tick) -> Tick {
        let delay = self.config.spectator_delay;
        if delay.is_zero() {
            return upto;
        }
        let shown = now
            .checked_sub(delay)
            .and_then(|then| self.metronome(then))
            .unwrap_or(-1);
        Tick(u64::try_from(shown + 1).unwrap_or(0)).min(upto)
    }

    /// Says the ticks of a voice to those who are to hear the same of it: repeating turns before them if that fits into a packet,
    /// so that what is lost comes with the next turn; else as often as it takes.
    fn tell_span(&mut self, id: VoiceId, listeners: &[(Tick, Tick, PeerId)]) {
        let Some(&(from, to, _)) = listeners.first() else {
            return;
        };
        let peers = listeners.iter().map(|(_, _, peer)| *peer);
        let begun = self.voices.get(&id).map_or(Tick(0), |voice| voice.from);
        let is_own = self.me() == Some(id.peer);
        let mut entries = core::mem::take(&mut self.scratch);
        let short = match self.prediction {
            Some(_) => TELL_BACK,
            None => SHORT_TURN,
        };
        let soon = self.config.pace == Pace::RealTime && to.since(from) <= short;
        let repeated_turns = self.repeated_turns(peers.clone());
        let mut begin = from;
        for turns in (1..=repeated_turns).rev().filter(|_| soon) {
            let repeated = match is_own {
                true => self.turns_before(from, turns),
                false => Tick(from.0.saturating_sub(turns as u64)),
            };
            let repeated = repeated.max(begun).max(self.timeline.base());
            let end = self.write_said(id, repeated, to, &mut entries);
            let span = self.told_span(id, repeated, end, &entries);
            if end == to && span.len() <= ONE_PACKET_BYTES {
                let carriage = Carriage::Unreliable;
                self.outbox
                    .push(peers.clone(), carriage, &Message::Span(span));
                begin = to;
                break;
            }
        }
        while begin < to {
            let end = self.write_said(id, begin, to, &mut entries);
            let span = self.told_span(id, begin, end, &entries);
            // What takes many packets is not worth repeating before it is known to be lost.
            let carriage = match begin == from && end == to {
                true => Carriage::Redundant,
                false => Carriage::Reliable,
            };
            self.outbox
                .push(peers.clone(), carriage, &Message::Span(span));
            begin = end;
        }
        self.scratch = entries;
    }

    /// Writes what a voice says in some ticks, as far as that goes into a message. Gives the tick it got to.
    pub(super) fn write_said(
        &self,
        id: VoiceId,
        from: Tick,
        to: Tick,
        entries: &mut Vec<u8>,
    ) -> Tick {
        self.write_most_said(id, from, to, SPLIT_BYTES, entries)
    }

    /// Writes all that a voice says in some ticks.
    pub(super) fn write_all_said(&self, id: VoiceId, from: Tick, to: Tick, entries: &mut Vec<u8>) {
        self.write_most_said(id, from, to, usize::MAX, entries);
    }

    fn write_most_said(
        &self,
        id: VoiceId,
        from: Tick,
        to: Tick,
        most: usize,
        entries: &mut Vec<u8>,
    ) -> Tick {
        let sequenced = self.is_sequenced();
        let players = self
            .voices
            .get(&id)
            .map_or(&[][..], |voice| &voice.players[..]);
        let of = |player: PlayerId| sequenced || players.contains(&player);
        entries.clear();
        write_entries(&self.timeline, from, to, of, most, entries)
    }

    /// How many turns are said again to these, so that hardly ever all packets that say a turn get lost.
    pub(super) fn repeated_turns(&self, peers: impl Iterator<Item = PeerId>) -> usize {
        let roster = self.roster.as_ref();
        let losses = peers.filter_map(|peer| Some(roster?.member(peer)?.loss));
        match losses.max().unwrap_or(0) {
            0..=3 => REPEATED_TURNS,
            4..=12 if self.prediction.is_none() => REPEATED_TURNS,
            4..=12 => 6,
            13..=20 => 8,
            21..=30 => 10,
            _ => MOST_REPEATED,
        }
    }

    /// Where the turns begin that are said again with those from a tick on.
    fn turns_before(&self, tick: Tick, turns: usize) -> Tick {
        let before = self.turns.iter().rev().filter(|begin| **begin < tick);
        before.take(turns).last().copied().unwrap_or(tick)
    }

    /// What is told of a voice. Through a host, it is the host that says who comes and goes.
    fn told_span<'a>(&self, voice: VoiceId, from: Tick, to: Tick, entries: &'a [u8]) -> Span<'a> {
        let mut span = self.span_of(voice, from, to, entries);
        if self.is_hub() && self.authority() != Some(voice.peer) {
            span.changes.clear();
        }
        span
    }

    /// What is known of a voice in some ticks, with the entries written already.
    pub(super) fn span_of<'a>(
        &self,
        voice: VoiceId,
        from: Tick,
        to: Tick,
        entries: &'a [u8],
    ) -> Span<'a> {
        // Whoever made them: somebody may hear of them from this voice alone. They reach beyond the span they are said with.
        let changes = self.timeline.changes_from(from);
        let changes = changes
            .map(|(tick, change)| (tick, change.clone()))
            .collect();
        Span {
            voice,
            slip: self.slip,
            from,
            to,
            predicting: self.predicting,
            initiative: self.initiative,
            changes,
            entries: Entries::encoded(entries),
        }
    }

    /// A client sends what its players do to the authority.
    fn tell_inputs(&mut self, now: Duration) {
        let Some(authority) = self.authority() else {
            return;
        };
        // As long turns are long anyway, inputs of a quarter of one share a packet.
        if let Some(since) = self.pending_since {
            let wait = self.tick_time * (self.turn / 4) as u32;
            if now < since + wait && !self.turn_ended {
                return self.wake_at(since + wait);
            }
            self.pending_since = None;
            let pending = self.pending.take_all();
            let mut bytes = Vec::new();
            write_inputs(&pending, &mut bytes);
            self.say(
                authority,
                Carriage::Redundant,
                &Message::Inputs(Entries::encoded(&bytes)),
            );
        }
        if let Some(player) = self.initiative.filter(|_| self.turn_ended) {
            self.say(authority, Carriage::Redundant, &Message::EndTurn(player));
            self.turn_ended = false;
            self.initiative = None;
        }
    }

    fn tell_reports(&mut self, now: Duration, me: PeerId) {
        self.next_report = now + REPORT_EVERY;
        let (tick, behind) = (self.next, self.behind());
        let allowance = self.allowance().as_micros() as i64;
        let mut last = None;
        while let Some(id) = self.voice_after(last) {
            last = Some(id);
            let peer = id.peer;
            let speaks = |voice: &&mut Voice| peer != me && voice.end.is_none();
            let Some(voice) = self.voices.get_mut(&id).filter(speaks) else {
                continue;
            };
            // Nobody hurries for those who watch.
            let slack = core::mem::take(&mut voice.slack)
                .low()
                .filter(|_| !self.watches);
            // Who stands still lets a host know that it is there.
            let waits = self.prediction.is_some() && self.stalled.is_some();
            if slack.is_some_and(|(slack, _)| slack < -allowance) || waits {
                self.next_report = now + REPORT_SOON;
            }
            self.say(
                peer,
                Carriage::Unreliable,
                &Message::Report(Report {
                    tick,
                    behind,
                    slack,
                }),
            );
        }
    }

    /// A machine that falls behind slows everyone a little, if that is the policy.
    fn ease(&mut self, ticks: u64) {
        if let SlowMachine::Ease { behind, percent } = self.config.slow
            && self.is_authority()
            && self.slowest().is_some_and(|(_, ticks)| ticks > behind)
        {
            self.slip += self.tick_time * ticks as u32 * percent / 100;
        }
    }

    fn waits_for_slow_machine(&mut self) -> bool {
        if !self.is_authority() {
            return false;
        }
        match (self.config.slow, self.slowest()) {
            (SlowMachine::Wait { behind }, Some((_, ticks))) => ticks > behind,
            (SlowMachine::Drop { behind }, Some((peer, ticks_behind))) if ticks_behind > behind => {
                self.cursors.remove(&peer);
                self.events
                    .push_back(ModelEvent::TooSlow { peer, ticks_behind });
                false
            }
            _ => false,
        }
    }

    /// Whose machine is farthest behind, and by how many ticks.
    fn slowest(&self) -> Option<(PeerId, u64)> {
        let roster = self.roster.as_ref()?;
        let playing = roster
            .members
            .iter()
            .filter(|member| member.in_sync && !member.watches && member.peer != roster.me);
        let behind = playing
            .filter_map(|member| Some((member.peer, self.cursors.get(&member.peer)?.behind)));
        behind.max_by_key(|(_, behind)| *behind)
    }

    /// What somebody says of itself.
    pub(super) fn on_report(&mut self, now: Duration, from: PeerId, report: Report) {
        if let Some(cursor) = self.cursors.get_mut(&from) {
            (cursor.executed, cursor.behind) = (report.tick, report.behind);
        }
        if let Some((slack, tick)) = report.slack {
            let upto = self.my_voice().map(|(_, voice)| voice.upto);
            let slack = slack.saturating_add(self.allowance().as_micros() as i64);
            self.ahead
                .on_slack(now, slack, tick, upto.unwrap_or(tick), self.tick_time);
        }
    }
}
