//! The players, their scores, and rounds.

use samestep_sync::{EntityId, Events, Inputs, PlayerId, Record};

use crate::character::{BLAME, Character};
use crate::config::MAX_PLAYERS;
use crate::controls::Controls;
use crate::event::SublockusEvent;
use crate::place::Place;
use crate::sublockus::Sublockus;

/// Ticks between two rounds.
pub const BREAK: u32 = 5 * 60;

/// Somebody who plays, or is away: how it stands. It stays while the player is away, and is given up when the player is gone for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Seat {
    /// Who.
    pub player: PlayerId,
    /// Whether it is present.
    pub is_here: bool,
    /// Whether it has a character; else it watches until there is room.
    pub plays: bool,
    /// Others it has killed in this round.
    pub frags: u16,
    /// How often it has died in this round.
    pub deaths: u16,
    /// Rounds it has won.
    pub wins: u16,
    /// Characters it has had: their ids count on.
    pub(crate) lives: u16,
}

impl Seat {
    fn new(player: PlayerId) -> Self {
        Self {
            player,
            is_here: false,
            plays: false,
            frags: 0,
            deaths: 0,
            wins: 0,
            lives: 0,
        }
    }
}

/// A round: it lasts until a player has enough frags, or time is up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Round {
    /// Counted from 0.
    pub number: u16,
    /// When it began, by the game's [clock](Sublockus::clock).
    pub since: u32,
    /// When the next one begins, if this one is over.
    pub over_until: Option<u32>,
}

/// The id of a player's next character or fireball: the same on every program, whatever else was simulated before.
pub(crate) fn id_of(player: PlayerId, count: u16) -> EntityId {
    EntityId::fixed((u32::from(player.0) & 0x3ff) << 14 | u32::from(count) & 0x3fff)
}

