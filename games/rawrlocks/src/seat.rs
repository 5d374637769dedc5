//! Who plays: seats that come and go, with their scores.

use samestep_sync::{EntityId, Events, Inputs, PlayerId, Record};

use crate::avatar::Avatar;
use crate::config::MAX_PLAYERS;
use crate::controls::Controls;
use crate::event::RawrlocksEvent;
use crate::place::Place;
use crate::rawrlocks::Rawrlocks;

/// The most players whose scores are kept.
pub(crate) const MAX_SEATS: usize = 1024;

/// How a player stands. Whoever is away keeps its seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Seat {
    /// Who.
    #[field(owner)]
    pub player: PlayerId,
    /// Whether it is here.
    pub is_here: bool,
    /// Whether it gets an avatar; else it watches, because ten others play.
    pub plays: bool,
    /// Rounds it has won.
    pub wins: u16,
    /// Others it has killed.
    pub kills: u16,
    /// How often it has died.
    pub deaths: u16,
    /// Avatars it has had: their ids count on.
    pub(crate) avatars: u16,
    /// Fireballs of its avatars in earlier rounds: their ids count on.
    pub(crate) fireballs: u16,
}

impl Seat {
    fn new(player: PlayerId) -> Self {
        Self {
            player,
            is_here: false,
            plays: false,
            wins: 0,
            kills: 0,
            deaths: 0,
            avatars: 0,
            fireballs: 0,
        }
    }
}

/// The id of a player's next avatar or fireball: the same on every program, whatever else was simulated before.
pub(crate) fn id_of(player: PlayerId, count: u16) -> EntityId {
    EntityId::fixed((u32::from(player.0) & 0x3ff) << 14 | u32::from(count) & 0x3fff)
}

impl Rawrlocks {
    /// How a player stands.
    pub fn seat_of(&self, player: PlayerId) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.player == player)
    }

    /// How many are here and play.
    pub fn players_here(&self) -> usize {
        self.seats.iter().filter(|seat| seat.plays).count()
    }

    /// Seats whoever comes. While a round is fought a newcomer waits for the next one; else it gets an avatar at once. Whoever goes away loses its
    /// avatar and keeps its score; who is gone loses both.
    pub(crate) fn seat(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<RawrlocksEvent>,
    ) {
        let present = inputs.players();
        for at in 0..self.seats.len() {
            let Seat {
                player, is_here, ..
            } = self.seats[at];
            if is_here && present.binary_search(&player).is_err() {
                (self.seats[at].is_here, self.seats[at].plays) = (false, false);
                self.remove_avatar(player);
                events.emit(RawrlocksEvent::Left { player });
            }
        }
        self.seats.retain(|seat| !inputs.is_gone(seat.player));
        for &player in present {
            if self.seat_of(player).is_some_and(|seat| seat.plays) {
                continue;
            }
            let Some(at) = self.come(player, events) else {
                continue;
            };
            if self.players_here() < usize::from(MAX_PLAYERS) {
                self.seats[at].plays = true;
                if !self.is_fighting() {
                    let nth = self.players_here() as u16;
                    let place = self.spawn(nth, MAX_PLAYERS);
                    self.add_avatar(player, place);
                }
            }
        }
    }

    /// Gives a present player a seat, unless it has one; returns its index.
    fn come(&mut self, player: PlayerId, events: &mut Events<RawrlocksEvent>) -> Option<usize> {
        let at = match self.seats.iter().position(|seat| seat.player == player) {
            Some(at) => at,
            None if self.seats.len() >= MAX_SEATS => return None,
            None => {
                let at = self.seats.partition_point(|seat| seat.player < player);
                self.seats.insert(at, Seat::new(player));
                at
            }
        };
        if !self.seats[at].is_here {
            self.seats[at].is_here = true;
            events.emit(RawrlocksEvent::Joined { player });
        }
        Some(at)
    }

    /// Gives a player another avatar.
    pub(crate) fn add_avatar(&mut self, player: PlayerId, place: Place) {
        self.remove_avatar(player);
        let Some(seat) = self.seats.iter_mut().find(|seat| seat.player == player) else {
            return;
        };
        let id = id_of(player, seat.avatars);
        seat.avatars = seat.avatars.wrapping_add(1);
        let mut avatar = Avatar::new(player, place);
        avatar.fireballs = seat.fireballs;
        self.avatars.insert_fixed(id, avatar);
    }

    /// Takes a player's avatar away, and what it holds.
    fn remove_avatar(&mut self, player: PlayerId) {
        let avatars = self.avatars.as_slice().iter();
        let at = avatars
            .enumerate()
            .find(|(_, avatar)| avatar.player == player);
        let Some((at, avatar)) = at else {
            return;
        };
        let (id, fireballs) = (self.avatars.ids()[at], avatar.fireballs);
        if let Some(seat) = self.seats.iter_mut().find(|seat| seat.player == player) {
            seat.fireballs = fireballs;
        }
        self.avatars.remove(id);
        self.release_power_ups(player);
    }
}
