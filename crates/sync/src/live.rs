//! A game that runs: its state, its events, the states it can go back to, and its recording.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

use samestep_wire::{decode_exact, encode_to_vec, layout_hash};

use crate::breach::Breaches;
use crate::input::Attendance;
use crate::standby::TickLog;
use crate::{
    AdoptError, Breach, ChecksumTree, Confirmation, Divergence, EventLedger, Events, Input, Inputs,
    LagCompensation, Patched, PlayerId, Recorder, ReplayHeader, RowChunk, Scene, SeenBreach,
    Simulation, SmoothView, Table, Tick, TickInputs, TimedEvent, UpdateWindow, World, WorldLayout,
};

mod certainty;
mod loopback;
mod recording;
mod scene;
mod smooth;

use certainty::CertaintyGate;
use loopback::LoopbackCopy;

/// A [`Simulation`] as a [`World`]: what a plain game hands to a model. The [crate](crate)'s first example plays a game alone with it.
pub struct Live<S: Simulation> {
    now: PlayedState<S>,
    saves: Vec<(Tick, PlayedState<S>)>,
    /// Released, to be filled again.
    spare: Vec<PlayedState<S>>,
    given: Vec<u16>,
    events: Events<S::Event>,
    /// Events of the last step that this authority has confirmed at once.
    early: Vec<S::Event>,
    /// The tick whose events have not been delivered yet: if it is confirmed at once, they need not be delivered as predicted first.
    fresh: Option<Tick>,
    confirmed_before: Tick,
    ledger: EventLedger<S::Event>,
    gate: CertaintyGate<S::Event>,
    table: Table,
    recorder: Option<Recorder>,
    /// For who follows this program.
    log: Option<Box<TickLog>>,
    /// From this tick on the next state that an authority sends is recorded.
    state_due: Tick,
    view: Option<Box<SmoothView<S>>>,
    /// Whether there is to be no view: smoothing was stopped, or nothing blends.
    is_unsmoothed: bool,
    /// What a model has drawn.
    drawn: Option<Box<S>>,
    /// The tick at which the state was replaced, and the checkpoint from which the recording goes on there.
    replaced: Option<(Tick, Vec<u8>)>,
    /// The states before the last ticks, if the rules look back.
    past: VecDeque<(Tick, S)>,
    inputs_refused: u64,
    /// What the players here see, if that is not this authority's own state.
    loopback: Option<Box<LoopbackCopy<S>>>,
    /// What players here and elsewhere did against the rules.
    breaches: Breaches,
    /// The authority's exact state, if this program follows it beside playing.
    twin: Option<Box<Live<S>>>,
}

/// A state, and the inputs that its players held.
#[derive(Clone)]
struct PlayedState<S: Simulation> {
    tick: Tick,
    state: S,
    attendance: Arc<Attendance>,
    inputs: Vec<S::Input>,
    /// The places of those who do something that may go on by itself.
    active: Vec<u16>,
}

impl<S: Simulation> PlayedState<S> {
    fn assign(&mut self, from: &Self) {
        self.tick = from.tick;
        self.state.assign(&from.state);
        self.attendance = from.attendance.clone();
        self.inputs.clone_from(&from.inputs);
        self.active.clone_from(&from.active);
    }

    /// Lets players come and go, and the others go on as predicted.
    fn prepare(&mut self, attendance: &Arc<Attendance>) {
        if !Arc::ptr_eq(&self.attendance, attendance) {
            let was = core::mem::replace(&mut self.attendance, attendance.clone());
            let (was, players) = (&was.players, &attendance.players);
            if was == players {
                return self.predict();
            }
            let before = core::mem::take(&mut self.inputs);
            let of = |player: &PlayerId| {
                let at = was.binary_search(player).ok();
                at.and_then(|at| before.get(at))
                    .cloned()
                    .unwrap_or_default()
            };
            self.inputs = players.iter().map(of).collect();
            self.active = active(&self.inputs);
        }
        self.predict();
    }

    /// What is done goes on as predicted.
    fn predict(&mut self) {
        let (inputs, idle) = (&mut self.inputs, S::Input::default());
        self.active.retain(|at| {
            let input = &mut inputs[usize::from(*at)];
            if *input != idle {
                *input = input.predict();
            }
            *input != idle
        });
    }
}

/// The places of those who do something.
fn active<I: Input>(inputs: &[I]) -> Vec<u16> {
    let idle = I::default();
    let places = inputs.iter().zip(0..);
    places
        .filter(|(input, _)| **input != idle)
        .map(|(_, at)| at)
        .collect()
}