impl Sublockus {
    /// How a player stands.
    pub fn seat_of(&self, player: PlayerId) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.player == player)
    }

    /// Ticks until the round is over, if that is known.
    pub fn time_left(&self) -> Option<u32> {
        let limit = self.rules.time_limit?;
        let passed = self.clock.wrapping_sub(self.round.since);
        Some(limit.saturating_sub(passed))
    }

    /// A player who is here for the first time, or again, gets a character. One who is away loses it, and keeps its score; one who is gone
    /// loses both.
    pub(crate) fn seat(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<SublockusEvent>,
    ) {
        let present = inputs.players();
        for at in 0..self.seats.len() {
            let Seat {
                player, is_here, ..
            } = self.seats[at];
            if is_here && present.binary_search(&player).is_err() {
                (self.seats[at].is_here, self.seats[at].plays) = (false, false);
                self.leave(player);
                events.emit(SublockusEvent::Left { player });
            }
        }
        self.seats.retain(|seat| !inputs.is_gone(seat.player));
        for &player in present {
            if self.seat_of(player).is_some_and(|seat| seat.plays) {
                continue;
            }
            let seat = self.come(player, events);
            let playing = self.seats.iter().filter(|seat| seat.plays).count();
            if playing < usize::from(MAX_PLAYERS) {
                self.seats[seat].plays = true;
                let safe_until = self.later(self.rules.grace);
                self.add_character(player, self.clock, safe_until, 0);
            }
        }
    }

    /// Gives a present player a seat, unless it has one; returns its index.
    fn come(&mut self, player: PlayerId, events: &mut Events<SublockusEvent>) -> usize {
        let place = self.seats.iter().position(|seat| seat.player == player);
        let at = place.unwrap_or_else(|| {
            let at = self.seats.partition_point(|seat| seat.player < player);
            self.seats.insert(at, Seat::new(player));
            at
        });
        if !self.seats[at].is_here {
            self.seats[at].is_here = true;
            events.emit(SublockusEvent::Joined { player });
        }
        at
    }

    fn leave(&mut self, player: PlayerId) {
        let Some(place) = self.place_of(player) else {
            return;
        };
        let (id, character) = (
            self.characters.ids()[place],
            self.characters.as_slice()[place],
        );
        self.characters.remove(id);
        if character.is_in(self.clock) {
            self.drop_all(&character);
        }
    }

    /// Gives a player another character at a spawn point.
    fn add_character(&mut self, player: PlayerId, enters: u32, safe_until: u32, fireballs: u16) {
        let place = self.choose_spawn(player);
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.player == player) else {
            return;
        };
        let id = id_of(player, seat.lives);
        seat.lives = seat.lives.wrapping_add(1);
        let mut character = Character::new(player, place, enters, safe_until);
        character.fireballs = fireballs;
        self.characters.insert_fixed(id, character);
    }

    /// The best of three spawn points: the one farthest from the others.
    fn choose_spawn(&mut self, player: PlayerId) -> Place {
        let mut best = (-1, Place::default());
        for _ in 0..3 {
            let at = self.chance.rng.below(self.spawns.len() as u32) as usize;
            let Some(spawn) = self.spawns.get(at) else {
                return best.1;
            };
            let place = spawn.standing();
            let others = self.characters.as_slice().iter();
            let others = others.filter(|other| other.player != player);
            let nearest = others.map(|other| place.distance(other.place())).min();
            let nearest = nearest.unwrap_or(i32::MAX);
            if nearest > best.0 {
                best = (nearest, place);
            }
        }
        best.1
    }

    /// A character without health dies: its killer gets a frag, and the player another character, which waits.
    pub(crate) fn bury(&mut self, events: &mut Events<SublockusEvent>) {
        let clock = self.clock;
        for at in (0..self.characters.len()).rev() {
            let (id, dead) = (self.characters.ids()[at], self.characters.as_slice()[at]);
            if dead.health > 0 || !dead.is_in(clock) {
                continue;
            }
            let (victim, place) = (dead.player, dead.place());
            let is_recent = clock.wrapping_sub(dead.hurt_at) <= BLAME;
            let killer = dead.hurt_by.filter(|_| is_recent);
            for seat in &mut self.seats {
                if seat.player == victim {
                    seat.deaths = seat.deaths.saturating_add(1);
                }
                if Some(seat.player) == killer {
                    seat.frags = seat.frags.saturating_add(1);
                }
            }
            events.emit(SublockusEvent::Died { victim, killer });
            events.emit(SublockusEvent::Fell { victim, place });
            self.characters.remove(id);
            self.drop_all(&dead);
            let enters = self.later(self.rules.respawn.max(1));
            let safe_until = enters.saturating_add(self.rules.shelter);
            self.add_character(victim, enters, safe_until, dead.fireballs);
        }
    }

    /// Ends a round that is won or whose time is up, and begins the next after a break.
    pub(crate) fn run_round(&mut self, events: &mut Events<SublockusEvent>) {
        let clock = self.clock;
        if let Some(until) = self.round.over_until {
            if clock >= until {
                self.begin_round();
                events.emit(SublockusEvent::RoundBegan);
            }
            return;
        }
        let most = self.seats.iter().map(|seat| seat.frags).max().unwrap_or(0);
        let is_won = self.rules.frag_limit.is_some_and(|limit| most >= limit);
        if !is_won && self.time_left() != Some(0) {
            return;
        }
        let mut best = self.seats.iter_mut().filter(|seat| seat.frags == most);
        let winner = match (best.next(), best.next()) {
            (Some(seat), None) => {
                seat.wins = seat.wins.saturating_add(1);
                Some(seat.player)
            }
            _ => None,
        };
        let until = self.later(BREAK);
        self.round.over_until = Some(until);
        for character in self.characters.as_mut_slice() {
            character.safe_until = character.safe_until.max(until);
        }
        events.emit(SublockusEvent::RoundOver { winner });
    }

    fn begin_round(&mut self) {
        self.round = Round {
            number: self.round.number.wrapping_add(1),
            since: self.clock,
            over_until: None,
        };
        self.projectiles.clear();
        self.items.retain(|_, item| !item.is_dropped());
        for at in 0..self.seats.len() {
            (self.seats[at].frags, self.seats[at].deaths) = (0, 0);
            let player = self.seats[at].player;
            let Some(place) = self.place_of(player) else {
                continue;
            };
            let id = self.characters.ids()[place];
            let fireballs = self.characters.as_slice()[place].fireballs;
            self.characters.remove(id);
            let safe_until = self.later(self.rules.shelter);
            self.add_character(player, self.clock, safe_until, fireballs);
        }
    }
}
