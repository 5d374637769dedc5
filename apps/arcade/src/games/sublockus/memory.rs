//! What a screen remembers of what it showed.

use std::cell::{Cell, RefCell};

use eframe::egui::{Pos2, Vec2};
use samestep_sublockus::{Ability, Sublockus};
use samestep_sync::{EntityId, PlayerId};

use super::{is_seen, spot};

/// What a screen of Sublockus remembers.
#[derive(Default)]
pub struct Grip {
    pub(super) memory: RefCell<Memory>,
    /// Where the viewer was seen last.
    last: Cell<Option<Pos2>>,
    /// Where hands without a pointer aim.
    pub(super) facing: Option<Vec2>,
    /// When the hands cast each ability last.
    pub(super) cast_at: [Option<u32>; Ability::ALL.len()],
}

impl Grip {
    /// What a player looks at. Who died looks on for a while, then to where it will enter.
    pub(super) fn eye(&self, game: &Sublockus, player: PlayerId) -> Option<Pos2> {
        const TURNS: f32 = 45.0;
        let character = game.character_of(player)?;
        let here = spot(character.place());
        let waits = character.enters.saturating_sub(game.clock());
        if waits == 0 {
            self.last.set(Some(here));
            return Some(here);
        }
        let last = self.last.get().unwrap_or(here);
        let part = 1.0 - (waits as f32 / TURNS).min(1.0);
        let eased = part * part * (3.0 - 2.0 * part);
        Some(last + (here - last) * eased)
    }
}

/// What was drawn last, and who landed when.
#[derive(Default)]
pub(super) struct Memory {
    clock: u32,
    pub characters: Vec<Drawn>,
    pub projectiles: Vec<(EntityId, Pos2)>,
}

/// A character as it was drawn last.
#[derive(Clone, Copy)]
pub(super) struct Drawn {
    pub id: EntityId,
    pub player: PlayerId,
    pub place: Pos2,
    /// Units per tick, down; 0 on the ground.
    fall: i32,
    /// When it came down, and how fast.
    landed: Option<(u32, i32)>,
}

/// Ticks that a landing is seen.
const BENDS: u32 = 14;

impl Memory {
    /// Takes in what is drawn now.
    pub fn look(&mut self, game: &Sublockus, viewer: Option<PlayerId>) {
        let clock = game.clock();
        // After a leap in time nobody lands.
        let goes_on = (self.clock..=self.clock.saturating_add(20)).contains(&clock);
        self.clock = clock;
        let before = core::mem::take(&mut self.characters);
        let characters = game.characters().iter();
        let characters = characters.filter(|(_, character)| {
            character.is_in(clock) && is_seen(game, viewer, character.place())
        });
        self.characters.extend(characters.map(|(id, character)| {
            let body = &character.body;
            let earlier = before.iter().find(|drawn| drawn.id == id && goes_on);
            let landed = match earlier {
                Some(drawn) if body.is_grounded && drawn.fall > 90 => Some((clock, drawn.fall)),
                Some(drawn) => drawn.landed,
                None => None,
            };
            Drawn {
                id,
                player: character.player,
                place: spot(character.place()),
                fall: if body.is_grounded { 0 } else { body.velocity.y },
                landed,
            }
        }));
        self.projectiles.clear();
        let projectiles = game.projectiles().iter();
        let projectiles = projectiles.filter(|(_, ball)| is_seen(game, viewer, ball.place));
        self.projectiles
            .extend(projectiles.map(|(id, ball)| (id, spot(ball.place))));
    }

    /// How a landing looks now: how much of it is over, 0 to 1, and how hard it was.
    pub fn landing(&self, id: EntityId) -> Option<(f32, f32)> {
        let drawn = self.characters.iter().find(|drawn| drawn.id == id)?;
        let (clock, fall) = drawn.landed?;
        let ago = self.clock.checked_sub(clock)?;
        (ago < BENDS).then(|| (ago as f32 / BENDS as f32, (fall as f32 / 320.0).min(1.0)))
    }
}
