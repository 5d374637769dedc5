//! What each player sees and hears.

use samestep_sync::{Interest, PlayerId, Relevance};

use crate::event::SublockusEvent;
use crate::motion::HALF;
use crate::place::{ONE, Place};
use crate::sublockus::Sublockus;

/// The hearing range, through rock as well, in units.
pub const HEARING: i32 = 6 * ONE;

/// How far one sees, if nothing is in between, in units.
pub const SIGHT: i32 = 48 * ONE;

/// The distance up to which everything is sent at the full rate, in units.
const NEAR: i32 = 20 * ONE;

/// Where eyes are, from the middle.
const EYES: Place = Place::new(0, -HALF.y * 2 / 3);

impl Sublockus {
    /// Whether a player sees or hears what is at a place and reaches so far to each side: whether a straight line leads from its eyes to the
    /// middle of it, its top or its bottom, or it is close by. Nobody who has no character sees anything.
    ///
    /// Under fog only this is sent; the answer does not depend on whether there is fog.
    pub fn notices(&self, player: PlayerId, place: Place, half: Place) -> bool {
        let Some(viewer) = self.character_of(player) else {
            return false;
        };
        let distance = viewer.place().distance(place);
        if distance <= HEARING {
            return true;
        }
        let eyes = viewer.place().offset(EYES);
        let terrain = self.terrain();
        let heights = [0, -half.y * 3 / 4, half.y * 3 / 4];
        let sees = |height| terrain.sees(eyes, place.offset(Place::new(0, height)));
        distance <= SIGHT && heights.into_iter().any(sees)
    }

    /// How much something matters to the nearest of the viewers that may know of it.
    fn relevance(&self, viewers: &[PlayerId], place: Place, half: Place) -> Relevance {
        let may_know = |player: &&PlayerId| !self.rules.fog || self.notices(**player, place, half);
        let characters = viewers.iter().filter(may_know);
        let characters = characters.filter_map(|player| self.character_of(*player));
        let nearest = characters
            .map(|viewer| viewer.place().distance(place))
            .min();
        match nearest {
            Some(distance) => Relevance::at_distance(distance as f32, NEAR as f32),
            None if self.rules.fog => Relevance::HIDDEN,
            None => Relevance::FULL,
        }
    }

    pub(crate) fn tell_interest(&self, viewers: &[PlayerId], interest: &mut Interest) {
        // A spectator sees everything.
        if viewers.is_empty() {
            return;
        }
        let clock = self.clock;
        let is_own = |player: PlayerId| viewers.contains(&player);
        let mut characters = interest.part("characters");
        for (row, character) in self.characters.as_slice().iter().enumerate() {
            let relevance = match is_own(character.player) {
                true => Relevance::FULL,
                // Only the player itself knows where its character will enter.
                false if !character.is_in(clock) && self.rules.fog => Relevance::HIDDEN,
                false => self.relevance(viewers, character.place(), HALF),
            };
            characters.row(row, relevance);
        }
        let mut projectiles = interest.part("projectiles");
        for (row, projectile) in self.projectiles.as_slice().iter().enumerate() {
            let relevance = match is_own(projectile.player) {
                true => Relevance::FULL,
                false => self.relevance(viewers, projectile.place, Place::default()),
            };
            projectiles.row(row, relevance);
        }
        let mut items = interest.part("items");
        for (row, item) in self.items.as_slice().iter().enumerate() {
            items.row(row, self.relevance(viewers, item.place, Place::default()));
        }
        let mut inputs = interest.part("inputs");
        let present = self.seats.iter().filter(|seat| seat.is_here);
        for (row, seat) in present.enumerate() {
            let character = self.character_of(seat.player);
            let relevance = match character.filter(|character| character.is_in(clock)) {
                _ if is_own(seat.player) => Relevance::FULL,
                Some(character) => self.relevance(viewers, character.place(), HALF),
                None if self.rules.fog => Relevance::HIDDEN,
                None => Relevance::FULL,
            };
            inputs.row(row, relevance);
        }
    }

    /// Whether viewers may see an event.
    pub(crate) fn tells(&self, viewers: &[PlayerId], event: &SublockusEvent) -> bool {
        if !self.rules.fog || viewers.is_empty() {
            return true;
        }
        let Some((player, place)) = event.place() else {
            return true;
        };
        if viewers.contains(&player) {
            return true;
        }
        viewers
            .iter()
            .any(|viewer| self.notices(*viewer, place, HALF))
    }
}
