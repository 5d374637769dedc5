//! The players, who comes and goes, and rounds.

use core::cmp::Reverse;

use samestep_sync::{EntityId, Events, Inputs, PlayerId, PlayerPresence, Record, Rng};

use crate::brain::Brain;
use crate::character::{Character, Hunter, Purse, hunter_id};
use crate::config::MAX_HUNTERS;
use crate::controls::Controls;
use crate::event::HatHuntersEvent;
use crate::field::{Ground, MAX_HEIGHT};
use crate::hat_hunters::{HatHunters, Salt};
use crate::mode::Mode;
use crate::place::{Cell, HEADINGS, Heading};
use crate::things::Star;

/// Ticks between two rounds.
pub const BREAK: u32 = 3 * 60;

/// The most players in a room of whom the game knows.
pub(crate) const MAX_SEATS: usize = 32;

/// Ticks between two stars, or containers, that appear.
const LAYING: u32 = 30;

/// Bushes leave this many cells of floor.
const LEAST_FLOOR: usize = 40;

/// Somebody who plays or watches, and what everyone knows about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Record)]
pub struct Seat {
    /// Who.
    pub player: PlayerId,
    /// Whether it is present.
    pub is_here: bool,
    /// Whether it has a character; else it watches.
    pub plays: bool,
    /// Rounds it has won.
    pub wins: u8,
    /// Stars it had at the end of the rounds so far, all together.
    pub stars: u16,
}

/// A round, and whether the match is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Record)]
pub struct Round {
    /// Counted from 1; 0 if nobody has come yet.
    pub number: u16,
    /// When it began, by the game's clock.
    pub since: u32,
    /// When the next one begins, if this one is over and the match is not.
    pub over_until: Option<u32>,
    /// Whether the match is over.
    pub is_last: bool,
    /// Who has won the round, if it is over.
    pub winner: Option<PlayerId>,
    /// How many played when it began.
    pub(crate) hunters: u8,
}

impl Round {
    /// Whether it is decided.
    pub fn is_over(&self) -> bool {
        self.is_last || self.over_until.is_some()
    }
}

