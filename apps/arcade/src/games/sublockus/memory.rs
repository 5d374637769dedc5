//! The state of a screen between frames.

use std::cell::{Cell, RefCell};

use eframe::egui::{Pos2, Vec2};
use samestep_catalog::sublockus::{Ability, Sublockus};
use samestep_sync::{EntityId, PlayerId};

use super::spot;

/// The state of a screen of Sublockus.
#[derive(Default)]
pub struct ViewState {
    pub(super) memory: RefCell<Memory>,
    /// Where the viewer was seen last.
    last: Cell<Option<Pos2>>,
    /// The aim of a person without a mouse.
    pub(super) facing: Option<Vec2>,
    /// When the person cast each ability last.
    pub(super) cast_at: [Option<u32>; Ability::ALL.len()],
}

impl ViewState {
    /// The place in the middle of a player's screen: after a death that stays for a while, then the place where it will enter.
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

/// When each character landed, which the state does not contain.
#[derive(Default)]
pub(super) struct Memory {
    clock: u32,
    seen: Vec<Seen>,
}

/// A character as it was drawn last.
#[derive(Clone, Copy)]
struct Seen {
    id: EntityId,
    /// Units per tick, down; 0 on the ground.
    fall: i32,
    /// When it came down, and how fast.
    landed: Option<(u32, i32)>,
}

/// Ticks that a landing is seen.
const BENDS: u32 = 14;

/// Units per tick from which on a landing is seen.
const SOFT: i32 = 90;

impl Memory {
    /// Takes in what is drawn now.
    pub fn look(&mut self, game: &Sublockus) {
        let clock = game.clock();
        // After a leap in time nobody lands.
        if !(self.clock..=self.clock.saturating_add(20)).contains(&clock) {
            self.seen.clear();
        }
        self.clock = clock;
        let characters = game.characters();
        self.seen.retain(|seen| characters.contains(seen.id));
        for (id, character) in characters.iter() {
            let body = &character.body;
            let fall = if body.is_grounded { 0 } else { body.velocity.y };
            match self.seen.iter_mut().find(|seen| seen.id == id) {
                Some(seen) => {
                    if body.is_grounded && seen.fall > SOFT {
                        seen.landed = Some((clock, seen.fall));
                    }
                    seen.fall = fall;
                }
                None => self.seen.push(Seen {
                    id,
                    fall,
                    landed: None,
                }),
            }
        }
    }

    /// How a landing looks now: how much of it is over, 0 to 1, and how hard it was.
    pub fn landing(&self, id: EntityId) -> Option<(f32, f32)> {
        let seen = self.seen.iter().find(|seen| seen.id == id)?;
        let (clock, fall) = seen.landed?;
        let ago = self.clock.checked_sub(clock)?;
        (ago < BENDS).then(|| (ago as f32 / BENDS as f32, (fall as f32 / 320.0).min(1.0)))
    }
}