/// The place of a player. Mostly everyone is there and they come in order: then it is as far from the last one's as their numbers are.
fn place(players: &[PlayerId], last: usize, player: PlayerId) -> Option<usize> {
    let ahead = players.get(last).map(|last| player.0.wrapping_sub(last.0));
    let guess = last + usize::from(ahead.unwrap_or(0));
    match players.get(guess) == Some(&player) {
        true => Some(guess),
        false => players.binary_search(&player).ok(),
    }
}

impl<S: Simulation> Live<S> {
    /// Begins with a state. What happens is recorded.
    pub fn new(state: S) -> Self {
        let mut live = Self::at(state, Tick(0));
        let header = ReplayHeader::of::<S>();
        live.recorder = Some(Recorder::new(&header, Tick(0), &live.checkpoint()));
        live
    }

    /// Begins with a state, and records nothing.
    pub fn without_recording(state: S) -> Self {
        Self::at(state, Tick(0))
    }

    fn at(state: S, tick: Tick) -> Self {
        Self {
            now: PlayedState {
                tick,
                state,
                attendance: Arc::default(),
                inputs: Vec::new(),
                active: Vec::new(),
            },
            saves: Vec::new(),
            spare: Vec::new(),
            given: Vec::new(),
            events: Events::new(),
            early: Vec::new(),
            fresh: None,
            confirmed_before: tick,
            ledger: EventLedger::default(),
            gate: CertaintyGate::default(),
            table: Table::new(S::schema()),
            recorder: None,
            log: None,
            state_due: Tick(0),
            view: None,
            is_unsmoothed: false,
            drawn: None,
            replaced: None,
            past: VecDeque::new(),
            inputs_refused: 0,
            loopback: None,
            breaches: Breaches::default(),
            twin: None,
        }
    }

    /// A state as a [checkpoint](World::checkpoint) in which nobody does anything, to load it into a running game.
    pub fn checkpoint_of(state: S) -> Vec<u8> {
        Self::without_recording(state).checkpoint()
    }

    /// The state: what to draw.
    pub fn state(&self) -> &S {
        &self.now.state
    }

    /// The state, to set it up. While a game runs, only what the rules do changes it: anything else is a desync.
    pub fn state_mut(&mut self) -> &mut S {
        &mut self.now.state
    }

    /// Changes the state, and those it may go back to, as a broken machine or another rule would: to see what becomes of a desync.
    pub fn disturb(&mut self, change: impl Fn(&mut S)) {
        change(&mut self.now.state);
        // Confirmed states stay as they were: a desync bundle begins there.
        let open = self
            .saves
            .iter_mut()
            .filter(|(tick, _)| *tick >= self.confirmed_before);
        open.for_each(|(_, played)| change(&mut played.state));
        self.update_view();
    }

    /// The tick that is simulated next.
    pub fn tick(&self) -> Tick {
        self.now.tick
    }

    /// Inputs so far that the rules [do not allow](Simulation::allows), each counted as often as its tick was simulated.
    pub fn inputs_refused(&self) -> u64 {
        self.inputs_refused
    }

    /// The next event of the game.
    pub fn poll_event(&mut self) -> Option<TimedEvent<S::Event>> {
        self.predict_fresh();
        loop {
            if let Some(event) = self.gate.poll() {
                return Some(event);
            }
            let event = self.poll_event_for_players_here()?;
            if let Some(event) = self.gate.pass(event) {
                return Some(event);
            }
        }
    }

    /// Another authority goes on from a tick, or from one that is not known yet: what was confirmed from there on, and is not certain, is taken back.
    fn take_back(&mut self, from: Option<Tick>) {
        if !self.gate.is_closed() {
            return;
        }
        // What nobody has asked for yet may be taken back as well.
        while let Some(event) = self.poll_event_for_players_here() {
            self.gate.take(event);
        }
        match from {
            Some(from) => self.gate.take_back(from),
            None => self.gate.doubt(),
        }
    }

    /// What was recorded so far; `None` if nothing is.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// The recorder, to take what is new and write it to a file.
    pub fn recorder_mut(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut()
    }

    fn predict_fresh(&mut self) {
        if let Some(tick) = self.fresh.take() {
            for event in self.events.drain() {
                self.ledger.emit(tick, event);
            }
        }
    }

