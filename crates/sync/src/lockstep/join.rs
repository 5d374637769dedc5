//! Who is there, and how somebody new begins.

use core::time::Duration;

use super::message::{Bytes, Message, SPLIT_BYTES, Span, put, put_voice, write_entries};
use super::{Cursor, Hearing, Lockstep, Pace, Voice};
use crate::timeline::VoiceId;
use crate::{AdoptError, Delivery, ModelEvent, PeerId, PlayerId, Roster, Tick, World};

/// Layout of a checkpoint.
const LAYOUT: u64 = 1;

impl Lockstep {
    pub(super) fn on_roster(&mut self, now: Duration, roster: &Roster) {
        let before = self.roster.replace(roster.clone());
        self.untold = true;
        self.watches = roster.member(roster.me).is_some_and(|me| me.watches);
        self.led_always &= roster.me == roster.authority;
        if self.next == Tick(0) || self.prediction.is_some() {
            self.expect_latency();
        }
        if self.voices.is_empty()
            && roster.me == roster.authority
            && self.next == Tick(0)
            && let Some(id) = self.voice_id(roster.me)
        {
            self.voices.insert(id, Voice::new(Tick(0), Vec::new()));
        }
        self.cursors
            .retain(|peer, _| roster.member(*peer).is_some());
        self.relay.retain(|peer| roster.member(peer).is_some());
        self.guard
            .retain(|peer| roster.member(peer).is_some_and(|member| member.in_sync));
        self.look_for_departed();
        let authority_before = before.as_ref().map(|before| before.authority);
        if authority_before.is_some_and(|authority| authority != roster.authority) {
            for departed in self.departed.values_mut() {
                departed.on_new_authority();
            }
            self.guard.on_new_authority();
            self.forget_hearing();
        }
        self.wake_at(now);
    }

