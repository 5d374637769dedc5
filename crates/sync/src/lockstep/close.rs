//! Closing turns.

use core::time::Duration;

use super::tell::MOST_REPEATED;
use super::{Lockstep, Pace, SlowMachine, Voice};
use crate::timeline::{Change, VoiceId};
use crate::{Member, ModelEvent, PeerId, PlayerId, Tick};

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
            let most = self.head.0 + 2 * ahead + 4 * ticks + self.spoken_on();
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
                let (peer, incarnation) = (member.peer, member.incarnation);
                let voice = self.voices.get(&VoiceId { peer, incarnation });
                voice.is_none_or(|voice| peer == me.peer && voice.players.is_empty())
            };
            if !taking_part.clone().any(is_new) && self.unvoiced.is_empty() {
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
                let (peer, incarnation) = (member.peer, member.incarnation);
                (VoiceId { peer, incarnation }, member.players.clone())
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
            self.send_off_unvoiced(from);
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
}