    fn forget_fresh(&mut self) {
        self.fresh = None;
        drop(self.events.drain());
    }

    /// The state is that of an earlier tick again.
    fn on_gone_back(&mut self, tick: Tick) {
        self.breaches.rewind(tick);
        // Nobody was told of what will be simulated again anyway.
        match self.fresh.is_some_and(|fresh| fresh >= tick) {
            true => self.forget_fresh(),
            false => self.predict_fresh(),
        }
        self.ledger.rewind(tick);
        self.update_view();
    }

    fn saved(&mut self, tick: Tick) -> Option<&mut PlayedState<S>> {
        let found = self.saves.iter_mut().find(|(saved, _)| *saved == tick);
        found.map(|(_, played)| played)
    }

    /// Keeps the state before a tick for rules that look back.
    fn remember(&mut self, tick: Tick) {
        if S::PAST == 0 {
            return;
        }
        while self.past.back().is_some_and(|(last, _)| *last >= tick) {
            self.past.pop_back();
        }
        let oldest = match self.past.len() as u64 > S::PAST {
            true => self.past.pop_front(),
            false => None,
        };
        let state = match oldest {
            Some((_, mut state)) => {
                state.assign(&self.now.state);
                state
            }
            None => self.now.state.clone(),
        };
        self.past.push_back((tick, state));
    }

    /// Replaces the state by that of a checkpoint; what the players hold stays.
    fn replace_state(&mut self, tick: Tick, checkpoint: &[u8]) {
        match read_state::<S>(checkpoint, &self.now.state) {
            Ok((_, _, state)) => self.now.state = state,
            Err(error) => {
                tracing::error!(tick = tick.0, %error, "the state is not replaced");
                return;
            }
        }
        self.replace_view();
        if self.recorder.is_some() {
            self.replaced = Some((tick, self.checkpoint()));
        }
    }

    /// Delivers the events of a tick that the authority may still change, each as the game says that its kind counts.
    fn take_events_of_window(&mut self, tick: Tick, window: UpdateWindow) {
        self.fresh = None;
        self.early.clear();
        // The rest stays until the next step, for the authority to write.
        let mut open = Events::new();
        for event in self.events.drain() {
            match self.now.state.confirmation(&event) {
                Confirmation::AtOnce if !window.predicting => {
                    if self.ledger.emit_certain(tick, event.clone()) {
                        self.early.push(event);
                    }
                    continue;
                }
                // The authority tells of it in time.
                Confirmation::WindowEnd if window.predicting => continue,
                Confirmation::WindowEnd => self.ledger.emit_unannounced(tick, event.clone()),
                _ => self.ledger.emit(tick, event.clone()),
            }
            open.emit(event);
        }
        self.events = open;
    }

    /// The state at a tick is another than the log leads to.
    fn log_state(&mut self, tick: Tick) {
        if self.log.is_some() {
            let kept = self.keep();
            if let Some(log) = &mut self.log {
                log.on_state(tick, &kept);
            }
        }
    }

    /// Extracts a kept state into the table.
    fn extract_saved(&mut self, tick: Tick) -> bool {
        let Some((_, played)) = self.saves.iter().find(|(saved, _)| *saved == tick) else {
            return false;
        };
        played.state.extract(&mut self.table);
        true
    }
}

impl<S: Simulation> World for Live<S> {
    fn ticks_per_second(&self) -> u32 {
        S::TICKS_PER_SECOND
    }

    fn layout(&self) -> WorldLayout {
        WorldLayout {
            state: S::schema().layout_hash(),
            input: layout_hash::<S::Input>(),
            event: layout_hash::<S::Event>(),
        }
    }

