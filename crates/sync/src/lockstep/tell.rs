//! Telling the others what was said, and how one gets on.

use core::time::Duration;

use super::message::{Entries, Message, Report, SPLIT_BYTES, Span, write_entries, write_inputs};
use super::{Cursor, Lockstep, Pace, Voice};
use crate::timeline::VoiceId;
use crate::{Delivery, PeerId, PlayerId, Tick};

/// What is longer does not go into one packet with the rest.
pub(super) const ONE_PACKET_BYTES: usize = 1000;
/// Turns that are said again with every turn: all of so many packets in a row would have to be lost to stop anybody.
const REPEATED_TURNS: usize = 4;
/// The same where every third packet or more gets lost.
pub(super) const MOST_REPEATED: usize = 12;
/// What is lost of longer turns would come too late with the next.
const SHORT_TURN: u64 = 4;
/// How often everyone says how it gets on.
const REPORT_EVERY: Duration = Duration::from_millis(500);
/// The same if things go badly.
const REPORT_SOON: Duration = Duration::from_millis(100);
/// How much of its own voice a member of a mesh tells somebody new.
pub(super) const TELL_BACK: u64 = 600;

impl Lockstep {
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
                incarnation: member.incarnation,
                told: first,
                executed: Tick(0),
                behind: 0,
            });
            if cursor.incarnation != member.incarnation {
                (cursor.incarnation, cursor.told) = (member.incarnation, first);
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
                let delivery = Delivery::Unreliable;
                self.outbox
                    .push(peers.clone(), delivery, &Message::Span(span));
                begin = to;
                break;
            }
        }
        while begin < to {
            let end = self.write_said(id, begin, to, &mut entries);
            let span = self.told_span(id, begin, end, &entries);
            // What takes many packets is not worth repeating before it is known to be lost.
            let delivery = match begin == from && end == to {
                true => Delivery::Redundant,
                false => Delivery::ReliableOrdered,
            };
            self.outbox
                .push(peers.clone(), delivery, &Message::Span(span));
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
                Delivery::Redundant,
                &Message::Inputs(Entries::encoded(&bytes)),
            );
        }
        if let Some(player) = self.initiative.filter(|_| self.turn_ended) {
            self.say(authority, Delivery::Redundant, &Message::EndTurn(player));
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
                Delivery::Unreliable,
                &Message::Report(Report {
                    tick,
                    behind,
                    slack,
                }),
            );
        }
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
