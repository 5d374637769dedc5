//! The recording of a game whose states come from an authority.

use super::{Live, encode_played};
use crate::{Simulation, Tick, TickInputs};

/// The bytes of states in a second of a recording, at most, unless one state alone is larger.
const STATE_BYTES_PER_SECOND: u64 = 16 << 10;
/// How often a second states are recorded, at most.
const STATES_PER_SECOND: u64 = 4;

impl<S: Simulation> Live<S> {
    /// Records the state at a tick, the present one or a kept one, as the authority has sent it: what the players did to get there, and now and then
    /// the state itself, because what they did is known only of ticks with a snapshot.
    pub(super) fn record_received(&mut self, tick: Tick) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        let played = match self.now.tick == tick {
            true => &mut self.now,
            false => match self.saves.iter_mut().find(|(saved, _)| *saved == tick) {
                Some((_, played)) => played,
                None => return,
            },
        };
        if tick < recorder.tick() {
            return;
        }
        let second = u64::from(S::TICKS_PER_SECOND.max(1));
        let mut is_due = tick >= self.state_due;
        if tick.since(recorder.tick()) > second {
            // The state bridges what this program has missed.
            is_due = true;
        } else {
            let mut inputs = TickInputs::new();
            inputs.set_attendance(&played.attendance);
            while recorder.tick() < tick {
                let next = recorder.tick();
                if next.next() == tick {
                    for (player, input) in played.attendance.players.iter().zip(&played.inputs) {
                        inputs.give(*player, input);
                    }
                }
                recorder.on_tick(next, &inputs);
            }
        }
        if is_due {
            let checkpoint = encode_played(played, &mut self.table);
            recorder.on_checkpoint(tick, &checkpoint);
            recorder.on_checksum(tick, played.state.checksum());
            let spent = checkpoint.len() as u64 * second / STATE_BYTES_PER_SECOND;
            self.state_due = tick + spent.max(second / STATES_PER_SECOND).max(1);
        }
    }
}