    fn step(&mut self, tick: Tick, inputs: &TickInputs) {
        self.predict_fresh();
        // Those of a tick in the update window were delivered when it was simulated.
        drop(self.events.drain());
        if let Some(checkpoint) = inputs.replacement() {
            self.replace_state(tick, checkpoint);
        }
        self.remember(tick);
        let now = &mut self.now;
        now.prepare(inputs.attendance());
        self.given.clear();
        let idle = S::Input::default();
        let (mut last, mut are_idle) = (0, false);
        let is_new = tick >= self.confirmed_before;
        let breaches = &mut self.breaches;
        // What does not decode is the same nothing for everyone.
        inputs.decode(|player, input: S::Input| {
            are_idle |= input == idle;
            let Some(at) = place(&now.attendance.players, last, player) else {
                return;
            };
            last = at;
            if is_new && let Some(breach) = now.state.judge(player, &input) {
                breaches.on_seen(tick, player, breach);
            }
            if !now.state.allows(player, &input) {
                self.inputs_refused += 1;
                return;
            }
            if input != idle && now.inputs[at] == idle {
                now.active.push(at as u16);
            }
            now.inputs[at] = input;
            self.given.push(at as u16);
        });
        if is_new && are_idle {
            let forged = inputs
                .entries()
                .filter(|(_, input)| decode_exact::<S::Input>(input).is_err());
            let forged = forged.filter(|(player, _)| now.attendance.players.contains(player));
            let breach = Breach::Impossible("its inputs are none of this game");
            forged.for_each(|(player, _)| breaches.on_seen(tick, player, breach));
        }
        let past = LagCompensation::new(&self.past, inputs);
        let Attendance { players, away } = &*now.attendance;
        let window = inputs.window();
        let inputs = Inputs::new(tick, players, &now.inputs, &self.given)
            .with_away(away)
            .with_window(window);
        now.state
            .step_lag_compensated(&inputs, &past, &mut self.events);
        now.tick = tick.next();
        match tick < self.confirmed_before {
            // Told already, when it was simulated for the first time.
            true => drop(self.events.drain()),
            false => self.fresh = Some(tick),
        }
        if window.ticks > 0 {
            self.take_events_of_window(tick, window);
        }
        self.update_view();
    }

    fn confirm(&mut self, tick: Tick, inputs: &TickInputs) {
        self.ledger.confirm_before(tick);
        if self.fresh == Some(tick) {
            self.fresh = None;
            for event in self.events.drain() {
                self.ledger.confirm(tick, event);
            }
        }
        self.ledger.confirm_before(tick.next());
        self.breaches.confirm_before(tick.next());
        self.confirmed_before = self.confirmed_before.max(tick.next());
        if let Some(log) = &mut self.log {
            log.on_tick(tick, inputs);
        }
        if let Some(recorder) = &mut self.recorder {
            if let Some((_, checkpoint)) = self.replaced.take_if(|(at, _)| *at == tick) {
                recorder.on_checkpoint(tick, &checkpoint);
            }
            recorder.on_tick(tick, inputs);
        }
    }

    fn save(&mut self, tick: Tick) {
        if let Some((_, played)) = self.saves.iter_mut().find(|(saved, _)| *saved == tick) {
            return played.assign(&self.now);
        }
        let played = match self.spare.pop() {
            Some(mut spare) => {
                spare.assign(&self.now);
                spare
            }
            None => self.now.clone(),
        };
        self.saves.push((tick, played));
    }

    fn release(&mut self, tick: Tick) {
        if let Some(at) = self.saves.iter().position(|(saved, _)| *saved == tick) {
            let (_, played) = self.saves.swap_remove(at);
            self.spare.push(played);
        }
    }

    fn load(&mut self, tick: Tick) -> bool {
        let Some(at) = self.saves.iter().position(|(saved, _)| *saved == tick) else {
            return false;
        };
        self.now.assign(&self.saves[at].1);
        self.on_gone_back(tick);
        true
    }

    fn take(&mut self, tick: Tick) -> bool {
        let Some(at) = self.saves.iter().position(|(saved, _)| *saved == tick) else {
            return false;
        };
        let (_, played) = self.saves.swap_remove(at);
        self.spare.push(core::mem::replace(&mut self.now, played));
        self.on_gone_back(tick);
        true
    }

    fn checksum(&mut self) -> u64 {
        self.now.state.checksum()
    }

    fn checksum_at(&mut self, saved: Tick) -> Option<u64> {
        self.saved(saved).map(|played| played.state.checksum())
    }

    fn record_checksum(&mut self, tick: Tick, checksum: u64) {
        if let Some(log) = &mut self.log {
            log.on_checksum(tick, checksum);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.on_checksum(tick, checksum);
        }
    }

    fn checksum_tree_at(&mut self, saved: Tick) -> Option<ChecksumTree> {
        self.saved(saved).map(|played| played.state.tree())
    }

    fn rows_at(&mut self, saved: Tick, parts: Option<&[RowChunk]>) -> Option<Vec<u8>> {
        if !self.extract_saved(saved) {
            return None;
        }
        Some(match parts {
            Some(parts) => self.table.encode_chunks(parts),
            None => self.table.encode(),
        })
    }