    pub(super) fn write_checkpoint(
        &mut self,
        now: Duration,
        newcomer: PeerId,
        world: &mut dyn World,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, LAYOUT);
        put(&mut out, self.next.0);
        put(
            &mut out,
            self.start.map_or(0, |start| start.as_micros() as u64 + 1),
        );
        put(&mut out, self.slip.as_micros() as u64);
        put(&mut out, self.config.desync_check_interval);
        put(
            &mut out,
            match self.config.pace {
                Pace::RealTime => 0,
                Pace::Initiative { ticks } => ticks,
            },
        );
        put(&mut out, self.predicting.into());
        put(&mut out, self.times_without(newcomer));
        let member = self
            .roster
            .as_ref()
            .and_then(|roster| roster.member(newcomer))
            .cloned();
        let watches = member.as_ref().is_some_and(|member| member.watches);
        let floor = if watches {
            self.config.spectator_delay
        } else {
            Duration::ZERO
        };
        put(&mut out, (floor + self.extra.floor()).as_micros() as u64);
        let present = self.present.players();
        put(&mut out, present.len() as u64);
        present
            .iter()
            .for_each(|player| put(&mut out, player.0.into()));
        put(&mut out, self.voices.len() as u64);
        let mut known = self.next;
        for (id, voice) in &self.voices {
            put_voice(&mut out, *id);
            put(&mut out, voice.from.0);
            put(&mut out, voice.upto.0);
            put(&mut out, voice.end.map_or(0, |end| end.0 + 1));
            put(&mut out, voice.players.len() as u64);
            voice
                .players
                .iter()
                .for_each(|player| put(&mut out, player.0.into()));
            known = known.max(voice.upto);
        }
        let mut from = self.next;
        let mut entries = Vec::new();
        loop {
            entries.clear();
            let to = write_entries(
                &self.timeline,
                from,
                known,
                |_| true,
                SPLIT_BYTES,
                &mut entries,
            );
            let nobody = VoiceId {
                peer: newcomer,
                incarnation: 0,
            };
            let span = self.span_of(nobody, from, to, &entries);
            let mut bytes = Vec::new();
            span.write(&mut bytes);
            put(&mut out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
            from = to;
            if from >= known {
                break;
            }
        }
        put(&mut out, 0);
        out.extend_from_slice(&world.checkpoint());
        let told = self.my_voice().map_or(self.next, |(_, voice)| voice.upto);
        let incarnation = member.map_or(0, |member| member.incarnation);
        for (id, voice) in &self.voices {
            self.relay.set_told(*id, newcomer, voice.upto);
        }
        self.cursors.insert(
            newcomer,
            Cursor {
                incarnation,
                told,
                executed: self.next,
                behind: 0,
            },
        );
        self.wake_at(now);
        out
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
        let begin = Beginning::read(&mut r).ok_or_else(malformed)?;
        world.adopt(begin.tick, r.0)?;
        self.next = begin.tick;
        self.head = begin.tick;
        self.saves.forget();
        self.start = begin.start.or(self.start);
        self.slip = begin.slip;
        self.config.desync_check_interval = begin.desync_check_interval;
        self.config.pace = begin.pace;
        self.predicting = begin.predicting;
        self.extra.set_floor(begin.floor);
        self.present.set_players(&begin.players);
        self.present_ahead.share_players(&self.present);
        if self.prediction.is_some() {
            self.saves.keep(begin.tick, &self.present, false, world);
        }
        // What this program has said itself it knows best.
        let mine = self.my_voice().map(|(id, voice)| (id, voice.clone()));
        let said = mine.as_ref().map_or_else(Vec::new, |(id, voice)| {
            // What a host has decided for it counts.
            let known = begin.voices.iter().find(|(known, _)| known == id);
            let known = known.filter(|_| self.is_hub());
            let from = known.map_or(begin.tick, |(_, known)| known.upto.max(begin.tick));
            self.said_from(from, voice.upto, &voice.players)
        });
        self.voices = begin.voices.into_iter().collect();
        if let Some((id, voice)) = mine
            && let Some(known) = self.voices.get_mut(&id)
        {
            self.heard = Hearing::at_guest(known.upto, begin.times);
            known.upto = known.upto.max(voice.upto);
        } else {
            self.heard = Hearing::at_guest(Tick(0), begin.times);
        }
        self.timeline.begin(begin.tick);
        for (tick, player, input) in said {
            self.timeline.insert(tick, player, &input);
        }
        for span in &begin.spans {
            let ticks = span.to.since(span.from);
            let timeline = &mut self.timeline;
            let taken = span.entries.each(|after, player, input| {
                if after < ticks {
                    timeline.insert(span.from + after, player, input);
                }
            });
            taken.ok_or_else(malformed)?;
            for (tick, change) in &span.changes {
                self.timeline.change(*tick, change.clone());
            }
            self.initiative = span.initiative;
        }
        self.roll = self.present_at_end();
        // Who was said to be gone is not listened to again.
        let gone: Vec<VoiceId> = self.departed.keys().copied().collect();
        self.departed.clear();
        for id in gone {
            self.on_departed(id);
        }
        self.guard.begin_anew();
        self.is_wrong = false;
        self.stalled = None;
        self.hurrying = true;
        self.behind_now = 0;
        if let Some(roster) = self.roster.clone() {
            self.on_roster(now, &roster);
        }
        self.take_early(now);
        self.wake_at(now);
        Ok(())
    }

    /// What some players do from a tick on.
    pub(super) fn said_from(
        &self,
        from: Tick,
        to: Tick,
        players: &[PlayerId],
    ) -> Vec<(Tick, PlayerId, Vec<u8>)> {
        let mut said = Vec::new();
        for tick in (from.0..to.0).map(Tick) {
            let entries = self
                .timeline
                .inputs(tick)
                .into_iter()
                .flat_map(|inputs| inputs.entries());
            let mine = entries.filter(|(player, _)| players.contains(player));
            said.extend(mine.map(|(player, input)| (tick, player, input.to_vec())));
        }
        said
    }

