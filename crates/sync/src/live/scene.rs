//! A game that runs, as an authority shows it and as others follow it.

use core::time::Duration;

use samestep_wire::{BitReader, decode_exact, encode_to_vec};

use super::{Live, PlayedState, active};
use crate::{
    AdoptError, Input, Interest, Kind, PlayerId, Scene, Schema, Simulation, SmoothConfig, Table,
    Tick, TickInputs,
};

impl<S: Simulation> Live<S> {
    /// What a model has drawn last, if it draws: else the state.
    pub fn drawn(&self) -> &S {
        let live = self.seen_here();
        live.drawn.as_deref().unwrap_or(&live.now.state)
    }
}

impl<S: Simulation> Scene for Live<S> {
    fn schema(&self) -> Schema {
        S::schema()
    }

    fn extract(&mut self, table: &mut Table) {
        self.now.state.extract(table);
    }

    fn extract_at(&mut self, saved: Tick, table: &mut Table) -> bool {
        let saved = self.saved(saved);
        saved.map(|played| played.state.extract(table)).is_some()
    }

    fn held_inputs(&self, held: &mut TickInputs) {
        held.clear();
        held.set_attendance(&self.now.attendance);
        let players = &self.now.attendance.players;
        for (player, input) in players.iter().zip(&self.now.inputs) {
            if *input != S::Input::default() {
                held.give(*player, input);
            }
        }
    }

    fn replace(&mut self, tick: Tick, table: &Table, held: &TickInputs) -> Result<(), AdoptError> {
        let mut played = self.spare.pop().unwrap_or_else(|| self.now.clone());
        if table.schema().kinds().iter().any(Kind::is_opaque) {
            // What has not all arrived stays as it is now.
            played.state.assign(&self.now.state);
        }
        if let Err(error) = played.state.restore_streamed(table) {
            self.spare.push(played);
            return Err(AdoptError::Malformed(error.to_string()));
        }
        played.tick = tick;
        played.attendance = held.attendance().clone();
        let players = &played.attendance.players;
        played.inputs.clear();
        played.inputs.resize(players.len(), S::Input::default());
        held.decode(|player, input: S::Input| {
            if let Ok(at) = players.binary_search(&player) {
                played.inputs[at] = input;
            }
        });
        played.active = active(&played.inputs);
        let before: PlayedState<S> = core::mem::replace(&mut self.now, played);
        self.spare.push(before);
        let goes_back = tick < self.confirmed_before && self.gate.is_closed();
        if goes_back || self.gate.is_in_doubt() {
            // Another authority goes on from here.
            self.take_back(Some(tick));
            self.confirmed_before = self.confirmed_before.min(tick);
        }
        self.on_gone_back(tick);
        Ok(())
    }

    fn record(&mut self, tick: Tick) {
        self.record_received(tick);
    }

    fn merge(&self, late: &[u8], due: &[u8]) -> Option<Vec<u8>> {
        let late = decode_exact::<S::Input>(late).ok()?;
        let mut both = decode_exact::<S::Input>(due).ok()?;
        match both.merge(&late) {
            true => encode_to_vec(&both).ok(),
            false => None,
        }
    }

    fn predict(&self, input: &[u8]) -> Option<Vec<u8>> {
        let input = decode_exact::<S::Input>(input).ok()?;
        encode_to_vec(&input.predict()).ok()
    }

    fn interest(&self, viewers: &[PlayerId], interest: &mut Interest) {
        self.now.state.interest(viewers, interest);
    }

    fn interest_at(&self, saved: Tick, viewers: &[PlayerId], interest: &mut Interest) -> bool {
        let saved = self.saves.iter().find(|(tick, _)| *tick == saved);
        let of = |(_, played): &(Tick, PlayedState<S>)| played.state.interest(viewers, interest);
        saved.map(of).is_some()
    }

    fn write_early_events(&self, viewers: &[PlayerId], out: &mut Vec<Vec<u8>>) {
        let early = self.early.iter();
        let told = early.filter(|event| self.now.state.perceives(viewers, event));
        out.extend(told.filter_map(|event| encode_to_vec(event).ok()));
    }

    fn handle_early_event(&mut self, tick: Tick, event: &[u8]) -> bool {
        self.predict_fresh();
        match decode_exact::<S::Event>(event) {
            Ok(event) => {
                self.ledger.confirm_early(tick, event);
                true
            }
            Err(_) => false,
        }
    }

    fn write_events(&self, viewers: &[PlayerId], out: &mut Vec<u8>) -> usize {
        let mut written = 0;
        for event in self.events.iter() {
            if !self.now.state.perceives(viewers, event) {
                continue;
            }
            if let Ok(bytes) = encode_to_vec(event) {
                out.extend_from_slice(&bytes);
                written += 1;
            }
        }
        written
    }

    fn handle_events(&mut self, tick: Tick, count: usize, events: &[u8]) -> bool {
        self.predict_fresh();
        let (mut rest, mut decoded) = (events, Vec::new());
        while decoded.len() < count {
            let mut r = BitReader::new(rest);
            let Ok(event) = <S::Event as samestep_wire::Wire>::decode(&mut r) else {
                break;
            };
            rest = &rest[rest.len() - r.remaining_bits() / 8..];
            decoded.push(event);
        }
        let whole = decoded.len() == count;
        self.ledger.judge(tick, decoded);
        self.confirmed_before = self.confirmed_before.max(tick.next());
        whole
    }

    fn draw(&mut self, now: Duration, table: Option<&Table>, own: Option<&[PlayerId]>) {
        let mut drawn = match self.drawn.take() {
            Some(drawn) => drawn,
            None => Box::new(self.now.state.clone()),
        };
        let restored = match (table, own) {
            (Some(table), None) => drawn.restore_streamed(table),
            _ => {
                if self.view.is_none() && !self.is_unsmoothed {
                    self.smooth(SmoothConfig::default());
                }
                match &mut self.view {
                    Some(view) => view.draw(now).extract(&mut self.table),
                    None => self.now.state.extract(&mut self.table),
                }
                if let (Some(table), Some(own)) = (table, own) {
                    self.table.take_rows_of_others(table, own);
                }
                drawn.restore_streamed(&self.table)
            }
        };
        if restored.is_err() {
            // What lies between two values is none that the game takes: rather what is right.
            drawn.assign(&self.now.state);
        }
        self.drawn = Some(drawn);
    }
}