    fn patch(&mut self, saved: Tick, rows: &[u8]) -> Result<Patched, AdoptError> {
        if !self.extract_saved(saved) {
            return Err(AdoptError::NotKept(saved));
        }
        let malformed = |error: &dyn fmt::Display| AdoptError::Malformed(error.to_string());
        let ours = self.table.clone();
        let applied = self.table.apply_chunks(rows);
        applied.map_err(|error| malformed(&error))?;
        let mut right = self.now.state.clone();
        let restored = right.restore(&self.table);
        restored.map_err(|error| malformed(&error))?;
        let before = self.checksum_tree_at(saved);
        self.load(saved);
        self.now.state.assign(&right);
        self.update_view();
        let after = self.now.state.tree();
        let parts = before.map_or_else(Vec::new, |before| before.differing(&after));
        Ok(Patched {
            difference: ours.first_difference(&self.table),
            replaced: ours.encode_chunks(&parts),
        })
    }

    fn checkpoint(&mut self) -> Vec<u8> {
        encode_played(&self.now, &mut self.table)
    }

    fn adopt(&mut self, tick: Tick, checkpoint: &[u8]) -> Result<(), AdoptError> {
        let (players, inputs, state) = read_state(checkpoint, &self.now.state)?;
        let active = active(&inputs);
        self.now = PlayedState {
            tick,
            state,
            attendance: Arc::new(Attendance {
                players,
                away: Vec::new(),
            }),
            inputs,
            active,
        };
        let freed = self.saves.drain(..).map(|(_, played)| played);
        self.spare.extend(freed);
        self.confirmed_before = tick;
        self.breaches.forget_open();
        self.take_back(Some(tick));
        self.forget_fresh();
        self.ledger.forget();
        self.replace_view();
        if let Some(recorder) = &mut self.recorder {
            recorder.on_checkpoint(tick, checkpoint);
        }
        self.log_state(tick);
        Ok(())
    }

    fn looks_back(&self) -> bool {
        S::PAST > 0
    }

    fn keep(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        push_len(&mut out, self.past.len());
        for (tick, state) in &self.past {
            state.extract(&mut self.table);
            let rows = self.table.encode();
            out.extend_from_slice(&tick.0.to_le_bytes());
            push_len(&mut out, rows.len());
            out.extend_from_slice(&rows);
        }
        out.extend_from_slice(&self.checkpoint());
        out
    }

    fn come_back(&mut self, tick: Tick, kept: &[u8]) -> Result<(), AdoptError> {
        let malformed = || AdoptError::Malformed("what was kept is damaged".to_string());
        let (past, checkpoint) = read_past(kept).ok_or_else(malformed)?;
        self.adopt(tick, checkpoint)?;
        self.past.clear();
        for (tick, rows) in past {
            let table = Table::decode(S::schema(), rows).map_err(|_| malformed())?;
            let mut state = self.now.state.clone();
            state.restore(&table).map_err(|_| malformed())?;
            self.past.push_back((tick, state));
        }
        Ok(())
    }

    fn replaced(&mut self, tick: Tick) {
        self.update_view();
        self.log_state(tick);
        if self.recorder.is_some() {
            let checkpoint = self.checkpoint();
            if let Some(recorder) = &mut self.recorder {
                recorder.on_checkpoint(tick, &checkpoint);
            }
        }
    }

    fn desync_bundle(
        &mut self,
        saved: Tick,
        ticks: &[TickInputs],
        divergence: &Divergence,
    ) -> Option<Vec<u8>> {
        let mut then = Live::at(self.saved(saved)?.state.clone(), saved);
        then.now.assign(self.saved(saved)?);
        let mut recorder = Recorder::new(&ReplayHeader::of::<S>(), saved, &then.checkpoint());
        recorder.on_checksum(saved, then.checksum());
        for (tick, inputs) in (saved.0..).zip(ticks) {
            if let Some(checkpoint) = inputs.replacement() {
                recorder.on_checkpoint(Tick(tick), checkpoint);
            }
            recorder.on_tick(Tick(tick), inputs);
        }
        recorder.on_checksum(divergence.tick, divergence.theirs.checksum);
        recorder.on_divergence(divergence);
        recorder.finish();
        Some(recorder.bytes())
    }

    fn scene(&mut self) -> &mut dyn Scene {
        self
    }

    fn begin_loopback(&mut self, since: Tick) -> bool {
        self.copy_for_loopback(since);
        true
    }

    fn with_loopback(&mut self, run: &mut dyn FnMut(&mut dyn World)) {
        if let Some(copy) = &mut self.loopback {
            run(&mut copy.live);
        }
    }

