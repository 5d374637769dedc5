//! The detailed notes of a program in a match of few players: inputs seen, ticks shown, corrections.

use std::time::Duration;

use samestep_sync::{PlayerId, Tick};

use super::corrections::Correction;
use super::instrumented::Executed;
use super::player::GivenInput;
use crate::testmatch::TICK;

/// The notes of one program since they were last cleared. Times are those of its own clock.
#[derive(Debug, Default)]
pub struct Notes {
    /// This program's inputs.
    pub own: Vec<Own>,
    /// Its inputs that moved to another tick after they had been shown: their times, and the tick.
    pub moved: Vec<(Duration, Tick)>,
    /// The inputs of others: the player, the tick, the time at which it was seen here, and the ticks simulated without it.
    pub others: Vec<(PlayerId, Tick, Duration, u64)>,
    /// Ticks that were due while nothing new could be shown.
    pub stalls: u64,
    /// The depth of each rollback, in ticks.
    pub depths: Vec<u64>,
    /// Ticks it went back that no input of another which came late required.
    pub needless: u64,
    late_now: u64,
    /// The corrections of the view.
    pub corrections: Vec<Correction>,
    /// The largest movement of any entity from each picture to the next, in units.
    pub drawn: Vec<f32>,
}

/// An input of this program's player.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The hash of the input.
    pub sum: u64,
    /// The time at which it was given.
    pub given: Duration,
    /// The tick it took effect in.
    pub tick: Tick,
    /// From there to when it was to be seen.
    pub delay: Duration,
    /// The number of states from the one shown then to the one that shows it.
    pub ticks: u64,
}

impl Notes {
    /// An input of this program was executed: this one, or for once more, in another tick, one that had been before.
    pub fn on_own(&mut self, now: Duration, executed: Executed, given: Option<GivenInput>) {
        let Executed { tick, sum, .. } = executed;
        if let Some(GivenInput { at, shown, .. }) = given {
            self.own.push(Own {
                sum,
                given: at,
                tick,
                delay: now.saturating_sub(at),
                ticks: tick.next().since(shown),
            });
        } else if let Some(own) = self.own.iter().rev().find(|own| own.sum == sum) {
            self.moved.push((own.given, tick));
        }
    }

    /// An input of another player was executed.
    pub fn on_others(&mut self, now: Duration, executed: Executed) {
        let Executed {
            player, tick, late, ..
        } = executed;
        self.late_now = self.late_now.max(late);
        self.others.push((player, tick, now, late));
    }

    /// The program was called. If there is something new to show, this long after what was new before.
    pub fn on_call(
        &mut self,
        between: Option<Duration>,
        depths: &[u64],
        correction: Option<Correction>,
    ) {
        let ticks = between.map_or(0.0, |between| between.div_duration_f64(TICK).round());
        self.stalls += (ticks as u64).saturating_sub(1);
        let (gone_back, late) = (
            depths.iter().sum::<u64>(),
            std::mem::take(&mut self.late_now),
        );
        self.needless += gone_back.saturating_sub(late);
        self.depths.extend(depths);
        self.corrections.extend(correction);
    }
}
