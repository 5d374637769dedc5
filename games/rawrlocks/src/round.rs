//! Rounds: fought until fewer than two live, then begun again.

use samestep_sync::{Events, PlayerId, Record, random};

use crate::arena::Arena;
use crate::event::RawrlocksEvent;
use crate::place::Place;
use crate::power_up::{PowerUp, PowerUpKind};
use crate::rawrlocks::Rawrlocks;

/// A round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Round {
    /// Counted from 1; 0 before the first.
    pub number: u16,
    /// When it began, by the game's [clock](Rawrlocks::clock).
    pub since: u32,
    /// How far it is.
    pub phase: Phase,
}

/// How far a round is. Only while it is fought does anything hurt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub enum Phase {
    /// Fewer than two are here.
    Waiting,
    /// It begins soon.
    Starting {
        /// When.
        at: u32,
    },
    /// It is fought.
    Fighting,
    /// Fewer than two live.
    Over {
        /// Who has won; `None` if nobody lives.
        winner: Option<PlayerId>,
        /// Whether the winner has won the match with it.
        is_last: bool,
        /// When the next one begins.
        until: u32,
    },
}

impl Rawrlocks {
    /// Whether a round is fought.
    pub fn is_fighting(&self) -> bool {
        self.round.phase == Phase::Fighting
    }

    /// Begins and ends rounds.
    pub(crate) fn run_round(&mut self, events: &mut Events<RawrlocksEvent>) {
        let (clock, are_enough) = (self.clock, self.players_here() >= 2);
        match self.round.phase {
            Phase::Waiting if are_enough => {
                let at = self.later(self.rules.break_ticks);
                self.round.phase = Phase::Starting { at };
            }
            Phase::Waiting => {}
            Phase::Starting { .. } if !are_enough => self.round.phase = Phase::Waiting,
            Phase::Starting { at } if clock >= at => self.begin_round(events),
            Phase::Starting { .. } => {}
            Phase::Fighting => self.end_round(events),
            Phase::Over { is_last, until, .. } if clock >= until => {
                if is_last {
                    self.forget_scores();
                }
                match are_enough {
                    true => self.begin_round(events),
                    false => self.wait(),
                }
            }
            Phase::Over { .. } => {}
        }
    }

    /// Ends the round if fewer than two live.
    fn end_round(&mut self, events: &mut Events<RawrlocksEvent>) {
        let mut living = self.avatars.as_slice().iter();
        let mut living = living
            .by_ref()
            .filter(|avatar| avatar.is_alive())
            .map(|avatar| avatar.player);
        let winner = match (living.next(), living.next()) {
            (Some(_), Some(_)) => return,
            (winner, _) => winner,
        };
        let mut is_last = false;
        let seat = self
            .seats
            .iter_mut()
            .find(|seat| Some(seat.player) == winner);
        if let Some(seat) = seat {
            seat.wins = seat.wins.saturating_add(1);
            is_last = self.rules.wins.is_some_and(|wins| seat.wins >= wins);
        }
        events.emit(RawrlocksEvent::RoundOver { winner });
        let mut break_ticks = self.rules.break_ticks;
        if let Some(winner) = winner.filter(|_| is_last) {
            events.emit(RawrlocksEvent::MatchOver { winner });
            break_ticks = break_ticks.saturating_mul(3);
        }
        self.round.phase = Phase::Over {
            winner,
            is_last,
            until: self.later(break_ticks),
        };
    }

    /// Everybody who is here gets an avatar on a circle, as far from each other as can be.
    fn begin_round(&mut self, events: &mut Events<RawrlocksEvent>) {
        let number = self.round.number.wrapping_add(1);
        self.round = Round {
            number,
            since: self.clock,
            phase: Phase::Fighting,
        };
        self.reset();
        let count = self.players_here() as u16;
        let mut nth = 0;
        for at in 0..self.seats.len() {
            if self.seats[at].plays {
                let place = self.spawn(nth, count);
                self.add_avatar(self.seats[at].player, place);
                nth += 1;
            }
        }
        events.emit(RawrlocksEvent::RoundBegan { number });
    }

    /// Nobody to fight with: whoever is left walks about.
    fn wait(&mut self) {
        self.round.phase = Phase::Waiting;
        self.reset();
        for at in 0..self.seats.len() {
            if self.seats[at].plays {
                let place = self.spawn(0, 1);
                self.add_avatar(self.seats[at].player, place);
            }
        }
    }

    /// The arena as it is when a round begins.
    fn reset(&mut self) {
        self.fireballs.clear();
        self.arena = Arena {
            radius: self.rules.radius,
            shrinks_at: self.later(self.rules.shrink_ticks),
        };
        let (clock, is_on) = (self.clock, self.rules.power_ups);
        self.power_ups.clear();
        if is_on {
            let all = PowerUpKind::ALL.into_iter();
            self.power_ups
                .extend(all.map(|kind| PowerUp::new(kind, clock)));
        }
    }

    fn forget_scores(&mut self) {
        for seat in &mut self.seats {
            (seat.wins, seat.kills, seat.deaths) = (0, 0, 0);
        }
    }

    /// The place of one of so many on a circle, which is turned in every round.
    pub(crate) fn spawn(&self, nth: u16, count: u16) -> Place {
        let turned = random::hash(self.rules.seed, self.round.number.into(), 0x5350_4157) as u16;
        let step = 65_536 / u32::from(count.max(1));
        let turn = turned.wrapping_add((step * u32::from(nth)) as u16);
        Place::polar(turn, self.rules.radius / 5 * 3)
    }
}