    fn end_loopback(&mut self) {
        self.drop_loopback();
    }

    fn set_certain(&mut self, before: Option<Tick>) {
        self.gate.set(before);
    }

    fn doubt(&mut self) {
        self.take_back(None);
    }

    fn begin_twin(&mut self) -> bool {
        self.twin = Some(Box::new(Live::at(self.now.state.clone(), self.now.tick)));
        true
    }

    fn with_twin(&mut self, run: &mut dyn FnMut(&mut dyn World)) {
        if let Some(twin) = &mut self.twin {
            run(twin.as_mut());
            // Nobody is told of what happens there.
            twin.ledger = EventLedger::default();
        }
    }

    fn end_twin(&mut self) {
        self.twin = None;
    }

    fn poll_breach(&mut self) -> Option<SeenBreach> {
        match &mut self.twin {
            // Who follows knows what the authority has decided.
            Some(twin) => twin.breaches.poll(),
            None => self.breaches.poll(),
        }
    }

    fn begin_log(&mut self, next: Tick) -> bool {
        self.log = Some(Box::new(TickLog::new(next)));
        true
    }

    fn take_log(&mut self) -> Option<Vec<u8>> {
        self.log.as_mut()?.take()
    }
}

/// Reads a checkpoint: who is present, what they do, and the state. What a checkpoint does not hold is that of another state.
#[expect(clippy::type_complexity)]
fn read_state<S: Simulation>(
    checkpoint: &[u8],
    other: &S,
) -> Result<(Vec<PlayerId>, Vec<S::Input>, S), AdoptError> {
    let malformed = |error: &dyn fmt::Display| AdoptError::Malformed(error.to_string());
    let (players, inputs, rest) = read_doing::<S::Input>(checkpoint)
        .ok_or_else(|| malformed(&"what the players were doing is damaged"))?;
    let table = Table::decode(S::schema(), rest).map_err(|error| malformed(&error))?;
    let mut state = other.clone();
    state.restore(&table).map_err(|error| malformed(&error))?;
    Ok((players, inputs, state))
}

/// Encodes a state with what its players do, by way of a table.
fn encode_played<S: Simulation>(played: &PlayedState<S>, table: &mut Table) -> Vec<u8> {
    played.state.extract(table);
    let mut out = Vec::new();
    let players = &played.attendance.players;
    push_len(&mut out, players.len());
    for (player, input) in players.iter().zip(&played.inputs) {
        let input = encode_to_vec(input).unwrap_or_default();
        push_len(&mut out, player.0.into());
        push_len(&mut out, input.len());
        out.extend_from_slice(&input);
    }
    out.extend_from_slice(&table.encode());
    out
}

fn push_len(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&(len as u32).to_le_bytes());
}

fn read_len(bytes: &mut &[u8]) -> Option<usize> {
    let (len, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*len) as usize)
}

/// States with their ticks, encoded.
type Encoded<'a> = Vec<(Tick, &'a [u8])>;

/// Reads the states that were looked back at; a checkpoint follows.
fn read_past(mut bytes: &[u8]) -> Option<(Encoded<'_>, &[u8])> {
    let mut past = Vec::new();
    for _ in 0..read_len(&mut bytes)? {
        let (tick, rest) = bytes.split_first_chunk()?;
        bytes = rest;
        let len = read_len(&mut bytes)?;
        let (rows, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        past.push((Tick(u64::from_le_bytes(*tick)), rows));
    }
    Some((past, bytes))
}

/// Reads what the players were doing; the state follows.
fn read_doing<I: Input>(mut bytes: &[u8]) -> Option<(Vec<PlayerId>, Vec<I>, &[u8])> {
    let (mut players, mut inputs) = (Vec::new(), Vec::new());
    for _ in 0..read_len(&mut bytes)? {
        let player = PlayerId(u16::try_from(read_len(&mut bytes)?).ok()?);
        let len = read_len(&mut bytes)?;
        let (input, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        if players.last().is_some_and(|last| *last >= player) {
            return None;
        }
        players.push(player);
        inputs.push(samestep_wire::decode_exact(input).ok()?);
    }
    Some((players, inputs, bytes))
}

impl<S: Simulation + fmt::Debug> fmt::Debug for Live<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Live");
        out.field("tick", &self.now.tick)
            .field("state", &self.now.state)
            .finish_non_exhaustive()
    }
}