    /// Gives everyone the present state in place of theirs: a save game was loaded.
    pub(super) fn give_to_all(&mut self, now: Duration, world: &mut dyn World) {
        let peers: Vec<PeerId> = self
            .roster
            .iter()
            .flat_map(|roster| {
                roster
                    .members
                    .iter()
                    .filter(|member| member.peer != roster.me)
            })
            .map(|member| member.peer)
            .collect();
        for peer in peers {
            self.hand_to(now, peer, world);
        }
    }

    /// Gives somebody the present state in place of its own.
    pub(super) fn hand_to(&mut self, now: Duration, peer: PeerId, world: &mut dyn World) {
        let checkpoint = self.write_checkpoint(now, peer, world);
        self.say(
            peer,
            Delivery::ReliableOrdered,
            &Message::Checkpoint(&checkpoint),
        );
    }

    /// The authority's state takes the place of this program's.
    pub(super) fn take_over(
        &mut self,
        now: Duration,
        from: PeerId,
        checkpoint: &[u8],
        world: &mut dyn World,
    ) {
        // What was asked for while nothing went on may come when all goes on.
        let tick = Beginning::read(&mut Bytes(checkpoint)).map(|begin| begin.tick);
        if !self.is_wrong && tick.is_some_and(|tick| tick < self.next) {
            for departed in self.departed.values_mut() {
                departed.on_nothing_newer(from);
            }
            return;
        }
        match self.read_checkpoint(now, checkpoint, world) {
            Ok(()) => self
                .events
                .push_back(ModelEvent::Adopted { tick: self.next }),
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }
}

/// The part of a checkpoint that is not the game's.
struct Beginning<'a> {
    tick: Tick,
    start: Option<Duration>,
    slip: Duration,
    desync_check_interval: u64,
    pace: Pace,
    predicting: bool,
    times: u64,
    floor: Duration,
    players: Vec<PlayerId>,
    voices: Vec<(VoiceId, Voice)>,
    spans: Vec<Span<'a>>,
}

impl<'a> Beginning<'a> {
    fn read(r: &mut Bytes<'a>) -> Option<Beginning<'a>> {
        if r.number()? != LAYOUT {
            return None;
        }
        let tick = r.tick()?;
        let micros = |value: u64| Duration::from_micros(value.min(1 << 50));
        let start = r.number()?.checked_sub(1).map(micros);
        let slip = micros(r.number()?);
        let desync_check_interval = r.number().filter(|ticks| *ticks <= 9_000)?;
        let pace = match r.number()? {
            0 => Pace::RealTime,
            ticks @ 1..=600 => Pace::Initiative { ticks },
            _ => return None,
        };
        let predicting = r.number()? == 1;
        let times = r.number()?;
        let floor = micros(r.number()?);
        let mut players = Vec::new();
        for _ in 0..r.number().filter(|count| *count <= 65_536)? {
            players.push(r.player()?);
        }
        players.sort_unstable();
        let mut voices = Vec::new();
        for _ in 0..r.number().filter(|count| *count <= 65_536)? {
            let id = r.voice()?;
            let mut voice = Voice::new(r.tick()?, Vec::new());
            voice.upto = r.tick()?;
            voice.end = r.number()?.checked_sub(1).map(Tick);
            for _ in 0..r.number().filter(|count| *count <= 64)? {
                voice.players.push(r.player()?);
            }
            voices.push((id, voice));
        }
        let mut spans = Vec::new();
        loop {
            let len = usize::try_from(r.number()?).ok()?;
            if len == 0 {
                break;
            }
            spans.push(Span::read(&mut Bytes(r.take(len)?))?);
        }
        Some(Beginning {
            tick,
            start,
            slip,
            desync_check_interval,
            pace,
            predicting,
            times,
            floor,
            players,
            voices,
            spans,
        })
    }
}