impl HatHunters {
    /// What everyone knows of a player.
    pub fn seat_of(&self, player: PlayerId) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.player == player)
    }

    /// Ticks until the match is over, if that is known.
    pub fn time_left(&self) -> Option<u32> {
        let limit = self.rules.time_limit?;
        Some(limit.saturating_sub(self.clock))
    }

    /// Whoever is here plays, if there is room. A character whose player is away walks on by itself, and is its player's again when that returns. If the
    /// player is gone for good it stays as one of those that nobody plays.
    pub(crate) fn attend(
        &mut self,
        inputs: &Inputs<'_, Controls>,
        events: &mut Events<HatHuntersEvent>,
    ) {
        for at in (0..self.seats.len()).rev() {
            let Seat {
                player,
                is_here,
                plays,
                ..
            } = self.seats[at];
            let presence = inputs.presence(player);
            if is_here && presence != PlayerPresence::Present {
                self.seats[at].is_here = false;
                events.emit(HatHuntersEvent::Left { player });
                if let Some(character) = self.hunter(player).map(|hunter| hunter.character) {
                    self.give_mind(character);
                }
            }
            if presence == PlayerPresence::Gone {
                if plays {
                    self.hunters.remove(hunter_id(player));
                }
                self.seats.remove(at);
            }
        }
        for &player in inputs.players() {
            self.come(player, events);
        }
    }

    fn come(&mut self, player: PlayerId, events: &mut Events<HatHuntersEvent>) {
        let at = self.seats.partition_point(|seat| seat.player < player);
        match self.seats.get(at).copied() {
            Some(seat) if seat.player == player => {
                if !seat.is_here {
                    self.seats[at].is_here = true;
                    events.emit(HatHuntersEvent::Joined { player });
                    if let Some(character) = self.hunter(player).map(|hunter| hunter.character) {
                        self.minds.remove(character);
                    }
                }
            }
            _ if self.seats.len() < MAX_SEATS => {
                let seat = Seat {
                    player,
                    is_here: true,
                    plays: false,
                    wins: 0,
                    stars: 0,
                };
                self.seats.insert(at, seat);
                events.emit(HatHuntersEvent::Joined { player });
            }
            _ => return,
        }
        let has_room = self.hunters.len() < usize::from(MAX_HUNTERS);
        if has_room && !self.seats[at].plays && !self.round.is_last {
            self.seats[at].plays = true;
            let character = self.character_for(player);
            let hunter = Hunter {
                player,
                character,
                catches: 0,
            };
            self.hunters.insert_fixed(hunter_id(player), hunter);
        }
    }

    /// The character of somebody who comes while a round is played: one that nobody plays, or a new one if there is none.
    fn character_for(&mut self, player: PlayerId) -> EntityId {
        let is_theirs = |id: &&EntityId| {
            let character = self.characters.get(**id);
            self.player_of(**id).is_none() && character.is_some_and(|it| !it.is_out)
        };
        let count = self.minds.ids().iter().filter(is_theirs).count() as u64;
        let number = self.random(Salt::Newcomer, player.0.into(), self.clock);
        let nth = number.checked_rem(count).unwrap_or(0);
        let found = self.minds.ids().iter().filter(is_theirs).nth(nth as usize);
        match found.copied() {
            Some(id) => {
                self.minds.remove(id);
                if let Some(purse) = self.purses.get_mut(id) {
                    purse.stars = 0;
                }
                id
            }
            None => {
                let cell = self.free_cell(number).unwrap_or_default();
                self.add_character(cell, Heading::DOWN)
            }
        }
    }

    fn add_character(&mut self, cell: Cell, look: Heading) -> EntityId {
        let character = Character::new(cell.middle(), look);
        let id = self.characters.insert(character);
        self.purses.insert_fixed(id, Purse::default());
        id
    }

    fn give_mind(&mut self, character: EntityId) {
        let seed = self.random(Salt::Mind, character.number(), self.clock);
        let mind = Brain::of_nobody(Rng::new(seed), self.clock);
        self.minds.insert_fixed(character, mind);
    }

    /// Begins the first round when somebody has come, and the next after a break; ends the match when its time is up.
    pub(crate) fn run_rounds(&mut self, events: &mut Events<HatHuntersEvent>) {
        if self.round.is_last {
            return;
        }
        if self.time_left() == Some(0) {
            if self.round.over_until.is_none() {
                let winner = self.best_hunter();
                self.end_round(winner, events);
            }
            self.end_match(events);
            return;
        }
        let is_due = match self.round.over_until {
            Some(until) => self.clock >= until,
            None => self.round.number == 0 && !self.hunters.is_empty(),
        };
        if is_due {
            self.begin_round();
            events.emit(HatHuntersEvent::RoundBegan);
        }
    }

    /// New characters in new places, in a random order: neither their ids nor where they begin tell who plays them.
    fn begin_round(&mut self) {
        self.round = Round {
            number: self.round.number.wrapping_add(1),
            since: self.clock,
            hunters: self.hunters.len() as u8,
            ..Round::default()
        };
        self.characters.clear();
        self.purses.clear();
        self.minds.clear();
        self.stars.clear();
        self.containers.clear();
        self.projectiles.clear();
        self.bombs.clear();
        self.claims.clear();
        self.boxes.clear();
        self.rows.clone_from(&self.first_rows);
        let count = usize::from(self.rules.ai) + self.hunters.len();
        let mut taken = [0u64; MAX_HEIGHT];
        for at in 0..count as u32 {
            let cell = self.beginning(&mut taken, self.random(Salt::Place, at, self.clock));
            let look = self.random(Salt::Look, at, self.clock) % u64::from(HEADINGS);
            let id = self.add_character(cell, Heading(look as u8).of_keys());
            self.give_mind(id);
        }
        for at in 0..self.hunters.len() {
            let number = self.random(Salt::Hunter, at as u32, self.clock);
            let nth = number.checked_rem(self.minds.len() as u64).unwrap_or(0);
            let character = self.minds.ids()[nth as usize];
            self.minds.remove(character);
            if let Some(hunter) = self.hunters.row_mut(at) {
                hunter.character = character;
                hunter.catches = 0;
            }
        }
        // Whoever is away has a character that walks by itself.
        for at in 0..self.hunters.len() {
            let Hunter {
                player, character, ..
            } = self.hunters.as_slice()[at];
            if !self.seat_of(player).is_some_and(|seat| seat.is_here) {
                self.give_mind(character);
            }
        }
        for _ in 0..self.rules.stars_at_once {
            self.lay_star();
        }
        for _ in 0..self.rules.containers {
            self.lay_container();
        }
    }

    /// A cell of floor where no other character begins, if there is one.
    fn beginning(&self, taken: &mut [u64; MAX_HEIGHT], number: u64) -> Cell {
        let field = self.field();
        let is_taken = |taken: &[u64; MAX_HEIGHT], cell: Cell| {
            taken[usize::from(cell.row)] >> cell.column & 1 == 1
        };
        let open = || field.floor().filter(|cell| !is_taken(taken, *cell));
        let cell = match number.checked_rem(open().count() as u64) {
            Some(nth) => open().nth(nth as usize),
            None => field.floor().next(),
        };
        let cell = cell.unwrap_or_default();
        taken[usize::from(cell.row)] |= 1 << cell.column;
        cell
    }

    /// Stars and containers appear until there are as many as there should be.
    pub(crate) fn lay_things(&mut self) {
        if !self.clock.is_multiple_of(LAYING) {
            return;
        }
        if self.stars.len() < usize::from(self.rules.stars_at_once) {
            self.lay_star();
        }
        if self.containers.len() < usize::from(self.rules.containers) {
            self.lay_container();
        }
    }

    fn lay_star(&mut self) {
        let number = self.random(Salt::Star, self.stars.len() as u32, self.clock);
        if let Some(cell) = self.free_cell(number) {
            self.stars.insert(Star::lying(cell.middle()));
        }
    }

    fn lay_container(&mut self) {
        if self.rules.items.iter().next().is_none() {
            return;
        }
        let number = self.random(Salt::Container, self.containers.len() as u32, self.clock);
        if let Some(cell) = self.free_cell(number) {
            self.add_container(cell);
        }
    }

    /// In its mode, a bush grows where that does not cut the field in two.
    pub(crate) fn grow_bushes(&mut self, events: &mut Events<HatHuntersEvent>) {
        let is_due = self.clock.is_multiple_of(self.rules.growth.max(1));
        if self.rules.mode != Mode::Bushes || !is_due {
            return;
        }
        let can_grow = |cell: &Cell| {
            let (column, row) = cell.column_and_row();
            let beside = [(-1, 0), (1, 0), (0, -1), (0, 1)];
            let mut beside = beside.iter().map(|(x, y)| (column + x, row + y));
            self.is_free(*cell)
                && beside.any(|(x, y)| self.is_bush_or_edge(x, y))
                && self.keeps_connected(column, row)
        };
        if self.field().floor().count() <= LEAST_FLOOR {
            return;
        }
        let places = || self.field().floor().filter(can_grow);
        let number = self.random(Salt::Bush, 0, self.clock);
        let Some(nth) = number.checked_rem(places().count() as u64) else {
            return;
        };
        let cell = places().nth(nth as usize);
        if let Some(cell) = cell {
            self.set_ground(cell, Ground::Bush);
            events.emit(HatHuntersEvent::Grew { cell });
        }
    }

    /// Bushes grow from bushes and from the edge of the field.
    fn is_bush_or_edge(&self, column: i32, row: i32) -> bool {
        let field = self.field();
        let is_edge =
            column <= 0 || row <= 0 || column >= field.width() - 1 || row >= field.height() - 1;
        is_edge || field.ground(column, row) == Ground::Bush
    }

    /// Whether the cells around this one stay connected without it: going round it, what is open is in one piece.
    fn keeps_connected(&self, column: i32, row: i32) -> bool {
        const AROUND: [(i32, i32); 8] = [
            (0, -1),
            (1, -1),
            (1, 0),
            (1, 1),
            (0, 1),
            (-1, 1),
            (-1, 0),
            (-1, -1),
        ];
        let field = self.field();
        let is_open = AROUND.map(|(x, y)| {
            matches!(
                field.ground(column + x, row + y),
                Ground::Floor | Ground::Box
            )
        });
        // One enters and leaves through the four sides, so a corner alone is no piece.
        let pieces = (0..4).map(|side| 2 * side).filter(|at| {
            let before = (at + 6) % 8;
            let joined = is_open[(at + 7) % 8] && is_open[before];
            is_open[*at] && !joined
        });
        let pieces = pieces.count();
        pieces == 1 || pieces == 0 && is_open[0]
    }

    /// Ends a round that is won.
    pub(crate) fn judge_round(&mut self, events: &mut Events<HatHuntersEvent>) {
        if self.round.number == 0 {
            return;
        }
        let stars = self.rules.stars;
        let mut hunters = self.hunters.as_slice().iter();
        let has_won = |hunter: &&Hunter| {
            let purse = self.purses.get(hunter.character);
            purse.is_some_and(|purse| purse.stars >= stars)
        };
        if let Some(hunter) = hunters.find(has_won) {
            let winner = hunter.player;
            self.end_round(Some(winner), events);
            return;
        }
        if !matches!(self.rules.mode, Mode::HatCatch | Mode::Elimination) {
            return;
        }
        let is_left = |hunter: &&Hunter| {
            let character = self.characters.get(hunter.character);
            character.is_some_and(|character| !character.is_out)
        };
        let mut left = self.hunters.as_slice().iter().filter(is_left);
        let last = match (left.next(), left.next()) {
            (Some(_), Some(_)) => return,
            (last, _) => last.map(|hunter| hunter.player),
        };
        // Somebody who has been alone from the start has nobody to outlast.
        if self.round.hunters >= 2 || last.is_none() {
            self.end_round(last, events);
        }
    }

    /// The player who is ahead in this round, if only one is.
    fn best_hunter(&self) -> Option<PlayerId> {
        let score = |hunter: &Hunter| {
            let is_in = self.characters.get(hunter.character);
            let is_in = is_in.is_some_and(|character| !character.is_out);
            let catches = match self.rules.mode {
                Mode::HatCatch => hunter.catches,
                _ => 0,
            };
            let stars = self.purses.get(hunter.character).map_or(0, |it| it.stars);
            (is_in, catches, stars)
        };
        let hunters = || self.hunters.as_slice().iter();
        let most = hunters().map(score).max()?;
        let mut best = hunters().filter(|hunter| score(hunter) == most);
        match (best.next(), best.next()) {
            (Some(hunter), None) => Some(hunter.player),
            _ => None,
        }
    }

    fn end_round(&mut self, winner: Option<PlayerId>, events: &mut Events<HatHuntersEvent>) {
        for seat in &mut self.seats {
            if Some(seat.player) == winner {
                seat.wins = seat.wins.saturating_add(1);
            }
            let hunter = self.hunters.get(hunter_id(seat.player));
            let purse = hunter.and_then(|hunter| self.purses.get(hunter.character));
            let stars = purse.map_or(0, |purse| purse.stars);
            seat.stars = seat.stars.saturating_add(stars.into());
        }
        self.claims.clear();
        self.projectiles.clear();
        self.bombs.clear();
        for character in self.characters.as_mut_slice() {
            character.silhouette = None;
        }
        self.round.winner = winner;
        self.round.over_until = Some(self.later(BREAK));
        events.emit(HatHuntersEvent::RoundOver { winner });
        let most = self.seats.iter().map(|seat| seat.wins).max();
        if most.is_some_and(|most| most >= self.rules.rounds) {
            self.end_match(events);
        }
    }

    fn end_match(&mut self, events: &mut Events<HatHuntersEvent>) {
        self.round.is_last = true;
        self.round.over_until = None;
        let winner = self.leader();
        events.emit(HatHuntersEvent::MatchOver { winner });
    }

    /// The player who is ahead in the match, if only one is.
    pub fn leader(&self) -> Option<PlayerId> {
        let score = |seat: &&Seat| Reverse((seat.wins, seat.stars));
        let best = self.seats.iter().min_by_key(score)?;
        let mut equal = self.seats.iter().filter(|seat| score(seat) == score(&best));
        match (equal.next(), equal.next()) {
            (Some(seat), None) => Some(seat.player),
            _ => None,
        }
    }
}
